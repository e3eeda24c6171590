// Two thresholds that are dragged: counts and expected errors follow, from the server. Without this module the form divides the same way.

const form = document.querySelector("form[data-preview]");
const shown = document.querySelector("#zones-shown");
const said = document.querySelector("#zones-said");
const [least, most] = [Number(form.dataset.least), Number(form.dataset.most)];
const PAUSE = 80; // milliseconds without a change before the server is asked
const sliders = {};
let waiting = 0;
let asking = null;

for (const name of ["lower", "upper"]) {
  const exact = form.elements[name];
  const slider = document.createElement("input");
  Object.assign(slider, { type: "range", min: least, max: most, step: 0.1, id: `${name}-slider` });
  slider.setAttribute("aria-label", document.querySelector(`label[for=${name}]`).textContent);
  slider.value = exact.value;
  slider.addEventListener("input", () => move(name, slider.valueAsNumber));
  exact.addEventListener("input", () => {
    const value = Number(exact.value.replace(",", "."));
    if (exact.value.trim() !== "" && Number.isFinite(value)) move(name, value, true);
  });
  exact.after(slider);
  sliders[name] = slider;
}
for (const name of ["false_same", "missed", "review"]) {
  form.elements[name].addEventListener("input", () => {
    choose(name === "review" ? "capacity" : "errors");
    soon();
  });
}
for (const choice of form.elements.how) choice.addEventListener("change", soon);

function choose(how) {
  for (const choice of form.elements.how) choice.checked = choice.value === how;
}

// A threshold pushes the other along rather than passing it.
function move(name, value, typed = false) {
  choose("weights");
  const other = name === "lower" ? "upper" : "lower";
  const passes = name === "lower" ? value > sliders.upper.valueAsNumber : value < sliders.lower.valueAsNumber;
  set(name, value, typed);
  if (passes) set(other, value);
  soon();
}

function set(name, value, typed = false) {
  sliders[name].value = value;
  if (!typed) form.elements[name].value = value.toFixed(1);
}

function soon() {
  clearTimeout(waiting);
  waiting = setTimeout(ask, PAUSE);
}

async function ask() {
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  shown.setAttribute("aria-busy", "true");
  try {
    const wanted = new URLSearchParams(new FormData(form));
    const answer = await fetch(`${form.dataset.preview}?${wanted}`, { signal: mine.signal });
    if (answer.redirected || !answer.ok) throw new Error(answer.status);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    shown.replaceChildren(...page.body.childNodes);
    said.textContent = shown.querySelector("[data-announce]")?.textContent ?? "";
    follow(shown.querySelector("[data-lower]"));
  } catch (problem) {
    if (problem.name === "AbortError") return;
    said.textContent = "The server does not answer. What is shown may be out of date.";
  }
  if (asking === mine) shown.removeAttribute("aria-busy");
}

// Where the pairs were divided otherwise, the sliders go to the thresholds that this gave.
function follow(found) {
  if (!found || form.elements.how.value === "weights") return;
  for (const name of ["lower", "upper"]) {
    const value = Number(found.dataset[name]);
    set(name, Number.isFinite(value) ? Math.min(most, Math.max(least, value)) : most);
  }
}
