"""`discreet misuse score` as its users meet it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars
import pytest

from tests.cli.test_commands import run
from tests.misuse.paper import PUBLISHED, SOURCE

POLICY = """\
[columns.job]
role = "quasi"
[columns.city]
role = "quasi"
[columns.sex]
role = "quasi"
[columns.account]
role = "sensitive"
[columns.bill]
role = "sensitive"

[sensitivity.account]
values = { Gold = 1.0, Silver = 0.7, Bronze = 0.3, White = 0.1 }
[sensitivity.account.contexts.audit]
otherwise = 0.0
[sensitivity.bill]
bins = [[100, 0.1], [250, 0.2], [400, 0.3], [700, 0.5]]
otherwise = 1.0

[misuse]
limit = 1.2
"""


@pytest.fixture
def files(tmp_path: Path) -> list[Any]:
    polars.DataFrame(SOURCE).write_parquet(tmp_path / "customers.parquet")
    polars.DataFrame(PUBLISHED).write_csv(tmp_path / "result.csv")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    source, policy = tmp_path / "customers.parquet", tmp_path / "policy.toml"
    return ["misuse", "score", tmp_path / "result.csv", "--source", source, "--policy", policy]


def test_above_the_limit_it_ends_with_one(files: list[Any]) -> None:
    done = run(*files, "--json")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert found["value"] == pytest.approx(1.224745, abs=1e-6)
    assert found["normalised"] == pytest.approx(0.453609, abs=1e-6)
    assert (found["rows"], found["record_score"], found["x"]) == (6, 0.5, 2.0)
    assert found["limit"] == {"value": 1.2, "exceeded": True}
    assert found["top"][0] == {"row": 0, "columns": ["account", "bill"], "record_score": 0.5, "crowd": 2}
    assert run(*files, "--limit", "1.3").returncode == 0
    assert run(*files, "--limit", "inf", "--json").returncode == 0


def test_it_speaks_in_words_and_never_of_values(files: list[Any]) -> None:
    done = run(*files)
    assert "Misuse score of result.csv: 1.225" in done.stdout
    assert "above the limit of 1.2" in done.stdout
    assert "45.4 % of what the whole table could do" in done.stdout
    assert not any(secret in done.stdout + done.stderr for secret in ("Gold", "Lawyer", "600"))


def test_settings_come_from_the_policy_unless_given(files: list[Any]) -> None:
    assert json.loads(run(*files, "--json", "--x", "1").stdout)["value"] == pytest.approx(3.0)
    infinite = json.loads(run(*files, "--json", "--x", "inf").stdout)
    assert (infinite["value"], infinite["x"]) == (0.5, "inf")
    audit = json.loads(run(*files, "--json", "--context", "audit").stdout)
    assert audit["record_score"] == pytest.approx(0.25)


def test_a_request_and_entities(files: list[Any], tmp_path: Path) -> None:
    polars.DataFrame([{"job": row["job"], "city": row["city"]} for row in PUBLISHED]).write_csv(tmp_path / "result.csv")
    nothing = run(*files)
    assert nothing.returncode == 0
    assert "no sensitive column" in nothing.stdout
    asked = run(*files, "--request", "select job, city from customers where account = 'Gold'")
    assert asked.returncode == 1
    assert "gives away account" in asked.stdout
    by_entity = json.loads(run(*files, "--entity", "job", "--json").stdout)
    assert by_entity["rows"] == 4
    assert "4 entities" in run(*files, "--entity", "job").stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--x", "0"], 2, "from 1 to infinity"),
        (["--limit", "-1"], 2, "from 0 up"),
        (["--context", "nobody"], 2, "known contexts: audit"),
        (["--request", "selec"], 2, "cannot be looked into"),
        (["--entity", "nobody"], 3, "no column 'nobody'"),
    ],
)
def test_mistakes_end_with_their_code(files: list[Any], words: list[str], code: int, said: str) -> None:
    done = run(*files, *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


def test_a_policy_must_say_how_sensitive_values_are(files: list[Any], tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(POLICY.split("[sensitivity")[0], encoding="utf-8")
    done = run(*files)
    assert done.returncode == 2
    assert "[sensitivity.COLUMN]" in done.stderr
    (tmp_path / "policy.toml").write_text(
        POLICY.replace("[sensitivity.bill]", "[columns.x]\nrole = 'other'\n[ignored]"), encoding="utf-8"
    )
    assert run(*files).returncode == 4
    left = POLICY.partition("[sensitivity.bill]")[0]
    (tmp_path / "policy.toml").write_text(left, encoding="utf-8")
    assert "no [sensitivity.COLUMN] for bill" in run(*files).stderr


def test_a_result_without_rows_or_quasi_identifiers(files: list[Any], tmp_path: Path) -> None:
    (tmp_path / "result.csv").write_text("job,account\n", encoding="utf-8")
    assert json.loads(run(*files, "--json").stdout)["value"] == 0.0
    (tmp_path / "result.csv").write_text("account\nGold\nWhite\n", encoding="utf-8")
    assert "hides among the 2 of the result" in run(*files).stdout


def test_only_columns_of_the_result_are_said_to_weigh_nothing(files: list[Any], tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(POLICY.replace("[sensitivity.bill]", "[sensitivity.other]"), encoding="utf-8")
    assert "bill, which therefore counted as harmless" in run(*files).stderr
    polars.DataFrame(PUBLISHED).drop("bill").write_csv(tmp_path / "result.csv")
    assert "weighed nothing" not in run(*files).stderr
