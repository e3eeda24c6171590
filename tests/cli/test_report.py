"""`discreet report` as custodians meet it: words, JSON, exit codes, and a draft to begin with."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from discreet.ledger import Ledger
from tests.swift import SHIM

POLICY = """
[columns.name]
role = "identifier"
[columns.sex]
role = "quasi"
[columns.zip]
role = "quasi"
hierarchy = { mask = 2 }
"""


def run(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DISCREET_")}
    command = [SHIM, "report", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"p{number},{'FM'[number % 2]},1{number % 2}" for number in range(40)]
    (tmp_path / "people.csv").write_text("name,sex,zip\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "few.csv").write_text("name,sex,zip\nsecret-1,F,11\nsecret-2,M,12\n", encoding="utf-8")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    with Ledger.open(tmp_path / "store.db") as ledger:
        ledger.record(actor="ann", event="web.shown", subject="report:1")
    return tmp_path


def draft(folder: Path, data: str = "people.csv", *words: str) -> Path:
    done = run(folder, "init", data, "--policy", "policy.toml", *words, "--out", "project.toml")
    assert done.returncode == 0, done.stderr
    assert "Next: discreet report project.toml" in done.stderr
    return folder / "project.toml"


def test_a_draft_becomes_a_report(folder: Path) -> None:
    draft(folder, "people.csv", "--store", "store.db", "--population", "1000", "--title", "Spring")
    done = run(folder, "project.toml", "--out", "report.html")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Spring\n")
    assert "✓ people.csv is within the limit" in done.stdout
    assert "○ Nobody has asked what a planning adversary would do" in done.stdout
    assert "All 2 entries of the ledger" in done.stdout
    assert "discreet report project.toml --out report.html" in (folder / "report.html").read_text(encoding="utf-8")


def test_a_folder_is_a_project_and_json_is_data(folder: Path) -> None:
    draft(folder)
    done = run(folder, ".", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert (found["title"], found["exceeded"], found["ledger"]) == ("Sharing people.csv", False, None)
    assert {one["standing"] for one in found["findings"]} == {"unmeasured", "within"}


def test_above_a_limit_ends_with_1(folder: Path) -> None:
    draft(folder, "few.csv")
    done = run(folder, "project.toml")
    assert done.returncode == 1
    assert "▲ few.csv is above the limit" in done.stdout
    assert "secret" not in done.stdout + done.stderr


def test_the_store_may_be_another_one_and_heads_are_held_against_it(folder: Path) -> None:
    draft(folder)
    with Ledger.open(folder / "store.db") as ledger:
        (folder / "head.json").write_text(json.dumps(ledger.head()), encoding="utf-8")
        ledger.record(actor="ann", event="web.shown", subject="report:2")
    done = run(folder, "project.toml", "--store", "store.db", "--head", "head.json", "--json")
    ledger_told = json.loads(done.stdout)["ledger"]
    assert (ledger_told["heads"], ledger_told["head"]["size"]) == (1, 3)
    assert run(folder, "project.toml", "--store", "store.db", "--head", "policy.toml").returncode == 2


def test_a_ledger_that_was_changed_ends_with_6_and_tells_nothing(folder: Path) -> None:
    draft(folder, "people.csv", "--store", "store.db")
    with sqlite3.connect(folder / "store.db") as connection:
        connection.execute("UPDATE ledger_tree SET time = '2020-01-01T00:00:00.000000Z'")
    connection.close()
    done = run(folder, "project.toml", "--out", "report.html")
    assert done.returncode == 6
    assert "not what was written, so nothing is reported from it" in done.stderr
    assert done.stdout == ""
    assert not (folder / "report.html").exists()


def test_what_is_wrong_is_said_in_words(folder: Path) -> None:
    project = draft(folder, "people.csv", "--store", "nowhere.db")
    assert run(folder, "project.toml").returncode == 69
    assert run(folder, "elsewhere").returncode == 4
    with project.open("a", encoding="utf-8") as file:
        file.write('publishd = "x.csv"\n')
    done = run(folder, "project.toml")
    assert done.returncode == 4
    assert "Did you mean 'published'?" in done.stderr
    assert run(folder, "project.toml", "--out", "report.pdf").returncode == 2
    assert run(folder, "init", "people.csv", "--policy", "policy.toml", "--out", "project.toml").returncode == 2


def test_paths_of_a_draft_are_seen_from_it(folder: Path) -> None:
    (folder / "sub").mkdir()
    done = run(folder, "init", "people.csv", "--policy", "policy.toml", "--out", "sub/project.toml")
    assert done.returncode == 0, done.stderr
    assert 'data = "../people.csv"' in (folder / "sub" / "project.toml").read_text(encoding="utf-8")
    assert run(folder, "sub").returncode == 0
    assert 'data = "people.csv"' in run(folder, "init", "people.csv", "--policy", "policy.toml").stdout
