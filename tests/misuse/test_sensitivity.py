"""How sensitive values are."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import Policy
from discreet.errors import UsageError
from discreet.kernel import Coded
from discreet.misuse import Sensitivity
from discreet.misuse.result_formats import as_cells
from discreet.misuse.sensitivity import weigh
from tests.misuse.paper import TABLES, F

MIXED = Sensitivity.from_dict(
    {
        "x": {
            "values": {"Gold": 1.0, 7: 0.9, "true": 0.4, "2020-01-01": 0.6, "nan": 0.7},
            "bins": [[0, 0.1], [10, 0.2]],
            "otherwise": 0.5,
        },
        "y": {"values": {"a": 0.25}},
        "z": {"bins": [[1, 0.3]]},
    }
)


@pytest.mark.parametrize(
    ("value", "weight"),
    [
        ("Gold", 1.0), ("gold", 0.5), (7, 0.9), (7.0, 0.9), ("7", 0.9), (Decimal("7.00"), 0.9), (True, 0.4), (1, 0.2),
        (0, 0.1), (-3, 0.1), (10, 0.2), (10.0001, 0.5), ("10", 0.2), (math.inf, 0.5), (-math.inf, 0.1),
        (None, 0.0), (math.nan, 0.0), ("nan", 0.7), ("NaN", 0.5), ("", 0.5), (datetime.date(2020, 1, 1), 0.6),
    ],
)  # fmt: skip
def test_values_come_before_bins_and_bounds_are_inclusive(value: Any, weight: float) -> None:
    assert MIXED("x", value) == weight


def test_what_is_not_listed() -> None:
    assert MIXED("y", "b") == 0.0
    assert MIXED("z", 2) == 1.0
    assert MIXED("z", "no number") == 1.0
    assert MIXED("unknown", "Gold") == 0.0
    assert (MIXED.worst("x"), MIXED.worst("y"), MIXED.worst("z"), MIXED.worst("unknown")) == (1.0, 0.25, 1.0, 0.0)


CELLS = st.one_of(
    st.integers(-20, 20), st.sampled_from([7, 7.0, 0.0, 10.0, 10.5, math.nan, None, "Gold", "7", True, False, 2**70])
)


@given(cells=st.lists(CELLS))
def test_a_column_weighs_what_its_cells_weigh(cells: list[Any]) -> None:
    expected = [MIXED("x", cell) for cell in cells]
    for column in (cells, Coded.of(cells)):
        assert weigh(as_cells(column), MIXED.weights["x"]).tolist() == expected


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.int64])
def test_arrays_of_numbers_weigh_what_their_cells_weigh(dtype: Any) -> None:
    cells = np.array([-3, 0, 1, 7, 10, 11, 100], dtype=dtype)
    assert weigh(cells, MIXED.weights["x"]).tolist() == [MIXED("x", cell) for cell in cells.tolist()]


def test_masked_arrays_and_missing_numbers_weigh_nothing() -> None:
    masked = np.ma.masked_array([7, 7], mask=[False, True])
    assert weigh(as_cells(masked), MIXED.weights["x"]).tolist() == [0.9, 0.0]
    assert weigh(np.array([math.nan, 7.0]), MIXED.weights["x"]).tolist() == [0.0, 0.9]


def test_a_context_replaces_the_weights_of_its_columns() -> None:
    night = {"values": {"Gold": 0.5}, "otherwise": 0.2}
    f = Sensitivity.from_dict({**TABLES, "account": {**TABLES["account"], "contexts": {"night": night}}})
    assert (f("account", "Gold"), f("account", "White")) == (1.0, 0.1)
    at_night = f.within("night")
    assert (at_night("account", "Gold"), at_night("account", "White"), at_night("bill", 900)) == (0.5, 0.2, 1.0)
    assert at_night.within(None)("account", "Gold") == 1.0
    assert Sensitivity.from_dict(f.to_dict(), context="night")("account", "White") == 0.2
    assert at_night.version != f.version
    with pytest.raises(UsageError, match="night"):
        f.within("nihgt")


def test_the_version_names_the_tables() -> None:
    again = Sensitivity.from_dict(F.to_dict())
    assert again.version == F.version
    changed = {**TABLES, "account": {"values": {"Gold": 0.9}}}
    assert Sensitivity.from_dict(changed).version != F.version


@pytest.mark.parametrize(
    "tables",
    [
        {},
        [],
        {"a": 3},
        {"a": {"vales": {}}},
        {"a": {"values": {"x": 1.1}}},
        {"a": {"values": {"x": -0.1}}},
        {"a": {"values": {"x": math.nan}}},
        {"a": {"values": {"x": True}}},
        {"a": {"values": {"x": "1"}}},
        {"a": {"values": ["x"]}},
        {"a": {"values": {None: 0.5}}},
        {"a": {"bins": [[2, 0.1], [1, 0.2]]}},
        {"a": {"bins": [[1, 0.1], [1, 0.2]]}},
        {"a": {"bins": [[math.nan, 0.1]]}},
        {"a": {"bins": [1, 2]}},
        {"a": {"otherwise": 2}},
        {"a": {"contexts": {"night": {"contexts": {}}}}},
    ],
)
def test_tables_that_make_no_sense_are_refused(tables: Any) -> None:
    with pytest.raises(UsageError):
        Sensitivity.from_dict(tables)


def test_the_policy_says_it_too() -> None:
    policy = Policy.from_dict({"sensitivity": TABLES})
    assert Sensitivity.from_policy(policy).version == F.version
    with pytest.raises(UsageError, match=r"sensitivity\.COLUMN"):
        Sensitivity.from_policy(Policy())


def test_bins_read_decimal_commas_where_the_policy_says_so() -> None:
    tables = {"bins": [[1.5, 0.1], [3, 0.2]], "otherwise": 1.0, "contexts": {"night": {"bins": [[9, 0.3]]}}}
    policy = Policy.from_dict({"data": {"decimal": ","}, "sensitivity": {"bill": tables}})
    f = Sensitivity.from_policy(policy)
    assert [f("bill", value) for value in ("1,5", "1,51", "2", 2.5, "1.234", "1,2,3")] == [0.1, 0.2, 0.2, 0.2, 1.0, 1.0]
    assert f.within("night")("bill", "8,5") == 0.3
    assert Sensitivity.from_dict(f.to_dict()) == f
    assert Sensitivity.from_policy(Policy.from_dict({"sensitivity": {"bill": tables}}))("bill", "1,5") == 1.0
