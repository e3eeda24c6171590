"""Columns of the base records: read from any kind of table, laid out as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ColumnError
from discreet.kernel import Coded
from discreet.linkage.masking.comparison import Kind, units_of
from discreet.linkage.masking.text import LONGEST, value_of

Array = NDArray[Any]
RARE = 16
"""A character place that fewer than one in so many records reach becomes a list of records."""
FEW_VALUES = 255
"""With so few values the records of a value are found by comparing codes; otherwise they are listed."""


@dataclass(frozen=True, eq=False, repr=False)
class AttributeIndex:
    """Values of one attribute as arrays: equal values have equal codes, also missing ones."""

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
    """The code of the text of a missing value; -1 if none is missing."""

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
        return sum({id(array): array.nbytes for array in arrays(self).values()}.values())

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
    occurring = np.flatnonzero(np.bincount(coded.codes, minlength=len(coded.values)))
    spellings: dict[str | None, int] = {}
    respelt = np.zeros(len(coded.values), dtype=np.int64)
    for code in occurring.tolist():
        respelt[code] = spellings.setdefault(value_of(coded.values[code], normalise), len(spellings))
    keys: dict[Any, int] = {}
    units: list[Sequence[str]] = []
    recoded = np.zeros(len(spellings), dtype=np.int64)
    for text, spelling in spellings.items():
        signs, layout = ("", None) if text is None else units_of(kind, text, formats)
        key = (signs,) if layout else text
        if key not in keys:
            keys[key] = len(keys)
            can_be_partial = kind != "category" and (kind != "date" or layout is not None) and len(signs) <= LONGEST
            units.append(signs if can_be_partial else "")
        recoded[spelling] = keys[key]
    spelt = respelt[coded.codes]
    codes = spelt if len(keys) == len(spellings) else recoded[spelt]
    return _laid_out(codes, spelt, units, spellings)


def _laid_out(
    codes: Array, spelt: Array, units: list[Sequence[str]], spellings: dict[str | None, int]
) -> AttributeIndex:
    counts = np.bincount(codes, minlength=len(units))
    narrow = codes.astype(_smallest(len(units)))
    lengths = np.array([len(signs) for signs in units], dtype=np.uint8)
    matrix, alphabet = _matrix(units)
    reach = np.bincount(lengths, weights=counts, minlength=len(matrix) + 1)[::-1].cumsum()[::-1][1:]
    often = int(np.count_nonzero(reach * RARE >= len(codes)))
    places = np.empty((often, len(codes)), dtype=matrix.dtype)
    for place in range(often):
        np.take(matrix[place], narrow, out=places[place])
    late_records = [np.flatnonzero((lengths > place)[narrow]) for place in range(often, len(matrix))]
    late_units = [matrix[place][narrow[records]] for place, records in enumerate(late_records, start=often)]
    is_listed = len(units) > FEW_VALUES
    texts = [b"" if text is None else text.encode("utf-8", "surrogatepass") for text in spellings]
    return AttributeIndex(
        codes=narrow,
        counts=counts,
        shared=(counts > 1)[narrow],
        listed=np.argsort(codes, kind="stable").astype(np.uint32) if is_listed else np.empty(0, np.uint32),
        starts=np.concatenate([[0], np.cumsum(counts)]),
        lengths=lengths[narrow],
        places=places,
        late_records=np.concatenate([np.empty(0, np.uint32), *late_records]).astype(np.uint32),
        late_units=np.concatenate([np.empty(0, matrix.dtype), *late_units]),
        late_starts=np.concatenate([[0], np.cumsum([len(records) for records in late_records], dtype=np.int64)]),
        spelt=narrow if codes is spelt else spelt.astype(_smallest(len(spellings))),
        texts=np.frombuffer(b"".join(texts), dtype=np.uint8),
        offsets=np.concatenate([[0], np.cumsum([len(text) for text in texts], dtype=np.int64)]),
        alphabet=alphabet,
        missing=spellings.get(None, -1),
    )


def _matrix(units: list[Sequence[str]]) -> tuple[Array, tuple[str, ...]]:
    """Per place and value the code of the character; and the alphabet, where it is not ASCII."""
    longest = max((len(signs) for signs in units), default=0)
    joined = ["".join(signs) for signs in units]
    if all(text.isascii() and "\0" not in text for text in joined):
        packed = np.array(joined, dtype=f"S{max(longest, 1)}").view(np.uint8).reshape(len(units), max(longest, 1))
        return np.ascontiguousarray(packed.T[:longest]), ()
    alphabet = tuple(sorted({unit for signs in units for unit in signs}))
    code_of = {unit: code for code, unit in enumerate(alphabet, start=1)}
    matrix = np.zeros((longest, len(units)), dtype=_smallest(len(alphabet) + 1))
    for value, signs in enumerate(units):
        matrix[: len(signs), value] = [code_of[unit] for unit in signs]
    return matrix, alphabet


def _smallest(values: int) -> type[np.unsignedinteger[Any]]:
    """The smallest type for codes below `values`."""
    return np.uint8 if values <= 2**8 else np.uint16 if values <= 2**16 else np.uint32


def columns_of(records: Any, names: Sequence[str]) -> dict[str, Coded]:
    """Some columns of records: dictionaries, columns, a frame, Arrow, a path, or a table that was read.

    A key that a dictionary does not have is a missing value; a column that no record has is an error.
    """
    if isinstance(records, Mapping):
        _require(names, records)
        return {name: _coded(records[name]) for name in names}
    if isinstance(records, Sequence) and not isinstance(records, str | bytes):
        if not all(isinstance(row, Mapping) for row in records):
            raise ColumnError("A list of records holds something that is no dictionary.", remedy="Give one per record.")
        _require(names, {name for row in records for name in row} if records else names)
        return {name: Coded.of([row.get(name) for row in records]) for name in names}
    match type(records).__module__.partition(".")[0]:
        case "pandas":
            _require(names, records)
            return {name: _coded(records[name]) for name in names}
        case "polars":
            frame = records.collect() if type(records).__name__ == "LazyFrame" else records
            _require(names, frame.columns)
            return {name: Coded.of(frame[name].to_list()) for name in names}
        case "pyarrow":
            from discreet.sources.files.parquet import coded

            _require(names, records.schema.names)
            return {name: coded(records.column(name)) for name in names}
    from discreet.sources import Table, read
    from discreet.sources.table_rows import fetch

    return fetch(records if isinstance(records, Table) else read(records), names)


def _require(names: Sequence[str], columns: Any) -> None:
    for name in names:
        if name not in columns:
            raise ColumnError(f"The records have no column '{name}'.", remedy="Check the names in kinds.")


def _coded(cells: Any) -> Coded:
    if isinstance(cells, Coded):
        return cells
    if hasattr(cells, "cat"):  # a pandas column of categories
        values = [*cells.cat.categories, None]
        codes = cells.cat.codes.to_numpy().astype(np.int64)
        return Coded.merged(values, np.where(codes < 0, len(values) - 1, codes))
    return Coded.of(cells.tolist() if isinstance(cells, np.ndarray) and cells.dtype.kind != "M" else list(cells))
