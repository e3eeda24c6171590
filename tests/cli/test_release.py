"""`discreet release` as custodians meet it: words, JSON, exit codes."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from pathlib import Path

import duckdb
import pytest

from tests.releases.world import known_keys, town
from tests.swift import SHIM

POLICY = """
[columns.name]
role = "identifier"
[columns.zip]
role = "quasi"
hierarchy = { mask = 3 }
[columns.year]
role = "quasi"
hierarchy = "year.csv"
[columns.sex]
role = "quasi"
hierarchy = "sex.csv"
[columns.illness]
role = "sensitive"
[columns.amount]
role = "other"
[columns.day]
role = "other"
[columns.note]
role = "other"
[population]
count = "people"
"""
"""Years and sexes cannot be made coarser here, so that the search ends at the ZIP codes as they are."""
ANSWERS = (
    *("--population-source", "a made-up town", "--population-licence", "made up"),
    *("--counts-only", "--sign-off", "TEST-1"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("town")
    world = town(place)
    (place / "policy.toml").write_text(POLICY, encoding="utf-8")
    (place / "year.csv").write_text("".join(f"{year}\n" for year in range(1950, 1964)), encoding="utf-8")
    (place / "sex.csv").write_text("F\nM\n", encoding="utf-8")
    lines = [
        f"{','.join(map(str, cell))},{n}\n"
        for cell, n in zip(world.population.tuples(), world.population.sizes, strict=True)
    ]
    (place / "people.csv").write_text("zip,year,sex,people\n" + "".join(lines), encoding="utf-8")
    return place


def run(*words: str | Path, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DISCREET_")} | (env or {})
    command = [SHIM, "release", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=cwd)


def table(folder: Path) -> tuple[str | Path, ...]:
    return (folder / "town.parquet", "--population", folder / "people.csv", "--policy", folder / "policy.toml")


def node() -> tuple[str, ...]:
    return ("--k", "3", "--suppression", "0.9")


def make(folder: Path, cwd: Path, *more: str | Path, name: str = "spring") -> subprocess.CompletedProcess[str]:
    if not (cwd / "store.db.keys").exists():
        known_keys(cwd / "store.db.keys")
    to = ("--name", name, "--recipient", "north", "--recipient", "south", "--out", "copies", "--store", "store.db")
    return run("make", *table(folder), *node(), *to, *more, cwd=cwd)


@pytest.fixture(scope="module")
def released(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("released")
    done = make(folder, place, *ANSWERS)
    assert done.returncode == 0, done.stderr
    assert "2 copies" in done.stdout
    assert "discreet ledger head" in done.stderr
    return place


def test_a_plan_is_told_in_words_and_as_json(folder: Path, tmp_path: Path) -> None:
    done = run("plan", *table(folder), *node(), "--recipients", "5", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "5 recipients" in done.stdout
    assert "marks" in done.stdout
    found = json.loads(run("plan", *table(folder), *node(), "--json", cwd=tmp_path).stdout)
    assert found["preflight"]["marks"] >= 30
    assert found["preflight"]["recipients"] == 20
    named = run("plan", *table(folder), *node(), "--recipients", "north, south", "--json", cwd=tmp_path)
    assert json.loads(named.stdout)["preflight"]["recipients"] == 2
    for wrong in ("0", "-3", "a,,b", "a,A"):
        assert run("plan", *table(folder), *node(), f"--recipients={wrong}", cwd=tmp_path).returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_a_column_without_a_role_is_not_released(folder: Path, released: Path, tmp_path: Path) -> None:
    """Neither planned nor made, nor given to a late recipient of a release that was made before."""
    policy = tmp_path / "policy.toml"
    for name in ("year.csv", "sex.csv"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    policy.write_text(POLICY.replace('[columns.note]\nrole = "other"\n', ""), encoding="utf-8")
    asked = (folder / "town.parquet", "--population", folder / "people.csv", "--policy", policy, *node())
    to = ("--name", "summer", "--recipient", "north", "--out", "copies", "--store", "store.db", *ANSWERS)
    late = ("spring", folder / "town.parquet", "--recipient", "west", "--out", "late", "--policy", policy)
    for words, cwd in (
        (("plan", *asked), tmp_path),
        (("make", *asked, *to), tmp_path),
        (("add-recipient", *late, "--store", "store.db"), released),
    ):
        done = run(*words, cwd=cwd)
        assert done.returncode == 4, done.stderr
        assert "'note'" in done.stderr
    assert not (tmp_path / "copies").exists()
    assert not (released / "late").exists()
    shown = json.loads(run("show", "spring", "--store", "store.db", "--json", cwd=released).stdout)
    assert "west" not in str(shown["copies"])


def test_rows_of_one_person_are_not_released_as_people(folder: Path, tmp_path: Path) -> None:
    """Half of the rows have the number of the row before."""
    where, numbered = tmp_path / "twice.parquet", "regexp_extract(name, '[0-9]+')::INT // 2"
    duckdb.sql(
        f"COPY (SELECT * REPLACE ('person ' || {numbered} AS name) FROM read_parquet('{folder / 'town.parquet'}')) "
        f"TO '{where}' (FORMAT parquet)"
    )
    asked = (where, "--population", folder / "people.csv", "--policy", folder / "policy.toml", *node())
    to = ("--name", "summer", "--recipient", "north", "--out", "copies", "--store", "store.db", *ANSWERS)
    for words in (("plan", *asked), ("make", *asked, *to)):
        done = run(*words, cwd=tmp_path)
        assert done.returncode == 4, done.stderr
        assert "'name'" in done.stderr
    assert not (tmp_path / "copies").exists()


def test_what_is_released_is_listed(folder: Path, released: Path) -> None:
    roles = {"zip": "quasi", "year": "quasi", "sex": "quasi", "illness": "sensitive", "amount": "other", "day": "other"}
    planned = json.loads(run("plan", *table(folder), *node(), "--json", cwd=released).stdout)
    assert {name: about["role"] for name, about in planned["published"].items()} == {**roles, "note": "other"}
    assert planned["published"]["zip"]["treatment"] == "as it is"
    again = make(folder, released, *ANSWERS)
    assert "illness (sensitive)" in again.stdout
    with sqlite3.connect(released / "store.db") as store:
        bodies = [json.loads(body) for (body,) in store.execute("SELECT body FROM ledger_entry")]
    sealed = next(body for body in bodies if body["event"] == "releases.sealed")
    assert "zip (quasi)" in sealed["details"]["published"]
    assert "name (" not in sealed["details"]["published"]


def test_what_is_made_can_be_listed_and_shown(released: Path) -> None:
    listed = json.loads(run("list", "--store", "store.db", "--json", cwd=released).stdout)
    assert [one["name"] for one in listed] == ["spring"]
    assert "2 delivered" in run("list", "--store", "store.db", cwd=released).stdout
    shown = run("show", "spring", "--store", "store.db", cwd=released)
    assert shown.returncode == 0, shown.stderr
    assert "committed to" in shown.stdout
    found = json.loads(run("show", "spring", "--store", "store.db", "--json", cwd=released).stdout)
    assert found["gates"]["sign_off"] == "TEST-1"
    assert "agreement" not in found["gates"]
    assert [copy["state"] for copy in found["copies"]] == ["delivered", "delivered"]


def test_the_same_command_again_changes_nothing(folder: Path, released: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in released.glob("copies/*/*")}
    done = make(folder, released, *ANSWERS, "--json")
    assert done.returncode == 0, done.stderr
    assert [copy["new"] for copy in json.loads(done.stdout)["delivered"]] == [False, False]
    assert {path: path.stat().st_mtime_ns for path in released.glob("copies/*/*")} == before


def test_a_late_recipient_and_a_retired_one(folder: Path, tmp_path: Path) -> None:
    assert make(folder, tmp_path, *ANSWERS, "--format", "csv", "--no-row-ids").returncode == 0
    about = ("spring", folder / "town.parquet", "--policy", folder / "policy.toml", "--store", "store.db")
    done = run(
        "add-recipient", *about, "--recipient", "west", "--out", "copies", "--format", "csv", "--json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert [copy["state"] for copy in json.loads(done.stdout)["copies"]] == ["delivered"] * 3
    assert (tmp_path / "copies/west/data.csv").read_text(encoding="utf-8").startswith("zip,")
    done = run("retire", "spring", "--recipient", "north", "--store", "store.db", "--actor", "bob", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "retired" in done.stdout
    again = run("add-recipient", *about, "--recipient", "north", "--out", "again", cwd=tmp_path)
    assert again.returncode == 5
    assert "retired" in again.stderr
    wrong = run("retire", "spring", "--recipient", "nobody", "--store", "store.db", cwd=tmp_path)
    assert wrong.returncode == 2


# -- refused, in words, with the documented exit codes --------------------------------------------------------------


def test_without_answers_nothing_happens(folder: Path, tmp_path: Path) -> None:
    done = make(folder, tmp_path)
    assert done.returncode == 5
    for asked in ("(--population-source)", "(--population-licence)", "(--counts-only)", "(--sign-off)"):
        assert asked in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["store.db.keys"]


def test_an_agreement_of_ones_own(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "terms.md").write_text("Be nice.", encoding="utf-8")
    done = make(folder, tmp_path, *ANSWERS, "--agreement", "terms.md")
    assert done.returncode == 5
    assert "This copy contains control records." in done.stderr
    (tmp_path / "terms.md").write_text("Be nice. This copy contains control records.", encoding="utf-8")
    assert make(folder, tmp_path, *ANSWERS, "--agreement", "terms.md").returncode == 0
    assert (tmp_path / "copies/north/AGREEMENT.md").read_text(encoding="utf-8").startswith("Be nice.")
    assert make(folder, tmp_path, *ANSWERS, "--agreement", "none.md", name="other").returncode == 2


def test_a_population_that_does_not_cover_the_data(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "few.csv").write_text("zip,year,sex,people\n900,1950,F,99\n", encoding="utf-8")
    words = (folder / "town.parquet", "--population", tmp_path / "few.csv", "--policy", folder / "policy.toml", *node())
    done = run("plan", *words, cwd=tmp_path)
    assert done.returncode == 3
    assert "wrong population" in done.stderr


def test_too_few_marks(folder: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.parquet"
    duckdb.sql(f"COPY (SELECT * FROM '{folder / 'town.parquet'}' WHERE zip < '006') TO '{small}' (FORMAT parquet)")
    words = (small, "--population", folder / "people.csv", "--policy", folder / "policy.toml", *node())
    done = run("plan", *words, cwd=tmp_path)
    assert done.returncode == 5
    assert "below 30" in done.stderr
    assert run("plan", *words, "--force", cwd=tmp_path).returncode == 0


def test_other_keys(released: Path, tmp_path: Path) -> None:
    from discreet.ledger.keys import Keys

    Keys.make(tmp_path / "other.keys")
    done = run(
        "show", "spring", "--store", "store.db", cwd=released, env={"DISCREET_KEYS": str(tmp_path / "other.keys")}
    )
    assert done.returncode == 6
    assert "other keys" in done.stderr


def test_a_manifest_that_was_tampered_with(folder: Path, tmp_path: Path) -> None:
    assert make(folder, tmp_path, *ANSWERS).returncode == 0
    connection = sqlite3.connect(tmp_path / "store.db")
    sealed = bytearray(connection.execute("SELECT sealed FROM release").fetchone()[0])
    sealed[-1] ^= 1
    with connection:
        connection.execute("UPDATE release SET sealed = ?", (bytes(sealed),))
    connection.close()
    done = run("show", "spring", "--store", "store.db", cwd=tmp_path)
    assert done.returncode == 6
    assert "changed or swapped" in done.stderr


def test_no_such_release_and_no_such_store(released: Path, tmp_path: Path) -> None:
    assert run("show", "autumn", "--store", "store.db", cwd=released).returncode == 2
    assert run("list", "--store", "nowhere.db", cwd=tmp_path).returncode == 69


def test_errors_hold_no_value_of_a_person(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    duckdb.sql(f"COPY (SELECT * REPLACE ('CANARY' AS note) FROM '{folder / 'town.parquet'}' LIMIT 900) TO '{other}'")
    assert make(folder, tmp_path, *ANSWERS).returncode == 0
    about = ("spring", other, "--policy", folder / "policy.toml", "--store", "store.db")
    done = run("add-recipient", *about, "--recipient", "west", "--out", "copies", cwd=tmp_path)
    assert done.returncode == 5
    assert "CANARY" not in done.stderr + done.stdout
