"""Keys to numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernel import Classes
from discreet.kernel.arrays import LIMIT
from discreet.misuse.prepared_source import Crowds, Dense, Hashed, lookup

KEYS = st.sets(st.integers(0, LIMIT - 1) | st.integers(0, 50), max_size=60)


@given(keys=KEYS, asked=st.lists(st.integers(0, LIMIT - 1) | st.integers(0, 50)))
def test_a_hash_table_finds_what_is_in_it_and_nothing_else(keys: set[int], asked: list[int]) -> None:
    numbers = {key: place + 1 for place, key in enumerate(sorted(keys))}
    table = Hashed.of(np.array(sorted(keys), dtype=np.int64), np.arange(1, len(keys) + 1))
    queries = [*asked, *keys]
    expected = [numbers.get(key, 0) for key in queries]
    assert table.many(np.array(queries, dtype=np.int64)).tolist() == expected
    assert [table.one(key) for key in queries] == expected


def test_the_table_fits_the_keys() -> None:
    few = np.array([1, 2])
    assert isinstance(lookup(few, few, 1000), Dense)
    assert isinstance(lookup(few, few, LIMIT), Hashed)


VALUES = st.sampled_from(["a", "b", "7", "-3", "0", "100000000", None])


@given(
    source=st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1),
    asked=st.lists(st.tuples(*[VALUES | st.just("stranger")] * 3), min_size=1),
)
def test_crowds_are_the_rows_of_the_source_with_the_same_values(
    source: list[tuple[str | None, ...]], asked: list[tuple[str | None, ...]]
) -> None:
    crowds = Crowds.of(Classes.of(["x", "y", "z"], source))
    expected = [max(source.count(row), 1) for row in asked]
    assert [crowds.one(row) for row in asked] == expected
    assert crowds.many([list(cells) for cells in zip(*asked, strict=True)], len(asked)).tolist() == expected


@given(values=st.lists(st.integers(-50, 50) | st.sampled_from([10**12, -(10**15)]), min_size=1))
def test_numbers_are_found_without_being_spelt(values: list[int]) -> None:
    crowds = Crowds.of(Classes.of(["x"], [(str(value),) for value in values]))
    asked = np.array([*values, 51, -51, 2**62, -(2**62)])
    expected = [max(values.count(int(value)), 1) for value in asked]
    assert crowds.many([asked], len(asked)).tolist() == expected
    assert crowds.many([asked.astype(np.float64)], len(asked)).tolist() == expected


@pytest.mark.parametrize("columns", [5, 12])
def test_many_columns_of_many_values_do_not_overflow(columns: int) -> None:
    rng = np.random.default_rng(1)
    rows = [tuple(map(str, row)) for row in rng.integers(0, 10_000, (400, columns)).tolist()]
    names = [f"c{place}" for place in range(columns)]
    crowds = Crowds.of(Classes.of(names, rows + rows[:100]))
    cells = [[row[place] for row in rows] for place in range(columns)]
    assert crowds.many(cells, len(rows)).tolist() == [2] * 100 + [1] * 300
    assert [crowds.one(row) for row in rows[99:101]] == [2, 1]
