"""People as a table: columns, samples, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.people import Coded, People

some = People({"row": np.arange(500), "sex": Coded(np.arange(500) % 2, np.array(["F", "M"]))})


@given(st.integers(1, 500), st.integers(0, 2**32))
def test_a_sample_is_a_subset_without_doubles_in_the_old_order(size: int, seed: int) -> None:
    sample = some.sample(size, seed=seed)
    rows = sample.column("row")
    assert len(sample) == size
    assert (np.diff(rows) > 0).all()
    assert (sample.column("sex") == some.column("sex")[rows]).all()


def test_a_sample_holds_whole_people(people: People) -> None:
    sample = people.sample(0.02, seed=3)
    assert len(sample) == 1_200
    row = {person: number for number, person in enumerate(people.column("person_id").tolist())}
    rows = np.array([row[person] for person in sample.column("person_id").tolist()])
    assert len(set(rows.tolist())) == 1_200
    assert all((sample.column(name) == people.column(name)[rows]).all() for name in people.columns)


def test_a_sample_hangs_on_the_seed_only() -> None:
    rows = [some.sample(50, seed=seed).column("row").tolist() for seed in (1, 1, 2)]
    assert rows[0] == rows[1] != rows[2]


@pytest.mark.parametrize("size", [0, -1, 501, 0.0, 1.1, -0.5, 0.0001, float("nan")])
def test_impossible_samples_are_refused(size: float) -> None:
    with pytest.raises(UsageError, match="500"):
        some.sample(size, seed=1)


def test_columns_can_be_selected_in_any_order() -> None:
    assert list(some.select("sex", "row").columns) == ["sex", "row"]


@pytest.mark.parametrize("ask", [lambda: some.column("age"), lambda: some.select("row", "age")])
def test_an_unknown_column_is_refused(ask: object) -> None:
    with pytest.raises(UsageError, match=r"'age'.*row, sex"):
        ask()  # type: ignore[operator]


@pytest.mark.parametrize("columns", [{}, {"one": np.arange(2), "two": np.arange(3)}])
def test_a_ragged_table_is_refused(columns: dict[str, np.ndarray]) -> None:
    with pytest.raises(UsageError, match="same number of rows"):
        People(columns)


def test_people_do_not_change() -> None:
    with pytest.raises(ValueError, match="read-only"):
        some.column("row")[0] = 9
    with pytest.raises(TypeError):
        some.columns["row"] = np.arange(500)  # type: ignore[index]


def test_repr_is_one_line_without_values() -> None:
    assert repr(some) == "People(500 rows: row, sex)"
