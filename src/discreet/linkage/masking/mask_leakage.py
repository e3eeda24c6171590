"""Leakage of masks: lengths, icons, agreement, and frequency of names.

The score of the literature takes a masked cell for no constraint. Strictly, a base record is compatible with a cell if it
would look the same there beside some other base record: the same signs in both rows, the same icons, the same marks of
frequency, and in part the same characters. Attributes are intersected as in the plain score. The rule of the plain
score for agreeing cells is the special case of it: the value occurs at least twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from discreet.linkage.masking.column_index import Array, AttributeIndex, Constraint, Equal, RecordMask
from discreet.linkage.masking.compare import Rules, compare_values, units_of
from discreet.linkage.masking.comparison import ROW_1, Comparison, Kind, Mode, Pair, ValueView
from discreet.linkage.masking.icons import Icon, frequency
from discreet.linkage.masking.text import DAY, FIRST, MONTH, SAME, SWAPPED, YEAR

KEPT = 1 << 26
"""Bytes of compatible records that are remembered."""

Masks = tuple[Array, Array]


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
        found: dict[Hashable, list[int]] = defaultdict(list)
        for code in range(len(self.texts)):
            found[self.shape(code)].append(code)
        return found

    def shaped_like(self, code: int) -> Array:
        """For each record whether its text has the shape of this one."""
        found = np.zeros(len(self.texts), dtype=bool)
        found[self.by_shape[self.shape(code)]] = True
        return np.asarray(found[self.column.spelt])

    def shape(self, code: int) -> Hashable:
        """What a masked cell shows of a text whatever stands beside it."""
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
            if len(self._known) * 2 * len(column.codes) >= KEPT:
                self._known.clear()
            self._known[key] = found
        return RecordMask(self._known[key][row])

    def _alike(self, j: int, spelt: tuple[int, ...], cell: Comparison, mode: Mode) -> Masks:
        """The records that would look the same in row 1, and those that would in row 2."""
        known = self.spellings[j]
        if cell.left.value is None or cell.right.value is None:
            return known.shaped_like(spelt[0]), known.shaped_like(spelt[1])
        if cell.equal and known.shape(spelt[0]) == known.shape(spelt[1]):
            shared = known.shaped_like(spelt[0]) & (known.records > 1)[known.column.spelt]
            return shared, shared
        return self._joined(j, spelt, cell, mode)

    def _joined(self, j: int, spelt: tuple[int, ...], cell: Comparison, mode: Mode) -> Masks:
        """The same where two texts differ: only those that have the hidden characters in common are compared."""
        known = self.spellings[j]
        first, second = known.by_shape[known.shape(spelt[0])], known.by_shape[known.shape(spelt[1])]
        partners, others = _grouped(known, second, cell.right), _grouped(known, first, cell.left)
        found = np.zeros((2, len(known.texts)), dtype=bool)
        for x in first:
            self._match(j, ((x, y) for y in partners[_common(known, x, cell.left)]), cell, mode, found)
        for y in second:
            if not found[1][y]:
                self._match(j, ((x, y) for x in others[_common(known, y, cell.right)]), cell, mode, found)
        return found[0][known.column.spelt], found[1][known.column.spelt]

    def _match(self, j: int, pairs: Iterator[tuple[int, int]], cell: Comparison, mode: Mode, found: Array) -> None:
        """Mark the first of the pairs that looks like the cell."""
        known = self.spellings[j]
        for x, y in pairs:
            if x == y and known.records[x] < 2:
                continue
            other = compare_values(
                self.rules.kinds[j], known.texts[x], known.texts[y], self.rules.formats[j], self.rules.date_swap
            )
            if _looks(other, mode) == _looks(cell, mode):
                found[0][x] = found[1][y] = True
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


def _common(known: Spellings, code: int, like: ValueView) -> Hashable:
    """What must be found in the other value: characters that are the same, and, turned round, those that were exchanged.

    Nothing for a category, of which not even the length is shown.
    """
    if like.at_once:
        return ()
    units, is_first = known.units[code], like.symbol == ROW_1
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


def _grouped(known: Spellings, codes: list[int], like: ValueView) -> dict[Hashable, list[int]]:
    found: dict[Hashable, list[int]] = defaultdict(list)
    for code in codes:
        found[_common(known, code, like)].append(code)
    return found
