"""Held rows awaiting a decision: bounded, seen as columns without copying.

Everything the server says between the first held row and the end of the result is kept in order, so that what is
released is byte for byte what a direct connection would have received.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.gateway.protocol.framing import Malformed, Starts, big_endian
from discreet.gateway.protocol.messages import ResultColumn

_HEADER = 5
_FIRST_CELL = 7  # letter, length, number of columns
_BY_HAND = 8  # rows for which arrays are not worth their set-up
_WIDTH, _NUMBER = struct.Struct("!H"), struct.Struct("!i")


@dataclass(eq=False, slots=True)
class Cells:
    """Where each cell stands in the bytes; shape (columns, rows)."""

    offsets: NDArray[np.int64]
    lengths: NDArray[np.int32]
    """-1 for NULL."""


@dataclass(eq=False)
class HeldResult:
    """The rows of one result, or one chunk of a portal."""

    data: bytes = field(repr=False)
    """The messages as they came: DataRow, or CopyData."""
    places: Starts = field(repr=False)
    """Where each message begins in `data`; `starts` is the same as an array."""
    columns: tuple[ResultColumn, ...] | None
    """As the server described them; None for COPY."""
    copy: bool = False
    """Whether these are the messages of a COPY, one line or binary piece each."""
    formats: tuple[int, ...] = ()
    """Of a COPY: the format of each column."""
    number: int = 0
    """Which result of the statement this is, from 0 on."""
    chunk: int = 0
    """Which part of a portal fetched in parts this is, from 0 on."""
    complete: bool = True
    """False if more may be fetched from the portal."""
    tag: str = ""
    """What the server says it did, such as SELECT 3; empty for a chunk."""
    _found: Cells | None = field(default=None, repr=False)

    @property
    def rows(self) -> int:
        """How many messages."""
        return len(self.places)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each message begins in `data`."""
        return np.asarray(self.places, dtype=np.int64)

    @property
    def octets(self) -> NDArray[np.uint8]:
        """The bytes as an array, not copied."""
        return np.frombuffer(self.data, dtype=np.uint8)

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Where each message ends."""
        return np.append(self.starts[1:], len(self.data))

    def cells(self) -> Cells:
        """Where the cells are; rows that do not have the described columns are Malformed.

        >>> held = HeldResult(b"D\\0\\0\\0\\x0f\\0\\2\\0\\0\\0\\1x\\xff\\xff\\xff\\xff", np.array([0]), None)
        >>> held.cells().lengths.tolist(), held.cell(held.cells().offsets[0, 0], 1)
        ([[1], [-1]], b'x')
        """
        if self._found is None:
            self._found = self._few() if self.rows <= _BY_HAND and not self.copy else self._many()
        return self._found

    def cell(self, offset: int, length: int) -> bytes | None:
        """The bytes of one cell; None for NULL."""
        return None if length < 0 else self.data[offset : offset + length]

    def _many(self) -> Cells:
        if self.copy:
            raise Malformed
        if int((self.ends - self.starts).min()) < _FIRST_CELL:
            raise Malformed
        widths = self.octets[self.starts + 5].astype(np.int64) * 256 + self.octets[self.starts + 6]
        width = int(widths[0])
        if np.any(widths != width) or (self.columns is not None and len(self.columns) != width):
            raise Malformed
        offsets = np.empty((width, self.rows), dtype=np.int64)
        lengths = np.empty((width, self.rows), dtype=np.int32)
        numbers = big_endian(self.octets)
        cursor = self.starts + _FIRST_CELL
        for column in range(width):
            if int(cursor.max()) + 4 > len(self.data):
                raise Malformed
            lengths[column] = numbers[cursor]
            offsets[column] = cursor + 4
            if int(lengths[column].min()) < -1:
                raise Malformed
            cursor = offsets[column] + np.maximum(lengths[column], 0)
        if not np.array_equal(cursor, self.ends):
            raise Malformed
        return Cells(offsets, lengths)

    def _few(self) -> Cells:
        """Cells of a handful of rows, for which arrays would take longer."""
        width = len(self.columns) if self.columns is not None else None
        offsets: list[int] = []
        lengths: list[int] = []
        try:
            for start, end in pairwise([*self.places, len(self.data)]):
                at, first = start + _FIRST_CELL, len(lengths)
                for _ in range(_WIDTH.unpack_from(self.data, start + _HEADER)[0]):
                    (length,) = _NUMBER.unpack_from(self.data, at)
                    offsets.append(at + 4)
                    lengths.append(length)
                    at += 4 + max(length, 0)
                if at != end or width not in (None, len(lengths) - first):
                    raise Malformed
                width = len(lengths) - first
        except struct.error:
            raise Malformed from None
        if min(lengths, default=0) < -1:
            raise Malformed
        shape = (self.rows, width or 0)
        placed = np.array(offsets, dtype=np.int64).reshape(shape)
        return Cells(placed.T, np.array(lengths, dtype=np.int32).reshape(shape).T)


class RowCollector:
    """Collects what belongs to one result, in order."""

    __slots__ = ("_base", "_pieces", "_places", "size")

    def __init__(self) -> None:
        self._pieces: list[tuple[bool, bytes]] = []
        self._places: list[tuple[int, Starts]] = []
        self._base = 0
        self.size = 0
        """Bytes that are held."""

    def add_rows(self, raw: bytes, starts: Starts) -> None:
        """Rows: whole messages, or a part of one, which begins none unless first."""
        self._places.append((self._base, starts))
        self._pieces.append((True, raw))
        self._base += len(raw)
        self.size += len(raw) + 8 * len(starts)

    def add_other(self, raw: bytes) -> None:
        """Something else that the server said meanwhile."""
        self._pieces.append((False, raw))
        self.size += len(raw)

    def held(self) -> tuple[bytes, Starts]:
        """All rows in one piece, and where each begins."""
        rows = [raw for is_row, raw in self._pieces if is_row]
        if len(rows) == 1:
            return rows[0], self._places[0][1]
        places = [np.asarray(starts, dtype=np.int64) + base for base, starts in self._places]
        return b"".join(rows), np.concatenate(places) if places else []

    def all(self) -> list[bytes]:
        """Everything, in the order in which it came."""
        return [raw for _, raw in self._pieces]

    def others(self) -> list[bytes]:
        """Everything that is not a row."""
        return [raw for is_row, raw in self._pieces if not is_row]


class HeldBytes:
    """How many bytes all sessions together may hold."""

    __slots__ = ("free",)

    def __init__(self, size: int) -> None:
        self.free = size

    def take(self, size: int) -> bool:
        """Take so much, unless there is not enough."""
        if size > self.free:
            return False
        self.free -= size
        return True

    def give(self, size: int) -> None:
        """Give it back."""
        self.free += size


def without_rows(held: HeldResult, keep: NDArray[np.bool_]) -> bytes:
    """The messages of the rows to keep.

    >>> held = HeldResult(b"D\\0\\0\\0\\6\\0\\0D\\0\\0\\0\\6\\0\\0", np.array([0, 7]), ())
    >>> without_rows(held, np.array([False, True]))
    b'D\\x00\\x00\\x00\\x06\\x00\\x00'
    """
    if keep.shape != (held.rows,) or keep.dtype != np.bool_:
        raise ValueError("one truth value per row")
    wanted = np.repeat(keep, held.ends - held.starts)
    return bytes(held.octets[wanted])


def without_cells(held: HeldResult, mask: NDArray[np.bool_]) -> bytes:
    """The messages with some cells as NULL."""
    cells = held.cells()
    if mask.shape != cells.lengths.shape or mask.dtype != np.bool_:
        raise ValueError("one truth value per column and row")
    chosen = mask & (cells.lengths >= 0)
    octets = held.octets.copy()
    for place in range(1, 5):
        octets[cells.offsets[chosen] - place] = 0xFF
    dropped = np.where(chosen, cells.lengths, 0).sum(axis=0, dtype=np.int64)
    places = held.starts + 1
    lengths = held.ends - held.starts - 1 - dropped
    for byte in range(4):
        octets[places + byte] = (lengths >> (8 * (3 - byte))) & 0xFF
    # Whether each byte is outside these ranges, which come in order.
    begins = cells.offsets.T[chosen.T]
    size = len(octets)
    edges = np.empty(2 * len(begins) + 2, dtype=np.int64)
    edges[0], edges[-1] = 0, size
    edges[1:-1:2], edges[2:-1:2] = begins, begins + cells.lengths.T[chosen.T]
    keeps = np.ones(len(edges) - 1, dtype=np.bool_)
    keeps[1::2] = False
    return bytes(octets[np.repeat(keeps, np.diff(edges))])
