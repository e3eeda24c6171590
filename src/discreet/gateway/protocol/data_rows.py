"""Rows of a result as the DataRow messages they are, read in place: no object per row or cell until one is wanted.

>>> rows = DataRows.of([(b"7", b"F"), (b"12", None)])
>>> len(rows), rows.numbers(0).tolist(), rows.cells()
(2, [7, 12], [(b'7', b'F'), (b'12', None)])
>>> rows[1:].without_first(1).cells()
[(None,)]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.gateway.protocol.framing import LENGTH
from discreet.kernel.arrays import Flags, Ints

_HEAD = 7
"""Letter, length, number of columns."""
_FEW = 64
_WORTH_ARRAYS = 24
_DIGITS = 9
_SPELT = re.compile(rb"0|[1-9][0-9]{0,8}")
Row = tuple[bytes | None, ...]


class DataRows:
    """Messages in one piece."""

    def __init__(self, content: bytes, starts: Ints | None = None) -> None:
        self.content = content
        if starts is not None:
            self.starts = starts

    @classmethod
    def of(cls, rows: Iterable[Sequence[bytes | None]]) -> DataRows:
        """From cells."""
        found, pack = [], LENGTH.pack
        for row in rows:
            body = b"".join([pack(-1) if cell is None else pack(len(cell)) + cell for cell in row])
            found.append(b"D" + pack(len(body) + 6) + len(row).to_bytes(2, "big") + body)
        return cls(b"".join(found))

    @cached_property
    def starts(self) -> Ints:
        """Where each message begins, and where the last one ends."""
        content, octets = self.content, self._octets
        if len(content) > _HEAD * _FEW:
            # Places that look like the beginning of a row, found all at once, if each is where the one before ends.
            alike = octets[: len(content) - 6] == ord("D")
            for place in (5, 6):
                alike &= octets[place : len(content) - 6 + place] == content[place]
            places = np.flatnonzero(alike)
            ends = places + 1 + self._sizes[places + 1]
            if int(ends[-1]) == len(content) and np.array_equal(ends[:-1], places[1:]):
                return np.append(places, len(content))
        found, at, size = [0], 0, len(content)
        while at < size:
            at += 1 + LENGTH.unpack_from(content, at + 1)[0]
            found.append(at)
        return np.array(found, dtype=np.int64)

    @cached_property
    def _octets(self) -> NDArray[np.uint8]:
        return np.frombuffer(self.content, dtype=np.uint8)

    @cached_property
    def _sizes(self) -> NDArray[Any]:
        """The number of four bytes that begins at each place."""
        return np.ndarray((max(len(self.content) - 3, 0),), dtype=">i4", buffer=self.content, strides=(1,))

    @cached_property
    def _few(self) -> list[Row] | None:
        """The cells of a few rows: for so little, setting up arrays takes most of the time."""
        if len(self) > _WORTH_ARRAYS:
            return None
        content, unpack, rows = self.content, LENGTH.unpack_from, []
        for start in self.starts[:-1].tolist():
            at, row = start + _HEAD, []
            for _ in range(int.from_bytes(content[start + 5 : start + _HEAD], "big")):
                size = unpack(content, at)[0]
                row.append(content[at + 4 : at + 4 + size] if size >= 0 else None)
                at += 4 + max(size, 0)
            rows.append(tuple(row))
        return rows

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, rows: slice) -> DataRows:
        first, end, _ = rows.indices(len(self))
        some = self.starts[first : max(first, end) + 1]
        return DataRows(self.content[int(some[0]) : int(some[-1])], some - some[0])

    def kept(self, keep: Flags) -> DataRows:
        """Some of the rows."""
        sizes = np.diff(self.starts)
        return DataRows(self._octets[np.repeat(keep, sizes)].tobytes(), _sums(sizes[keep]))

    def without_first(self, number: int) -> DataRows:
        """The rows without so many columns at their beginning."""
        if not number or not len(self):
            return self
        if self._few is not None:
            return DataRows.of(row[number:] for row in self._few)
        begins, ends = self._cell(number - 1)[2] - _HEAD, self.starts[1:]
        octets = self._octets.copy()
        head = np.zeros((len(self), _HEAD), dtype=np.uint8)
        head[:, 0] = ord("D")
        head[:, 1:5] = (ends - begins - 1).astype(">i4").view(np.uint8).reshape(-1, 4)
        head[:, 5:] = list((int.from_bytes(self.content[5:7], "big") - number).to_bytes(2, "big"))
        octets[begins[:, None] + np.arange(_HEAD)] = head
        sizes = np.stack([begins - self.starts[:-1], ends - begins], axis=1).reshape(-1)
        kept = np.repeat(np.tile(np.array([False, True]), len(self)), sizes)
        return DataRows(octets[kept].tobytes(), _sums(ends - begins))

    def lettered(self, letter: str) -> bytes:
        """The messages under another letter."""
        octets = self._octets.copy()
        octets[self.starts[:-1]] = ord(letter)
        return octets.tobytes()

    # Cells ------------------------------------------------------------------------------------------------------------

    def _cell(self, column: int) -> tuple[Ints, Ints, Ints]:
        """Where the cells of a column begin, how long they are (-1 for NULL), and where the next column begins."""
        while len(self._columns) <= column:
            size = self._columns[-1][2] if self._columns else self.starts[:-1] + _HEAD
            lengths = self._sizes[size].astype(np.int64)
            self._columns.append((size + 4, lengths, size + 4 + np.maximum(lengths, 0)))
        return self._columns[column]

    @cached_property
    def _columns(self) -> list[tuple[Ints, Ints, Ints]]:
        return []

    def column(self, column: int) -> list[bytes | None]:
        """The cells of a column."""
        if self._few is not None:
            return [row[column] for row in self._few]
        begins, lengths, ends = self._cell(column)
        content = self.content
        if bool((lengths >= 0).all()):
            return [content[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
        return [
            content[begin:end] if length >= 0 else None
            for begin, end, length in zip(begins.tolist(), ends.tolist(), lengths.tolist(), strict=True)
        ]

    def texts(self, column: int) -> list[str | None]:
        """The cells of a column, decoded."""
        return [None if cell is None else cell.decode() for cell in self.column(column)]

    def numbers(self, column: int) -> Ints | None:
        """The cells as whole numbers, -1 for NULL; None if one is not spelt as a small number is."""
        if self._few is not None:
            cells = self.column(column)
            plain = all(cell is None or _SPELT.fullmatch(cell) for cell in cells)
            return np.array([-1 if cell is None else int(cell) for cell in cells], dtype=np.int64) if plain else None
        begins, lengths, _ = self._cell(column)
        width = int(lengths.max(initial=0))
        if width > _DIGITS or not lengths.all():
            return None
        found = np.zeros(len(self), dtype=np.int64)
        for place in range(width):
            inside = lengths > place
            digits = self._octets[np.where(inside, begins + place, 0)].astype(np.int64) - ord("0")
            wrong = (digits < 0) | (digits > 9) | ((digits == 0) & (place == 0) & (lengths > 1))
            if bool((wrong & inside).any()):
                return None
            found = np.where(inside, found * 10 + digits, found)
        found[lengths < 0] = -1
        return found

    def cells(self) -> list[Row]:
        """All rows, cell by cell."""
        if self._few is not None:
            return self._few
        columns = int.from_bytes(self.content[5:7], "big")
        return list(zip(*(self.column(place) for place in range(columns)), strict=True)) or [()] * len(self)


def _sums(sizes: Ints) -> Ints:
    """Where pieces of these sizes begin, and where the last one ends."""
    return np.append(0, np.cumsum(sizes))
