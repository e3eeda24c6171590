"""Disclosure of some rows: of whom, of what; entities, decoded cells.

Texts are those that counting the source gives (`discreet.kernel.hierarchy.text` of what the driver reads), so that a cell
and a class of the source compare.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.gateway.session.held_rows import HeldResult
from discreet.kernel import Coded
from discreet.kernel.arrays import Floats, Ints
from discreet.kernel.hierarchy import text
from discreet.misuse.knowledge import Knowledge, published
from discreet.sql.catalog import Leaf

# What some rows tell: of whom, of what, and how recognisably.
SEEN = "(seen)"
"""Stands for what weighs nothing, but says whom a key is about."""
UNTOLD = -1.0
"""In place of a weight: of this attribute nothing is told."""


@dataclass(frozen=True, eq=False)
class Publication:
    """What some rows tell."""

    entities: Ints
    weights: Mapping[str, Floats]
    """Per attribute what is told of each of them weighs, or UNTOLD."""
    crowds: Ints
    levels: Mapping[str, Sequence[float]]
    cells: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Per attribute the columns of the result that show it."""
    rows: int = 0
    """How many of the entities are rows of the result, in their order; those behind them are what else it tells."""
    marks: tuple[int, ...] = ()
    """Numbers that stand for keys having been linked to people, per entity that it is about."""
    unmasks: bool = False
    """Whether it links keys to people in a way that cannot be followed: then everybody seen so far is recognisable."""
    reducible: bool = False
    """Whether fewer rows tell less, each by itself."""

    def knowledge(self, chosen: Any = slice(None), masked: Mapping[str, NDArray[np.bool_]] | None = None) -> Knowledge:
        """What an exposure learns from all of it, or from some of the rows, or with some cells emptied."""
        weights = {name: its[chosen] for name, its in self.weights.items()}
        for name, mask in (masked or {}).items():
            weights[name] = np.where(mask, UNTOLD, weights[name])
        return self._learned(self.entities[chosen], weights, self.crowds[chosen])

    def _learned(self, entities: Ints, weights: Mapping[str, Floats], crowds: Ints) -> Knowledge:
        if not weights or not len(entities):
            return Knowledge()
        gaps = [name for name, its in weights.items() if its.min() < 0]
        if not gaps:
            return published(entities, weights, crowds, self.levels)
        levels = {name: (UNTOLD, *its) for name, its in self.levels.items()}
        found = published(entities, weights, crowds, levels)
        told = {name: {level: its for level, its in found.weights[name].items() if level >= 0} for name in weights}
        return replace(found, weights={name: its for name, its in told.items() if its})

    def joined(self, entities: Ints, weights: Mapping[str, Floats], crowds: Ints) -> Publication:
        """The same and something of others, which cannot be left out or emptied."""
        return replace(
            self,
            entities=np.concatenate([self.entities, entities]),
            weights={name: np.concatenate([its, weights[name]]) for name, its in self.weights.items()},
            crowds=np.concatenate([self.crowds, crowds]),
        )

    def worst(self) -> Knowledge:
        """The same if every value weighed as much as any value of its column can."""
        heavy = {name: np.where(its < 0, UNTOLD, max(self.levels[name])) for name, its in self.weights.items()}
        return self._learned(self.entities, heavy, self.crowds)


def attribute(leaf: Leaf) -> str:
    """What an exposure calls a sensitive column: schema, table and column."""
    return f"{leaf[0]}.{leaf[1]}"


# Numbers for those whom results are about. Exposures keep them as bitmaps, so they must fit into 31 bits.
#
# Small whole keys of the first few entities stand for themselves, in a range per entity: that keeps bitmaps dense. All
# other keys, and rows of which nobody can say whom they are about, are spread over the upper half by a keyed hash.
RANGE = 1 << 27
RANGES = 8
HASHED = RANGE * RANGES
"""From here up to twice this, numbers are hashes."""


@dataclass(frozen=True)
class Entities:
    """Numbers entities, the same way in every process that has the same secret."""

    ranges: dict[str, int]
    secret: bytes

    @classmethod
    def of(cls, names: Iterable[str], secret: bytes) -> Entities:
        """Ranges are given by name, so that another table in the policy does not move them."""
        ranges: dict[str, int] = {}
        taken: set[int] = set()
        for name in sorted(set(names)):
            place = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % RANGES
            if place not in taken:
                taken.add(place)
                ranges[name] = place * RANGE
        return cls(ranges, secret)

    def numbers(self, entity: str, keys: Sequence[Coded | Ints]) -> Ints:
        """The number of each row's entity, by the columns of its key."""
        if len(keys) == 1 and isinstance(keys[0], np.ndarray) and entity in self.ranges:
            given = keys[0]
            if not len(given) or (int(given.min()) >= 0 and int(given.max()) < RANGE):
                return given + self.ranges[entity]
        columns: list[list[str | None]] = [
            [str(key) for key in one.tolist()]
            if isinstance(one, np.ndarray)
            else [one.values[code] for code in one.codes.tolist()]
            for one in keys
        ]
        numbers: dict[tuple[str | None, ...], int] = {}
        rows = list(zip(*columns, strict=True))
        for row in rows:
            if row in numbers:
                continue
            key = (row[0] or "") if len(row) == 1 and entity in self.ranges else ""
            if key.isascii() and key.isdigit() and len(key) < 10 and str(int(key)) == key and int(key) < RANGE:
                numbers[row] = self.ranges[entity] + int(key)
            else:
                numbers[row] = HASHED + self._hash(repr((entity, row)).encode()) % HASHED
        return np.array([numbers[row] for row in rows], dtype=np.int64)

    def rows(self, what: bytes, number: int) -> Ints:
        """Numbers for so many people of whom nothing is known but that a statement told of them."""
        begin = self._hash(b"row" + what)
        return HASHED + (np.arange(begin, begin + number, dtype=np.int64) % HASHED)

    def unnamed(self, what: bytes, contents: NDArray[np.uint64]) -> Ints:
        """Numbers for rows that are about nobody knows whom, by the statement and by what stands in them.

        The same statement with the same rows is about the same people; equal rows of one result are about several.
        """
        order = np.argsort(contents, kind="stable")
        ordered = contents[order]
        first = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
        places = np.arange(len(ordered))
        rank = np.empty(len(ordered), dtype=np.uint64)
        rank[order] = places - np.maximum.accumulate(np.where(first, places, 0))
        mixed = (contents ^ np.uint64(self._hash(b"row" + what))) * self.factors[0] + rank * self.factors[1]
        mixed ^= mixed >> np.uint64(32)
        found: Ints = (mixed % np.uint64(HASHED)).astype(np.int64) + HASHED
        return found

    @cached_property
    def factors(self) -> NDArray[np.uint64]:
        """Secret odd numbers, to mix the bytes of rows with."""
        told = b"".join(hashlib.blake2b(b"mix%d" % n, key=self.secret[:64], digest_size=64).digest() for n in range(8))
        return np.frombuffer(told, dtype=np.uint64) | np.uint64(1)

    def _hash(self, what: bytes) -> int:
        return int.from_bytes(hashlib.blake2b(what, key=self.secret[:64], digest_size=7).digest(), "big")


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

    def __init__(self, held: HeldResult) -> None:
        self._held = held
        self._padded: bytes | None = None

    def values(self, column: int) -> Values:
        """The values of a column."""
        described = self._held.columns
        if described is None:
            raise Undecodable
        kind, form = described[column].type, described[column].format
        offsets, lengths = self._held.cells().offsets[column], self._held.cells().lengths[column]
        if kind in INTEGERS and self._held.rows > FEW and int(lengths.min()) > 0:
            if form and not (lengths != INTEGERS[kind]).any():
                window = self._window(f">i{INTEGERS[kind]}", int(offsets.max()))
                return np.asarray(window[offsets], dtype=np.int64)
            numbers = None if form else self._digits(column)
            if numbers is not None:
                return numbers
        if self._held.rows > FEW and 0 <= int(lengths.max()) <= LONGEST:
            return self._words(column, loader(kind, form))
        cells = self._cells(column)
        load = loader(kind, form)
        index: dict[bytes | None, int] = {}
        codes = np.array([index.setdefault(cell, len(index)) for cell in cells], dtype=np.int64)
        return Coded.merged([_loaded(cell, load) for cell in index], codes)

    def sizes(self, column: int) -> Ints:
        """How many bytes each cell has; 0 for NULL."""
        return np.asarray(np.maximum(self._held.cells().lengths[column], 0), dtype=np.int64)

    def unpadded(self, column: int, values: Values) -> Values:
        """The same values without the spaces that fill up a column of type char(n)."""
        described = self._held.columns
        if described is None or described[column].type != PADDED or isinstance(values, np.ndarray):
            return values
        return Coded(tuple(one and one.rstrip(" ") for one in values.values), values.codes)

    def nulls(self, column: int) -> NDArray[np.bool_]:
        """Where it is NULL, or empty, as NULL is in CSV."""
        return np.asarray(self._held.cells().lengths[column] <= 0, dtype=np.bool_)

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
        return np.asarray((low * _LOW + high * _UP) >> np.uint64(32), dtype=np.int64)

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
            # The same for few rows, or for long ones. Whether rows are few does not depend on the reader.
            data, secret = self._held.data, factors.tobytes()[:64]
            pairs = zip(self._held.starts.tolist(), self._held.ends.tolist(), strict=True)
            told = (blake2b(data[begin:end], key=secret, digest_size=8).digest() for begin, end in pairs)
            return np.frombuffer(b"".join(told), dtype=np.uint64)
        found = np.zeros(self._held.rows, dtype=np.uint64)
        for column in range(len(cells.lengths)):
            found = (found ^ self._keys(column, factors)) * factors[column % len(factors)]
            found ^= found >> np.uint64(29)
        return found

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
