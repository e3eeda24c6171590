"""People as a table: columns, samples, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
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


WITHOUT_FRAMES = """
import sys
sys.modules["pandas"] = sys.modules["pyarrow"] = None
from discreet.people import State, generate
generate(State.of(1_000), seed=1).write(sys.argv[1])
"""


def read(path: Path) -> dict[str, list[object]]:
    with duckdb.connect() as connection:
        rows = connection.read_parquet(str(path)) if path.suffix == ".parquet" else connection.read_csv(str(path))
        return dict(zip(rows.columns, zip(*rows.fetchall(), strict=True), strict=True))


def as_text(values: object) -> list[str]:
    return [str(value) for value in values]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["people.parquet", "people.csv", "people.csv.gz", "it's a file.csv"])
def test_what_is_written_can_be_read_back_in_order(people: People, tmp_path: Path, name: str) -> None:
    some = people.sample(20_000, seed=1)
    found = read(some.write(tmp_path / name))
    assert list(found) == list(some.columns)
    for column in some.columns:
        assert as_text(found[column]) == as_text(some.column(column))


def test_order_is_kept_over_many_row_groups(tmp_path: Path) -> None:
    rows = np.arange(600_000)
    wide = Coded((rows % 256).astype(np.uint8), np.array([f"label {code}" for code in range(256)]))
    path = People({"row": rows, "wide": wide}).write(tmp_path / "rows.parquet")
    with duckdb.connect() as connection:
        found = connection.sql("SELECT row, wide FROM read_parquet($path)", params={"path": str(path)}).fetchnumpy()
    assert (found["row"] == rows).all()
    assert (found["wide"] == wide.labels[wide.codes]).all()


def test_text_in_parquet_is_a_dictionary(people: People, tmp_path: Path) -> None:
    path = people.select("zip", "sex", "race").write(tmp_path / "people.parquet")
    question = "SELECT DISTINCT path_in_schema, encodings FROM parquet_metadata($path) ORDER BY 1"
    with duckdb.connect() as connection:
        found = connection.sql(question, params={"path": str(path)}).fetchall()
    assert [column for column, _ in found] == ["race", "sex", "zip"]
    assert all("DICTIONARY" in encodings for _, encodings in found)


def test_types_in_parquet_are_types(people: People, tmp_path: Path) -> None:
    path = people.select("person_id", "birth_date", "birth_year", "zip").write(tmp_path / "people.parquet")
    assert as_text(duckdb.read_parquet(str(path)).types) == ["BIGINT", "DATE", "SMALLINT", "VARCHAR"]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet"])
def test_the_same_people_are_the_same_bytes(people: People, tmp_path: Path, name: str) -> None:
    some = people.sample(5_000, seed=2)
    first = some.write(tmp_path / name).read_bytes()
    assert some.write(tmp_path / name).read_bytes() == first


def test_csv_has_a_header_and_one_line_each(tmp_path: Path) -> None:
    path = People({"sex": Coded(np.array([1, 0]), np.array(["F", "M"])), "visits": np.array([3, 1])}).write(
        tmp_path / "people.csv"
    )
    assert path.read_text() == "sex,visits\nM,3\nF,1\n"


def test_neither_pandas_nor_arrow_is_needed(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_FRAMES, str(tmp_path / "people.parquet")], check=True)
    assert len(read(tmp_path / "people.parquet")["zip"]) == 1_000


@pytest.mark.parametrize("name", ["people.xlsx", "people", "nowhere/people.csv"])
def test_a_place_that_cannot_be_written_is_refused(people: People, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError) as refusal:
        people.write(tmp_path / name)
    assert refusal.value.remedy
