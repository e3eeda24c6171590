"""Views for reviewers: everything a page needs, nothing that was not paid for.

An exact price names how many people share a hidden value, and to those who have a register at hand often the value. The
quote is therefore an upper bound that follows from the display alone, so that all values which look alike have the same one,
rounded up to one of five bands. What is charged is exact, and known after the step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.kernel.amounts import parts_up
from discreet.kernel.serialise import json_of
from discreet.linkage.masking.columns import AttributeIndex
from discreet.linkage.masking.comparison import Comparison, Kind, Mode, Piece
from discreet.linkage.masking.kapr import Meter
from discreet.linkage.masking.record_pair import Pair, State
from discreet.linkage.masking.text import ICONS, Icon, frequency
from discreet.linkage.project import Initial

CHOICES: Mapping[int, tuple[str, str]] = {
    0: ("can't tell", ""),
    1: ("different", "high"),
    2: ("different", "medium"),
    3: ("different", "low"),
    4: ("same", "low"),
    5: ("same", "medium"),
    6: ("same", "high"),
}
"""What can be answered, by key: the answer, and how sure it is."""

REFUSALS = {
    "risk": "your limit of privacy risk would be passed",
    "characters": "your limit of characters would be passed",
    "project risk": "the project's limit of privacy risk would be passed",
    "project characters": "the project's limit of characters would be passed",
    "kappa": "fewer people than must remain would look like this",
    "closed": "the project is closed",
    "static": "this interface of the study shows all that it has",
}
"""Why a cell stays shut, in words."""


@dataclass(frozen=True)
class Condition:
    """One interface of a study of reviewers."""

    initial: Initial
    """What is open at the start."""
    words: str
    static: bool = True
    """Nothing more can be opened, as in the authors' study."""
    markup: bool = True
    """Differences are marked."""


CONDITIONS: Mapping[str, Condition] = {
    "masked": Condition("masked", "every character is masked; only differences are marked"),
    "minimum": Condition("minimum", "where values differ in part, the differing characters are open"),
    "moderate": Condition("moderate", "every value that differs is open, in part where that is possible"),
    "full": Condition("full", "everything is open, and differences are marked"),
    "full without markup": Condition("full", "everything is open, nothing is marked", markup=False),
    "on demand": Condition("masked", "masked at the start; participants open cells themselves", static=False),
}
"""The five interfaces of Ragan, Kum, Ilangovan and Wang (CHI 2018), and MINDFIRL's own, in which cells are opened."""


REPORTED = {"masked": "74.5 %", "minimum": "not printed", "moderate": "similar to full", "full": "84.1 %"}
"""Right decisions in the study of 104 people that the paper on MINDFIRL cites, by what was shown; moderate is about the 30 %
of the characters with which decisions were as good as with all.
"""


def percent(value: Fraction) -> float:
    """A share as a percentage for people; amounts that count are the exact ones.

    >>> percent(Fraction(31, 432))
    7.176
    """
    return round(float(100 * value), 3)


@dataclass(frozen=True)
class Gauge:
    """One of the two meters: how much of it is used, and where its limit is."""

    used: Fraction
    limit: Fraction | None

    to_dict = json_of(
        "used",
        percent=lambda self: percent(self.used),
        limit=lambda self: self.limit,
        limit_percent=lambda self: None if self.limit is None else percent(self.limit),
    )


def gauge(used: Fraction, limit: str | None) -> Gauge:
    """A gauge whose limit is written as exact text."""
    return Gauge(used, None if limit is None else Fraction(limit))


@dataclass(frozen=True)
class Price:
    """What the next step adds to both meters at most, by what the display shows; and why it is refused, if it is in any case."""

    mode: Mode
    risk: Fraction
    characters: Fraction
    refused: str | None = None
    """A key of REFUSALS."""

    to_dict = json_of(
        "mode risk",
        risk_percent=lambda self: percent(self.risk),
        characters=lambda self: self.characters,
        characters_percent=lambda self: percent(self.characters),
        refused=lambda self: self.refused,
    )


@dataclass(frozen=True)
class RowView:
    """One value as far as it is open."""

    text: str
    pieces: tuple[Piece, ...]
    words: str
    """The value for people who cannot see it."""
    frequency: Icon | None

    to_dict = json_of(
        "text words pieces", frequency=lambda self: None if self.frequency is None else self.frequency.name
    )


@dataclass(frozen=True)
class CellView:
    """The two values of one attribute."""

    attribute: str
    kind: Kind
    mode: Mode
    marks: tuple[Icon, ...]
    rows: tuple[RowView, RowView]
    together: str | None
    """The attribute that opens along with it: names that changed places."""
    next: Price | None
    """None where all is open."""

    @property
    def unmarked(self) -> CellView:
        """The same in an interface without markup: the two values alone."""
        rows = tuple(replace(row, pieces=(Piece("plain", row.text),), frequency=None) for row in self.rows)
        return replace(self, marks=(), rows=(rows[0], rows[1]), together=None)

    to_dict = json_of("attribute kind mode rows together next", marks=lambda self: [mark.name for mark in self.marks])


@dataclass(frozen=True)
class PairView:
    """A pair as one reviewer sees it."""

    project: str
    pair: int
    role: str
    version: int
    """To be sent along with the next step: if it has grown meanwhile, nothing is opened and nothing is charged."""
    place: int
    """Which of the reviewer's pairs it is, from 1."""
    pairs: int
    decided: int
    choice: int | None
    """What was decided, a key of CHOICES."""
    previous: int | None
    following: int | None
    """The pairs before and after it, in the reviewer's order."""
    cells: tuple[CellView, ...]
    characters: Gauge
    risk: Gauge
    tables: tuple[str, str] = ("", "")
    """The tables that the two records are from."""

    def cell(self, attribute: str) -> CellView:
        """The cell of an attribute."""
        return next(cell for cell in self.cells if cell.attribute == attribute)

    to_dict = json_of(
        "project pair role version place pairs decided choice previous following tables cells",
        meters=lambda self: {"characters": self.characters, "risk": self.risk},
    )

    def __repr__(self) -> str:
        return f"PairView({self.project}, pair {self.pair}, version {self.version})"


# -- the display of a pair: what is seen before it is paid for, and the price quoted for a step

BANDS = (Fraction(1, 50), Fraction(1, 5), Fraction(1, 2), Fraction(1))
"""Upper edges of the bands but the highest. 1 is an attribute of both records, opened in full and shared with nobody."""
LEAST_HOLDERS = {"unique": 1, "rare": 2, "common": 6, "very-common": 101}
"""At least so many records share a value, by the word beside it."""


@dataclass(frozen=True)
class Bound:
    """What a step takes of the budgets, between what it takes at least and at most."""

    parts: int
    characters: int


@dataclass(frozen=True, eq=False)
class PairDisplay:
    """A pair in a state. With `strict`, a masked cell shows only whether the values agree, differ or are missing."""

    columns: Sequence[AttributeIndex]
    """The base records, for how many share a length or a frequency."""
    pair: Pair
    state: State
    meter: Meter
    strict: bool

    def rows(self, j: int) -> tuple[RowView, RowView]:
        """Both values of a cell as far as they are open."""
        cell, mode = self.pair.cells[j], self.state[j]
        texts, pieces, frequencies = cell.text(mode), cell.pieces(mode), self._frequencies(j, mode)
        first, second = (
            _unsized(cell, row, frequencies[row])
            if self._hides_length(j, row, mode)
            else RowView(texts[row], pieces[row], _words(cell, row, mode), frequencies[row])
            for row in (0, 1)
        )
        return first, second

    def marks(self, j: int) -> tuple[Icon, ...]:
        """The icons of a cell: how its values differ."""
        cell = self.pair.cells[j]
        plain = not self.strict or self.state[j] != "masked" or cell.equal or cell.markup == (ICONS["missing"],)
        return cell.markup if plain else (ICONS["different"],)

    def together(self, j: int) -> str | None:
        """The attribute that opens along with a cell: names that changed places."""
        along = self.pair.along[j]
        return None if along is None or (self.strict and self.state[j] == "masked") else self.pair.attributes[along]

    def most(self, after: State, now: Fraction) -> Bound:
        """What a step takes at most, whatever is hidden; the risk is the upper edge of its band."""
        if self.strict:
            opened = [sum(mode != "masked" for mode in after)] * 2
            above = sum((Fraction(count, self.meter.kappa) for count in opened), Fraction(0))
        else:
            first, second = self.pair.shares(after)
            above = first / self._least_alike(0, after) + second / self._least_alike(1, after)
        rise, unit = above - now, Fraction(2, self.meter.kappa)
        edge = next((band * unit for band in BANDS if rise <= band * unit), unit * self.meter.attributes)
        characters = sum(self._characters(j, after[j], most=True) for j in self._changed(after))
        return Bound(parts_up(edge, self.meter.parts), characters)

    def least(self, after: State, now: Fraction, anonymity: tuple[int, int]) -> Bound:
        """What a step takes at least: nobody else may come to look like the rows when more is open."""
        if self.strict:  # decided by the most, so that a refusal tells nothing
            return self.most(after, now)
        first, second = self.pair.shares(after)
        rise = self.meter.cost(now, max(now, first / anonymity[0] + second / anonymity[1]))
        characters = sum(self._characters(j, after[j], most=False) for j in self._changed(after))
        return Bound(int(rise * self.meter.parts), characters)

    def _changed(self, after: State) -> list[int]:
        return [j for j, mode in enumerate(after) if mode != self.state[j]]

    def _least_alike(self, row: int, after: State) -> int:
        """How many base records are compatible with a row at least, by what the display says now."""
        opened = [j for j, mode in enumerate(after) if mode != "masked"]
        agree = all(self.pair.cells[j].equal for j in opened)
        least = max(self.meter.kappa, 2 if agree else 1)
        if len(opened) > 1:
            return least
        if self.pair.cells[opened[0]].kind == "category":
            return max(least, _fewest_holders(self.columns[opened[0]], 2 if agree else 1))
        shown = self._frequencies(opened[0], "masked")[row]
        return least if shown is None else max(least, LEAST_HOLDERS[shown.name])

    def _characters(self, j: int, mode: Mode, *, most: bool) -> int:
        """How many characters a cell shows in a mode, beyond those it shows now; a bound where the length is hidden."""
        cell, count = self.pair.cells[j], 0
        for row, side in enumerate(cell.sides):
            if side.value is None:
                continue
            if self._hides_length(j, row, self.state[j]):
                count += _longest(self.columns[j]) if most else 1
            elif side.at_once:
                count += mode == "full"
            else:
                count += side.disclosed(mode) - side.disclosed(self.state[j])
        return count

    def _frequencies(self, j: int, mode: Mode) -> tuple[Icon | None, Icon | None]:
        """How common both values are, where that is said."""
        said = self.pair.frequencies[j]
        if said is None or (self.strict and mode != "full"):
            return None, None
        first, second = (self._enough(_by_frequency(self.columns[j])[icon.name]) for icon in said)
        return said[0] if first else None, said[1] if second else None

    def _hides_length(self, j: int, row: int, mode: Mode) -> bool:
        """Whether the length of a value is hidden: of those that agree, of few records, and of all if strict."""
        cell = self.pair.cells[j]
        side = cell.sides[row]
        if side.value is None or side.at_once or mode == "full" or (mode == "partial" and not cell.equal):
            return False
        return self.strict or cell.equal or not self._enough(_by_length(self.columns[j])[side.total])

    def _enough(self, values: int) -> bool:
        return self.meter.kappa == 1 or values >= self.meter.kappa


@lru_cache(maxsize=256)
def _by_frequency(column: AttributeIndex) -> Mapping[str, int]:
    """How many values are of each frequency: a word for a single one would name it."""
    found: Counter[str] = Counter()
    for holders, values in zip(*np.unique(column.counts, return_counts=True), strict=True):
        found[frequency(int(holders)).name] += int(values)
    return found


@lru_cache(maxsize=256)
def _by_length(column: AttributeIndex) -> Mapping[int, int]:
    """How many values are of each length."""
    spelt = np.unique(column.spelt, return_index=True)[1]
    lengths, values = np.unique(column.lengths[spelt], return_counts=True)
    return Counter(dict(zip(lengths.tolist(), values.tolist(), strict=True)))


@lru_cache(maxsize=256)
def _fewest_holders(column: AttributeIndex, least: int) -> int:
    """No value that this many records share is shared by fewer: of two sexes, the rarer one."""
    return int(min(column.counts[column.counts >= least], default=least))


@lru_cache(maxsize=256)
def _longest(column: AttributeIndex) -> int:
    """No value has more characters than this."""
    return int(np.diff(column.offsets).max(initial=1))


def _unsized(cell: Comparison, row: int, icon: Icon | None) -> RowView:
    """A value of which not even the length is seen: one sign."""
    sign = "*" if cell.equal else cell.sides[row].symbol
    words = "hidden" if cell.equal else "hidden, different"
    return RowView(sign, (Piece("same" if cell.equal else "different", sign),), words, icon)


def _words(cell: Comparison, row: int, mode: Mode) -> str:
    """The value in words, for screen readers; no character that the signs do not show."""
    side = cell.sides[row]
    if side.value is None:
        return "missing"
    if mode == "full":
        return side.text(mode)
    if side.at_once:
        return "hidden"
    differing = side.disclosed("partial")
    length = f"{side.total} character{'s' * (side.total != 1)}"
    if mode == "partial" and cell.has_partial and not cell.equal:
        signs = (sign for piece in side.pieces("partial") for sign in piece.text)
        return f"{length}: {' '.join('hidden' if sign == '*' else sign for sign in signs)}"
    if not differing:
        return f"{length}, hidden"
    return f"{length}, {'all' if differing == side.total else differing} different"
