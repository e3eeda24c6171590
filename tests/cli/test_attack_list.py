"""`discreet attack`: a list that is a sample of the population, detection varied, people whose risk differs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.swift import SHIM

POLICY = '[columns.zip]\nrole = "quasi"\n'
ZIPS = [f"{100 + place % 40}" for place in range(2000)]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SHIM, *words], capture_output=True, text=True, check=False, cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(POLICY)
    for name, rows in (("people", ZIPS[:80]), ("voters", ZIPS[:1260]), ("everybody", ZIPS)):
        (tmp_path / f"{name}.csv").write_text("zip\n" + "\n".join(rows) + "\n")
    return tmp_path


def test_the_prior_of_a_uniform_sample_is_proposed(folder: Path) -> None:
    tables = ("people.csv", "--policy", "policy.toml", "--external", "voters.csv", "--population", "everybody.csv")
    done = run(folder, "attack", *tables, "--set", "prior=0.5")
    assert "1,260 of 2,000 people" in done.stderr
    assert "--set prior=0.63 (now 0.5)" in done.stderr
    assert "uniform sample" not in run(folder, "attack", *tables, "--set", "prior=0.63").stderr
    assert "uniform sample" not in run(folder, "attack", *tables[:5], "--set", "prior=0.5").stderr


def test_people_whose_risk_differs_are_in_json(folder: Path) -> None:
    done = run(folder, "attack", "people.csv", "--policy", "policy.toml", "--external", "voters.csv", "--json")
    found = json.loads(done.stdout)["differs"]
    assert set(found) == {"lower", "higher"}
    assert sum(found.values()) <= 80


def test_detection_can_be_varied_as_a_probability(folder: Path) -> None:
    done = run(folder, "attack", "sweep", "--vary", "detection=0.01:0.5:3", "--json")
    assert done.returncode == 0, done.stderr
    steps = json.loads(done.stdout)["steps"]
    assert [step["detection"] for step in steps] == pytest.approx([0.01, 0.255, 0.5])
    sizes = [step["no_access"] for step in steps]
    assert sizes == sorted(sizes, reverse=True)
    assert run(folder, "attack", "sweep", "--vary", "detection=0:0.5:3").returncode == 2


def test_feasibility_over_samples(folder: Path) -> None:
    (folder / "policy.toml").write_text('[columns.zip]\nrole = "quasi"\nhierarchy = { mask = 3 }\n')
    done = run(
        folder, "release", "feasibility", "people.csv", "--policy", "policy.toml", "--population", "everybody.csv",
        "--k", "2", "--samples", "4", "--fraction", "0.05", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["samples"]
    assert (found["samples"], found["fraction"], found["population"]) == (4, 0.05, 2000)
    assert set(found["cells"][0]["figures"]["close_to_k"]) == {"mean", "sd"}
