"""The demo folder."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import duckdb
import pytest

import discreet
from discreet.errors import UsageError
from discreet.people import COLUMNS, DemoFiles, write_demo
from discreet.people.demo_files import _patients

REGISTER = "zip, sex, birth_year, race"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoFiles:
    return write_demo(tmp_path_factory.mktemp("demo") / "new" / "folder", people=20_000, seed=5)


def rows(path: Path, columns: str = "*") -> list[tuple[object, ...]]:
    with duckdb.connect() as connection:
        if path.suffix == ".parquet":
            table = connection.read_parquet(str(path))
        else:
            table = connection.read_csv(str(path), dtype={"zip": "VARCHAR"})
        return list(table.select(*[duckdb.ColumnExpression(name) for name in columns.split(", ")]).fetchall())


def test_all_files_are_there(demo: DemoFiles) -> None:
    names = {path.name for path in asdict(demo).values()}
    assert names == {"population.parquet", "hospital.csv", "diagnosis.csv", "policy.toml", "visits.csv"}
    assert {path.name for path in demo.policy.parent.iterdir()} == names


def test_the_hospital_holds_people_of_the_register(demo: DemoFiles) -> None:
    register, patients = Counter(rows(demo.population, REGISTER)), Counter(rows(demo.hospital, REGISTER))
    assert register.total() == 20_000
    assert patients.total() == 1_000
    assert patients <= register


def test_the_visits_are_written_as_offices_write_tables(demo: DemoFiles) -> None:
    profile = discreet.profile(discreet.read(demo.visits))
    assert (profile.records, profile.person, profile.decimal, profile.missing) == (600, "Patientennr", ",", ("NA",))
    roles = {column.name: column.role for column in profile.columns}
    assert [name for name, role in roles.items() if role == "identifier"] == ["Patientennr"]
    assert [name for name, role in roles.items() if role == "sensitive"] == ["Diagnose", "Gewicht"]


def test_the_policy_names_every_column_and_its_role(demo: DemoFiles) -> None:
    policy = tomllib.loads(demo.policy.read_text(encoding="utf-8"))
    header = demo.hospital.read_text(encoding="utf-8").splitlines()[0]
    assert header.split(policy["data"]["delimiter"]) == list(COLUMNS)
    assert set(policy["columns"]) == set(COLUMNS)
    roles = Counter(column["role"] for column in policy["columns"].values())
    assert roles == {"identifier": 4, "quasi": 4, "sensitive": 2, "other": 2}
    assert (demo.policy.parent / policy["columns"]["diagnosis"]["hierarchy"]).exists()


def test_the_hierarchy_file_covers_the_hospital(demo: DemoFiles) -> None:
    lines = [line.split(";") for line in demo.diagnosis.read_text(encoding="utf-8").splitlines()]
    assert {len(line) for line in lines} == {4}
    assert {line[-1] for line in lines} == {"*"}
    assert {value for (value,) in rows(demo.hospital, "diagnosis")} <= {line[0] for line in lines}


def test_the_same_seed_writes_the_same_bytes_and_spares_other_files(demo: DemoFiles, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "hospital.csv").write_text("old")
    again = write_demo(tmp_path, people=20_000, seed=5)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    for old, new in zip(asdict(demo).values(), asdict(again).values(), strict=True):
        assert new.read_bytes() == old.read_bytes()


@pytest.mark.parametrize(("people", "patients"), [(1_000, 1_000), (200_000, 2_000), (13_000_000, 50_000)])
def test_one_in_a_hundred_is_a_patient_within_bounds(people: int, patients: int) -> None:
    assert _patients(people) == patients


def test_too_few_people_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="1,000") as refusal:
        write_demo(tmp_path / "demo", people=999, seed=1)
    assert refusal.value.remedy
    assert not (tmp_path / "demo").exists()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("mine")
    with pytest.raises(UsageError, match="folder"):
        write_demo(tmp_path / "demo", people=1_000, seed=1)
