// Passkeys: has the browser make one, or sign with one, and sends what it gives with the form. Nothing else leaves the page.

const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (sign) => sign.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const known = (list) => (list || []).map((one) => ({ ...one, id: bytes(one.id) }));

const form = document.querySelector("form[data-passkey]");
const button = form.querySelector("button");
const complaint = document.querySelector("#passkey-problem");

async function ask() {
  const options = JSON.parse(form.dataset.passkey);
  const publicKey = { ...options, challenge: bytes(options.challenge) };
  if (options.user) {
    publicKey.user = { ...options.user, id: bytes(options.user.id) };
    publicKey.excludeCredentials = known(options.excludeCredentials);
    return navigator.credentials.create({ publicKey });
  }
  publicKey.allowCredentials = known(options.allowCredentials);
  return navigator.credentials.get({ publicKey });
}

function written(given) {
  const response = { clientDataJSON: text(given.response.clientDataJSON) };
  for (const part of ["attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (given.response[part]) response[part] = text(given.response[part]);
  }
  return JSON.stringify({ id: given.id, rawId: text(given.rawId), type: given.type, response, clientExtensionResults: {} });
}

if (window.PublicKeyCredential) {
  form.hidden = false;
  button.addEventListener("click", async () => {
    complaint.textContent = "";
    button.disabled = true;
    try {
      form.elements.answer.value = written(await ask());
      form.submit();
    } catch (error) {
      button.disabled = false;
      complaint.textContent = error.name === "InvalidStateError" ? "This device has a passkey for your account already." : "The browser gave no passkey. Try again, or use a code.";
    }
  });
} else {
  complaint.textContent = "This browser does not know passkeys.";
}
