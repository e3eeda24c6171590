"""`discreet reproduce` as its users meet it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.swift import SHIM


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SHIM, *words], capture_output=True, text=True, check=False, cwd=folder)


def test_the_keys_of_an_item_are_fixed(tmp_path: Path) -> None:
    done = run(tmp_path, "reproduce", "mscore", "--json", "--out", "page.html")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["paper"] == "mscore"
    assert set(found["items"][0]) == {"id", "where", "what", "printed", "ours", "verdict", "why"}
    by_id = {item["id"]: item for item in found["items"]}
    assert by_id["mscore.d"]["ours"] == [2, 3, 2, 1]
    assert {f"mscore.case{number}" for number in range(1, 10)} <= by_id.keys()
    assert all(item["why"] for item in found["items"] if item["verdict"] != "reproduces")
    assert "mscore.d" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_terminal_has_items_and_reasons(tmp_path: Path) -> None:
    done = run(tmp_path, "reproduce", "mindfirl", "--quick")
    assert done.returncode == 0, done.stderr
    assert "31/432" in done.stdout
    assert "mindfirl.study.full" in done.stdout
    assert done.stdout.count("104 people") == 1, "a reason is said once"


def test_a_paper_that_is_not_there_is_a_wrong_call(tmp_path: Path) -> None:
    done = run(tmp_path, "reproduce", "ola")
    assert done.returncode == 2
    assert "mindfirl" in done.stderr


def test_quick_is_for_the_paper_only(tmp_path: Path) -> None:
    done = run(tmp_path, "attack", "case-study", "--people", "2000", "--quick")
    assert done.returncode == 2
    assert "--quick" in done.stderr
