"""`discreet release attack` from the outside."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from discreet.people import State, generate
from tests.swift import SHIM

POLICY = """
[columns]
zip = { role = "quasi", hierarchy = { mask = 5 } }
sex = { role = "quasi", hierarchy = { any = "Person" } }
birth_year = { role = "quasi", hierarchy = { widths = [2, 4, 8] } }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("attacked")
    columns = ("zip", "sex", "birth_year", "diagnosis", "plan", "visits")
    everybody = generate(State.three(500_000), seed=3, columns=columns)
    everybody.select("zip", "sex", "birth_year").write(path / "register.parquet")
    everybody.sample(0.02, seed=4).write(path / "people.parquet")
    (path / "policy.toml").write_text(POLICY, encoding="utf-8")
    return path


def attack(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [SHIM, "release", "attack", "people.parquet"]
    options = ["--population", "register.parquet", "--policy", "policy.toml", "--recipients", "2", *words]
    return subprocess.run([*command, *options], capture_output=True, text=True, check=False, cwd=folder)


def test_attacks_are_told_as_a_table_and_in_words(folder: Path) -> None:
    done = attack(folder)
    assert done.returncode in (0, 1), done.stderr
    assert "Mode: marks" in done.stdout
    assert "Mode: bait" in done.stdout
    assert "link count" in done.stdout
    assert "Decoys of the bait mode are detected by link count" in done.stdout.replace("\n  ", " ")


def test_numbers_as_json(folder: Path) -> None:
    done = attack(folder, "--mode", "marks", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == (0 if told["holds"] else 1)
    assert set(told["modes"]) == {"marks"}
    assert set(told["modes"]["marks"][0]) == {"attack", "auc", "floor", "precision", "guessing"}


def test_where_no_class_is_a_mark_no_decoy_is_found(folder: Path) -> None:
    """Single rows are marks there, and the copies hold no decoys."""
    done = attack(folder, "--mode", "marks", "--k", "400", "--suppression", "0.9", "--json")
    assert done.returncode == 0, done.stderr
    assert {row["precision"] for row in json.loads(done.stdout)["modes"]["marks"]} == {0.0}
