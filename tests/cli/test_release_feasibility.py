"""`discreet release feasibility` as its users meet it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.swift import SHIM

POLICY = """\
[columns.zip]
role = "quasi"
hierarchy = { mask = 3 }
[population]
count = "people"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Data as rows and a census as counts."""
    codes = [*["101"] * 6, *["102"] * 7, "201"]
    (tmp_path / "people.csv").write_text("zip\n" + "".join(f"{code}\n" for code in codes), encoding="utf-8")
    census = "zip,people\n101,60\n102,40\n201,9\n301,4\n302,8\n"
    (tmp_path / "census.csv").write_text(census, encoding="utf-8")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [SHIM, "release", "feasibility", "people.csv", "--policy", "policy.toml", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def test_findings_in_words_and_the_grid_as_a_table(folder: Path) -> None:
    done = run(folder, "--population", "census.csv", "--grid", "--report", "grid.html")
    assert done.returncode == 0, done.stderr
    assert "room for decoys in 2 classes" in done.stdout
    assert (
        len([line for line in done.stdout.splitlines() if line.strip().startswith(("2 ", "5 ", "10 ", "20 ", "50 "))])
        == 25
    )
    assert "not possible" in done.stdout
    page = (folder / "grid.html").read_text(encoding="utf-8")
    assert "Other limits" in page
    assert ">301<" not in page


def test_json_holds_every_figure(folder: Path) -> None:
    found = json.loads(run(folder, "--population", "census.csv", "--grid", "--json").stdout)
    assert (found["k"], found["suppression"], found["loss_name"]) == (5, 0.1, "dm_star")
    assert (found["min_link"], found["candidate_classes"], found["candidates_without_subjects"]) == (40, 2, 1)
    assert found["factors"] == [5.0, 40 / 9]
    assert len(found["grid"]["cells"]) == 25
    assert json.loads(run(folder, "--population", "census.csv", "--json").stdout)["grid"] is None


def test_a_wrong_population_is_refused(folder: Path) -> None:
    (folder / "other.csv").write_text("zip,people\n901,60\n", encoding="utf-8")
    done = run(folder, "--population", "other.csv", "--suppression", "0.5", "--k", "2")
    assert done.returncode == 3
    assert "wrong population" in done.stderr
    assert "Next:" in done.stderr


def test_usage_errors(folder: Path) -> None:
    assert run(folder).returncode == 2
    assert run(folder, "--population", "census.csv", "--report", "room.txt").returncode == 2
    assert run(folder, "--population", "nowhere.csv").returncode == 3
