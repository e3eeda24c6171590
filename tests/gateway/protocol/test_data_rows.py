"""Rows read in place: the same cells, whatever the messages look like."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.gateway.protocol.data_rows import DataRows

# Cells that look like the beginning of a row, among others.
CELLS = st.one_of(
    st.none(), st.binary(max_size=9), st.just(b"D\0\0\0\x0c\0\3"), st.integers(-9, 10**10).map(lambda n: b"%d" % n)
)
TABLES = st.tuples(st.integers(1, 5), st.integers(0, 90)).flatmap(
    lambda size: st.lists(st.tuples(*[CELLS] * size[0]), min_size=size[1], max_size=size[1])
)


@given(TABLES, st.data())
@settings(max_examples=60, deadline=None)
def test_rows_are_what_they_were_made_of(table: list[tuple[bytes | None, ...]], data: st.DataObject) -> None:
    rows = DataRows.of(table)
    assert len(rows) == len(table)
    assert rows.cells() == table
    first = data.draw(st.integers(0, len(table[0]) - 1)) if table else 0
    assert rows.without_first(first).cells() == [row[first:] for row in table]
    keep = np.array([bool(number % 3) for number in range(len(table))], dtype=np.bool_)
    kept = [row for row, wanted in zip(table, keep.tolist(), strict=True) if wanted]
    assert rows.kept(keep).cells() == kept
    assert rows[1:3].without_first(first).cells() == [row[first:] for row in table[1:3]]
    assert DataRows.of(rows.cells()).content == rows.content


@given(st.lists(CELLS, max_size=80))
@settings(max_examples=60, deadline=None)
def test_numbers_are_read_only_from_plain_spellings(cells: list[bytes | None]) -> None:
    def plain(cell: bytes | None) -> bool:
        return cell is None or (cell.isdigit() and len(cell) < 10 and cell == b"%d" % int(cell))

    found = DataRows.of([cell] for cell in cells).numbers(0)
    if all(map(plain, cells)):
        assert found is not None
        assert found.tolist() == [-1 if cell is None else int(cell) for cell in cells]
    else:
        assert found is None
