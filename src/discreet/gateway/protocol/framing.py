r"""Framing of the PostgreSQL protocol, version 3: bytes in, whole messages out.

A message is one letter, a length (four bytes, which count themselves) and a body. How the bytes were cut into pieces on
their way never matters: whatever the cuts, the same messages come out. Rows come as runs, many messages in one piece, so
that a result of 100,000 rows is not 100,000 objects; a message too large to keep comes in parts.

>>> framer = Framer(runs=ROWS)
>>> framer.feed(b"Z\x00\x00")
>>> framer.next() is None
True
>>> framer.feed(b"\x00\x05I")
>>> framer.next().raw
b'Z\x00\x00\x00\x05I'
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LENGTH = Struct("!i")
"""How a length, or any number of four bytes, is written."""
_HEADER = 5
_LARGEST = 0x3FFF_FFFF  # PostgreSQL's own limit on what it allocates at once
ROWS = frozenset(b"Dd")
"""The messages from the server that come in runs: DataRow and CopyData."""
COPIED = frozenset(b"d")
"""The messages from a client that come in runs: CopyData. (From a client, D is Describe.)"""
FEW = 16
"""Messages that are walked one by one before it is asked whether arrays are worth their set-up."""
_WORTH_ARRAYS = 160  # messages that are likely to follow


class Malformed(Exception):
    """The other side does not speak the protocol: no next message can be found."""


class Frame(NamedTuple):
    """Whole message, run of messages of one kind, or part of a large one."""

    kind: int
    """The letter, as a number."""
    raw: bytes
    """The bytes as they came, with letter and length."""
    part: str = ""
    """Empty for whole messages; else `first`, `middle`, `last` or `only` part of a large one."""

    @property
    def body(self) -> bytes:
        """What follows letter and length."""
        return self.raw[_HEADER:]


class Framer:
    """Cuts a stream of bytes into frames."""

    __slots__ = ("_data", "_have", "_kind", "_largest", "_left", "_need", "_parted", "_parts", "_pos", "_runs")

    def __init__(
        self, *, runs: frozenset[int] = frozenset(), largest: int = _LARGEST, parted: frozenset[int] | None = None
    ) -> None:
        self._runs = runs
        self._largest = largest
        self._parted = parted
        """The messages that come in parts where they are larger; all, if there is none."""
        self._data = b""
        self._pos = 0
        self._parts: list[bytes] = []
        self._have = 0
        self._need = 0
        self._left = 0
        self._kind = 0

    @property
    def waiting(self) -> int:
        """Bytes that were fed and not yet handed out."""
        return self._have if self._need else len(self._data) - self._pos

    @property
    def empty(self) -> bool:
        """Whether everything that was fed was handed out, and whole."""
        return self._pos == len(self._data) and not self._need and not self._left

    def feed(self, data: bytes) -> None:
        """Take in bytes as they come from the network."""
        if self._need:
            self._parts.append(data)
            self._have += len(data)
            if self._have < self._need:
                return
            data, self._parts, self._need = b"".join(self._parts), [], 0
        elif self._pos < len(self._data):
            data = self._data[self._pos :] + data
        self._data, self._pos = data, 0

    def rest(self) -> bytes:
        """Everything not handed out yet; the framer is empty afterwards."""
        data = b"".join(self._parts) if self._need else self._data[self._pos :]
        self._data, self._pos, self._parts, self._need = b"", 0, [], 0
        return data

    def next(self) -> Frame | None:
        """The next frame, or None until more bytes are fed."""
        data, pos = self._data, self._pos
        if self._left:
            if pos == len(data):
                return None
            self._pos = end = min(len(data), pos + self._left)
            self._left -= end - pos
            return Frame(self._kind, data[pos:end], "middle" if self._left else "last")
        if self._need or len(data) - pos < _HEADER:
            return None
        kind = data[pos]
        length = LENGTH.unpack_from(data, pos + 1)[0]
        if length < 4 or length > _LARGEST:
            raise Malformed
        end = pos + 1 + length
        in_parts = end - pos > self._largest and (self._parted is None or kind in self._parted)
        if end > len(data):
            have = len(data) - pos
            self._data, self._pos = b"", 0
            if in_parts:
                self._left, self._kind = end - pos - have, kind
                return Frame(kind, data[pos:], "first")
            self._parts, self._have, self._need = [data[pos:]], have, end - pos
            return None
        if kind in self._runs:
            self._pos = end = walk(data, pos)
            return Frame(kind, data if pos == 0 and end == len(data) else data[pos:end])
        self._pos = end
        if in_parts:
            return Frame(kind, data[pos:end], "only")
        return Frame(kind, data if pos == 0 and end == len(data) else data[pos:end])

    def window(self) -> tuple[bytes, int]:
        """Bytes with the next message, and where it begins; none while it is incomplete."""
        return (b"", 0) if self._left or self._need else (self._data, self._pos)

    def take(self, end: int) -> bytes:
        """The whole messages of the window up to a place, in one piece."""
        data, begin = self._data, self._pos
        self._pos = end
        return data if begin == 0 and end == len(data) else data[begin:end]


def walk(data: bytes, pos: int) -> int:
    """Where the whole messages of the kind at `pos` end.

    >>> walk(b"D\\0\\0\\0\\4D\\0\\0\\0\\5xC\\0\\0\\0\\4", 0)
    11
    """
    kind, size, first, begin, number, enough = data[pos], len(data), pos, pos, 0, FEW
    while pos + _HEADER <= size and data[pos] == kind:
        length = LENGTH.unpack_from(data, pos + 1)[0]
        if length < 4 or length > _LARGEST:
            raise Malformed
        if pos + 1 + length > size:
            return pos
        begin, pos, number = pos, pos + 1 + length, number + 1
        if number == enough:
            if (size - pos) * enough > (pos - first) * _WORTH_ARRAYS:
                return _chain(np.frombuffer(data, dtype=np.uint8), pos, data[begin : begin + 7])
            enough = size  # the rest is short
    return pos


def _chain(octets: NDArray[np.uint8], pos: int, sample: bytes) -> int:
    """Where messages from `pos` on like `sample` end, each beginning where the one before ends.

    Places that look like the beginning of a message are found all at once; those that are one are the ones that can be
    reached from `pos`. A value that happens to look like a beginning is never reached.
    """
    # A letter with the number of columns of the sample behind it; or, with CopyData, a short length.
    rest, last = octets[pos:], len(octets) - pos - 6
    if last + 6 < len(sample):
        return pos
    marks = ((5, sample[5]), (6, sample[6])) if sample[0] == ord("D") else ((1, 0), (2, 0))
    similar = rest[:last] == sample[0]
    for offset, value in marks:
        similar &= rest[offset : offset + last] == value
    places = np.flatnonzero(similar)
    if not len(places) or places[0] != 0:
        return pos
    numbers = np.ndarray((len(rest) - 3,), dtype=">i4", buffer=rest, strides=(1,))
    lengths = numbers[places + 1].astype(np.int64)
    if int(lengths.min()) < 4 or int(lengths.max()) > _LARGEST:  # a lookalike, or nonsense: by hand it is told apart
        return pos
    ends = places + 1 + lengths
    if not np.array_equal(ends[:-1], places[1:]):
        following = np.searchsorted(places, ends)
        following[following == len(places)] = 0
        following[places[following] != ends] = 0
        steps, at = following.tolist(), 0
        while steps[at] != 0 and ends[at] <= len(rest):  # the places that a walk from the first one meets
            at = steps[at]
        return pos + int(ends[at] if ends[at] <= len(rest) else places[at])
    return pos + int(ends[-1] if ends[-1] <= len(rest) else places[-1])


_UNNAMED = b"\x00\x00\x00\x06P\x00"  # of a Describe: the portal without a name
_EXECUTE_SYNC = b"E\x00\x00\x00\x09\x00\x00\x00\x00\x00S\x00\x00\x00\x04"  # all of its rows


def pipeline_of(data: bytes) -> tuple[int, int] | None:
    """Where Parse (0 without one) and Bind of a pipeline end; else None.

    A pipeline is [Parse] Bind [Describe] Execute Sync, through the portal without a name.

    >>> pipeline_of(b"B\\0\\0\\0\\x0c\\0s\\0\\0\\0\\0\\0\\0" + b"E\\0\\0\\0\\x09\\0\\0\\0\\0\\0" + b"S\\0\\0\\0\\4")
    (0, 13)
    """
    size, parse = len(data), 0
    if size < 5:
        return None
    if data[0] == ord("P"):
        parse = 1 + LENGTH.unpack_from(data, 1)[0]
    if not 0 <= parse <= size - 6 or data[parse] != ord("B") or data[parse + 5]:  # a named portal
        return None
    bind = parse + 1 + LENGTH.unpack_from(data, parse + 1)[0]
    place = bind
    if bind > parse and data[bind : bind + 1] == b"D":
        if data[bind + 1 : bind + 7] != _UNNAMED:
            return None
        place += 7
    rest = data[place:] if bind > parse else b""
    return (parse, bind) if rest == _EXECUTE_SYNC else None
