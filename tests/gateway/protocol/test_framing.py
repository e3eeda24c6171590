"""Whatever way the bytes are cut, the same messages come out."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.gateway.protocol.framing import COPIED, ROWS, Framer, Malformed, walk
from tests.gateway.raw import message, row, split

CELLS = st.lists(st.none() | st.binary(max_size=12) | st.sampled_from([b"D\0\0\0\x07\0\1", b"d\0\0\0\4"]), max_size=4)
ROW = CELLS.map(lambda cells: row(*cells))
OTHER = st.builds(message, st.sampled_from([b"T", b"C", b"Z", b"N", b"d", b"1"]), st.binary(max_size=20))
STREAM = st.lists(ROW | OTHER, max_size=60).map(b"".join)


def frames(data: bytes, cuts: list[int], framer: Framer) -> bytes:
    """The bytes that come out, with a mark between messages."""
    found, whole = [], b""
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for begin, end in pairwise(edges):
        framer.feed(data[begin:end])
        while (frame := framer.next()) is not None:
            if frame.part:
                whole += frame.raw
                if frame.part in ("last", "only"):
                    found.append(whole)
                    whole = b""
            else:
                found += split(frame.raw)
    assert framer.waiting == 0
    assert whole == b""
    return b"|".join(found)


@settings(deadline=None)
@given(STREAM, st.lists(st.integers(0, 5000), max_size=20))
def test_cuts_do_not_matter(data: bytes, cuts: list[int]) -> None:
    assert frames(data, cuts, Framer(runs=ROWS)) == b"|".join(split(data))


@settings(deadline=None)
@given(STREAM, st.lists(st.integers(0, 5000), max_size=20), st.integers(5, 40))
def test_nor_do_parts_of_large_messages(data: bytes, cuts: list[int], largest: int) -> None:
    assert frames(data, cuts, Framer(runs=ROWS, largest=largest)) == b"|".join(split(data))


@settings(deadline=None)
@given(st.lists(CELLS, min_size=1, max_size=8), st.integers(30, 60), st.lists(st.integers(0, 50_000), max_size=5))
def test_long_runs_are_walked_with_arrays_just_the_same(
    some: list[list[bytes | None]], times: int, cuts: list[int]
) -> None:
    data = b"".join(row(*cells) for cells in some) * times + message(b"C", b"SELECT 1\0")
    assert frames(data, cuts, Framer(runs=ROWS)) == b"|".join(split(data))


def test_values_that_look_like_rows_do_not_mislead() -> None:
    trap = row(b"D\0\0\0\x07\0\2D\0\0\0\x09\0\2", row(b"x", b"y"))
    data = (trap + row(b"1", None)) * 500
    assert walk(data, 0) == len(data)


def test_a_run_ends_before_a_row_that_is_not_whole() -> None:
    whole = row(b"abc", b"defg") * 400
    assert walk(whole + row(b"abc", b"defg")[:-1], 0) == len(whole)


@pytest.mark.parametrize("length", [-1, 0, 3, 0x4000_0000, 0x7FFF_FFFF, -(2**31)])
@pytest.mark.parametrize("letter", [b"Q", b"D", b"d"])
def test_impossible_lengths_are_refused(length: int, letter: bytes) -> None:
    framer = Framer(runs=ROWS)
    framer.feed(letter + struct.pack("!i", length) + b"x" * 10)
    with pytest.raises(Malformed):
        framer.next()


def test_impossible_lengths_are_refused_in_the_middle_of_a_run() -> None:
    framer = Framer(runs=ROWS)
    framer.feed(row(b"x") * 300 + b"D\0\0\0\1\0\1" + row(b"x") * 300)
    with pytest.raises(Malformed):
        list(iter(framer.next, None))


def test_a_large_message_takes_no_more_memory_than_it_has() -> None:
    framer = Framer(runs=COPIED, largest=1000)
    framer.feed(b"d" + struct.pack("!i", 1_000_000_000))
    assert framer.next().part == "first"  # type: ignore[union-attr]
    for _ in range(10):
        framer.feed(b"x" * 100_000)
        assert framer.next().part == "middle"  # type: ignore[union-attr]
        assert framer.waiting == 0


def test_a_message_in_many_pieces_is_put_together_once() -> None:
    data = message(b"Q", b"x" * 3_000_000)
    framer = Framer()
    for begin in range(0, len(data), 100):
        framer.feed(data[begin : begin + 100])
        frame = framer.next()
    assert frame is not None
    assert frame.raw == data


def test_thousands_of_messages_in_one_piece() -> None:
    framer = Framer()
    framer.feed(message(b"S") * 20_000)
    count = 0
    while framer.next() is not None:
        count += 1
    assert count == 20_000
