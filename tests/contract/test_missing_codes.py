"""One contract for every engine: codes for missing values are missing, and decimal commas are decimals."""

from __future__ import annotations

import csv
import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import discreet
from discreet.anonymity import anonymise
from discreet.errors import OutsideHierarchy, WeightError
from discreet.sources.table_rows import fetch
from tests.contract.readers import READERS, SPARK, TYPED, TYPELESS, Reader

NEVER = datetime.date(9999, 12, 31)
SCHEMA = pyarrow.schema(
    [
        ("sex", pyarrow.string()),
        ("age", pyarrow.int32()),
        ("dose", pyarrow.decimal128(6, 2)),
        ("born", pyarrow.date32()),
        ("height", pyarrow.string()),
        ("note", pyarrow.string()),
    ]
)
PEOPLE: list[tuple[Any, ...]] = [
    ("F", 31, Decimal("1.50"), datetime.date(1964, 8, 9), "161,5", "-9"),
    ("NA", -9, Decimal("-9.00"), NEVER, "172,0", "a -9"),
    ("N.A.", 34, None, None, "NA", "1.5"),
    ("-9", -9, Decimal("2.25"), datetime.date(1971, 1, 1), "168", "it's {1} \\\\ %s"),
    (None, 99, Decimal("-9.50"), NEVER, None, ""),
]
ODD = "it's {1} \\\\ %s"
"""A code that every quoting must survive."""
COLUMNS = {
    "sex": {"role": "quasi", "hierarchy": {"any": "*"}},
    "age": {"role": "quasi", "hierarchy": {"widths": [10]}},
    "height": {"role": "quasi", "hierarchy": {"cuts": [165.5]}},
    **{name: {"role": "other"} for name in ("dose", "born", "note")},
}


def policy(**data: Any) -> discreet.Policy:
    return discreet.Policy.from_dict({"data": data, "columns": COLUMNS})


def arrow_table() -> pyarrow.Table:
    return pyarrow.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in PEOPLE], schema=SCHEMA)


def values(table: discreet.Table, column: str) -> dict[str | None, int]:
    classes = table.classes([column])
    return {label: size for (label,), size in zip(classes.tuples(), classes.sizes.tolist(), strict=True)}


CODES = policy(missing=["NA", -9, "9999-12-31", ODD, ""], decimal=",")


def test_codes_are_counted_as_missing(reader: Reader) -> None:
    table = reader(arrow_table(), CODES)
    assert values(table, "sex") == {"F": 1, "N.A.": 1, None: 3}
    assert values(table, "age") == {"31": 1, "34": 1, "99": 1, None: 2}
    assert (len(values(table, "dose")), values(table, "dose")[None]) == (4, 2)
    assert values(table, "born") == {"1964-08-09": 1, "1971-01-01": 1, None: 3}
    assert values(table, "note") == {"a -9": 1, "1.5": 1, None: 3}


def test_codes_are_missing_row_by_row(reader: Reader) -> None:
    fetched = fetch(reader(arrow_table(), CODES), ["sex", "age"])
    rows = {
        (fetched["sex"].values[sex], fetched["age"].values[age])
        for sex, age in zip(fetched["sex"].codes.tolist(), fetched["age"].codes.tolist(), strict=True)
    }
    assert rows == {("F", "31"), (None, None), ("N.A.", "34"), (None, "99")}


def test_decimal_commas_are_read_as_numbers(reader: Reader) -> None:
    table = reader(arrow_table(), CODES)
    shown = table.classes(["height"]).at([1])
    assert dict(zip(shown.tuples(), shown.sizes.tolist(), strict=True)) == {
        ("<165,5",): 1,
        ("165,5+",): 2,
        (None,): 2,
    }


def test_without_the_key_a_decimal_comma_is_no_number(reader: Reader) -> None:
    with pytest.raises(OutsideHierarchy, match="'height': 2 of 4"):
        reader(arrow_table(), policy(missing=["NA"])).classes()


WEIGHING = [TYPELESS, TYPED, pytest.param("spark", marks=SPARK)]
"""Engines that read numbers from texts; PostgreSQL asks for a column of numbers."""


@pytest.mark.parametrize("kind", WEIGHING)
def test_survey_weights_are_read_with_decimal_commas(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    people = pyarrow.table({"sex": ["F", "F", "M"], "w": ["1,5", "2", "0,25"]})
    columns = {"sex": {"role": "quasi"}, "w": {"role": "drop"}}
    read = READERS[kind](request, tmp_path)
    table = read(people, discreet.Policy.from_dict({"data": {"decimal": ","}, "columns": columns}))
    counted = table.engine.count(["sex"], survey="w")
    assert counted.weights is not None
    labels = [counted.columns["sex"].values[code] for code in counted.columns["sex"].codes.tolist()]
    assert dict(zip(labels, counted.weights.tolist(), strict=True)) == {"F": 3.5, "M": 0.25}
    odd = read(pyarrow.table({"sex": ["F"], "w": ["1.234"]}), table.policy)
    with pytest.raises(WeightError, match="on 1 rows"):
        odd.engine.count(["sex"], survey="w")


@pytest.mark.parametrize("kind", [TYPELESS, TYPED, "memory"])
def test_what_is_published_is_missing_and_written_as_it_came(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    table = READERS[kind](request, tmp_path)(arrow_table(), CODES)
    anonymise(table, k=1).write(tmp_path / "safe.csv")
    with (tmp_path / "safe.csv").open(newline="", encoding="utf-8") as file:
        rows = {tuple(row) for row in csv.reader(file)}
    assert rows == {
        tuple(SCHEMA.names),
        ("F", "31", "1.50", "1964-08-09", "161,5", ""),
        ("", "", "", "", "172,0", "a -9"),
        ("N.A.", "34", "", "", "", "1.5"),
        ("", "", "2.25", "1971-01-01", "168", ""),
        ("", "99", "-9.50", "", "", ""),
    }
