"""Reducing a result until it is within a limit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.kernel import AnyValue, Coded
from discreet.misuse import Sensitivity, reduce_by_generalising, reduce_cells, reduce_rows, score
from tests.examples import examples
from tests.misuse import brute
from tests.misuse.paper import PUBLISHED, QUASI, SOURCE, F
from tests.misuse.strategies import XS, columns, rows

PAPER: dict[str, Any] = {"source": SOURCE, "quasi": QUASI, "sensitivity": F}
LIMITS = st.sampled_from([0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, math.inf])
SMALL = columns().flatmap(lambda names: rows(names, most=6))


@given(source=rows(least=1, most=6), result=SMALL, x=XS, limit=LIMITS)
def test_the_largest_part_within_the_limit(source: Any, result: Any, x: float, limit: float) -> None:
    part = reduce_rows(result, source=source, quasi=QUASI, sensitivity=F, x=x, limit=limit)
    assert score(part, source=source, quasi=QUASI, sensitivity=F, x=x).value <= limit + 1e-9
    assert [row for row in result if any(row is kept for kept in part)] == part
    # The oracle adds up otherwise, so it may judge a part exactly at the limit differently.
    assert len(part) >= brute.largest_part(result, source, QUASI, F, x, limit * (1 - 1e-12))
    assert len(part) <= brute.largest_part(result, source, QUASI, F, x, limit * (1 + 1e-12))


TENTHS = st.lists(st.integers(1, 9), min_size=1, max_size=4).filter(lambda tenths: sum(tenths) < 10)


@given(TENTHS)
def test_a_row_exactly_at_the_limit_stays(tenths: list[int]) -> None:
    """A tenth and two tenths are three tenths, whatever floats make of their sum."""
    weights = {f"c{place}": {"values": {"v": tenth / 10}} for place, tenth in enumerate(tenths)}
    person: dict[str, Any] = {"job": "Lawyer", **dict.fromkeys(weights, "v")}
    asked: dict[str, Any] = {"source": [person], "quasi": ["job"], "sensitivity": Sensitivity.from_dict(weights)}
    limit = sum(tenths) / 10
    assert reduce_rows([person], limit=limit, **asked) == [person]
    assert reduce_cells([person], limit=limit, **asked) == [person]
    assert reduce_by_generalising([person], limit=limit, rules={"job": AnyValue()}, **asked) == [person]
    assert reduce_rows([person], limit=limit - 1e-6, **asked) == []


@settings(max_examples=examples(60))
@given(source=rows(least=1, most=6), result=columns().flatmap(lambda names: rows(names, most=4)), x=XS, limit=LIMITS)
def test_the_fewest_cells_within_the_limit(source: Any, result: Any, x: float, limit: float) -> None:
    left = reduce_cells(result, source=source, quasi=QUASI, sensitivity=F, x=x, limit=limit)
    assert score(left, source=source, quasi=QUASI, sensitivity=F, x=x).value <= limit + 1e-9
    emptied = 0
    for row, now in zip(result, left, strict=True):
        changed = [name for name in row if now[name] is not row[name]]
        assert all(now[name] is None and name in F.columns for name in changed)
        emptied += len(changed)
    assert emptied >= brute.fewest_cells(result, source, QUASI, F, x, limit * (1 + 1e-12))
    assert emptied <= brute.fewest_cells(result, source, QUASI, F, x, limit * (1 - 1e-12))


@settings(max_examples=examples(60))
@given(source=rows(least=1, most=6), result=SMALL, x=XS, limit=LIMITS, data=st.data())
def test_neither_order_nor_ties_between_rows_change_a_number(
    source: Any, result: Any, x: float, limit: float, data: st.DataObject
) -> None:
    """Which of equal rows is kept, or which of equal cells is emptied, may differ; how many and how bad may not."""
    common: dict[str, Any] = {"source": source, "quasi": QUASI, "sensitivity": F, "x": x}
    other = data.draw(st.permutations(result))
    assert score(result, **common).value == score(other, **common).value
    numbers = []
    for asked in (result, other):
        emptied = reduce_cells(asked, limit=limit, **common)
        missing = sum(value is None for row in emptied for value in row.values())
        numbers.append((len(reduce_rows(asked, limit=limit, **common)), missing))
    assert numbers[0] == numbers[1]


def test_the_table_of_the_paper() -> None:
    assert len(reduce_rows(PUBLISHED, limit=1.0, **PAPER)) == 5
    assert reduce_rows(PUBLISHED, limit=0.0, **PAPER) == []
    assert reduce_rows(PUBLISHED, limit=9.0, **PAPER) == PUBLISHED


def test_without_quasi_identifiers_more_rows_may_be_allowed_than_fewer() -> None:
    accounts = [{"account": "Gold"}] * 9
    assert score(accounts[:2], **PAPER).value > 0.4
    assert reduce_rows(accounts, limit=0.4, **PAPER) == accounts
    assert reduce_rows(accounts, limit=0.3, **PAPER) == []


def shapes(table: list[dict[str, Any]]) -> dict[str, Any]:
    names = list(table[0])
    return {
        "rows": table,
        "columns": {name: [row[name] for row in table] for name in names},
        "arrays": {name: np.array([row[name] for row in table]) for name in names},
        "coded": {name: Coded.of([row[name] for row in table]) for name in names},
        "pandas": pandas.DataFrame(table, index=range(10, 10 + len(table))),
        "polars": polars.DataFrame(table),
        "arrow": pyarrow.Table.from_pylist(table),
    }


def plain(table: Any) -> list[dict[str, Any]]:
    """Rows of text, whatever the shape."""
    if isinstance(table, pandas.DataFrame):
        table = table.astype(object).where(table.notna(), None).to_dict("records")
    elif isinstance(table, polars.DataFrame):
        table = table.to_dicts()
    elif isinstance(table, pyarrow.Table):
        table = table.to_pylist()
    elif isinstance(table, dict):
        cells = {
            name: [its.values[code] for code in its.codes]
            if isinstance(its, Coded)
            else list(its.tolist() if isinstance(its, np.ndarray) else its)
            for name, its in table.items()
        }
        table = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    return [{name: None if cell is None else str(cell) for name, cell in row.items()} for row in table]


@pytest.mark.parametrize("shape", ["rows", "columns", "arrays", "coded", "pandas", "polars", "arrow"])
def test_the_shape_is_kept(shape: str) -> None:
    given_as = shapes(PUBLISHED)[shape]
    fewer = reduce_rows(given_as, limit=1.0, **PAPER)
    assert type(fewer) is type(given_as)
    assert plain(fewer) == plain(reduce_rows(PUBLISHED, limit=1.0, **PAPER))
    masked = reduce_cells(given_as, limit=0.5, **PAPER)
    assert type(masked) is type(given_as)
    assert plain(masked) == plain(reduce_cells(PUBLISHED, limit=0.5, **PAPER))
    assert plain(given_as) == plain(PUBLISHED), "what was given is left alone"


def test_a_frame_keeps_its_index_and_its_whole_numbers() -> None:
    frame = pandas.DataFrame({"job": ["a", "b"], "bill": [2**60 + 1, 1]}, index=["x", "y"])
    masked = reduce_cells(frame, limit=0.1, source=[{"job": "a"}, {"job": "b"}], quasi=["job"], sensitivity=F)
    assert masked.index.tolist() == ["x", "y"]
    assert masked["bill"].isna().tolist() == [True, False] or masked["bill"].isna().tolist() == [True, True]
    other = reduce_cells(frame.iloc[::-1], limit=9.0, source=[{"job": "a"}], quasi=["job"], sensitivity=F)
    assert other["bill"].tolist() == [1, 2**60 + 1]


def test_a_file_comes_back_as_rows(tmp_path: Path) -> None:
    path = tmp_path / "result.csv"
    polars.DataFrame(PUBLISHED).write_csv(path)
    assert plain(reduce_rows(path, limit=1.0, **PAPER)) == plain(reduce_rows(PUBLISHED, limit=1.0, **PAPER))
    assert plain(reduce_cells(path, limit=0.5, **PAPER)) == plain(reduce_cells(PUBLISHED, limit=0.5, **PAPER))


@pytest.mark.parametrize("reduce", [reduce_rows, reduce_cells])
@pytest.mark.parametrize("limit", [-0.1, math.nan])
def test_a_limit_is_from_zero_up(reduce: Any, limit: float) -> None:
    with pytest.raises(UsageError, match="from 0 up"):
        reduce(PUBLISHED, limit=limit, **PAPER)
