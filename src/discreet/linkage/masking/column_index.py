"""Column index: which base records are compatible with a disclosed cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.kernel import Coded
from discreet.linkage.masking.compare import units_of
from discreet.linkage.masking.comparison import Kind
from discreet.linkage.masking.text import LONGEST, value_of

Array = NDArray[Any]
RARE = 16
"""A character place that fewer than one in so many records reach is kept as a list of records."""
FEW_VALUES = 255
"""With so few values the records of a value are found by comparing codes; otherwise they are listed."""


@dataclass(frozen=True, eq=False, repr=False)
class AttributeIndex:
    """What is known of one attribute: equal values have equal codes, a missing value is a value like others."""

    codes: Array
    """Per record: the code of its value."""
    counts: Array
    """Per code: how many records have it."""
    shared: Array
    """Per record: whether another one has the same value."""
    listed: Array
    """The records in the order of their codes; empty where there are few values."""
    starts: Array
    """Per code: where its records begin in the list."""
    lengths: Array
    """Per record: how many characters; 0 where no partial view can show it."""
    places: Array
    """Per place and record: the code of the character, 0 after the end."""
    late_records: Array
    """For the places that few records reach: which ones, one place after the other."""
    late_units: Array
    late_starts: Array
    spelt: Array
    """Per record: which of the texts it has; dates may be written in several ways."""
    texts: Array
    """All texts, in UTF-8, one after the other."""
    offsets: Array
    alphabet: tuple[str, ...]
    """The characters that occur, if they are not all ASCII; the first has code 1."""
    missing: int
    """The text that stands for a missing value; -1 if none is missing."""

    @cached_property
    def unit_codes(self) -> dict[str, int]:
        """The code of each character."""
        if self.alphabet:
            return {unit: code for code, unit in enumerate(self.alphabet, start=1)}
        return {chr(code): code for code in range(1, 128)}

    @cached_property
    def sharing(self) -> int:
        """How many records have a value that another one has too."""
        return int(np.count_nonzero(self.shared))

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return sum(array.nbytes for array in {id(one): one for one in arrays(self).values()}.values())

    def value(self, record: int) -> str | None:
        """The text of a record."""
        return self.text(int(self.spelt[record]))

    def text(self, code: int) -> str | None:
        """A text by its code."""
        if code == self.missing:
            return None
        return self.texts[self.offsets[code] : self.offsets[code + 1]].tobytes().decode("utf-8", "surrogatepass")

    def holders(self, code: int) -> Array | None:
        """The records that have a value; None where they are not listed."""
        return self.listed[self.starts[code] : self.starts[code + 1]] if len(self.listed) else None

    def at_place(self, place: int, unit: int) -> Array:
        """Which records have this character at this place."""
        if place < len(self.places):
            return np.asarray(self.places[place] == unit)
        found = np.zeros(len(self.codes), dtype=bool)
        records, units = self._late(place)
        found[records[units == unit]] = True
        return found

    def among(self, records: Array, place: int, unit: int) -> Array:
        """Which of these records have this character at this place."""
        if place < len(self.places):
            return np.asarray(self.places[place][records] == unit)
        late, units = self._late(place)
        at = np.searchsorted(late, records)
        at[at == len(late)] = 0
        return np.asarray((late[at] == records) & (units[at] == unit)) if len(late) else np.zeros(len(records), bool)

    def _late(self, place: int) -> tuple[Array, Array]:
        start, end = self.late_starts[place - len(self.places) : place - len(self.places) + 2]
        return self.late_records[start:end], self.late_units[start:end]


ARRAYS = tuple(name for name, kind in AttributeIndex.__annotations__.items() if kind == "Array")


def arrays(column: AttributeIndex) -> dict[str, Array]:
    """The arrays of a column by name."""
    return {name: getattr(column, name) for name in ARRAYS}


def build(kind: Kind, coded: Coded, *, formats: tuple[str, ...], normalise: tuple[str, ...]) -> AttributeIndex:
    """Lay out a column."""
    met = np.flatnonzero(np.bincount(coded.codes, minlength=len(coded.values)))
    spellings: dict[str | None, int] = {}
    respelt = np.zeros(len(coded.values), dtype=np.int64)
    for code in met.tolist():
        respelt[code] = spellings.setdefault(value_of(coded.values[code], normalise), len(spellings))
    keys: dict[Any, int] = {}
    units: list[Sequence[str]] = []
    recoded = np.zeros(len(spellings), dtype=np.int64)
    for text, spelling in spellings.items():
        found, written = ("", None) if text is None else units_of(kind, text, formats)
        key = (found,) if written else text
        if key not in keys:
            keys[key] = len(keys)
            can_be_partial = kind != "category" and (kind != "date" or (written is not None)) and len(found) <= LONGEST
            units.append(found if can_be_partial else "")
        recoded[spelling] = keys[key]
    spelt = respelt[coded.codes]
    codes = spelt if len(keys) == len(spellings) else recoded[spelt]
    return _laid_out(codes, spelt, units, spellings)


def _laid_out(
    codes: Array, spelt: Array, units: list[Sequence[str]], spellings: dict[str | None, int]
) -> AttributeIndex:
    counts = np.bincount(codes, minlength=len(units))
    narrow = codes.astype(_smallest(len(units)))
    lengths = np.array([len(one) for one in units], dtype=np.uint8)
    matrix, alphabet = _matrix(units)
    reach = np.bincount(lengths, weights=counts, minlength=len(matrix) + 1)[::-1].cumsum()[::-1][1:]
    often = int(np.count_nonzero(reach * RARE >= len(codes)))
    places = np.empty((often, len(codes)), dtype=matrix.dtype)
    for place in range(often):
        np.take(matrix[place], narrow, out=places[place])
    starts = np.concatenate([[0], np.cumsum(counts)])
    is_listed = len(units) > FEW_VALUES
    blob = [b"" if text is None else text.encode("utf-8", "surrogatepass") for text in spellings]
    return AttributeIndex(
        codes=narrow,
        counts=counts,
        shared=(counts > 1)[narrow],
        listed=np.argsort(codes, kind="stable").astype(np.uint32) if is_listed else np.empty(0, np.uint32),
        starts=starts,
        lengths=lengths[narrow],
        places=places,
        **_late(matrix, lengths, narrow, often),
        spelt=narrow if codes is spelt else spelt.astype(_smallest(len(spellings))),
        texts=np.frombuffer(b"".join(blob), dtype=np.uint8),
        offsets=np.concatenate([[0], np.cumsum([len(one) for one in blob], dtype=np.int64)]),
        alphabet=alphabet,
        missing=spellings.get(None, -1),
    )


def _late(matrix: Array, lengths: Array, codes: Array, often: int) -> dict[str, Array]:
    """The places that few records reach."""
    records = [np.flatnonzero((lengths > place)[codes]) for place in range(often, len(matrix))]
    units = [matrix[place][codes[found]] for place, found in enumerate(records, start=often)]
    return {
        "late_records": np.concatenate([np.empty(0, np.uint32), *records]).astype(np.uint32),
        "late_units": np.concatenate([np.empty(0, matrix.dtype), *units]),
        "late_starts": np.concatenate([[0], np.cumsum([len(found) for found in records], dtype=np.int64)]),
    }


def _matrix(units: list[Sequence[str]]) -> tuple[Array, tuple[str, ...]]:
    """Per place and value the code of the character; and the alphabet, where it is not ASCII."""
    longest = max((len(one) for one in units), default=0)
    joined = ["".join(one) for one in units]
    if all(one.isascii() and "\0" not in one for one in joined):
        packed = np.array(joined, dtype=f"S{max(longest, 1)}").view(np.uint8).reshape(len(units), max(longest, 1))
        return np.ascontiguousarray(packed.T[:longest]), ()
    alphabet = tuple(sorted({unit for one in units for unit in one}))
    code_of = {unit: code for code, unit in enumerate(alphabet, start=1)}
    matrix = np.zeros((longest, len(units)), dtype=_smallest(len(alphabet) + 1))
    for value, one in enumerate(units):
        matrix[: len(one), value] = [code_of[unit] for unit in one]
    return matrix, alphabet


def _smallest(values: int) -> type[np.unsignedinteger[Any]]:
    """The smallest type for codes below `values`."""
    return np.uint8 if values <= 2**8 else np.uint16 if values <= 2**16 else np.uint32


# Base records that are compatible with what a row discloses, cell by cell.
#
# Opening a cell further only ever narrows the set, so that the records compatible with every possible next state are
# among those compatible with the present one: each next state costs one intersection with that set, and a count.
FEW = 16
"""Up to one in so many records are kept as a list, more as a mask."""


class Constraint(Protocol):
    """What one cell says about the record behind it."""

    def size(self) -> int:
        """How many base records are compatible."""

    def listed(self) -> Array | None:
        """Which ones, if they are few and listed."""

    def mask(self) -> Array:
        """For each base record whether it is."""

    def among(self, records: Array) -> Array:
        """For each of these records whether it is."""


@dataclass(frozen=True, eq=False)
class Equal:
    """A cell in full: the value itself."""

    column: AttributeIndex
    code: int

    def size(self) -> int:
        """How many records have it."""
        return int(self.column.counts[self.code])

    def listed(self) -> Array | None:
        """They, unless they are many."""
        return self.column.holders(self.code) if self.size() * FEW <= len(self.column.codes) else None

    def mask(self) -> Array:
        """Who has it."""
        return np.asarray(self.column.codes == self.code)

    def among(self, records: Array) -> Array:
        """Who of these has it."""
        return np.asarray(self.column.codes[records] == self.code)


@dataclass(frozen=True, eq=False)
class SharedPart:
    """A cell in part that agrees with its partner: the value occurs at least twice."""

    column: AttributeIndex

    def size(self) -> int:
        """How many records have a value that occurs twice."""
        return self.column.sharing

    def listed(self) -> Array | None:
        """Never."""
        return None

    def mask(self) -> Array:
        """Who has such a value."""
        return self.column.shared

    def among(self, records: Array) -> Array:
        """Who of these has such a value."""
        return np.asarray(self.column.shared[records])


@dataclass(frozen=True, eq=False)
class Pattern:
    """A cell in part that differs from its partner: some characters at their places, and the length."""

    column: AttributeIndex
    length: int
    shown: Sequence[tuple[int, int]]

    def size(self) -> int:
        """How many records have a value of that shape."""
        return int(np.count_nonzero(self.mask()))

    def listed(self) -> Array | None:
        """Never."""
        return None

    def mask(self) -> Array:
        """Who has a value of that shape."""
        found = np.asarray(self.column.lengths == self.length)
        for place, unit in self.shown:
            found &= self.column.at_place(place, unit)
        return found

    def among(self, records: Array) -> Array:
        """Who of these has a value of that shape."""
        found = np.asarray(self.column.lengths[records] == self.length)
        for place, unit in self.shown:
            found &= self.column.among(records, place, unit)
        return found


@dataclass(frozen=True, eq=False)
class RecordMask:
    """Any set of records, as a mask."""

    held: Array

    def size(self) -> int:
        """How many they are."""
        return int(np.count_nonzero(self.held))

    def listed(self) -> Array | None:
        """Never."""
        return None

    def mask(self) -> Array:
        """Who is in it."""
        return self.held

    def among(self, records: Array) -> Array:
        """Who of these is in it."""
        return np.asarray(self.held[records])


@dataclass(frozen=True, eq=False)
class CompatibleRecords:
    """The records that are compatible with some cells: all, a list of few, or a mask."""

    everybody: int
    records: Array | None = None
    mask: Array | None = None

    @classmethod
    def of(cls, constraints: Sequence[Constraint], everybody: int) -> CompatibleRecords:
        """Those compatible with all of them."""
        found = cls(everybody)
        for one in sorted(constraints, key=_is_not_listed):
            found = found.narrowed(one)
        return found

    def __len__(self) -> int:
        if self.records is not None:
            return len(self.records)
        return self.everybody if self.mask is None else int(np.count_nonzero(self.mask))

    def narrowed(self, by: Constraint) -> CompatibleRecords:
        """Those who are compatible with one more cell."""
        if self.records is not None:
            return CompatibleRecords(self.everybody, records=self.records[by.among(self.records)])
        listed = by.listed()
        if listed is not None:
            kept = listed if self.mask is None else listed[self.mask[listed]]
            return CompatibleRecords(self.everybody, records=kept)
        return CompatibleRecords(self.everybody, mask=by.mask() if self.mask is None else self.mask & by.mask())

    def count(self, by: Sequence[Constraint]) -> int:
        """How many are compatible with further cells."""
        if not by:
            return len(self)
        *first, last = by
        rest = self
        for one in first:
            rest = rest.narrowed(one)
        if rest.records is None and rest.mask is None:
            return last.size()
        return len(rest.narrowed(last))


def _is_not_listed(one: Constraint) -> int:
    listed = one.listed()
    return 1 << 62 if listed is None else len(listed)
