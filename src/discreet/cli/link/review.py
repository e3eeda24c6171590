"""`discreet link review`: the review of pairs in a terminal, through the same door and on the same budget."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from discreet.cli import console
from discreet.cli.ledger import store_option
from discreet.cli.link.lookup import opened, project_called
from discreet.errors import Refused, UsageError

if TYPE_CHECKING:
    from discreet.ledger import Ledger
    from discreet.linkage.progress import WorkerProgress
    from discreet.linkage.project import Project
    from discreet.linkage.review.views import CellView, Gauge, PairView

LETTERS = "abcdefghijklmo"
"""Keys of cells; n, p, q and z mean something else."""

HELP = """\
  a b c ...  open that cell one step; what is opened cannot be closed, and is charged
  1 2 3      different: high, medium, low confidence
  4 5 6      the same: low, medium, high confidence
  0          can't tell
  z          take the answer back, or the one before it
  n p        next, previous pair
  ?          this help
  q          stop; everything is saved"""


@click.command(name="review", short_help="Review pairs in the terminal.")
@click.argument("project", metavar="PROJECT")
@click.option("--worker", required=True, metavar="NAME", help="Who reviews: the name that pairs were given to.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print the summary at the end as JSON.")
def command(project: str, worker: str, address: str | None, as_json: bool) -> None:
    """Review the pairs of PROJECT that were given to a worker: one key and Enter at a time.

    \b
    Examples:
      discreet link review project --worker ann

    A letter opens a cell by one step, at the price beside it; 1 2 3 | 4 5 6 answer different | same, 0 can't tell.
    """
    from discreet.linkage.progress import summary

    with opened(address) as ledger:
        found = project_called(ledger, project)
        _Terminal(ledger, found, worker).run()
        done = summary(ledger, found, worker)
    console.data(done.to_dict()) if as_json else _thank(done)


@dataclass
class _Terminal:
    """One sitting."""

    ledger: Ledger
    project: Project
    worker: str

    def run(self) -> None:
        from discreet.linkage.review.decisions import next_pair

        number = next_pair(self.ledger.store, self.project, self.worker)
        if number is None:
            console.say("There is nothing left to decide.")
            return
        console.say(HELP)
        console.say("What you open stays open and is charged to you; an answer can be taken back, a look cannot.")
        shown = self._show(number)
        for word in _words():
            if word == "q":
                return
            after = self._obey(shown, word)
            if after is None:
                console.say("That was your last pair.")
                return
            shown = after

    def _show(self, number: int) -> PairView:
        from discreet.linkage.review.reveal import view

        shown = view(self.ledger, self.project, self.worker, number)
        _draw(shown)
        return shown

    def _obey(self, shown: PairView, word: str) -> PairView | None:
        """The pair to go on with; None if all are decided."""
        from discreet.linkage.review.decisions import decide, last_decided, next_pair, undo

        store, number = self.ledger.store, shown.pair
        if word in "0123456" and len(word) == 1:
            decide(store, self.project, self.worker, number, int(word))
            following = next_pair(store, self.project, self.worker)
            return None if following is None else self._show(following)
        if word == "z":
            last = number if shown.choice is not None else last_decided(store, self.project, self.worker)
            if last is not None:
                undo(store, self.project, self.worker, last)
            return self._show(number if last is None else last)
        if word in ("n", "p"):
            other = shown.following if word == "n" else shown.previous
            return self._show(number if other is None else other)
        cells = dict(zip(LETTERS, shown.cells, strict=False))
        if word in cells:
            return self._open(shown, cells[word])
        console.say(HELP)
        return shown

    def _open(self, shown: PairView, cell: CellView) -> PairView:
        from discreet.linkage.review.reveal import reveal

        try:
            opened_view = reveal(
                self.ledger, self.project, self.worker, shown.pair, cell.attribute,
                key=secrets.token_hex(16), seen=shown.version,
            )  # fmt: skip
        except Refused as refusal:
            console.say(str(refusal))
            return self._show(shown.pair)
        _draw(opened_view)
        return opened_view


def _words() -> Iterator[str]:
    """What is typed, line by line; a line may hold several keys. Ends with the input."""
    asks = sys.stdin.isatty()
    while True:
        if asks:
            click.echo("> ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            return
        yield from line.split()


def _draw(shown: PairView) -> None:
    if sys.stdout.isatty():
        click.clear()
    if len(shown.cells) > len(LETTERS):
        raise UsageError("A terminal has keys for 14 attributes.", remedy="Review this project in the browser.")
    answer = "" if shown.choice is None else f", answered {shown.choice}"
    console.heading(f"{shown.project}   pair {shown.place} of {shown.pairs}, {shown.decided} decided{answer}")
    click.echo(f"characters shown {_gauge(shown.characters)}   privacy risk {_gauge(shown.risk)}")
    rows = [_row(letter, cell) for letter, cell in zip(LETTERS, shown.cells, strict=False)]
    console.table(["", "attribute", "A", "B", "", "next step"], rows)


def _row(letter: str, cell: CellView) -> list[str]:
    marks = [mark.words for mark in cell.marks]
    common = [row.frequency.name for row in cell.rows if row.frequency is not None]
    seen = ", ".join([*marks, *dict.fromkeys(common)])
    return [letter if cell.next else "", cell.attribute, cell.rows[0].text, cell.rows[1].text, seen, _price(cell)]


def _price(cell: CellView) -> str:
    from discreet.linkage.review.views import REFUSALS, percent

    if cell.next is None:
        return ""
    if cell.next.refused is not None:
        return f"shut: {REFUSALS[cell.next.refused]}"
    return f"{cell.next.mode}: +{percent(cell.next.characters):.2f} % +{percent(cell.next.risk):.2f} %"


def _gauge(gauge: Gauge) -> str:
    from discreet.linkage.review.views import percent

    limit = "" if gauge.limit is None else f" (limit {percent(gauge.limit):.1f} %)"
    return f"{percent(gauge.used):.1f} %{limit}"


def _thank(done: WorkerProgress) -> None:
    from discreet.linkage.review.views import CHOICES

    click.echo()
    console.heading(f"{done.decided:,} of {done.pairs:,} pairs decided. Thank you.")
    rows = [
        (" ".join(part for part in CHOICES[choice] if part), f"{count:,}")
        for choice, count in done.choices.items()
        if count
    ]
    console.table(["answer", "pairs"], rows, numeric=(1,))
    click.echo(f"characters shown {_gauge(done.characters)}, privacy risk {_gauge(done.risk)}")
