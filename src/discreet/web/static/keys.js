// One key, one answer: presses the button that carries the key, unless keys are switched off or somebody types.

const KEPT = "discreet-keys";
const box = document.querySelector("#keys");

function remembered() {
  try {
    return localStorage.getItem(KEPT) !== "off";
  } catch {
    return true; // storage may be shut; keys then work until they are switched off on this page
  }
}

box.checked = remembered();
box.closest(".keys-switch").hidden = false;
box.addEventListener("change", () => {
  try {
    localStorage.setItem(KEPT, box.checked ? "on" : "off");
  } catch {
    // nothing to do: the choice holds for this page
  }
});
let pressed = false;
document.addEventListener("keydown", (event) => {
  if (!box.checked || pressed || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input:not([type=checkbox]), textarea, select")) return;
  const button = document.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
  if (!button) return;
  event.preventDefault();
  pressed = true; // one answer to a question, however fast somebody types
  button.click();
});
