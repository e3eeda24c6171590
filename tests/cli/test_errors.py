"""Errors on the command line speak of options, never of Python."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

import discreet
from discreet.cli.main import cli, in_options, options_of
from discreet.errors import ColumnError
from discreet.sources.files.csv_dialect import check_header
from tests.house.code import nodes
from tests.house.surface.commands import walked
from tests.swift import SHIM

ROOMS = Path(discreet.__file__).parent
SPOKEN_ELSEWHERE = {"web", "demo"}
"""The web application shows its own errors on its pages."""
PYTHON = re.compile(
    r"=True|=False|=None|=\[|=\(|=\{|=\"|='|\[\.\.\.\]|=\.\.\.|discreet\.read\(|\b[a-z_]+=(?=[\s:,.)]|$)"
)
COMMANDS = [path for path, command in walked(cli, "discreet") if not isinstance(command, click.Group)]


@cache
def speaking_python() -> list[tuple[str, bool]]:
    """Every text with Python in it that a room gives an error, and whether it says what is wrong."""
    return [(text, problem) for text, problem in _texts() if PYTHON.search(text)]


def _texts() -> Iterator[tuple[str, bool]]:
    for path in sorted(ROOMS.rglob("*.py")):
        if path.relative_to(ROOMS).parts[0] in SPOKEN_ELSEWHERE:
            continue
        for raised in nodes(path):
            if isinstance(raised, ast.Call) and _makes_error(raised.func):
                yield from ((_text(argument), True) for argument in raised.args)
                yield from ((_text(each.value), False) for each in raised.keywords if each.arg == "remedy")


def _makes_error(called: ast.expr) -> bool:
    name = called.id if isinstance(called, ast.Name) else ""
    return bool(re.search(r"Error$|Refused$|^NotThere$|^Source|^EmptySource$|^Outdated$|^MissingExtra$", name))


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
    return ""


def test_rooms_do_speak_python() -> None:
    """Else the test below could not fail."""
    assert len(speaking_python()) >= 10


@pytest.mark.parametrize("path", COMMANDS)
def test_no_error_of_a_room_speaks_python(path: str) -> None:
    keywords = options_of(path.split()[1:])
    for text, problem in speaking_python():
        spoken = in_options(text, keywords, whole=problem)
        assert not PYTHON.search(spoken), text
        assert spoken or not problem


def test_advice_names_options_that_the_command_has() -> None:
    keywords = options_of(["anonymise", "people.csv"])
    assert in_options("Choose another name, or say overwrite=True to replace it.", keywords).count("--overwrite") == 1
    assert in_options("Give population=discreet.read(..., policy=policy.for_population()).", keywords) == (
        "Give --population."
    )
    assert (
        options_of(["attack", "people.csv"])["external"] == "--external"
    )  # the verb that is meant where none is named
    assert options_of([]) == {}


@pytest.mark.parametrize(
    "text",
    [
        "Add ?table=schema.name to the URL, or ?query=SELECT...",
        "For example --set penalty=20000, or max_penalties=unlimited.",
        "For example: --column plz=zip",
        'Give a column the role "sensitive" in the policy.',
        'For example: --row-ids "number (new)"',
        "There is no file people(1).csv.",
    ],
)
def test_what_is_not_python_stays_as_it_is(text: str) -> None:
    assert in_options(text, {}) == text


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["--k", "2", "--out", "there.csv"], "--overwrite"),
        (["--k-map", "2", "--population", "people.csv", "--search", "mondrian", "--dry-run"], "--search optimal"),
        (["--k-map", "2", "--dry-run"], "--population"),
        (["--presence", "0.9", "0.1", "--population", "people.csv", "--dry-run"], "--presence 0 0.5"),
    ],
)
def test_a_refused_call_is_answered_in_options(write: Any, words: list[str], advice: str) -> None:
    write("there.csv", "a\n1\n")
    data = write("people.csv", "sex\nF\nF\nM\nM\n")
    write("policy.toml", '[columns.sex]\nrole = "quasi"\nhierarchy = { any = "*" }\n')
    command = [SHIM, "anonymise", "people.csv", "--policy", "policy.toml", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=data.parent)
    assert done.returncode == 2, done.stderr
    assert advice in done.stderr
    assert not PYTHON.search(done.stderr)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--k", "2", "--diversity", "0"], "diversity: l must be a number from 1 up"),
        (["--k", "2", "--diversity", "null"], "--diversity is a number or JSON"),
        (["--k", "2", "--diversity", '{"l": 2, "kind": "recursive", "c": 0}'], "diversity: c must be a number from"),
        (["--k", "2", "--closeness", "7"], "closeness: t must be a number from 0 to 1"),
        (["--k", "2", "--closeness", "-0.1"], "closeness: t must be a number from 0 to 1"),
        (["--k", "2", "--time-limit", "-3"], "--time-limit is a number of seconds above 0"),
        (["--k", "2", "--time-limit", "nan"], "--time-limit is a number of seconds above 0"),
        (["--k", "2", "--suppression", "2"], "suppression is a share from 0 to 1"),
        (["--k", "2", "--suppression", "nan"], "suppression is a share from 0 to 1"),
        (["--max-risk", "2"], "above 0 and at most 1"),
        (["--max-risk", "2", "--risk-model", "marketer", "--population", "people.csv"], "--max-risk must be above 0"),
        (["--average-risk", "0"], "--average-risk must be above 0"),
        (["--k", "2", "--presence", "0.9", "0.1", "--population", "people.csv"], "the smaller one first"),
    ],
)
def test_an_option_out_of_its_range_is_refused_with_the_range(write: Any, words: list[str], said: str) -> None:
    data = write("people.csv", "sex,pay\nF,1\nF,2\nM,1\nM,2\n")
    write(
        "policy.toml", '[columns.sex]\nrole = "quasi"\nhierarchy = { any = "*" }\n[columns.pay]\nrole = "sensitive"\n'
    )
    command = [SHIM, "anonymise", "people.csv", "--policy", "policy.toml", "--dry-run", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=data.parent)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Next:" in done.stderr


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["anonymize"], "discreet anonymise"),
        (["asess", "people.csv"], "discreet assess"),
        (["policy", "chek"], "discreet policy check"),
        (["link", "pair"], "discreet link pairs"),
        (["init", "people.csv"], "discreet policy init"),
        (["frobnicate"], "discreet --help lists them"),
    ],
)
def test_a_misspelled_command_is_answered_with_the_one_that_was_meant(words: list[str], meant: str) -> None:
    done = subprocess.run([SHIM, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.rstrip().splitlines()[-1].startswith("Next:")
    assert meant in done.stderr


def test_a_report_that_is_replaced_is_said_to_be(write: Any) -> None:
    data = write("people.csv", "sex\nF\nF\nM\nM\n")
    write("policy.toml", '[columns.sex]\nrole = "quasi"\nhierarchy = { any = "*" }\n')
    words = ["anonymise", "people.csv", "--policy", "policy.toml", "--k", "2", "--dry-run", "--report", "report.html"]
    first, second = (
        subprocess.run([SHIM, *words], capture_output=True, text=True, check=True, cwd=data.parent) for _ in range(2)
    )
    assert first.stderr.rstrip().endswith("Report: report.html")
    assert second.stderr.rstrip().endswith("Report: report.html (it replaces the one that was there)")


def test_a_misspelled_project_makes_no_store(tmp_path: Path) -> None:
    words = ["link", "assign", "projcet", "--worker", "ann", "--store", str(tmp_path / "store.db")]
    done = subprocess.run([SHIM, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "'projcet' is not the folder of a project" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["age,sex\n30,F\n", '{"age": 30}\n', ""])
def test_a_file_that_is_no_export_is_called_that(write: Any, content: str) -> None:
    file = write("people.csv", content)
    done = subprocess.run([SHIM, "ledger", "verify", str(file)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert "is not an export of a ledger" in done.stderr


@pytest.mark.parametrize("name", ["people.csv", "./people.csv", "link.csv"])
def test_what_is_read_is_never_replaced(write: Any, name: str) -> None:
    data = write("people.csv", "sex\nF\nF\nM\nM\n")
    (data.parent / "link.csv").symlink_to(data)
    write("policy.toml", '[columns.sex]\nrole = "quasi"\nhierarchy = { any = "*" }\n')
    words = ["anonymise", "people.csv", "--policy", "policy.toml", "--k", "4", "--out", name, "--overwrite"]
    done = subprocess.run([SHIM, *words], capture_output=True, text=True, check=False, cwd=data.parent)
    assert done.returncode == 2
    assert "would be lost" in done.stderr
    assert data.read_text() == "sex\nF\nF\nM\nM\n"


@pytest.mark.parametrize("text", ["-5", "0", "1.5"])
def test_a_population_is_a_whole_number_of_people(write: Any, text: str) -> None:
    data = write("people.csv", "sex\nF\nM\n")
    write("policy.toml", '[columns.sex]\nrole = "quasi"\n')
    words = ["assess", "people.csv", "--policy", "policy.toml", "--population", text]
    done = subprocess.run([SHIM, *words], capture_output=True, text=True, check=False, cwd=data.parent)
    assert done.returncode == 2
    assert "a whole number of people from 1 up" in done.stderr


def test_a_folder_that_cannot_be_made_is_no_bug(write: Any) -> None:
    file = write("people.csv", "sex\n")
    words = ["demo-data", "--people", "1000", "--out", str(file / "demo")]
    done = subprocess.run([SHIM, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "cannot be used (not a directory)" in done.stderr
    assert "Next:" in done.stderr


def test_an_example_in_json_is_shown_as_a_shell_takes_it() -> None:
    said = in_options('For example diversity={"l": 3, "kind": "entropy"}.', {"diversity": "--diversity"})
    assert said == """For example --diversity '{"l": 3, "kind": "entropy"}'."""


@pytest.mark.parametrize(
    ("words", "idle"),
    [
        (["--search", "local", "--loss", "entropy"], ["--loss entropy"]),
        (["--search", "mondrian", "--time-limit", "5"], ["--time-limit"]),
        (["--risk-model", "journalist"], ["--risk-model"]),
        (["--search", "local"], []),
    ],
)
def test_an_option_without_effect_is_said_to_have_none(write: Any, words: list[str], idle: list[str]) -> None:
    data = write("people.csv", "sex\nF\nF\nM\nM\n")
    write("policy.toml", '[columns.sex]\nrole = "quasi"\nhierarchy = { any = "*" }\n')
    command = [SHIM, "anonymise", "people.csv", "--policy", "policy.toml", "--k", "2", "--dry-run", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=data.parent)
    notes = [line for line in done.stderr.splitlines() if line.startswith("Note:")]
    assert len(notes) == len(idle)
    assert all(option in note and "no effect" in note for option, note in zip(idle, notes, strict=True))


@pytest.mark.parametrize("column", ['[columns.sex]\nrole = "quasi"\n', 'sex.role = "other"\n'])
def test_a_key_that_is_there_twice_is_called_that(write: Any, column: str) -> None:
    policy = write("policy.toml", f'[columns]\nsex.role = "quasi"\n{column}')
    done = subprocess.run([SHIM, "policy", "check", str(policy)], capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "is there twice" in done.stderr
    assert "quotes" not in done.stderr


def test_a_folder_without_a_table_is_called_that(tmp_path: Path) -> None:
    done = subprocess.run([SHIM, "profile", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "There is no table in the folder" in done.stderr
    assert "CSV" in done.stderr


def test_a_header_below_a_title_is_thought_of() -> None:
    for rows, thought_of in (([["age", "sex"], ["30", "F"]], True), ([["30", ""]], False)):
        with pytest.raises(ColumnError) as caught:
            check_header(["People", ""], "people.xlsx", rows=rows)
        assert ("header may be further down" in caught.value.remedy) is thought_of


def test_a_column_that_the_policy_knows_is_not_proposed_for_another(write: Any) -> None:
    data = write("people.csv", "kids,sex\n1,F\n2,M\n")
    policy = write(
        "policy.toml",
        '[data]\nperson = "id"\n[columns]\nkids.role = "quasi"\nsex.role = "quasi"\nid.role = "identifier"\n',
    )
    words = ["assess", str(data), "--policy", str(policy)]
    done = subprocess.run([SHIM, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "Did you mean" not in done.stderr
    assert "`discreet report`" in done.stderr


@pytest.mark.parametrize(("values", "thought_of"), [("1,5 2,25", True), ("1,5 low", False)])
def test_decimal_commas_are_thought_of(write: Any, values: str, thought_of: bool) -> None:
    data = write("people.csv", "\n".join(["weight;sex", *(f"{value};F" for value in values.split())]) + "\n")
    policy = write(
        "policy.toml", '[columns]\nweight = { role = "quasi", hierarchy = { widths = [5] } }\nsex.role = "other"\n'
    )
    words = ["assess", str(data), "--policy", str(policy)]
    done = subprocess.run([SHIM, *words], capture_output=True, text=True, check=False)
    assert done.returncode in (3, 4)
    assert ('[data] decimal = ","' in done.stderr) is thought_of


@pytest.mark.parametrize("limit", [(), ("--time-limit", "1")])
def test_a_vast_search_says_first_what_helps(write: Any, limit: tuple[str, ...]) -> None:
    names = [f"c{number}" for number in range(24)]
    data = write("people.csv", "\n".join([",".join(names), *([",".join("1" * 24)] * 2), ",".join("2" * 24)]) + "\n")
    policy = write(
        "policy.toml", "".join(f'[columns.{name}]\nrole = "quasi"\nhierarchy = {{ any = "*" }}\n' for name in names)
    )
    words = ["anonymise", str(data), "--policy", str(policy), "--k", "1", "--dry-run", *limit]
    done = subprocess.run([SHIM, *words], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode in (0, 1)
    assert ("16,777,216 combinations" in done.stderr) is (not limit)
    assert ("--search local" in done.stderr) is (not limit)
