"""`discreet compare`: a table on the terminal, JSON, and a report with a picture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_commands import run

POLICY = """
[columns.age]
role = "quasi"
hierarchy = { widths = [10, 20] }
[columns.illness]
role = "sensitive"
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    data, policy = tmp_path / "people.csv", tmp_path / "policy.toml"
    data.write_text("age,illness\n" + "".join(f"{20 + row % 30},{row % 3}\n" for row in range(100)), encoding="utf-8")
    policy.write_text(POLICY, encoding="utf-8")
    return data, policy


def test_candidates_are_compared(files: tuple[Path, Path], tmp_path: Path) -> None:
    data, policy = files
    page = tmp_path / "comparison.html"
    asked = (
        "compare",
        data,
        "--policy",
        policy,
        "--k",
        "3,40,200",
        "--suppression",
        "0,0.5",
        "--search",
        "optimal,local",
    )
    done = run(*asked, "--out", page)
    assert done.returncode == 0, done.stderr
    assert "12 candidates for 100 people" in done.stdout
    assert "not possible" in done.stdout
    assert "class by class" in done.stdout
    html = page.read_text(encoding="utf-8")
    assert "<svg" in html
    assert "not possible" in html
    found = json.loads(run(*asked, "--json").stdout)
    assert (found["records"], found["columns"]) == (100, ["age"])
    first, last = found["candidates"][0], found["candidates"][-1]
    assert (first["k"], first["suppression"], first["possible"], first["levels"]) == (3, 0.0, True, {"age": 0})
    assert (last["possible"], last["loss"], last["levels"]) == (False, None, None)
    assert "200" in last["why"]


@pytest.mark.parametrize(
    "wrong", [("--k", "3,x"), ("--suppression", "a"), ("--loss", "nothing"), ("--suppression", "2")]
)
def test_options_that_cannot_be_understood(files: tuple[Path, Path], wrong: tuple[str, str]) -> None:
    assert run("compare", files[0], "--policy", files[1], *wrong).returncode == 2
