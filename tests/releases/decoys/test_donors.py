"""Donor columns: which of them belong together, and new values for numbers and dates that hardly anybody shares."""

from __future__ import annotations

import time
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from scipy.stats.contingency import crosstab

from discreet.releases.decoys.donors import (
    DonorColumn,
    alone,
    association,
    associations,
    blocks,
    determines,
    grid_of,
    movable,
    nudged,
    repeated,
    telling,
)

NEW_YEAR = date(2020, 1, 1)
STEPS = np.random.default_rng(7).choice(5000, 300, replace=False).tolist()
CELLS: dict[str, list[Any]] = {
    "hundreds": [100 * step for step in STEPS],
    "cents": [Decimal(step) / 100 for step in STEPS],
    "floats": [step / 8 for step in STEPS],
    "spelt": [f"{step / 10:.1f}" for step in STEPS],
    "days": [NEW_YEAR + timedelta(days=step) for step in STEPS],
    "moments": [datetime(2020, 1, 1) + timedelta(minutes=15 * step) for step in STEPS],
}


@pytest.mark.parametrize("kind", CELLS)
def test_values_move_on_their_grid_and_meet_nobody(kind: str) -> None:
    cells = [*CELLS[kind], None]
    column = DonorColumn.of(kind, cells)
    assert telling(column)
    assert movable(column)
    rows = np.arange(0, len(cells), 5)
    found = nudged(column, rows, np.ones(len(rows), dtype=bool), np.random.default_rng(1))
    grid = grid_of(cells)
    assert grid is not None
    low, high = min(CELLS[kind], key=grid.steps), max(CELLS[kind], key=grid.steps)
    moved = [value for value in found if value is not None]
    assert {type(value) for value in moved} == {type(cells[0])}
    assert all(grid.value(grid.steps(value)) == value for value in moved)
    assert all(grid.steps(low) <= grid.steps(value) <= grid.steps(high) for value in moved)
    assert not {*moved} & {*cells}
    assert len(set(moved)) == len(moved)
    near = [
        abs(grid.steps(value) - grid.steps(cells[row]))
        for value, row in zip(found, rows, strict=True)
        if value is not None
    ]
    assert np.median(near) < 150  # of 5,000 steps


def test_cells_that_are_not_marked_stay() -> None:
    column = DonorColumn.of("hundreds", CELLS["hundreds"])
    rows = np.array([5, 1, 1])
    assert nudged(column, rows, np.zeros(3, dtype=bool), np.random.default_rng(1)) == [
        CELLS["hundreds"][row] for row in rows
    ]


@pytest.mark.parametrize(
    "cells",
    [
        ["01", "02", "10"],
        ["a", "b"],
        [1, 2.5],
        [float("nan"), 1.0],
        [Decimal("NaN"), Decimal(1)],
        ["1.5", "1.50"],
        [True, False],
        [None],
        [],
        ["1e3", "5"],
    ],
)
def test_what_is_no_plain_number_has_no_grid(cells: list[Any]) -> None:
    assert grid_of(cells) is None


def test_many_cells_find_their_grid_quickly() -> None:
    cells = np.random.default_rng(1).permutation(50_000).tolist()
    start = time.process_time()
    assert grid_of(cells) is not None
    assert time.process_time() - start < 3  # a look at every pair would take half a minute


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=30))
def test_whole_numbers_come_back_from_their_grid(cells: list[int]) -> None:
    grid = grid_of(cells)
    assert grid is not None
    assert [grid.value(grid.steps(cell)) for cell in cells] == cells


def test_a_grid_without_a_free_place_repeats_a_neighbour() -> None:
    column = DonorColumn.of("number", list(range(100)))
    found = nudged(column, np.array([50]), np.array([True]), np.random.default_rng(1))
    assert found[0] in range(46, 55)


def test_free_text_can_only_be_repeated() -> None:
    texts = DonorColumn.of("note", [f"patient said {number}" for number in range(50)])
    colours = DonorColumn.of("colour", ["red", "blue"] * 25)
    assert (alone(texts), alone(colours)) == (1.0, 0.0)
    assert repeated([texts, colours, DonorColumn.of("pay", CELLS["hundreds"])]) == ["note"]


def test_association_is_cramers_v_without_its_bias() -> None:
    rng = np.random.default_rng(1)
    one = rng.integers(0, 4, 500)
    other = np.where(rng.random(500) < 0.4, one % 3, rng.integers(0, 3, 500))
    table = crosstab(one, other).count
    phi = chi2_contingency(table, correction=False).statistic / 500
    rows, columns = table.shape
    excess = max(0, phi - (rows - 1) * (columns - 1) / 499)
    room = min(rows - (rows - 1) ** 2 / 499, columns - (columns - 1) ** 2 / 499) - 1
    assert association(one, other) == pytest.approx(np.sqrt(excess / room))
    assert association(one, rng.integers(0, 3, 500)) < 0.1
    assert association(one, np.zeros(500, dtype=np.int64)) == 0.0


def test_a_column_determines_another_only_where_it_comes_often_enough() -> None:
    one = np.arange(60) % 6
    assert determines(one, one // 2)
    assert not determines(one // 2, one)
    assert not determines(np.arange(60), one)  # every value comes once: that proves nothing


def test_columns_that_hang_together_stay_together() -> None:
    rng = np.random.default_rng(2)
    school = rng.integers(0, 5, 400)
    years = (school * 2 + 8).tolist()
    columns = [
        DonorColumn.of("school", [f"s{one}" for one in school]),
        DonorColumn.of("pet", [f"p{one}" for one in rng.integers(0, 4, 400)]),
        DonorColumn.of("years", years),
    ]
    strength = associations(columns)
    assert strength[0, 2] == 1.0
    assert blocks(strength) == [[0, 2], [1]]
