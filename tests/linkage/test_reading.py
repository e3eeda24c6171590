"""Records in any shape become coded columns."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from discreet.errors import ColumnError
from discreet.kernel import Coded
from discreet.linkage.reading import columns_of

ROWS = [{"id": 7, "born": datetime.date(1964, 8, 9), "name": "Ann"}, {"id": 42, "born": None, "name": "Lea"}]
CELLS: dict[str, list[str | None]] = {"id": ["7", "42"], "born": ["1964-08-09", None], "name": ["Ann", "Lea"]}
COLUMNS = {name: [row[name] for row in ROWS] for name in CELLS}
SHAPES: dict[str, Any] = {
    "rows": ROWS,
    "tuple": tuple(ROWS),
    "columns": COLUMNS,
    "arrays": {
        "id": np.array([7, 42]),
        "born": np.array(["1964-08-09", "NaT"], dtype="datetime64[D]"),
        "name": np.array(["Ann", "Lea"]),
    },
    "coded": {name: Coded.of(cells) for name, cells in COLUMNS.items()},
    "pandas": pandas.DataFrame(ROWS),
    "categories": pandas.DataFrame(ROWS).astype("category"),
    "polars": polars.DataFrame(ROWS),
    "lazy": polars.LazyFrame(ROWS),
    "arrow": pyarrow.Table.from_pylist(ROWS),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_cells_whatever_the_shape(shape: str) -> None:
    found = columns_of(SHAPES[shape], list(CELLS))
    for name, coded in found.items():
        assert [coded.values[code] for code in coded.codes] == CELLS[name]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_column_that_is_not_there(shape: str) -> None:
    with pytest.raises(ColumnError, match="'surname'"):
        columns_of(SHAPES[shape], ["name", "surname"])


def test_a_key_that_one_record_lacks_is_a_missing_value() -> None:
    assert columns_of([{"name": "Ann"}, {}], ["name"])["name"].values == ("Ann", None)


def test_records_are_dictionaries() -> None:
    with pytest.raises(ColumnError, match="no dictionary"):
        columns_of([("Ann",)], ["name"])
