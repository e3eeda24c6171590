"""`discreet link`: import and candidate pairs from the command line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from discreet.people import LinkFiles, write_extracts
from tests.swift import SHIM


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SHIM, *words], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("link")
    write_extracts(folder, people=200, seed=2)
    done = run(folder, "link", "init", "first.csv", "second.csv", "--spec", "link.toml", "--out", "project")
    assert done.returncode == 0, done.stderr
    assert "split off: diagnosis, visits" in done.stdout
    return folder


def test_init_as_json(home: Path) -> None:
    done = run(home, "link", "init", "first.csv", "--spec", "link.toml", "--out", "one", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["tables"][0]["records"] == 160
    assert set(told["tables"][0]) == {"name", "records", "missing", "unread_dates", "sensitive", "id", "left_out"}


def test_pairs_are_found_told_drawn_and_kept(home: Path) -> None:
    done = run(home, "link", "pairs", "project", "--review", "20", "--chart", "pairs.html", "--one-to-one")
    assert done.returncode == 0, done.stderr
    assert "candidate pairs" in done.stdout
    assert "<svg" in (home / "pairs.html").read_text(encoding="utf-8")
    assert {path.name for path in (home / "project" / "pairs").iterdir()} == {
        "pairs.parquet",
        "model.json",
        "zones.json",
    }
    told = json.loads(run(home, "link", "pairs", "project", "--labels", "truth.csv", "--json").stdout)
    assert told["calibrated"]
    assert sum(told["decisions"].values()) == told["pairs"] == sum(told["distribution"]["counts"])


def test_ready_pairs_and_rules(home: Path) -> None:
    (home / "ready.csv").write_text("a,b,p\nA000001,B000002,0.9\nA000002,B000001,0.1\n", encoding="utf-8")
    told = json.loads(run(home, "link", "pairs", "project", "--pairs-file", "ready.csv", "--json").stdout)
    assert told["decisions"] == {"different": 0, "people": 2, "same": 0}
    words = ["link", "pairs", "project", "--pairs-file", "ready.csv", "--score", "p", "--review", "0", "--json"]
    assert json.loads(run(home, *words).stdout)["decisions"] == {"different": 1, "people": 0, "same": 1}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("link", "init", "first.csv", "--spec", "no.toml", "--out", "x"), 4, "no such link file"),
        (("link", "init", "no.csv", "--spec", "link.toml", "--out", "x"), 3, "no file"),
        (("link", "init", "first.csv", "--spec", "link.toml", "--out", "project"), 2, "exists already"),
        (("link", "pairs", "nowhere"), 2, "no linkage project"),
        (("link", "pairs", "project", "--score", "p"), 2, "--pairs-file"),
        (("link", "pairs", "project", "--rule", "nose"), 2, "'nose'"),
        (("link", "pairs", "project", "--chart", "x.svg"), 2, "HTML"),
        (("link", "pairs", "project", "--pairs-file", "link.toml"), 3, ""),
    ],
)
def test_what_is_wrong_is_said(home: Path, words: tuple[str, ...], code: int, said: str) -> None:
    done = run(home, *words)
    assert done.returncode == code, done.stderr
    assert said in done.stderr


def test_demo_data_to_link(tmp_path: Path) -> None:
    done = run(tmp_path, "demo-data", "--people", "1000", "--linkage", "--out", "to-link", "--json")
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)) == set(LinkFiles.__dataclass_fields__)
    assert "discreet link init" in run(tmp_path, "demo-data", "--people", "1000", "--linkage", "--out", "b").stderr
