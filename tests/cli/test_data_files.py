"""Files on the command line: what was detected is said, written into the draft, and can be overruled."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import CROWD, POLICY, run
from tests.sources.files.workbooks import xlsx

POLISH = "imie;plec\n" + "Łukasz;M\nŻaneta;K\nMichał;M\nŚwietłana;K\n" * 5


def test_what_was_detected_is_said_and_written_into_the_draft(write: Any, tmp_path: Path) -> None:
    data = write("people.csv", POLISH.encode("cp1250"))
    done = run("policy", "init", data, "--out", tmp_path / "policy.toml")
    assert done.returncode == 0, done.stderr
    assert "people.csv was read with encoding cp1250, delimiter ;" in done.stderr
    drafted = tomllib.loads((tmp_path / "policy.toml").read_text(encoding="utf-8"))
    assert drafted["data"] == {"encoding": "cp1250", "delimiter": ";"}
    found = json.loads(run("profile", data, "--json").stdout)
    assert found["data"] == {"format": "csv", "encoding": "cp1250", "delimiter": ";"}
    again = json.loads(run("policy", "init", data, "--json").stdout)
    assert again["data"] == found["data"]
    assert "was read with" not in run("assess", data, "--policy", tmp_path / "policy.toml").stderr


def test_what_is_said_by_an_option_is_not_detected(write: Any) -> None:
    data = write("people.csv", POLISH.replace(";", "^").encode("iso-8859-2"))
    options = ("--encoding", "iso-8859-2", "--delimiter", "^")
    drafted = tomllib.loads(run("policy", "init", data, *options).stdout)
    assert drafted["data"] == {"encoding": "iso-8859-2", "delimiter": "^"}
    assert list(drafted["columns"]) == ["imie", "plec"]
    found = json.loads(run("profile", data, *options, "--json").stdout)
    assert [column["name"] for column in found["columns"]] == ["imie", "plec"]
    assert run("profile", data, "--delimiter", "ab").returncode == 2
    assert run("profile", data, "--encoding", "klingon").returncode == 3


def test_a_sheet_is_chosen_and_drafted(write: Any) -> None:
    rows = [["sex", "age"], ["F", 30], ["M", 31]]
    data = write("people.xlsx", xlsx({"First wave": rows, "Second": rows}))
    done = run("profile", data)
    assert done.returncode == 3
    assert "'First wave', 'Second'" in done.stderr
    drafted = tomllib.loads(run("policy", "init", data, "--sheet", "First wave").stdout)
    assert drafted["data"] == {"sheet": "First wave"}


@pytest.mark.parametrize("words", [("assess",), ("anonymise", "--k", "2", "--dry-run")])
def test_data_come_in_on_standard_input(write: Any, words: tuple[str, ...]) -> None:
    done = run(*words, "-", "--policy", write("policy.toml", POLICY), "--json", input=CROWD)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["records"] == 240


def test_an_encoding_that_was_guessed_is_said_where_something_is_measured(write: Any) -> None:
    data = write("people.csv", (CROWD + "Müller,F,10110,flu\n").encode("latin-1"))
    done = run("assess", data, "--policy", write("policy.toml", POLICY))
    assert done.returncode == 0
    assert "encoding cp1252" in done.stderr


def test_a_folder_says_which_files_were_read(tmp_path: Path, write: Any) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / "parts").mkdir(exist_ok=True)
        (tmp_path / "parts" / name).write_text(CROWD, encoding="utf-8")
    done = run("assess", tmp_path / "parts", "--policy", write("policy.toml", POLICY))
    assert "480 people" in done.stdout
    assert "a.csv, b.csv" in done.stderr
