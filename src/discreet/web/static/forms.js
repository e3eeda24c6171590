// Passwords can be looked at while they are typed, and a chosen file is sent at once. Without a script both forms work as they are.

for (const field of document.querySelectorAll("input[data-reveal]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "plain reveal";
  button.textContent = field.dataset.reveal;
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", () => {
    const shown = field.type === "text";
    field.type = shown ? "password" : "text";
    button.setAttribute("aria-pressed", String(!shown));
  });
  field.form.addEventListener("submit", () => { field.type = "password"; });
  field.after(button);
}

for (const field of document.querySelectorAll("input[data-send]")) {
  const hint = document.querySelector(`#${field.getAttribute("aria-describedby")}`);
  hint.append(` ${field.dataset.send}`);
  field.addEventListener("change", () => {
    const options = field.form.querySelector("details");
    if (field.files.length && !(options && options.open)) field.form.requestSubmit();
  });
}
