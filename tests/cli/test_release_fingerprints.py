"""`discreet release fingerprints` as its users meet it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.swift import SHIM

POLICY = """\
[columns.name]
role = "identifier"
[columns.age]
role = "quasi"
hierarchy = { widths = [2, 4, 8] }
[columns.zip]
role = "quasi"
hierarchy = { mask = 2 }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ninety-six people, three of each age and ZIP."""
    rows = [f"Zaphod-{n},{n % 8},1{n // 8 % 4}" for n in range(96)]
    (tmp_path / "people.csv").write_text("name,age,zip\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [SHIM, "release", "fingerprints", "people.csv", "--policy", "policy.toml", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def test_copies_are_written_and_traced(folder: Path) -> None:
    made = run(folder, "--recipients", "2", "--k", "3", "--out", "copies")
    assert made.returncode == 0, made.stderr
    assert "Whichever copies are joined" in " ".join(made.stdout.split())
    assert sorted(path.name for path in (folder / "copies").iterdir()) == ["copy-1.csv", "copy-2.csv"]
    assert "Zaphod" not in (folder / "copies" / "copy-1.csv").read_text(encoding="utf-8")
    for number in ("1", "2"):
        words = ("--recipients", "2", "--k", "3", "--leaked", f"copies/copy-{number}.csv")
        assert f"levels of recipient {number}." in run(folder, *words).stdout
        assert json.loads(run(folder, *words, "--json").stdout)["owners"] == [number]


def test_a_copy_that_was_generalised_further_is_nobodys(folder: Path) -> None:
    (folder / "found.csv").write_text("age,zip\n*,**\n", encoding="utf-8")
    assert "of no recipient" in run(folder, "--recipients", "2", "--k", "3", "--leaked", "found.csv").stdout
    (folder / "part.csv").write_text("colour\nblue\n", encoding="utf-8")
    assert run(folder, "--recipients", "2", "--k", "3", "--leaked", "part.csv").returncode == 2


def test_refused_in_words(folder: Path) -> None:
    done = run(folder, "--recipients", "30", "--k", "3")
    assert done.returncode == 5
    assert "combinations of levels" in done.stderr
    assert "Next:" in done.stderr
