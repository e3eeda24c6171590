"""Files: every format keeps every value and the order, without pandas or Arrow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.people import Coded, People

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
