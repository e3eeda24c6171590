"""Tuples as single integers: equal exactly where the tuples are, in the same order, however many there could be."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernel.arrays import LIMIT, group, pack, total
from tests.kernel.strategies import some

SIZES = st.sampled_from([1, 2, 3, 7, 2**15, 2**31, 2**40])


@st.composite
def coded_rows(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, ...]]]:
    """Sizes of columns, and rows of codes that agree in many places."""
    sizes = draw(st.lists(SIZES, max_size=8))
    cells = [st.sampled_from(sorted({0, 1 % size, size // 2, size - 1})) for size in sizes]
    return sizes, draw(st.lists(st.tuples(*cells), max_size=20))


def packed(sizes: list[int], rows: list[tuple[int, ...]]) -> tuple[list[int], int]:
    columns = [np.array([row[place] for row in rows], dtype=np.int64) for place in range(len(sizes))]
    keys, bound = pack(columns, sizes, len(rows))
    return keys.tolist(), bound


@some
@given(coded_rows())
def test_keys_are_ordered_as_the_tuples_are(drawn: tuple[list[int], list[tuple[int, ...]]]) -> None:
    sizes, rows = drawn
    keys, _ = packed(sizes, rows)
    for key, row in zip(keys, rows, strict=True):
        for other_key, other_row in zip(keys, rows, strict=True):
            assert (key < other_key, key == other_key) == (row < other_row, row == other_row)


@some
@given(coded_rows())
def test_keys_stay_within_their_bound_and_the_bound_within_its_limit(
    drawn: tuple[list[int], list[tuple[int, ...]]],
) -> None:
    keys, bound = packed(*drawn)
    assert bound < LIMIT
    assert all(0 <= key < bound for key in keys)


def test_columns_without_values_pack_to_nothing() -> None:
    assert packed([0, 3], []) == ([], 3)


@some
@given(st.lists(st.integers(0, 9), max_size=30), st.sampled_from([10, 2**50]))
def test_groups_are_numbered_in_order_of_their_keys(keys: list[int], bound: int) -> None:
    first, member, groups = group(np.array(keys, dtype=np.int64), bound)
    distinct = sorted(set(keys))
    assert groups == len(distinct)
    assert first.tolist() == [keys.index(key) for key in distinct]
    assert member.tolist() == [distinct.index(key) for key in keys]


@pytest.mark.parametrize("largest", [5, 2**51, 2**53 + 1, 2**60])
def test_totals_are_exact_whatever_their_size(largest: int) -> None:
    member, counts = [0, 1, 0, 3, 1, 0], [1, largest, 3, largest, 1, 1]
    expected: Counter[int] = Counter()
    for place, number in zip(member, counts, strict=True):
        expected[place] += number
    found = total(np.array(member), np.array(counts), 5)
    assert found.dtype == np.int64
    assert found.tolist() == [expected[place] for place in range(5)]
