// Redraws the bars of jobs, and loads the page again when one has come to its end.
const PAUSE = 1000;

async function look(panel) {
  const answer = await fetch(panel.dataset.job, { headers: { Accept: "application/json" }, credentials: "same-origin" });
  if (!answer.ok) throw new Error("no answer");
  const { state, percent, words } = await answer.json();
  if (state !== "queued" && state !== "running") return true;
  const bar = panel.querySelector("progress");
  if (percent === null) bar.removeAttribute("value");
  else bar.value = percent;
  const line = panel.querySelector(".meter-words");
  if (line.textContent !== words) line.textContent = words;
  return false;
}

async function watch(panels) {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    try {
      const ended = await Promise.all(panels.map(look));
      if (ended.some(Boolean)) {
        location.replace(location.pathname);
        return;
      }
    } catch {
      // The server is being started again, or the session has ended: the next look tells, or the reader does.
    }
  }
}

const panels = [...document.querySelectorAll("[data-job]")];
if (panels.length) watch(panels);
