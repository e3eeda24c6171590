"""Cells of held rows as values, whole columns at a time: whole numbers as arrays, anything else as codes of its texts.

Texts are those that counting the source gives (`discreet.kernel.hierarchy.text` of what the driver reads), so that a cell
and a class of the source compare.
"""

from __future__ import annotations

import secrets
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.gateway.session.held_rows import Held
from discreet.kernel import Coded
from discreet.kernel.arrays import Ints
from discreet.kernel.hierarchy import text

Values = Coded | Ints
INTEGERS = {21: 2, 23: 4, 20: 8}
"""The types of whole numbers, and their bytes in binary format."""
PADDED = 1042
"""The type char(n)."""
FEW = 64
WORD = 8
LONGEST = 64
"""Cells of up to so many bytes are compared as words."""
_MASKS = np.array([(1 << (8 * size)) - 1 for size in range(WORD)] + [2**64 - 1], dtype=np.uint64)
_FACTORS = np.array([secrets.randbits(64) | 1 for _ in range(LONGEST // WORD + 1)], dtype=np.uint64)


_ONES, _ZEROS = np.uint64(2**64 - 1), np.uint64(0x3030303030303030)
_SIXES, _HIGH = np.uint64(0x7676767676767676), np.uint64(0x8080808080808080)
_PAIRS = np.uint64(0x000000FF000000FF)
_LOW, _UP = np.uint64(100 + (1_000_000 << 32)), np.uint64(1 + (10_000 << 32))


class Undecodable(Exception):
    """A cell of a type that cannot be read; caught inside the room."""


class Decoder:
    """Reads the columns of one result."""

    def __init__(self, held: Held) -> None:
        self._held = held
        self._padded: bytes | None = None

    def values(self, column: int) -> Values:
        """The values of a column."""
        described = self._held.columns
        if described is None:
            raise Undecodable
        kind, form = described[column].type, described[column].format
        lengths = self._held.cells().lengths[column]
        if kind in INTEGERS and self._held.rows > FEW and int(lengths.min()) > 0:
            numbers = self._binary(column, INTEGERS[kind]) if form else self._digits(column)
            if numbers is not None:
                return numbers
        if self._held.rows > FEW and 0 <= int(lengths.max()) <= LONGEST:
            return self._words(column, loader(kind, form))
        return _coded(self._cells(column), loader(kind, form))

    def sizes(self, column: int) -> Ints:
        """How many bytes each cell has; 0 for NULL."""
        found: Ints = np.maximum(self._held.cells().lengths[column], 0).astype(np.int64)
        return found

    def unpadded(self, column: int, values: Values) -> Values:
        """The same values without the spaces that fill up a column of type char(n)."""
        described = self._held.columns
        if described is None or described[column].type != PADDED or isinstance(values, np.ndarray):
            return values
        return Coded(tuple(one and one.rstrip(" ") for one in values.values), values.codes)

    def nulls(self, column: int) -> NDArray[np.bool_]:
        """Where it is NULL, or empty, as NULL is in CSV."""
        found: NDArray[np.bool_] = self._held.cells().lengths[column] <= 0
        return found

    def _cells(self, column: int, rows: Any = slice(None)) -> list[bytes | None]:
        cells, data = self._held.cells(), self._held.data
        pairs = zip(cells.offsets[column][rows].tolist(), cells.lengths[column][rows].tolist(), strict=True)
        return [None if size < 0 else data[at : at + size] for at, size in pairs]

    def _window(self, kind: str, last: int) -> NDArray[Any]:
        """The bytes as overlapping numbers, one beginning at each byte, up to the last that is wanted."""
        width, data = np.dtype(kind).itemsize, self._held.data
        if last + width > len(data):  # only then is it worth a copy
            self._padded = self._padded or data + bytes(WORD)
            data = self._padded
        return np.ndarray((len(data) - width + 1,), dtype=kind, buffer=data, strides=(1,))

    def _binary(self, column: int, size: int) -> Ints | None:
        cells = self._held.cells()
        if (cells.lengths[column] != size).any():
            return None
        offsets = cells.offsets[column]
        found: Ints = self._window(f">i{size}", int(offsets.max()))[offsets].astype(np.int64)
        return found

    def _digits(self, column: int) -> Ints | None:
        """Whole numbers written in up to eight digits; None where any has a sign or is longer.

        The digits are taken as one 64-bit word and added up in pairs, fours and eights.
        """
        cells = self._held.cells()
        offsets, lengths = cells.offsets[column], cells.lengths[column]
        if int(lengths.max()) > WORD:
            return None
        words = self._window("<u8", int(offsets.max()))[offsets]
        shift = ((WORD - lengths) * 8).astype(np.uint64)
        digits = ((words << shift) | ~(_ONES << shift) & _ZEROS) - _ZEROS
        if ((digits | (digits + _SIXES)) & _HIGH).any():
            return None
        digits = digits * np.uint64(10) + (digits >> np.uint64(8))
        low, high = digits & _PAIRS, (digits >> np.uint64(16)) & _PAIRS
        found: Ints = ((low * _LOW + high * _UP) >> np.uint64(32)).astype(np.int64)
        return found

    def _words(self, column: int, load: Any) -> Coded:
        """Equal cells are found by their bytes as 64-bit words, mixed; one of each is read."""
        keys = self._keys(column, _FACTORS)
        known = np.unique(keys[:1024])
        at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        strange = known[at] != keys
        if strange.any():
            known = np.unique(np.concatenate([known, keys[strange]]))
            at = np.searchsorted(known, keys)
        first = np.zeros(len(known), dtype=np.int64)
        first[at[::-1]] = np.arange(len(keys) - 1, -1, -1)
        return Coded.merged([_loaded(cell, load) for cell in self._cells(column, first)], at.astype(np.int64))

    def fingerprints(self, factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """A number for each row by what stands in it; `factors` are secret, and the same in every process."""
        cells = self._held.cells()
        if self._held.rows <= FEW or int(cells.lengths.max(initial=0)) > LONGEST:
            return self._digests(factors)
        found = np.zeros(self._held.rows, dtype=np.uint64)
        for column in range(len(cells.lengths)):
            found = (found ^ self._keys(column, factors)) * factors[column % len(factors)]
            found ^= found >> np.uint64(29)
        return found

    def _digests(self, factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The same for few rows, or for long ones. Whether rows are few does not depend on the reader."""
        data, secret = self._held.data, factors.tobytes()[:64]
        pairs = zip(self._held.starts.tolist(), self._held.ends.tolist(), strict=True)
        told = (blake2b(data[begin:end], key=secret, digest_size=8).digest() for begin, end in pairs)
        return np.frombuffer(b"".join(told), dtype=np.uint64)

    def _keys(self, column: int, factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
        cells = self._held.cells()
        offsets, lengths = cells.offsets[column], cells.lengths[column]
        count = (max(int(lengths.max()), 1) + WORD - 1) // WORD
        words = self._window("<u8", int(offsets.max()) + (count - 1) * WORD)  # also the last word of the last cell
        last = len(words) - 1
        keys: NDArray[np.uint64] = (lengths.astype(np.int64) + 1).astype(np.uint64) * factors[-1]
        for number in range(count):
            rest = np.clip(lengths - number * WORD, 0, WORD)
            word = words[np.minimum(offsets + number * WORD, last)] & _MASKS[rest]
            keys ^= (word ^ (word >> np.uint64(29))) * factors[number]
            keys ^= keys >> np.uint64(31)
        return keys


def _coded(cells: list[bytes | None], load: Any) -> Coded:
    index: dict[bytes | None, int] = {}
    codes = np.array([index.setdefault(cell, len(index)) for cell in cells], dtype=np.int64)
    return Coded.merged([_loaded(cell, load) for cell in index], codes)


def _loaded(cell: bytes | None, load: Any) -> Any:
    if cell is None:
        return None
    try:
        value = load(cell)
    except Exception:
        raise Undecodable from None
    if isinstance(value, (list, tuple, dict, set)):
        raise Undecodable  # what is in it is not what a policy can list
    return value if isinstance(value, (str, int, float, bool)) else text(value)


@lru_cache(1024)
def loader(kind: int, form: int) -> Any:
    """What reads cells of a type in a format, as the driver does."""
    import psycopg
    from psycopg import pq

    found = psycopg.adapters.get_loader(kind, pq.Format(form))
    if found is None:
        if form:
            raise Undecodable
        return lambda cell: bytes(cell).decode()
    return found(kind).load
