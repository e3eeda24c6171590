"""`discreet attack case-study` as its users meet it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.swift import SHIM

POLICY = """\
[columns.name]
role = "identifier"
[columns.sex]
role = "quasi"
[columns.zip]
role = "quasi"
"""
ROWS = "name,sex,zip\n" + "".join(f"Zaphod-{i},{'FM'[i % 2]},1011{i * i % 7}\n" for i in range(300))


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [SHIM, "attack", "case-study", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two folders deep, so that nothing lies beside it."""
    (tmp_path / "one" / "two").mkdir(parents=True)
    return tmp_path / "one" / "two"


def test_generated_people_unless_data_are_given(folder: Path) -> None:
    done = run(folder, "--people", "20000", "--seed", "3")
    assert done.returncode == 0, done.stderr
    assert "the people are generated" in done.stderr
    assert "100 people against 20,000 in the registry" in done.stdout
    assert "our own case study" in done.stdout
    assert "not a reproduction" in done.stdout
    assert "discreet reproduce fmdp" in done.stdout
    assert " findings hold" not in done.stdout
    assert (folder / "case-study.html").stat().st_size < 300_000


def test_given_data_with_a_registry_of_their_own(folder: Path) -> None:
    (folder / "people.csv").write_text(ROWS, encoding="utf-8")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    words = ("--data", "people.csv", "--policy", "policy.toml", "--people", "5000", "--out", "page.html", "--json")
    done = run(folder, *words)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["source"], found["records"], found["external_size"]) == ("people.csv", 300, 5000)
    assert len(found["findings"]) == 5
    assert "Zaphod" not in done.stdout + done.stderr + (folder / "page.html").read_text(encoding="utf-8")
    assert json.loads(run(folder, *words).stdout) == found


def test_adult_is_used_where_it_lies_beside_the_folder(folder: Path) -> None:
    near = folder.parent / "shared" / "data" / "adult"
    near.mkdir(parents=True)
    columns: dict[str, list[str]] = {
        "sex": ["F", "M"],
        "age": ["30", "40", "50"],
        "race": ["a"],
        "marital-status": ["s", "m"],
        "education": ["x", "y", "z"],
        "native-country": ["n"],
        "occupation": ["o", "p", "q", "r"],
        "salary-class": ["low", "high"],
    }
    for name, values in columns.items():
        (near / f"adult_hierarchy_{name}.csv").write_text("".join(f"{one};*\n" for one in values), encoding="utf-8")
    rows = [
        ";".join(values[(row * row + place) % len(values)] for place, values in enumerate(columns.values()))
        for row in range(200)
    ]
    (near / "adult.csv").write_text("\n".join([";".join(columns), *rows]) + "\n", encoding="utf-8")
    done = run(folder, "--people", "9000", "--json")
    assert done.returncode == 0, done.stderr
    assert "UCI Adult" in done.stderr
    found = json.loads(done.stdout)
    assert (found["source"], found["records"]) == ("UCI Adult", 200)
    assert "salary-class" not in found["columns"]


@pytest.mark.parametrize("words", [("--data", "people.csv"), ("--policy", "policy.toml"), ("--out", "page.txt")])
def test_what_is_missing_is_said(folder: Path, words: Any) -> None:
    done = run(folder, *words)
    assert done.returncode == 2
    assert "Next:" in done.stderr
