"""Compatibility: the base records that a row of a display may belong to, cell by cell.

The score of the literature takes a masked cell for no constraint. Strictly, a base record is compatible with a cell if it
would look the same there beside some other base record: the same signs in both rows, the same icons, the same marks of
frequency, and in part the same characters. Attributes are intersected as in the plain score. The rule of the plain
score for agreeing cells is the special case of it: the value occurs at least twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from discreet.linkage.masking.columns import Array, AttributeIndex
from discreet.linkage.masking.comparison import ROW_1, Comparison, Kind, Mode, ValueView, compare_values, units_of
from discreet.linkage.masking.record_pair import Pair, Rules
from discreet.linkage.masking.text import DAY, FIRST, MONTH, SAME, SWAPPED, YEAR, Icon, frequency

FEW = 16
"""Up to one in so many records become a list, more a mask."""
REMEMBERED = 1 << 26
"""Bytes of compatible records that are remembered."""

Masks = tuple[Array, Array]


class Constraint(ABC):
    """What one cell says about the record behind it."""

    @abstractmethod
    def mask(self, records: Array | None = None) -> Array:
        """For each base record, or each of these, whether it is compatible."""

    def size(self) -> int:
        """How many base records are compatible."""
        return int(np.count_nonzero(self.mask()))

    def listed(self) -> Array | None:
        """The compatible records, if they are few and listed."""
        return None


@dataclass(frozen=True, eq=False)
class Equal(Constraint):
    """A cell in full: the value itself."""

    column: AttributeIndex
    code: int

    def size(self) -> int:
        """How many records have it."""
        return int(self.column.counts[self.code])

    def listed(self) -> Array | None:
        """They, unless they are many."""
        return self.column.holders(self.code) if self.size() * FEW <= len(self.column.codes) else None

    def mask(self, records: Array | None = None) -> Array:
        """Who has it."""
        codes = self.column.codes if records is None else self.column.codes[records]
        return np.asarray(codes == self.code)


@dataclass(frozen=True, eq=False)
class RecordMask(Constraint):
    """Any set of records, as a mask."""

    compatible: Array
    count: int | None = None

    def size(self) -> int:
        """How many they are."""
        return super().size() if self.count is None else self.count

    def mask(self, records: Array | None = None) -> Array:
        """Who is in it."""
        return self.compatible if records is None else np.asarray(self.compatible[records])


@dataclass(frozen=True, eq=False)
class Pattern(Constraint):
    """A cell in part that differs from its partner: some characters at their places, and the length."""

    column: AttributeIndex
    length: int
    shown: Sequence[tuple[int, int]]

    def mask(self, records: Array | None = None) -> Array:
        """Who has a value of that shape."""
        column = self.column
        lengths = column.lengths if records is None else column.lengths[records]
        compatible = np.asarray(lengths == self.length)
        for place, unit in self.shown:
            compatible &= column.at_place(place, unit) if records is None else column.among(records, place, unit)
        return compatible


@dataclass(frozen=True, eq=False)
class CompatibleRecords:
    """The records that are compatible with some cells: all, a list of few, or a mask.

    Opening a cell further only ever narrows the set, so that the records compatible with every possible next state are
    among those compatible with the present one: each next state costs one intersection with that set, and a count.
    """

    everybody: int
    records: Array | None = None
    mask: Array | None = None

    @classmethod
    def of(cls, constraints: Sequence[Constraint], everybody: int) -> CompatibleRecords:
        """Those compatible with all of them, narrowed by the shortest list first."""
        lists = [constraint.listed() for constraint in constraints]
        lengths = [1 << 62 if records is None else len(records) for records in lists]
        compatible = cls(everybody)
        for place in np.argsort(lengths, kind="stable"):
            compatible = compatible.narrowed(constraints[place])
        return compatible

    def __len__(self) -> int:
        if self.records is not None:
            return len(self.records)
        return self.everybody if self.mask is None else int(np.count_nonzero(self.mask))

    def narrowed(self, by: Constraint) -> CompatibleRecords:
        """Those who are compatible with one more cell."""
        if self.records is not None:
            return CompatibleRecords(self.everybody, records=self.records[by.mask(self.records)])
        listed = by.listed()
        if listed is not None:
            fitting = listed if self.mask is None else listed[self.mask[listed]]
            return CompatibleRecords(self.everybody, records=fitting)
        return CompatibleRecords(self.everybody, mask=by.mask() if self.mask is None else self.mask & by.mask())

    def count(self, by: Sequence[Constraint]) -> int:
        """How many are compatible with further cells."""
        if not by:
            return len(self)
        *first, last = by
        rest = self
        for constraint in first:
            rest = rest.narrowed(constraint)
        if rest.records is None and rest.mask is None:
            return last.size()
        return len(rest.narrowed(last))


def plain_constraint(columns: Sequence[AttributeIndex], pair: Pair, row: int, j: int, mode: Mode) -> Constraint | None:
    """What one cell says about the record behind it, by the score of the literature."""
    if mode == "masked":
        return None
    column, cell = columns[j], pair.cells[j]
    if mode == "full":
        return Equal(column, int(column.codes[pair.records[row]]))
    if cell.equal:
        return RecordMask(column.shared, column.sharing)
    side = cell.sides[row]
    return Pattern(column, side.total, [(place, column.unit_codes[unit]) for place, unit in side.shown])


@dataclass(frozen=True)
class Spellings:
    """The distinct texts of one column, by what a masked cell shows of them alone."""

    kind: Kind
    column: AttributeIndex
    formats: tuple[str, ...]
    is_name: bool

    @cached_property
    def texts(self) -> list[str | None]:
        """All of them."""
        return [self.column.text(code) for code in range(len(self.column.offsets) - 1)]

    @cached_property
    def units(self) -> list[Sequence[str]]:
        """Their characters."""
        return [units_of(self.kind, text or "", self.formats)[0] for text in self.texts]

    @cached_property
    def records(self) -> Array:
        """How many records have each."""
        return np.bincount(self.column.spelt, minlength=len(self.texts))

    @cached_property
    def marks(self) -> list[Icon]:
        """How common the value of each is."""
        holders = np.zeros(len(self.texts), dtype=np.int64)
        holders[self.column.spelt] = self.column.counts[self.column.codes]
        return [frequency(count) for count in holders.tolist()]

    @cached_property
    def by_shape(self) -> dict[Hashable, list[int]]:
        """The texts of each shape."""
        return _grouped(range(len(self.texts)), self.shape)

    def shaped_like(self, code: int) -> Array:
        """For each record whether its text has the shape of this one."""
        found = np.zeros(len(self.texts), dtype=bool)
        found[self.by_shape[self.shape(code)]] = True
        return np.asarray(found[self.column.spelt])

    def shape(self, code: int) -> Hashable:
        """What a masked cell shows of a text, whatever is beside it."""
        text = self.texts[code]
        if text is None:
            return None
        layout = units_of(self.kind, text, self.formats)[1]
        length = 0 if self.kind == "category" else len(self.units[code])
        return length, layout.pattern if layout else "", self.marks[code] if self.is_name else None


@dataclass(frozen=True, eq=False)
class Strictness:
    """Who is compatible with the cells of a display, strictly."""

    rules: Rules
    columns: tuple[AttributeIndex, ...]
    _known: dict[Hashable, Masks] = field(default_factory=dict)

    @cached_property
    def spellings(self) -> tuple[Spellings, ...]:
        """The distinct texts of each column."""
        parts = zip(self.rules.kinds, self.columns, self.rules.formats, self.rules.names, strict=True)
        return tuple(Spellings(*part) for part in parts)

    def constraint(self, pair: Pair, row: int, j: int, mode: Mode) -> Constraint:
        """What a cell says about the record behind it."""
        column = self.columns[j]
        if mode == "full":
            return Equal(column, int(column.codes[pair.records[row]]))
        spelt = tuple(int(column.spelt[record]) for record in pair.records)
        along = pair.along[j]
        key = (j, mode, spelt) if along is None else (j, along, pair.records)
        if key not in self._known:
            found = self._alike(j, spelt, pair.cells[j], mode) if along is None else self._exchanged(pair, j, along)
            if len(self._known) * 2 * len(column.codes) >= REMEMBERED:
                self._known.clear()
            self._known[key] = found
        return RecordMask(self._known[key][row])

    def _alike(self, j: int, spelt: tuple[int, ...], cell: Comparison, mode: Mode) -> Masks:
        """The records that would look the same in row 1, and those that would in row 2."""
        spellings = self.spellings[j]
        if cell.left.value is None or cell.right.value is None:
            return spellings.shaped_like(spelt[0]), spellings.shaped_like(spelt[1])
        if cell.equal and spellings.shape(spelt[0]) == spellings.shape(spelt[1]):
            shared = spellings.shaped_like(spelt[0]) & (spellings.records > 1)[spellings.column.spelt]
            return shared, shared
        # Two texts differ: only those that have the hidden characters in common are compared.
        first, second = (spellings.by_shape[spellings.shape(code)] for code in spelt)
        partners = _grouped(second, lambda code: _common(spellings, code, cell.right))
        others = _grouped(first, lambda code: _common(spellings, code, cell.left))
        alike = np.zeros((2, len(spellings.texts)), dtype=bool)
        for x in first:
            self._match(j, ((x, y) for y in partners[_common(spellings, x, cell.left)]), cell, mode, alike)
        for y in second:
            if not alike[1][y]:
                self._match(j, ((x, y) for x in others[_common(spellings, y, cell.right)]), cell, mode, alike)
        return alike[0][spellings.column.spelt], alike[1][spellings.column.spelt]

    def _match(self, j: int, pairs: Iterator[tuple[int, int]], cell: Comparison, mode: Mode, alike: Array) -> None:
        """Mark the first of the pairs that looks like the cell."""
        spellings, formats, date_swap = self.spellings[j], self.rules.formats[j], self.rules.date_swap
        for x, y in pairs:
            if x == y and spellings.records[x] < 2:
                continue
            other = compare_values(self.rules.kinds[j], spellings.texts[x], spellings.texts[y], formats, date_swap)
            if _looks(other, mode) == _looks(cell, mode):
                alike[0][x] = alike[1][y] = True
                return

    def _exchanged(self, pair: Pair, j: int, along: int) -> Masks:
        """The records whose two names another record has exchanged, and that would look the same."""
        here, there = self.spellings[min(j, along)], self.spellings[max(j, along)]
        spelt = list(zip(here.column.spelt.tolist(), there.column.spelt.tolist(), strict=True))
        shown = [(here.shape(spelt[record][0]), there.shape(spelt[record][1])) for record in pair.records]
        by_names = {(here.texts[x], there.texts[y]): (here.shape(x), there.shape(y)) for x, y in set(spelt)}
        masks = np.zeros((2, len(spelt)), dtype=bool)
        for record, (x, y) in enumerate(spelt):
            own, other = (here.shape(x), there.shape(y)), by_names.get((there.texts[y], here.texts[x]))
            if here.texts[x] != there.texts[y] and None not in own:
                masks[0][record] = (own, other) == (shown[0], shown[1])
                masks[1][record] = (other, own) == (shown[0], shown[1])
        return masks[0], masks[1]


def _looks(cell: Comparison, mode: Mode) -> Hashable:
    return cell.masked, cell.markup, cell.equal, cell.text(mode)


def _common(spellings: Spellings, code: int, like: ValueView) -> Hashable:
    """What the other value must have too: the same characters, and those that were exchanged.

    Nothing for a category, of which not even the length is shown.
    """
    if like.at_once:
        return ()
    units, is_first = spellings.units[code], like.symbol == ROW_1
    if SWAPPED in like.signs:
        month, day = tuple(units[MONTH]), tuple(units[DAY])
        parts: list[Hashable] = [(month, day) if is_first else (day, month)]
        signs = like.signs[YEAR]
    else:
        parts, signs = [], like.signs
    for place, sign in enumerate(signs):
        if sign == SAME:
            parts.append(units[place])
        elif sign == FIRST:
            both = units[place], units[place + 1]
            parts.append(both if is_first else both[::-1])
    return tuple(parts)


def _grouped(codes: Iterable[int], key: Callable[[int], Hashable]) -> dict[Hashable, list[int]]:
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for code in codes:
        groups[key(code)].append(code)
    return groups
