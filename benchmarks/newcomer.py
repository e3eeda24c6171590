"""A newcomer before a real browser: python -m benchmarks.newcomer

Starts `discreet serve` on an empty store, follows the link that the terminal shows, makes the first account, uploads a CSV
of 2,000 made-up people, corrects the role of a column, has the risk measured and opens the finished report: only by what
is visible on the pages, by the names of links, buttons and fields.

The machine's time is measured. A person's time is estimated by the keystroke-level model (Card, Moran and Newell 1980): every
interaction is a sum of its operators, with the published times for an average typist. That model is one of people who know
their way, so a newcomer also reads: every text that comes into the window and was not there before, at 238 words a minute
(Brysbaert 2019), and thinks once more about every column whose role is to be confirmed. Target: five minutes in all.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TARGET = 300.0
SECONDS = {"K": 0.28, "P": 1.1, "B": 0.1, "H": 0.4, "M": 1.35}
"""A key, pointing at something, pressing or releasing the button, a hand between keyboard and mouse, thinking."""
MEANING = {"K": "keys", "P": "pointings", "B": "presses", "H": "hands moved", "M": "thoughts"}
WORDS_A_MINUTE = 238
CLICK = "MPBB"
PEOPLE = 2_000
NAME, PASSWORD = "ann.lee", "a sentence that I remember"
COLUMNS = ("name", "birth_year", "sex", "zip", "plan", "diagnosis")
WINDOW = {"width": 1280, "height": 800}
IN_WINDOW = """() => {
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const range = document.createRange();
    range.selectNode(walker.currentNode);
    const box = range.getBoundingClientRect();
    const spoken = walker.currentNode.parentElement.closest(".unseen, .skip");
    if (!spoken && box.width > 1 && box.height > 1 && box.right > 0 && box.bottom > 0 && box.top < innerHeight)
      found.push(walker.currentNode.textContent.trim());
  }
  return found.filter(Boolean);
}"""


@dataclass
class Newcomer:
    """Somebody who has never seen these pages; counts what they do."""

    page: Any
    operators: Counter[str] = field(default_factory=Counter)
    interactions: int = 0
    words: int = 0
    read: set[str] = field(default_factory=set)
    pages: list[str] = field(default_factory=list)

    def look(self) -> None:
        """Read what is in the window and was not there before."""
        self.arrive()
        new = [text for text in self.page.evaluate(IN_WINDOW) if text not in self.read]
        self.read.update(new)
        self.words += sum(len(text.split()) for text in new)

    def arrive(self) -> None:
        """Note which page this is."""
        title = self.page.title()
        if not self.pages or self.pages[-1] != title:
            self.pages.append(title)

    def follow(self, link: str) -> None:
        """Open the link of the terminal."""
        self._do(CLICK)
        self.page.goto(link)
        self.look()

    def press(self, role: str, name: str, *, last: bool = False) -> None:
        """A link or a button that leads to another page; the last one ends the walk before it is read."""
        target = self.page.get_by_role(role, name=name, exact=True)
        target.scroll_into_view_if_needed()
        self.look()
        self._do(CLICK)
        with self.page.expect_navigation():
            target.click()
        if not last:
            self.look()

    def write(self, label: str, text: str) -> None:
        """Click into a field and type."""
        self._do(CLICK + "H" + "K" * len(text) + "H")
        self.page.get_by_label(label, exact=True).fill(text)

    def bring(self, label: str, file: Path) -> None:
        """Open the dialogue of the browser, find the file there, and open it; it is sent at once."""
        self._do(CLICK + "M" + CLICK + "BB")
        with self.page.expect_navigation():
            self.page.get_by_label(label, exact=True).set_input_files(file)
        self.look()

    def confirm(self, columns: tuple[str, ...]) -> None:
        """Think about every column's role."""
        self.operators.update("M" * len(columns))

    def choose(self, label: str, option: str) -> None:
        """Open a list and choose from it."""
        self._do(CLICK + CLICK)
        self.page.get_by_label(label, exact=True).select_option(option)

    def wait_for(self, role: str, name: str) -> None:
        """Wait until something appears, and read what came with it."""
        self.page.get_by_role(role, name=name, exact=True).wait_for(timeout=120_000)
        self.look()

    def _do(self, operators: str) -> None:
        self.interactions += 1
        self.operators.update(operators)

    @property
    def acting(self) -> float:
        """Seconds that a person needs for all of it, by the model."""
        return sum(SECONDS[one] * number for one, number in self.operators.items())

    @property
    def reading(self) -> float:
        """Seconds for reading on the way."""
        return self.words * 60 / WORDS_A_MINUTE


@dataclass(frozen=True)
class Walk:
    """What it took from the first start to the report."""

    newcomer: Newcomer
    starting: float
    machine: float
    """Seconds from the start of the server to the open report, with nobody who hesitates."""

    @property
    def whole(self) -> float:
        """A person's time, with all waiting."""
        return self.newcomer.acting + self.newcomer.reading + self.machine

    def lines(self) -> Iterator[str]:
        """In words and numbers."""
        one = self.newcomer
        yield f"pages          {len(one.pages):>5}   {' > '.join(title.removesuffix(' · Discreet') for title in one.pages)}"
        yield f"interactions   {one.interactions:>5}   {', '.join(f'{number} {MEANING[name]}' for name, number in one.operators.items())}"
        yield f"acting         {one.acting:>5.0f} s by the keystroke-level model"
        yield f"reading        {one.reading:>5.0f} s, {one.words} words at {WORDS_A_MINUTE} a minute"
        yield f"machine        {self.machine:>5.0f} s measured, {self.starting:.0f} of them until the server runs"
        yield f"in all         {self.whole:>5.0f} s, {self.whole / TARGET:.2f} of five minutes"


def people(path: Path) -> Path:
    """Made-up people, one a row."""
    rng = random.Random(4)
    rows = (
        f"person {number},{1940 + rng.randrange(60)},{rng.choice('FM')},{37_000 + rng.randrange(30)},{rng.choice('ABC')},{rng.choice(('flu', 'asthma', 'angina'))}"
        for number in range(PEOPLE)
    )
    path.write_text("\n".join((",".join(COLUMNS), *rows)) + "\n", encoding="utf-8")
    return path


def from_first_start_to_report(browser: Any, folder: Path) -> Walk:
    """Everything, on a store that does not exist yet."""
    from tests.web.running import discreet_serve

    file = people(folder / "people.csv")
    begun = time.perf_counter()
    with discreet_serve("--store", str(folder / "store.db"), "--data", str(folder / "data")) as running:
        link = running.wait_for(r"(http://\S+/welcome/\S+)")
        starting = time.perf_counter() - begun
        context = browser.new_context(viewport=WINDOW)
        newcomer = Newcomer(context.new_page())
        steps(newcomer, link, file)
        machine = time.perf_counter() - begun
        context.close()
    return Walk(newcomer, starting, machine)


def steps(newcomer: Newcomer, link: str, file: Path) -> None:
    """What the pages say is next, one after the other."""
    newcomer.follow(link)
    newcomer.write("Name of the account", NAME)
    newcomer.write("Password", PASSWORD)
    newcomer.press("button", "Make the first account")
    newcomer.bring("File", file)
    newcomer.wait_for("button", "Confirm all roles and measure the risk")
    newcomer.confirm(COLUMNS)
    newcomer.choose("Role of plan", "quasi")
    newcomer.press("button", "Confirm all roles and measure the risk")
    newcomer.wait_for("link", "Read the report")
    newcomer.press("link", "Read the report", last=True)
    newcomer.arrive()


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser of this machine."""
    from playwright.sync_api import sync_playwright
    from tests.browser.walking import launched

    with sync_playwright() as playwright:
        browser = launched(playwright)
        yield browser
        browser.close()


def main() -> None:
    """Walk once, and say what it took."""
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        for line in from_first_start_to_report(browser, Path(folder)).lines():
            print(line)


if __name__ == "__main__":
    main()
