"""Columns alone, counted in the engine: the figures are those of counting every value."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pandas
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet
from discreet.kernel import Tally
from discreet.sources.duckdb import engine as duckdb_engine

CELLS = st.one_of(
    st.none(), st.integers(-30, 30).map(str), st.sampled_from(["a", "b", "yes", "1e3", "0.50", "nan", "inf"])
)


def tally_of(path: Path, cells: list[str | None], form: str, weights: list[int] | None = None) -> Tally:
    frame = pandas.DataFrame({"column": cells, "n": weights or [1] * len(cells)})
    if form == "csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["column", "n"], *frame.fillna("").itertuples(index=False)])
        source: object = path
    elif form == "parquet":
        source = path.with_suffix(".parquet")
        frame.to_parquet(source)
    else:
        source = frame
    policy = discreet.Policy.from_dict({"data": {"count": "n"}}) if weights else None
    return next(iter(discreet.read(source, policy=policy).tallies(["column"])))


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
@pytest.mark.parametrize("many", [0, 50_000])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_tally_says_what_counting_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, many: int, data: st.DataObject
) -> None:
    """With `many` at 0 every column is summed up as one of very many values is."""
    monkeypatch.setattr(duckdb_engine, "MANY_VALUES", many or 1)
    monkeypatch.setattr(duckdb_engine, "FIRST_ROWS", 5)
    monkeypatch.setattr(duckdb_engine, "SORTED", data.draw(st.integers(3, 60)))
    cells = data.draw(st.lists(CELLS, min_size=1, max_size=60).filter(any))
    weighted = data.draw(st.booleans())
    weights = [data.draw(st.integers(1, 4)) for _ in cells] if weighted else None
    tally = tally_of(tmp_path / "cells.csv", cells, form, weights)
    people: Counter[str | None] = Counter()
    for cell, weight in zip(cells, weights or [1] * len(cells), strict=True):
        people[cell] += weight
    missing = people.pop(None, 0)
    assert (tally.people, tally.missing, tally.distinct) == (people.total() + missing, missing, len(people))
    assert tally.unique == sum(size == 1 for size in [*people.values(), missing])
    if tally.complete and tally.counts:
        assert dict(tally.counts) == dict(people)
    else:
        assert all(people[value] == size for value, size in tally.counts.items())
        assert set(tally.values) <= set(people)
        if tally.bins is not None:
            assert int(tally.bins.people.sum()) == people.total()
            numbers = [float(value) for value in people]
            low, width = tally.bins.starts, tally.bins.width
            assert low[0] * width <= min(numbers)
            assert max(numbers) < (low[-1] + 1) * width
        else:
            common = {value for value, size in people.items() if size >= duckdb_engine.COMMON}
            assert common == set(tally.counts)


def test_a_column_of_many_numbers_is_shown_in_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_engine, "MANY_VALUES", 10)
    path = tmp_path / "numbers.csv"
    path.write_text("wage\n" + "".join(f"{value / 4}\n" for value in range(400)), encoding="utf-8")
    (summed,) = discreet.profile(discreet.read(path)).columns
    monkeypatch.undo()
    (whole,) = discreet.profile(discreet.read(path)).columns
    assert summed == whole
    assert summed.distribution[0].label == "below 10"


def test_memory_is_limited_only_while_columns_are_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    table = discreet.read(path)
    limit = "SELECT current_setting('memory_limit')"
    engine = table.engine
    assert isinstance(engine, duckdb_engine.DuckDBEngine)
    before = engine.view.run(limit).fetchall()
    tallies = table.tallies(["a", "b"])
    next(tallies)
    assert engine.view.run(limit).fetchall() != before
    list(tallies)
    ((after,),), ((given,),) = engine.view.run(limit).fetchall(), before
    assert after.split()[1] == given.split()[1]
    assert float(after.split()[0]) == pytest.approx(float(given.split()[0]), rel=0.02), "as DuckDB rounds it"
