"""Cells as values: by whole columns and one by one, in text and in binary, they are the same."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.gateway import Column, Held
from discreet.gateway.analysis.disclosure import FEW, Decoder, Undecodable
from discreet.kernel.hierarchy import text
from discreet.misuse.result_formats import labels

INT4, TEXT, NUMERIC = 23, 25, 1700


def held(rows: list[tuple[bytes | None, ...]], kinds: tuple[int, ...], *, binary: bool = False) -> Held:
    """Rows as the server sends them."""
    data, places = bytearray(), []
    for row in rows:
        cells = b"".join(struct.pack("!i", -1) if one is None else struct.pack("!i", len(one)) + one for one in row)
        places.append(len(data))
        data += b"D" + struct.pack("!ih", len(cells) + 6, len(row)) + cells
    columns = tuple(Column(f"c{n}", 0, 0, kind, -1, -1, int(binary)) for n, kind in enumerate(kinds))
    return Held(bytes(data), np.array(places, dtype=np.int64), columns)


def decoded(cells: list[bytes | None], kind: int, *, binary: bool = False) -> list[Any]:
    return labels(Decoder(held([(cell,) for cell in cells], (kind,), binary=binary)).values(0))


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=FEW + 1, max_size=200))
def test_whole_numbers(numbers: list[int]) -> None:
    expected = [str(number) for number in numbers]
    assert decoded([str(number).encode() for number in numbers], INT4) == expected
    assert decoded([struct.pack("!i", number) for number in numbers], INT4, binary=True) == expected


@pytest.mark.parametrize("rest", range(1, 8))
@pytest.mark.parametrize("words", [1, 2, 3])
def test_the_end_of_the_last_cell_is_read(words: int, rest: int) -> None:
    """Its last bytes are fewer than a word; those before them must not be taken for them."""
    begin = b"abcdefghijklmnopqrstuvwx"[: 8 * words]
    last = begin + b"z" * rest
    like = begin + last[-8:][:rest]
    found = decoded([like, *[b"0"] * FEW, last], TEXT)
    assert (found[0], found[-1]) == (like.decode(), last.decode())


def test_the_last_cell_is_read_to_its_end() -> None:
    """Its last word reaches beyond the bytes; it was once taken from before it, and one number for another."""
    numbers = [b"0"] * FEW + [b"2147483647", b"2147483600"]
    assert decoded([*numbers], INT4) == [number.decode() for number in numbers]


@given(st.lists(st.integers(0, 10**8 - 1), min_size=FEW + 1, max_size=200))
def test_digits_are_read_eight_at_a_time(numbers: list[int]) -> None:
    found = Decoder(held([(str(number).encode(), b"x") for number in numbers], (INT4, TEXT))).values(0)
    assert isinstance(found, np.ndarray)
    assert found.tolist() == numbers


WORDS = st.lists(st.none() | st.text(st.characters(blacklist_categories=["Cs"]), max_size=40), max_size=300)


@given(WORDS, st.integers(1, 4))
def test_texts(words: list[str | None], times: int) -> None:
    cells = [None if word is None else word.encode() for word in words * times]
    assert decoded(cells, TEXT) == [text(word) for word in words * times]


def test_numbers_of_any_precision() -> None:
    cells: list[bytes | None] = [b"1.50", b"2", None, b"-0.001"] * 40
    assert decoded(cells, NUMERIC)[:4] == ["1.5", "2", None, "-0.001"]


def test_what_cannot_be_read_is_said() -> None:
    with pytest.raises(Undecodable):
        decoded([b"\x00\x01"], 4_000_000, binary=True)


@given(WORDS.filter(bool))
def test_equal_rows_have_equal_fingerprints(words: list[str | None]) -> None:
    rows = [(None if word is None else word.encode(), b"same") for word in words + words]
    factors = np.arange(1, 65, 2, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) | np.uint64(1)
    found = Decoder(held(rows, (TEXT, TEXT))).fingerprints(factors).tolist()
    assert found[: len(words)] == found[len(words) :]
    assert len(set(found)) == len(set(words))
