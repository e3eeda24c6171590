"""Pair view: cells with icons and words, meters, price of each step.

Everything comes from a `PairView`, which holds nothing that was not paid for.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.linkage.masking.icons import Icon
from discreet.linkage.review.views import CHOICES, REFUSALS, CellView, Gauge, PairView, Price, RowView, percent

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
    return ShownRow(name, view, _opened(cell), "; ".join(words))


def _opened(cell: CellView) -> frozenset[str]:
    kinds = {piece.kind for row in cell.rows for piece in row.pieces} - {"separator", "missing"}
    if cell.mode == "full":
        return frozenset(kinds)
    return frozenset(kinds - {"same"}) if cell.mode == "partial" else frozenset()
