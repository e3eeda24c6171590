"""`discreet ledger` as custodians and auditors meet it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.ledger import Ledger
from tests.swift import SHIM


def run(*words: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DISCREET_")} | (env or {})
    command = [SHIM, "ledger", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    with Ledger.open(path) as ledger:
        ledger.set_budget("ann", limit=5, actor="custodian")
        ledger.spend("ann", 3, key="a", actor="ann", event="linkage.revealed", subject="project:7/pair:1")
        ledger.spend("ann", 3, key="b", actor="ann", event="linkage.revealed", subject="project:7/pair:2")
        ledger.record(actor="bob", event="web.approved", subject="project:8")
    return path


def test_show_lists_what_happened(store: Path) -> None:
    done = run("show", "--store", store)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0].split() == [
        "entry",
        "time",
        "actor",
        "event",
        "outcome",
        "subject",
        "amount",
        "left",
    ]
    assert len(done.stdout.splitlines()) == 6
    assert "refused" in done.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), [0, 1, 2, 3, 4]),
        (("--last", "2"), [3, 4]),
        (("--actor", "ann"), [2, 3]),
        (("--outcome", "refused"), [3]),
        (("--room", "web"), [4]),
        (("--event", "ledger.budget"), [1]),
        (("--subject", "project:7"), [2, 3]),
    ],
)
def test_show_chooses_and_speaks_json(store: Path, words: tuple[str, ...], expected: list[int]) -> None:
    found = json.loads(run("show", "--store", store, "--json", *words).stdout)
    assert [entry["sequence"] for entry in found] == expected


def test_show_budgets(store: Path) -> None:
    found = json.loads(run("show", "--budgets", "--json", "--store", store).stdout)
    assert found == [
        {"name": "ann", "limit": "5", "spent": "3", "reserved": "0", "left": "2", "parts": 1, "version": 2}
    ]
    assert run("show", "--budgets", "--store", store).stdout.split() == [
        *("budget", "limit", "spent", "reserved", "left"),
        *("ann", "5", "3", "0", "2"),
    ]


def test_the_store_can_be_named_in_the_environment(store: Path) -> None:
    assert run("show", env={"DISCREET_STORE": str(store)}).returncode == 0


def test_head_export_and_verify_go_together_without_the_keys(store: Path, tmp_path: Path) -> None:
    head, export = tmp_path / "head.json", tmp_path / "ledger.jsonl"
    assert run("head", "--store", store, "--out", head).returncode == 0
    assert json.loads(head.read_text()) == json.loads(run("head", "--store", store, "--json").stdout)
    with Ledger.open(store) as ledger:
        ledger.record(actor="bob", event="web.shown")
    assert run("export", "--store", store, "--out", export).returncode == 0
    assert run("export", "--store", store).stdout.encode() == export.read_bytes()
    (tmp_path / "store.db.keys").unlink()
    for words in (("--store", store), (export,)):
        done = run("verify", *words, "--head", head)
        assert done.returncode == 0, done.stderr
        assert "Intact: 6 entries" in done.stdout
        assert "extends the given head" in done.stdout
        assert "consistent with itself" in run("verify", *words).stderr
    words_of_head = run("head", "--store", store).stdout
    assert json.loads(export.read_bytes().splitlines()[-1])["root"] in words_of_head


def test_an_integrity_failure_ends_with_6(store: Path, tmp_path: Path) -> None:
    head, export = tmp_path / "head.json", tmp_path / "ledger.jsonl"
    run("head", "--store", store, "--out", head)
    run("export", "--store", store, "--out", export)
    export.write_bytes(export.read_bytes().replace(b"project:8", b"project:9"))
    with sqlite3.connect(store) as connection:
        connection.execute("DROP TRIGGER ledger_entry_no_update")
        connection.execute("UPDATE ledger_entry SET actor = 'eve' WHERE sequence = 4")
    connection.close()
    for words in (("--store", store), (export,)):
        done = run("verify", *words, "--head", head)
        assert done.returncode == 6
        assert "NOT the ledger that was written" in done.stdout
        found = json.loads(run("verify", *words, "--head", head, "--json").stdout)
        assert found["holds"] is False
        assert found["problems"]
        assert set(found) == {"holds", "entries", "root", "heads", "problems"}


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["show", "--store", "nowhere.db"], 69, "There is no store at"),
        (["verify", "--store", "mysql://x/y"], 2, "'mysql' cannot be used as a store"),
        (["verify", "nowhere.jsonl"], 2, "cannot be read"),
        (["verify", "--store", "{store}", "--head", "{store}"], 2, "not a head"),
        (["verify", "{store}", "--store", "{store}"], 2, "without a store"),
        (["export", "--store", "{store}", "--out", "/nowhere/x"], 2, "cannot be written"),
        (["show", "--store", "{store}", "--room", "cellar"], 2, "cellar"),
    ],
    ids=str,
)
def test_mistakes_are_answered_in_words(store: Path, words: list[str], code: int, says: str) -> None:
    done = run(*(word.format(store=store) for word in words))
    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_store_in_which_nothing_was_written_is_said_to_be_so(tmp_path: Path) -> None:
    from discreet.store import Store

    Store.open(tmp_path / "empty.db").close()
    done = run("head", "--store", tmp_path / "empty.db")
    assert done.returncode == 2
    assert "has no entries" in done.stderr


def without(modules: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    script = (
        f"import sys\nfor name in {modules!r}.split(): sys.modules[name] = None\nfrom discreet.cli import main\nmain()"
    )
    return subprocess.run(
        [sys.executable, "-c", script, "ledger", *map(str, words)], capture_output=True, text=True, check=False
    )


def test_what_is_not_installed_is_said_with_the_line_that_installs_it(store: Path) -> None:
    done = without("sqlalchemy", "show", "--store", store)
    assert done.returncode == 2
    assert "pip install 'discreet[store]'" in done.stderr
    assert without("sqlalchemy", "--help").returncode == 0
    postgres = without("psycopg", "show", "--store", "postgresql://127.0.0.1/x")
    assert postgres.returncode == 2
    assert "discreet[postgres]" in postgres.stderr


def test_an_export_is_checked_without_sqlalchemy(store: Path, tmp_path: Path) -> None:
    run("export", "--store", store, "--out", tmp_path / "ledger.jsonl")
    assert without("sqlalchemy alembic psycopg", "verify", tmp_path / "ledger.jsonl").returncode == 0
    done = without("nacl", "verify", tmp_path / "ledger.jsonl")
    assert done.returncode == 2
    assert "discreet[store]" in done.stderr


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "store.db") as ledger:
        ledger.record(actor="ann", event="web.shown", subject="project:ü")
    found: Any = run("show", "--store", tmp_path / "store.db", env={"PYTHONUTF8": "1"})
    assert "project:ü" in found.stdout


def test_amounts_are_shown_as_people_write_them(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "store.db") as ledger:
        ledger.set_budget("ann", limit=2_000, parts=125_000, actor="custodian")
        ledger.spend("ann", Fraction(24_631, 125_000), key="a", actor="ann", event="linkage.revealed")
    shown = run("show", "--store", tmp_path / "store.db").stdout.splitlines()[-1].split()
    assert shown[-2:] == ["0.197", "1,999.803"]


def test_a_backup_is_taken_verified_and_put_back(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "store.db") as ledger:
        ledger.record(actor="ann", event="web.shown")
    kept, at = tmp_path / "kept", ["--data", tmp_path / "data"]

    def discreet(*words: str | Path) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DISCREET_")}
        return subprocess.run([SHIM, *map(str, words)], capture_output=True, text=True, check=False, env=environment)

    made = discreet("backup", kept, "--store", tmp_path / "store.db", *at, "--json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["entries"] == 2
    again = ("restore", kept, "--store", tmp_path / "new" / "store.db", *at)
    assert [discreet(*again).returncode for _ in range(2)] == [0, 2], "nothing is replaced"
    assert discreet("restore", kept, "--verify").returncode == 0
    (kept / "store.db").write_bytes(b"x")
    assert discreet("restore", kept, "--verify").returncode == 6
