// The lab, live: every number gets a slider, and the result follows. Without this module the form's button does the same.

const form = document.querySelector("#lab-form");
const shown = document.querySelector("#lab-result");
const said = document.querySelector("#lab-said");
const PAUSE = 120; // milliseconds without a change before the server is asked
let waiting = 0;
let asking = null;

function nearest(stops, value) {
  let best = 0;
  stops.forEach((stop, place) => {
    if (Math.abs(stop - value) < Math.abs(stops[best] - value)) best = place;
  });
  return best;
}

function slide(exact) {
  const stops = exact.dataset.stops.split(" ").map(Number);
  const slider = document.createElement("input");
  slider.type = "range";
  slider.min = 0;
  slider.max = stops.length - 1;
  slider.step = 1;
  slider.id = `${exact.id}-slider`;
  slider.setAttribute("aria-labelledby", `${exact.id}-label`);
  slider.setAttribute("aria-describedby", `${exact.id}-hint`);
  const follow = () => {
    const value = Number(exact.value);
    if (exact.value.trim() !== "" && Number.isFinite(value)) slider.value = nearest(stops, value);
    slider.setAttribute("aria-valuetext", exact.value);
  };
  slider.addEventListener("input", () => {
    exact.value = String(stops[slider.valueAsNumber]);
    slider.setAttribute("aria-valuetext", exact.value);
    soon();
  });
  exact.addEventListener("input", () => {
    follow();
    soon();
  });
  exact.addEventListener("set", follow);
  follow();
  exact.after(slider);
}

function soon() {
  clearTimeout(waiting);
  waiting = setTimeout(ask, PAUSE);
}

function query() {
  const all = [...new FormData(form)].filter(([name, value]) => !(name === "dataset" && value === ""));
  return new URLSearchParams(all).toString();
}

async function ask() {
  clearTimeout(waiting);
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  const wanted = query();
  shown.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(`${form.dataset.result}?${wanted}`, { signal: mine.signal });
    if (answer.redirected || ![200, 422].includes(answer.status)) {
      location.assign(`${form.action}?${wanted}`); // signed out, or worse: the page itself says it
      return;
    }
    put(await answer.text());
    history.replaceState(null, "", `${form.getAttribute("action")}?${wanted}`);
  } catch (problem) {
    if (problem.name === "AbortError") return;
    said.textContent = "The server does not answer. What is shown may be out of date.";
  }
  if (asking === mine) shown.removeAttribute("aria-busy");
}

function put(markup) {
  const focused = document.activeElement?.id;
  const open = [...shown.querySelectorAll("figure")].filter((one) => one.querySelector(".plot details[open]")).map((one) => one.id);
  const page = new DOMParser().parseFromString(markup, "text/html");
  shown.replaceChildren(...page.body.childNodes);
  for (const id of open) shown.querySelector(`#${CSS.escape(id)} .plot details`)?.setAttribute("open", "");
  if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus({ preventScroll: true });
  mark();
  said.textContent = shown.querySelector("[data-announce]")?.textContent ?? "";
}

function mark() {
  const wrong = new Set([...shown.querySelectorAll("[data-wrong]")].map((one) => one.dataset.wrong));
  for (const field of form.elements) {
    if (!field.name) continue;
    if (wrong.has(field.name)) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  }
  for (const words of form.querySelectorAll(".wrong")) words.hidden = !wrong.has(words.id.replace(/-wrong$/, ""));
}

for (const exact of form.querySelectorAll("[data-stops]")) slide(exact);
for (const written of form.querySelectorAll(".written")) written.addEventListener("input", soon);
for (const choice of form.querySelectorAll("select")) choice.addEventListener("change", ask);
form.querySelector(".lab-send").hidden = true;
form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
shown.addEventListener("click", (event) => {
  const button = event.target.closest("a[data-name]");
  if (!button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const field = form.elements[button.dataset.name];
  field.value = button.dataset.value;
  field.dispatchEvent(new Event("set"));
  ask();
});
