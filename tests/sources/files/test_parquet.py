"""The short cut through Parquet's own dictionaries gives what the engine gives, or steps aside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.kernel import Classes
from discreet.policy import Policy
from discreet.sources.duckdb.engine import open_engine
from discreet.sources.files import parquet as files
from tests.examples import examples

ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.sampled_from(["a", "b", "", "ü", "0"])),
        st.one_of(st.none(), st.integers(-3, 3)),
        st.one_of(st.none(), st.sampled_from([0, 2**40, -(2**50)])),
    ),
    min_size=1,
    max_size=60,
)
SCHEMA = pyarrow.schema([("x", pyarrow.string()), ("y", pyarrow.int16()), ("z", pyarrow.int64())])


def counted(classes: Classes) -> dict[Any, int]:
    return dict(zip(classes.tuples(), classes.sizes.tolist(), strict=True))


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, group=st.integers(1, 20))
def test_the_short_cut_equals_the_engine(rows: list[Any], group: int, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    columns = [dict(zip("xyz", row, strict=True)) for row in rows]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(columns, schema=SCHEMA), path, row_group_size=group)
    engine = open_engine(path, Policy())
    short = files.dictionary_count([path], ["y", "x", "z"])
    assert short is not None
    assert counted(Classes.from_histogram(short)) == counted(Classes.from_histogram(engine.count(["y", "x", "z"])))


def test_small_files_are_left_to_the_engine(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"x": ["a"]}), tmp_path / "a.parquet")
    assert files.count([tmp_path / "a.parquet"], ["x"]) is None


def test_other_types_are_left_to_the_engine(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"x": [1.5]}), tmp_path / "a.parquet")
    assert files.dictionary_count([tmp_path / "a.parquet"], ["x"]) is None


def test_too_many_combinations_are_left_to_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"x": list(range(100)), "y": list(range(100))}), tmp_path / "a.parquet")
    monkeypatch.setattr(files, "MOST_COUNTERS", 5_000)
    assert files.dictionary_count([tmp_path / "a.parquet"], ["x", "y"]) is None


def test_several_files_with_different_dictionaries_are_one_table(tmp_path: Path) -> None:
    for number, values in enumerate((["a", "b"], ["c", "b"])):
        pyarrow.parquet.write_table(pyarrow.table({"x": values}), tmp_path / f"{number}.parquet")
    found = files.dictionary_count(sorted(tmp_path.glob("*.parquet")), ["x"])
    assert found is not None
    assert counted(Classes.from_histogram(found)) == {("a",): 1, ("b",): 2, ("c",): 1}
