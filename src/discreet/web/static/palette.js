// Command palette: Control or Command with K lists every place and every action of this page, and searches for the rest.

const dialog = document.querySelector("#palette");
const field = dialog.querySelector("input");
const list = dialog.querySelector("ul");
const where = document.querySelectorAll(".places a, .tabs a, .action a, main a.button, footer a");
let shown = [];
let at = 0;

function candidates() {
  const seen = new Map();
  for (const link of where) {
    const words = link.textContent.trim();
    if (words && !seen.has(link.href)) seen.set(link.href, words);
  }
  return [...seen].map(([href, words]) => ({ href, words }));
}

function draw() {
  const wanted = field.value.trim().toLowerCase();
  shown = candidates().filter(({ words }) => words.toLowerCase().includes(wanted));
  if (wanted) shown.push({ href: `/search?q=${encodeURIComponent(field.value.trim())}`, words: `Search for “${field.value.trim()}”` });
  at = Math.min(at, Math.max(0, shown.length - 1));
  list.replaceChildren(...shown.map(({ href, words }, place) => {
    const item = document.createElement("li");
    item.id = `palette-${place}`;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", String(place === at));
    item.textContent = words;
    item.addEventListener("click", () => location.assign(href));
    return item;
  }));
  if (shown.length) field.setAttribute("aria-activedescendant", `palette-${at}`);
  else field.removeAttribute("aria-activedescendant");
  list.children[at]?.scrollIntoView({ block: "nearest" });
}

function open() {
  field.value = "";
  at = 0;
  draw();
  dialog.showModal();
}

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    if (dialog.open) dialog.close();
    else open();
  }
});
field.addEventListener("input", () => { at = 0; draw(); });
field.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && shown.length) {
    event.preventDefault();
    at = (at + step + shown.length) % shown.length;
    draw();
  } else if (event.key === "Enter" && shown[at]) {
    event.preventDefault();
    location.assign(shown[at].href);
  }
});
const button = document.querySelector("#palette-open");
button.hidden = false;
button.addEventListener("click", open);
