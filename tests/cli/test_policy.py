"""Guessed roles on the command line: measured, never published, confirmed without touching anything else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import CROWD, POLICY, run

GUESSED = POLICY.replace('"identifier"', '"identifier?"').replace('"quasi"', '"quasi?"  # "quasi?" by its name')
GUESSED = GUESSED.replace('"sensitive"', '"sensitive?"')
CONFIRM = "discreet policy confirm"


@pytest.fixture
def draft(write: Any) -> tuple[Path, Path]:
    return write("people.csv", CROWD), write("draft.toml", GUESSED)


def test_guesses_are_measured_cautiously_and_said(draft: tuple[Path, Path]) -> None:
    data, policy = draft
    done = run("assess", data, "--policy", policy, "--json")
    found = json.loads(done.stdout)
    assert found["columns"] == ["sex", "zip", "illness"]
    assert found["unconfirmed"] == ["name", "sex", "zip", "illness"]
    assert "counted as quasi-identifiers: sex (quasi?), zip (quasi?), illness (sensitive?)" in done.stderr
    assert "counted as never published: name (identifier?)" in done.stderr
    assert f"{CONFIRM} {policy} --all" in done.stderr


def test_a_check_says_what_is_not_confirmed(draft: tuple[Path, Path]) -> None:
    data, policy = draft
    done = run("policy", "check", policy, "--data", data, "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert found["unconfirmed"] == ["name", "sex", "zip", "illness"]
    assert found["columns"]["illness"] == {"role": "sensitive", "levels": 1}
    assert found["counted_as"] == {"name": "identifier", "sex": "quasi", "zip": "quasi", "illness": "quasi"}
    assert "illness  sensitive?" in run("policy", "check", policy).stdout


def test_a_check_names_quasi_identifiers_that_cannot_be_generalised(write: Any) -> None:
    policy = write("bare.toml", POLICY.replace("hierarchy = { mask = 5 }\n", ""))
    done = run("policy", "check", policy, "--json")
    assert json.loads(done.stdout)["without_hierarchy"] == ["zip"]
    assert "without a hierarchy: zip." in done.stderr


WRITERS = [
    ("anonymise", "people.csv", "--policy", "draft.toml", "--k", "5", "--out", "out.csv"),
    ("anonymise", "people.csv", "--policy", "draft.toml", "--k", "5", "--search", "local", "--out", "out.parquet"),
    ("release", "fingerprints", "people.csv", "--policy", "draft.toml", "--recipients", "2", "--out", "out"),
    ("release", "plan", "people.csv", "--policy", "draft.toml", "--population", "people.csv", "--recipients", "2"),
]  # fmt: skip


@pytest.mark.parametrize("words", WRITERS, ids=" ".join)
def test_what_writes_or_releases_refuses_guesses_and_lists_them(
    draft: tuple[Path, Path], words: tuple[str, ...]
) -> None:
    folder = draft[0].parent
    done = run(*words, cwd=folder)
    assert done.returncode == 4, done.stderr
    assert "name (identifier?), sex (quasi?), zip (quasi?), illness (sensitive?)" in done.stderr
    assert f"{CONFIRM} draft.toml --all" in done.stderr
    assert not list(folder.glob("out*"))


def test_a_search_that_writes_nothing_accepts_guesses(write: Any, draft: tuple[Path, Path]) -> None:
    words = ("--k", "5", "--dry-run", "--json")
    done = run("anonymise", draft[0], "--policy", draft[1], *words)
    assert done.returncode == 4  # nothing says how illness would generalise
    assert "illness (sensitive?)" in done.stderr
    ruled = write("ruled.toml", GUESSED + 'hierarchy = { any = "*" }\n')
    done = run("anonymise", draft[0], "--policy", ruled, *words)
    assert done.returncode == 0
    assert json.loads(done.stdout)["unconfirmed"] == ["name", "sex", "zip", "illness"]


def test_confirming_removes_question_marks_and_nothing_else(draft: tuple[Path, Path]) -> None:
    data, policy = draft
    before = b"\xef\xbb\xbf" + GUESSED.replace("\n", "\r\n").encode()
    policy.write_bytes(before)
    policy.chmod(0o640)
    done = run("policy", "confirm", policy, "zip", "--json")
    assert json.loads(done.stdout)["confirmed"] == {"zip": "quasi"}
    zip_confirmed = before.replace(b'[columns.zip]\r\nrole = "quasi?"', b'[columns.zip]\r\nrole = "quasi"')
    assert policy.read_bytes() == zip_confirmed
    assert json.loads(run("policy", "check", policy, "--json").stdout)["unconfirmed"] == ["name", "sex", "illness"]
    done = run("policy", "confirm", policy, "--all")
    assert done.stdout.splitlines() == [
        "name: confirmed as identifier.",
        "sex: confirmed as quasi.",
        "illness: confirmed as sensitive.",
    ]
    assert policy.read_bytes() == before.replace(b'= "quasi?"', b'= "quasi"').replace(b'er?"', b'er"').replace(
        b've?"', b've"'
    )
    assert policy.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in sorted(data.parent.iterdir())] == ["draft.toml", "people.csv"]
    assert run("anonymise", data, "--policy", policy, "--k", "5", "--out", data.parent / "safe.csv").returncode == 0


def test_what_there_is_to_confirm_must_be_said(draft: tuple[Path, Path]) -> None:
    policy = draft[1]
    for words, said in (
        ((), "Not confirmed: name, sex, zip, illness."),
        (("zip", "--all"), "Say which roles to confirm."),
        (("zpi",), "Did you mean 'zip'?"),
    ):
        done = run("policy", "confirm", policy, *words)
        assert done.returncode == 2
        assert said in done.stderr
    assert policy.read_text() == GUESSED


def test_what_is_confirmed_already_stays(write: Any) -> None:
    policy = write("policy.toml", POLICY)
    done = run("policy", "confirm", policy, "zip")
    assert (done.returncode, done.stdout) == (0, "zip: was confirmed already as quasi.\n")
    done = run("policy", "confirm", policy, "--all")
    assert (done.returncode, done.stdout) == (0, "Nothing to do: every role is confirmed.\n")
    assert policy.read_text() == POLICY


def test_a_population_that_lacks_a_guessed_column_leads_to_the_confirmation(
    write: Any, draft: tuple[Path, Path]
) -> None:
    register = write("register.csv", "sex,zip\nF,10110\nM,10111\n")
    done = run("assess", draft[0], "--policy", draft[1], "--population", register)
    assert done.returncode == 3
    assert "until their roles are confirmed: illness (sensitive?)" in done.stderr


def test_the_report_shows_the_roles_of_the_policy(write: Any, draft: tuple[Path, Path]) -> None:
    said = write("said.toml", POLICY.replace('"sensitive"', '"drop"').replace('"identifier"', '"other?"'))
    report = draft[0].parent / "report.html"
    assert run("assess", draft[0], "--policy", said, "--out", report).returncode == 1
    rows = report.read_text(encoding="utf-8").partition("The columns and their roles")[2].partition("</table>")[0]
    cells = re.sub(r"<svg.*?</svg>|<[^>]+>", "|", rows, flags=re.DOTALL)
    for column, role in (("name", "other, not confirmed"), ("sex", "quasi\u2011identifier"), ("illness", "left out")):
        assert re.search(rf"\|{column}\|+{role}\|", cells), column


def test_an_attack_is_planned_on_guesses_and_says_so(draft: tuple[Path, Path]) -> None:
    done = run("attack", draft[0], "--policy", draft[1], "--json")
    assert json.loads(done.stdout)["columns"] == ["sex", "zip", "illness"]
    assert "illness (sensitive?)" in done.stderr
