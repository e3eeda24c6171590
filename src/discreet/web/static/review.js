// The review, by keyboard: arrows go over cells, the meters show the next price, a cell opens without leaving the page.
// Without this module every button does the same by a form. Nothing that was opened is kept anywhere but on the page.

const KEPT = "discreet-keys";
const box = document.querySelector("#keys");
const said = document.querySelector("#said");
const help = document.querySelector("#help");
let asking = false;
let leaving = false;

const review = () => document.querySelector("#review");
const cells = () => [...document.querySelectorAll("#review tr.cell")];
const button = (cell) => cell?.querySelector(".step button");
const focused = () => document.activeElement?.closest("tr.cell") ?? null;

function remembered() {
  try {
    return localStorage.getItem(KEPT) !== "off";
  } catch {
    return true; // storage may be shut; keys then work until they are switched off on this page
  }
}

function preview(cell) {
  for (const gauge of document.querySelectorAll("[data-gauge]")) {
    const key = gauge.dataset.gauge;
    const by = Number(cell?.dataset[`${key}By`] ?? 0);
    const bar = gauge.querySelector(".gauge-next");
    bar.setAttribute("width", by > 0 ? `${Math.max(by, 0.6)}%` : "0");
    gauge.classList.toggle("refused", Boolean(cell?.classList.contains("shut")));
    gauge.querySelector("[data-preview]").textContent = by > 0 ? cell.dataset[`${key}Words`] : "";
  }
}

function follow() {
  const cell = focused();
  for (const one of cells()) one.classList.toggle("here", one === cell);
  preview(document.querySelector("#review tr.cell:hover") ?? cell);
}

function step(from, by) {
  const all = cells().filter(button);
  const place = all.indexOf(from);
  const to = place < 0 ? all[by > 0 ? 0 : all.length - 1] : all[Math.min(all.length - 1, Math.max(0, place + by))];
  button(to)?.focus();
}

async function open(cell) {
  const pressed = button(cell);
  if (!pressed || asking) return;
  if (pressed.getAttribute("aria-disabled") === "true") {
    said.textContent = `Stays shut: ${cell.querySelector(".why").textContent}`;
    return;
  }
  asking = true;
  const form = document.querySelector("#reveal");
  const body = new URLSearchParams([...new FormData(form), [pressed.name, pressed.value], ["live", "1"]]);
  review().setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(form.action, { method: "POST", body, redirect: "manual" });
    const fits = [200, 403, 409, 422].includes(answer.status);
    if (!fits) {
      location.reload(); // signed out, or worse: the page itself says it
      return;
    }
    put(await answer.text(), cell.id);
  } catch {
    said.textContent = "The server does not answer. Nothing more was opened on this page; try again.";
    review().removeAttribute("aria-busy");
  }
  asking = false;
}

function put(markup, id) {
  const page = new DOMParser().parseFromString(markup, "text/html");
  const fresh = page.querySelector("#review");
  if (!fresh) {
    location.reload();
    return;
  }
  review().replaceWith(fresh);
  const cell = document.getElementById(id);
  const here = button(cell);
  if (here) here.focus({ preventScroll: true });
  else {
    cell.tabIndex = -1; // all of it is open: the focus stays where it was, and arrows go on from there
    cell.focus({ preventScroll: true });
  }
  said.textContent = fresh.dataset.announce;
  follow();
}

function explain() {
  const body = help.querySelector("[data-body]");
  if (!body.hasChildNodes()) body.append(document.querySelector(".help-body").cloneNode(true));
  help.showModal();
}

function pressedKey(event) {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (key === "?") return explain(), true;
  if (key === "r") {
    const cell = focused();
    if (cell) open(cell);
    return true;
  }
  const wanted = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (!wanted || wanted.disabled) return false;
  leaving = true; // one answer to a pair, however fast somebody types
  wanted.click();
  return true;
}

const ARROWS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open || leaving) return;
  if (event.target.closest("input:not([type=checkbox]), textarea, select, .scroll")) return;
  const free = event.target === document.body || event.target.id === "main" || event.target.closest("tr.cell");
  if (event.key in ARROWS && free) {
    event.preventDefault();
    step(focused(), ARROWS[event.key]);
  } else if (box.checked && !event.repeat && pressedKey(event)) {
    event.preventDefault();
  }
});

document.addEventListener("submit", (event) => {
  if (event.target.id !== "reveal") return;
  event.preventDefault();
  open(event.submitter?.closest("tr.cell"));
});
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-help]")) {
    event.preventDefault();
    explain();
    return;
  }
  const cell = event.target.closest("#review tr.cell");
  if (cell && !event.target.closest("button")) {
    button(cell)?.focus();
  } else if (cell && event.target.closest("[aria-disabled=true]")) {
    open(cell);
  }
});
// In a study what a participant looks at is part of the log: which cell, from when on, for how long, in milliseconds.
const decision = document.querySelector("form.choices");
const looked = [];
let looking = null;

function look(cell) {
  const now = Math.round(performance.now());
  if (looking && looking.cell !== cell?.id && now - looking.from >= 100 && looked.length < 500) {
    looked.push([Number(looking.cell.slice(5)), looking.from, now - looking.from]);
  }
  if (!cell) looking = null;
  else if (looking?.cell !== cell.id) looking = { cell: cell.id, from: now };
}
if (decision.elements.looked) {
  document.addEventListener("mouseover", () => look(document.querySelector("#review tr.cell:hover")));
  document.addEventListener("focusin", () => look(focused()));
  decision.addEventListener("submit", () => {
    look(null);
    decision.elements.looked.value = JSON.stringify(looked);
    decision.elements.since.value = String(Math.round(performance.now()));
  });
}
document.addEventListener("focusin", follow);
document.addEventListener("focusout", follow);
document.addEventListener("mouseover", follow);
addEventListener("pageshow", (event) => {
  leaving = false;
  if (event.persisted) location.reload(); // what a page kept in memory shows may be older than what is open
});

box.checked = remembered();
box.closest(".keys-switch").hidden = false;
box.addEventListener("change", () => {
  try {
    localStorage.setItem(KEPT, box.checked ? "on" : "off");
  } catch {
    // nothing to do: the choice holds for this page
  }
});
const wanted = location.hash.startsWith("#cell-") ? document.getElementById(location.hash.slice(1)) : null;
button(wanted)?.focus();
follow();
