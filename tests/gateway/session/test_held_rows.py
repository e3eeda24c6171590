"""Held rows as columns, against the plainest reading; and what is left when rows or cells are taken out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.gateway.protocol.framing import Malformed
from discreet.gateway.protocol.messages import ResultColumn
from discreet.gateway.session.held_rows import HeldBytes, HeldResult, RowCollector, without_cells, without_rows
from tests.gateway.raw import row, rows, split

TABLES = st.integers(0, 5).flatmap(
    lambda width: st.lists(
        st.lists(st.none() | st.binary(max_size=9), min_size=width, max_size=width), min_size=1, max_size=24
    )
)


def hold(table: list[list[bytes | None]]) -> HeldResult:
    messages = [row(*cells) for cells in table]
    starts = np.cumsum([0, *map(len, messages)])[:-1]
    return HeldResult(b"".join(messages), starts, None)


@settings(deadline=None)
@given(TABLES)
def test_cells_are_where_they_are(table: list[list[bytes | None]]) -> None:
    held = hold(table)
    cells = held.cells()
    assert cells.lengths.shape == (len(table[0]), len(table))
    for column in range(len(table[0])):
        for number, expected in enumerate(table):
            place, length = int(cells.offsets[column, number]), int(cells.lengths[column, number])
            assert held.cell(place, length) == expected[column]


@settings(deadline=None)
@given(TABLES, st.data())
def test_cells_become_null_and_nothing_else_changes(table: list[list[bytes | None]], data: st.DataObject) -> None:
    held = hold(table)
    shape = (len(table[0]), len(table))
    size = shape[0] * shape[1]
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)), dtype=np.bool_).reshape(shape)
    left = split(without_cells(held, mask))
    expected = [[None if mask[c, r] else cell for c, cell in enumerate(cells)] for r, cells in enumerate(table)]
    assert rows(left) == expected


@settings(deadline=None)
@given(TABLES, st.data())
def test_rows_are_left_out_and_the_others_stay_as_they_came(
    table: list[list[bytes | None]], data: st.DataObject
) -> None:
    held = hold(table)
    keep = data.draw(st.lists(st.booleans(), min_size=len(table), max_size=len(table)))
    expected = b"".join(row(*cells) for cells, wanted in zip(table, keep, strict=True) if wanted)
    assert without_rows(held, np.array(keep, dtype=np.bool_)) == expected


@pytest.mark.parametrize("times", [1, 100])
@pytest.mark.parametrize(
    "bad", [b"D\0\0\0\4", b"D\0\0\0\x0a\0\1\0\0\0", b"D\0\0\0\x0a\0\1\0\0\0\7", row(b"x")[:-1] + b"xx"]
)
def test_rows_that_are_not_what_they_say_are_malformed(bad: bytes, times: int) -> None:
    good = row(b"x") * times
    data = good + bad
    starts = [*range(0, len(good), len(row(b"x"))), len(good)]
    with pytest.raises(Malformed):
        HeldResult(data, np.array(starts), None).cells()


@pytest.mark.parametrize("times", [1, 100])
def test_rows_must_have_the_described_columns(times: int) -> None:
    column = ResultColumn("a", 0, 0, 25, -1, -1, 0)
    data, places = row(b"x", b"y") * times, np.arange(times) * len(row(b"x", b"y"))
    assert HeldResult(data, places, (column, column)).cells().lengths.shape == (2, times)
    with pytest.raises(Malformed):
        HeldResult(data, places, (column,)).cells()


@pytest.mark.parametrize("shape", [(3,), (2, 2), (1, 3)])
def test_a_decision_of_the_wrong_shape_is_an_error(shape: tuple[int, ...]) -> None:
    held = hold([[b"1", b"2"], [b"3", b"4"], [b"5", b"6"]])
    with pytest.raises(ValueError, match="one truth value"):
        without_cells(held, np.zeros(shape, dtype=np.bool_))
    with pytest.raises(ValueError, match="one truth value"):
        without_rows(held, np.zeros((2,), dtype=np.bool_))


def test_what_came_between_rows_keeps_its_place() -> None:
    holding = RowCollector()
    holding.add_rows(row(b"1"), [0])
    holding.add_other(b"notice")
    holding.add_rows(row(b"2"), [0])
    assert b"".join(holding.all()) == row(b"1") + b"notice" + row(b"2")
    data, starts = holding.held()
    assert (data, list(starts)) == (row(b"1") + row(b"2"), [0, len(row(b"1"))])
    assert holding.size == len(data) + len(b"notice") + 16


def test_room_is_taken_and_given_back() -> None:
    room = HeldBytes(10)
    assert room.take(7)
    assert not room.take(4)
    room.give(7)
    assert room.free == 10
