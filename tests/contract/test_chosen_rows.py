"""One contract for every engine: rows of chosen classes come with the values and types that an export would write."""

from __future__ import annotations

import datetime
from collections import Counter

import numpy as np
import pyarrow
import pytest

from discreet.errors import ColumnError
from discreet.kernel import Classes, Recoding
from discreet.policy import Policy
from discreet.sources.table_rows import rows_of
from tests.contract.readers import Reader

PEOPLE = pyarrow.table(
    {
        "id": [f"p{number}" for number in range(8)],
        "zip": ["10115", "10117", "10115", None, "20095", "20095", "20097", "10119"],
        "born": pyarrow.array([1961, 1962, 1961, 1970, 1971, 1971, 1980, 1963], type=pyarrow.int32()),
        "visits": pyarrow.array([3, None, 3, 1, 4, 4, 0, 2], type=pyarrow.int32()),
        "seen": [datetime.date(2020, 1, day) for day in range(1, 9)],
        "note": ["a", "b, c", None, "'", '"', "é", "", "x"],
    }
)
POLICY = Policy.from_dict(
    {
        "columns": {
            "id": {"role": "identifier"},
            "zip": {"role": "quasi", "hierarchy": {"mask": 5}},
            "born": {"role": "quasi", "hierarchy": {"widths": [10]}},
        }
    }
)


def chosen_classes(classes: Classes, labels: set[tuple[str | None, ...]]) -> Recoding:
    kept = np.array([row in labels for row in classes.tuples()])
    return Recoding.of_levels(classes, classes.levels, kept=kept)


def test_rows_of_chosen_classes_keep_their_values(reader: Reader) -> None:
    table = reader(PEOPLE, POLICY)
    classes = table.classes().at({"zip": 2, "born": 1})
    found = rows_of(table, chosen_classes(classes, {("101**", "[1960, 1970)"), (None, "[1970, 1980)")}), drop=["id"])
    assert list(found) == ["zip", "born", "visits", "seen", "note"]
    rows = Counter(zip(*found.values(), strict=True))
    if reader_blanks_are_missing(found):  # a CSV is text, and knows no empty text
        expected = [
            ("101**", "[1960, 1970)", "3", "2020-01-01", "a"),
            ("101**", "[1960, 1970)", None, "2020-01-02", "b, c"),
            ("101**", "[1960, 1970)", "3", "2020-01-03", None),
            ("101**", "[1960, 1970)", "2", "2020-01-08", "x"),
            (None, "[1970, 1980)", "1", "2020-01-04", "'"),
        ]
    else:
        expected = [
            ("101**", "[1960, 1970)", 3, datetime.date(2020, 1, 1), "a"),
            ("101**", "[1960, 1970)", None, datetime.date(2020, 1, 2), "b, c"),
            ("101**", "[1960, 1970)", 3, datetime.date(2020, 1, 3), None),
            ("101**", "[1960, 1970)", 2, datetime.date(2020, 1, 8), "x"),
            (None, "[1970, 1980)", 1, datetime.date(2020, 1, 4), "'"),
        ]
    assert rows == Counter(expected)


def reader_blanks_are_missing(found: dict[str, list[object]]) -> bool:
    return all(isinstance(value, (str, type(None))) for value in found["visits"])


def test_no_class_gives_no_rows(reader: Reader) -> None:
    table = reader(PEOPLE, POLICY)
    found = rows_of(table, chosen_classes(table.classes(), set()), drop=["id"])
    assert found == {name: [] for name in ("zip", "born", "visits", "seen", "note")}


def test_a_column_to_drop_must_be_there(reader: Reader) -> None:
    table = reader(PEOPLE, POLICY)
    with pytest.raises(ColumnError):
        rows_of(table, chosen_classes(table.classes(), set()), drop=["idd"])
