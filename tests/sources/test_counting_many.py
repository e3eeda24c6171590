"""A histogram of many classes: its columns come in one order, however many threads fetch them."""

from __future__ import annotations

import numpy as np
import pyarrow

import discreet

MANY = 260_000
"""More than one thread of DuckDB reads at a time."""


def test_the_columns_of_many_classes_belong_together() -> None:
    numbers = np.arange(MANY)
    frame = pyarrow.table({"number": numbers, "text": [f"t{number:07}" for number in numbers.tolist()]})
    table = discreet.read(frame)
    found = table.engine.count(["number", "text"])
    one, other = (found.columns[name].ordered() for name in ("number", "text"))
    spelt = np.array([f"t{int(value or 0):07}" for value in one.values], dtype=object)[one.codes]
    assert np.array_equal(spelt, np.array(other.values, dtype=object)[other.codes])
    assert found.counts.tolist() == [1] * MANY
