"""Review of pairs: pages, and the view of one pair.

Nothing about a mode or a price is taken from the form: it names a cell, the click, and the state it was clicked in.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Any

from starlette.responses import HTMLResponse, Response

from discreet.errors import DiscreetError
from discreet.linkage import MARKS
from discreet.linkage.masking.icons import Icon
from discreet.linkage.progress import summary
from discreet.linkage.project import Project
from discreet.linkage.review import decisions, reveal
from discreet.linkage.review.views import CHOICES, REFUSALS, CellView, Gauge, PairView, Price, RowView, percent
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.problems import Problem, page_problem, problem_of
from discreet.web.framework.route import Loads, numbered
from discreet.web.framework.site import span
from discreet.web.linkage import store as linkage_store

NONCE = re.compile(r"[0-9a-f]{32}")
MOST_VERSIONS = 10**6


@dataclass(frozen=True)
class ReviewTarget:
    """A reviewer's project, and, on the page of a pair, which pair."""

    project: Project
    worker: str
    pair: int = 0

    @property
    def address(self) -> str:
        """The page of the pair."""
        return f"/linkage/{self.project.id}/pairs/{self.pair}"


def _find(context: Context, path: dict[str, str]) -> ReviewTarget | None:
    number, worker = numbered(path["number"]), context.owner.name
    with context.site.store.reading() as connection:
        project = linkage_store.find(connection, number)
        reviews = project is not None and linkage_store.takes_part(connection, number, worker)
    return ReviewTarget(project, worker) if project is not None and reviews else None


def _find_pair(context: Context, path: dict[str, str]) -> ReviewTarget | None:
    number, pair, worker = numbered(path["number"]), numbered(path["pair"]), context.owner.name
    with context.site.store.reading() as connection:
        project = linkage_store.find(connection, number)
        given = project is not None and linkage_store.has_pair(connection, number, worker, pair)
    return ReviewTarget(project, worker, pair) if project is not None and given else None


TASK = Loads("linkage task", find=_find, may=lambda context, mine: mine.worker == context.owner.name)
PAIR = Loads("linkage pair", find=_find_pair, may=lambda context, mine: mine.worker == context.owner.name)
"""Pairs exist only for the reviewers to whom they are assigned."""


def next_pair(context: Here) -> Response:
    """To the first pair that is not decided, or to the summary."""
    mine: ReviewTarget = context.loaded
    pair = decisions.next_pair(context.site.store, mine.project, mine.worker)
    return go(f"/linkage/{mine.project.id}/done" if pair is None else f"/linkage/{mine.project.id}/pairs/{pair}")


def pair_page(context: Here) -> Response:
    """One pair as far as it is open."""
    return _page(context)


def open_cell(context: Here) -> Response:
    """Open one cell by one step; a refusal is shown on the page."""
    mine: ReviewTarget = context.loaded
    live = context.form.text("live") == "1"
    try:
        view, place = _opened(context, mine)
    except DiscreetError as error:
        problem = page_problem(error)
        return _fragment(context, problem=problem) if live else _page(context, problem=problem)
    if live:
        return _fragment(context, view=view, place=place)
    return go(f"{mine.address}#cell-{place}")


def _opened(context: Context, mine: ReviewTarget) -> tuple[PairView, int]:
    form, names = context.form, mine.project.attributes
    place = form.whole("cell", least=0, most=len(names) - 1)
    nonce, seen = form.text("key", most=32), form.whole("seen", least=0, most=MOST_VERSIONS)
    if not NONCE.fullmatch(nonce):
        raise Problem(422, "The form is not valid.", remedy="Reload the page and choose the cell again.")
    ledger, key = context.site.ledger, f"review-{nonce}-{place}"
    view = reveal.reveal(ledger, mine.project, mine.worker, mine.pair, names[place], key=key, seen=seen)
    return view, place


def decide(context: Here) -> Response:
    """Save an answer, and continue with the next pair that is not decided."""
    mine: ReviewTarget = context.loaded
    choice = int(context.form.choice("choice", tuple(str(one) for one in CHOICES)))
    try:
        decisions.decide(context.site.store, mine.project, mine.worker, mine.pair, choice)
    except DiscreetError as error:
        return _page(context, problem=problem_of(error))
    with context.site.store.reading() as connection:
        following = linkage_store.next_open(connection, mine.project.id, mine.worker, mine.pair)
    if following is None:
        return go(f"/linkage/{mine.project.id}/done")
    return go(f"/linkage/{mine.project.id}/pairs/{following}")


def undo(context: Here) -> Response:
    """Undo the decision on this pair, or else the last one; opened cells stay open, and charged."""
    mine: ReviewTarget = context.loaded
    store = context.site.store
    view = reveal.view(context.site.ledger, mine.project, mine.worker, mine.pair)
    pair: int | None = mine.pair
    if view.choice is None:
        pair = decisions.last_decided(store, mine.project, mine.worker)
    if pair is None:
        return go(mine.address, said="nothing-to-undo")
    try:
        decisions.undo(store, mine.project, mine.worker, pair)
    except DiscreetError as error:
        return _page(context, problem=problem_of(error))
    return go(f"/linkage/{mine.project.id}/pairs/{pair}", said="decision-undone")


def done_page(context: Here) -> Response:
    """The reviewer's decisions, what was shown for them, and thanks."""
    mine: ReviewTarget = context.loaded
    progress = summary(context.site.ledger, mine.project, mine.worker)
    with context.site.store.reading() as connection:
        first = linkage_store.first_pair(connection, mine.project.id, mine.worker)
    return context.page(
        "review_done.html",
        project=mine.project,
        mine=progress,
        first=first,
        written=written,
        time=span(timedelta(seconds=progress.seconds)),
    )


def _page(context: Context, *, problem: Problem | None = None) -> Response:
    mine: ReviewTarget = context.loaded
    view = reveal.view(context.site.ledger, mine.project, mine.worker, mine.pair)
    undoable = decisions.last_decided(context.site.store, mine.project, mine.worker) is not None
    return context.page("review.html", undoable=undoable, marks=MARKS, **_parts(mine, shown(view), problem))


def _fragment(
    context: Context, *, view: PairView | None = None, place: int = 0, problem: Problem | None = None
) -> Response:
    """Only what changes, for the page's own script."""
    mine: ReviewTarget = context.loaded
    seen = view or reveal.view(context.site.ledger, mine.project, mine.worker, mine.pair)
    pair = shown(seen)
    values = _parts(mine, pair, problem, announce=problem.problem if problem else _announced(pair, place))
    markup = context.site.render("review_pair.html", values)
    return HTMLResponse(markup, status_code=problem.status if problem else 200)


def _announced(pair: ShownPair, place: int) -> str:
    meters = ", ".join(f"{meter.label.lower()} {meter.used}" for meter in pair.meters)
    cell = pair.cells[place]
    opened = [cell, *(other for other in pair.cells if other.view.together == cell.view.attribute)]
    return f"{'. '.join(cell.announced for cell in opened)}. {meters}."


def _parts(mine: ReviewTarget, pair: ShownPair, problem: Problem | None, *, announce: str = "") -> dict[str, Any]:
    return {
        "project": mine.project,
        "pair": pair,
        "nonce": secrets.token_hex(16),
        "problem": problem,
        "announce": announce,
        "short": SHORT_MARKS,
        "written": written,
    }


# Pair view: cells with icons and words, meters, price of each step.
#
# Everything comes from a `PairView`, which holds nothing that was not paid for.
ROWS = ("A", "B")
ROOM = Fraction(5, 4)
"""A meter reaches a quarter further than its limit."""
SHORT_MARKS = {
    "equal": "same",
    "different": "different",
    "indel": "inserted",
    "replace": "replaced",
    "transpose": "exchanged",
    "name-swap": "names swapped",
    "date-swap": "day and month swapped",
    "missing": "missing",
    "unique": "unique",
    "rare": "rare",
    "common": "common",
    "very-common": "very common",
}
"""The words below icons."""
STEPS = {"partial": "Show what differs", "full": "Show in full"}
KEYS = (1, 2, 3, 4, 5, 6)


@dataclass(frozen=True)
class ShownRow:
    """One value."""

    row: str
    view: RowView
    opened: frozenset[str]
    """Kinds of pieces that are open."""
    words: str
    """The text for a screen reader: attribute, row, and what is known of the value."""


@dataclass(frozen=True)
class ShownCell:
    """The two values of an attribute, and the next step."""

    place: int
    label: str
    view: CellView
    rows: tuple[ShownRow, ShownRow]
    marks: tuple[Icon, ...]
    step: str
    """What the next step does; empty where all is open."""
    refused: str
    """Why it would be refused; empty if it would not."""

    @property
    def price(self) -> Price | None:
        """What the next step costs."""
        return self.view.next

    @property
    def announced(self) -> str:
        """Both rows, for a screen reader."""
        return ". ".join(row.words for row in self.rows)


@dataclass(frozen=True)
class ShownMeter:
    """A meter: the share used, the limit, and the scale of the bar."""

    key: str
    label: str
    gauge: Gauge

    @property
    def scale(self) -> Fraction:
        """The share that the whole length of the bar means."""
        if self.gauge.limit is None or self.gauge.limit == 0:
            return Fraction(1)
        return min(Fraction(1), self.gauge.limit * ROOM)

    def along(self, value: Fraction) -> str:
        """Where a share is on the bar, in per cent of its length."""
        return f"{min(100.0, float(100 * value / self.scale)):.3f}"

    @property
    def used(self) -> str:
        """In words."""
        return written(self.gauge.used)

    @property
    def limit(self) -> str:
        """In words."""
        return "no limit" if self.gauge.limit is None else f"limit {written(self.gauge.limit)}"

    @property
    def now(self) -> float:
        """The number, for a screen reader."""
        return percent(self.gauge.used)


@dataclass(frozen=True)
class AnswerButton:
    """One of the six answers, or "can't tell"."""

    choice: int
    letter: str
    words: str
    chosen: bool


@dataclass(frozen=True)
class ShownPair:
    """A pair as the page shows it."""

    view: PairView
    cells: tuple[ShownCell, ...]
    meters: tuple[ShownMeter, ShownMeter]
    different: tuple[AnswerButton, ...]
    same: tuple[AnswerButton, ...]
    cannot_tell: AnswerButton

    @property
    def percent(self) -> int:
        """The share of the reviewer's pairs that is decided."""
        return 100 * self.view.decided // max(1, self.view.pairs)

    @property
    def decided(self) -> str:
        """The decision in words; empty if there is none."""
        return "" if self.view.choice is None else answer_words(self.view.choice)


def shown(view: PairView) -> ShownPair:
    """A view, ready for the page."""
    answers = [_answer(choice, view.choice) for choice in KEYS]
    return ShownPair(
        view,
        tuple(_cell(place, cell) for place, cell in enumerate(view.cells)),
        (
            ShownMeter("characters", "Characters shown", view.characters),
            ShownMeter("risk", "Privacy risk", view.risk),
        ),
        tuple(answers[:3]),
        tuple(answers[3:]),
        _answer(0, view.choice),
    )


def written(share: Fraction) -> str:
    """A share in per cent, with enough digits that a share above zero never looks like zero.

    >>> written(Fraction(41, 1000)), written(Fraction(0)), written(Fraction(1, 100_000)), written(Fraction(3, 10))
    ('4.1 %', '0 %', '0.001 %', '30 %')
    """
    value = float(100 * share)
    if value == 0 or value >= 100:
        return f"{value:.0f} %"
    digits = 1 if value >= 1 else 2
    while digits < 6 and round(value, digits) == 0:
        digits += 1
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") + " %"


def label_of(attribute: str) -> str:
    """The name of a column as people read it.

    >>> label_of("birth_date")
    'birth date'
    """
    return attribute.replace("_", " ").strip() or attribute


def answer_words(choice: int) -> str:
    """An answer in words.

    >>> answer_words(6), answer_words(0)
    ('same, high confidence', "can't tell")
    """
    answer, sure = CHOICES[choice]
    return f"{answer}, {sure} confidence" if sure else answer


def _answer(choice: int, chosen: int | None) -> AnswerButton:
    sure = CHOICES[choice][1]
    return AnswerButton(choice, sure[:1].upper() or "?", answer_words(choice), choice == chosen)


def _cell(place: int, cell: CellView) -> ShownCell:
    price = cell.next
    return ShownCell(
        place,
        label_of(cell.attribute),
        cell,
        (_row(cell, 0), _row(cell, 1)),
        cell.marks,
        "" if price is None else STEPS[price.mode],
        "" if price is None or price.refused is None else REFUSALS[price.refused],
    )


def _row(cell: CellView, place: int) -> ShownRow:
    view, name, other = cell.rows[place], ROWS[place], ROWS[1 - place]
    words = [f"{label_of(cell.attribute)}, row {name}: {view.words}"]
    if cell.together is not None:
        words.append(f"swapped with {label_of(cell.together)} of row {other}")
    elif view.words != "missing":
        words += [mark.words for mark in cell.marks if mark.name != "missing"]
    if view.frequency is not None:
        words.append(view.frequency.words)
    return ShownRow(name, view, _opened_pair_view(cell), "; ".join(words))


def _opened_pair_view(cell: CellView) -> frozenset[str]:
    kinds = {piece.kind for row in cell.rows for piece in row.pieces} - {"separator", "missing"}
    if cell.mode == "full":
        return frozenset(kinds)
    return frozenset(kinds - {"same"}) if cell.mode == "partial" else frozenset()
