"""One contract for every engine: rows come as they are, coded as they are counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars
import pytest

import discreet
from discreet.errors import ColumnError
from discreet.kernel import Coded
from discreet.sources.table_rows import fetch
from tests.contract.readers import Reader
from tests.contract.test_engines import ROWS, WEIRD, arrow_table

COLUMNS = ["zip", "year", "born", "sex", "ok", "dose", WEIRD]


def spelt(column: Coded) -> list[Any]:
    return [column.values[code] for code in column.codes.tolist()]


def test_rows_come_as_they_are(any_reader: Reader) -> None:
    table = any_reader(arrow_table(ROWS), None)
    found = fetch(table, COLUMNS)
    assert list(found) == COLUMNS
    rows = sorted(zip(*map(spelt, found.values()), strict=True), key=str)
    classes = table.classes(COLUMNS)
    counted = [
        values for values, size in zip(classes.tuples(), classes.sizes.tolist(), strict=True) for _ in range(size)
    ]
    assert rows == sorted(counted, key=str)
    assert len(rows) == len(ROWS)
    assert fetch(table, []) == {}


def test_a_column_that_is_not_there_is_named(any_reader: Reader) -> None:
    with pytest.raises(ColumnError, match="zipp"):
        fetch(any_reader(arrow_table(ROWS), None), ["zipp"])


def test_files_keep_their_order(tmp_path: Path) -> None:
    numbers = list(range(300_000))
    frame = polars.DataFrame({"number": numbers, "text": [f"t{number % 7}" for number in numbers]})
    frame.write_csv(tmp_path / "rows.csv")
    frame.write_parquet(tmp_path / "rows.parquet", row_group_size=10_000)
    for name in ("rows.csv", "rows.parquet"):
        found = fetch(discreet.read(tmp_path / name), ["number"])["number"]
        assert spelt(found) == list(map(str, numbers))
