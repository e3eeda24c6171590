"""The command line as its users meet it: output, exit codes, errors without values."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.swift import REAL, SHIM

CANARY = "Zaphod-1952"
POLICY = """\
[columns.name]
role = "identifier"
[columns.sex]
role = "quasi"
hierarchy = { any = "Person" }
[columns.zip]
role = "quasi"
hierarchy = { mask = 5 }
[columns.illness]
role = "sensitive"
"""
HEADER = "name,sex,zip,illness\n"
CROWD = HEADER + "".join(f"n{i},{'FM'[i % 2]},1011{i % 3},flu{i % 4}\n" for i in range(240))


def run(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SHIM, *map(str, words)], capture_output=True, text=True, check=False, **options)


@pytest.fixture
def files(write: Any) -> tuple[Path, Path]:
    return write("people.csv", CROWD), write("policy.toml", POLICY)


def test_assess_within_limits_ends_with_0(files: tuple[Path, Path]) -> None:
    done = run("assess", files[0], "--policy", files[1])
    assert done.returncode == 0
    assert "240 people" in done.stdout
    assert "illness (sensitive, published as it is) gives sex away exactly" in done.stderr  # so it is in these rows


def test_assess_above_the_limit_ends_with_1(write: Any, files: tuple[Path, Path]) -> None:
    done = run("assess", write("few.csv", CROWD + f"{CANARY},F,99999,flu\n"), "--policy", files[1], "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["uniques"] == 1
    assert found["limit"]["exceeded"] is True
    assert CANARY not in done.stdout + done.stderr


def test_the_limit_can_be_raised_in_the_policy(write: Any) -> None:
    data = write("few.csv", CROWD + "x,F,99999,flu\n")
    policy = write("lenient.toml", POLICY + "[limits]\nat_risk = 0.01\n")
    assert run("assess", data, "--policy", policy).returncode == 0


def test_json_has_the_promised_keys(files: tuple[Path, Path]) -> None:
    found = json.loads(run("assess", files[0], "--policy", files[1], "--json").stdout)
    assert {"records", "classes", "uniques", "k", "average_risk", "population_uniqueness"} <= set(found)
    assert set(found["prosecutor"]) == set(found["journalist"]) == {"at_risk", "highest", "success"}
    assert set(found["marketer"]) == {"success"}
    assert (found["records"], found["classes"], found["k"]) == (240, 6, 40)


def test_a_population_may_be_a_table_or_a_number(write: Any, files: tuple[Path, Path]) -> None:
    register = write("register.csv", "sex,zip\n" + "".join(f"{'FM'[i % 2]},1011{i % 3}\n" for i in range(2400)))
    table = json.loads(run("assess", files[0], "--policy", files[1], "--population", register, "--json").stdout)
    assert table["journalist"]["highest"] == 1 / 400
    assert table["presence"] == {"lowest": 0.1, "highest": 0.1, "k_map": 400, "uncovered": 0}
    number = json.loads(run("assess", files[0], "--policy", files[1], "--population", "2,400", "--json").stdout)
    assert number["population_uniqueness"]["population"] == 2400


def test_the_threshold_is_an_option(write: Any, files: tuple[Path, Path]) -> None:
    found = run("assess", files[0], "--policy", files[1], "--threshold", "0.01", "--json")
    assert json.loads(found.stdout)["prosecutor"]["at_risk"] == 1.0
    assert found.returncode == 1
    assert run("assess", files[0], "--policy", files[1], "--threshold", "7").returncode == 2


def test_the_report_is_written(files: tuple[Path, Path], tmp_path: Path) -> None:
    report = tmp_path / "out" / "report.html"
    done = run("assess", files[0], "--policy", files[1], "--out", report)
    assert done.returncode == 0
    page = report.read_text(encoding="utf-8")
    assert "<script" not in page
    assert "discreet assess" in page
    assert str(report) in done.stderr
    assert run("assess", files[0], "--policy", files[1], "--out", tmp_path / "report.pdf").returncode == 2


def test_columns_without_a_role_are_mentioned(write: Any, files: tuple[Path, Path]) -> None:
    policy = write("short.toml", '[columns.sex]\nrole = "quasi"\n')
    done = run("assess", files[0], "--policy", policy, "--json")
    assert "columns name, zip, illness have no role" in done.stderr
    json.loads(done.stdout)


@pytest.mark.parametrize(
    ("data", "policy", "code"),
    [
        ("people.csv", "none.toml", 4),
        ("people.csv", "broken.toml", 4),
        ("none.csv", "policy.toml", 3),
        ("ragged.csv", "policy.toml", 3),
        ("tokyo.csv", "policy.toml", 3),
        ("empty.csv", "policy.toml", 3),
        ("doubled.csv", "policy.toml", 3),
        ("missing.csv", "policy.toml", 3),
        ("outside.csv", "policy.toml", 3),
        ("headless.csv", "policy.toml", 3),
    ],
)
def test_bad_input_has_its_exit_code_and_keeps_values(
    files: tuple[Path, Path], write: Any, data: str, policy: str, code: int
) -> None:
    write("broken.toml", POLICY.replace("quasi", "quazi"))
    write("ragged.csv", CROWD + f"{CANARY},F\n")
    write("tokyo.csv", (CROWD + f"{CANARY}鈴木田中東京大阪,F,10110,flu\n").encode("shift_jis"))
    write("empty.csv", "")
    write("doubled.csv", f"name,name,sex,zip\n{CANARY},a,F,10110\n")
    write("missing.csv", f"name,sex,illness\n{CANARY},F,flu\n")
    write("outside.csv", CROWD + f"x,F,{CANARY},flu\n")
    write("headless.csv", f"{CANARY},F,10110,flu\nb,M,10110,flu\n")
    folder = files[0].parent
    done = run("assess", folder / data, "--policy", folder / policy)
    assert done.returncode == code
    assert done.stderr.startswith("Error: ")
    assert "\nNext:  " in done.stderr
    assert CANARY not in done.stderr + done.stdout
    assert done.stdout == ""


def test_usage_errors_end_with_2() -> None:
    assert run("assess").returncode == 2
    assert run("asses").returncode == 2
    assert run("assess", "x.csv").returncode == 2
    assert run("assess", "x.csv", "--polizy", "p").returncode == 2


def test_a_bug_is_reported_by_its_place_only(files: tuple[Path, Path], tmp_path: Path) -> None:
    broken = tmp_path / "sitecustomize.py"
    broken.write_text(
        f"import discreet.risk\ndef assess(*a, **k): raise KeyError('{CANARY}')\ndiscreet.risk.assess = assess\n",
        encoding="utf-8",
    )
    command = [REAL, "assess", str(files[0]), "--policy", str(files[1])]
    own = {"PYTHONPATH": str(tmp_path), "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=own)
    assert done.returncode == 70
    assert "KeyError at sitecustomize.py:2" in done.stderr
    assert CANARY not in done.stderr


def test_profile_shows_no_rare_values(write: Any) -> None:
    data = write("people.csv", CROWD + f"{CANARY},F,10110,{CANARY}\n")
    done = run("profile", data)
    assert done.returncode == 0
    assert CANARY not in done.stdout + done.stderr
    found = json.loads(run("profile", data, "--json").stdout)
    assert [column["name"] for column in found["columns"]] == ["name", "sex", "zip", "illness"]
    assert CANARY not in json.dumps(found)
    assert ["name"] in found["minimal_unique"]


def test_a_policy_is_drafted_checked_and_used(files: tuple[Path, Path], tmp_path: Path) -> None:
    draft = tmp_path / "draft.toml"
    assert run("policy", "init", files[0], "--out", draft).returncode == 0
    assert run("policy", "init", files[0], "--out", draft).returncode == 2
    checked = run("policy", "check", draft, "--data", files[0])
    assert checked.returncode == 0
    assert "240 people" in checked.stdout
    summary = json.loads(run("policy", "check", draft, "--data", files[0], "--json").stdout)
    assert summary["columns"]["zip"] == {"role": "quasi", "levels": 6}
    assert run("assess", files[0], "--policy", draft, "--json").returncode in (0, 1)


def test_policy_check_finds_data_that_do_not_fit(files: tuple[Path, Path], write: Any) -> None:
    done = run("policy", "check", files[1], "--data", write("bad.csv", HEADER + f"x,F,{CANARY},flu\n"))
    assert done.returncode == 3
    assert CANARY not in done.stderr


def test_the_schema_is_json() -> None:
    assert json.loads(run("policy", "schema").stdout)["title"] == "Discreet policy"


def test_demo_data_are_the_same_for_the_same_seed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert run("demo-data", "--people", "20000", "--seed", "7", "--out", tmp_path / name).returncode == 0
    assert (tmp_path / "a" / "hospital.csv").read_bytes() == (tmp_path / "b" / "hospital.csv").read_bytes()
    done = run(
        "assess",
        tmp_path / "a/hospital.csv",
        "--policy",
        tmp_path / "a/policy.toml",
        "--population",
        tmp_path / "a/population.parquet",
    )
    assert done.returncode == 1


def test_a_reader_that_goes_away_is_no_error(files: tuple[Path, Path]) -> None:
    command = f"{SHIM} profile {files[0]} --json | head -c 1"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[1:] == []  # only how the file was read


def test_help_is_instant_and_starts_with_examples() -> None:
    done = run("assess", "--help")
    assert done.returncode == 0
    assert done.stdout.index("Examples:") < done.stdout.index("Options:")


def test_output_in_an_empty_locale(files: tuple[Path, Path]) -> None:
    command = [REAL, "assess", str(files[0]), "--policy", str(files[1])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"LC_ALL": "C", "PATH": ""})
    assert done.returncode == 0


def test_anonymise_writes_a_verified_table(files: tuple[Path, Path], tmp_path: Path) -> None:
    target = tmp_path / "safe.csv"
    done = run("anonymise", files[0], "--policy", files[1], "--k", "45", "--suppression", "0.1", "--out", target)
    assert done.returncode == 0, done.stderr
    assert "Nothing better exists." in " ".join(done.stdout.split())
    assert "verified" in done.stderr
    header, *rows = target.read_text(encoding="utf-8").splitlines()
    assert header == "sex,zip,illness"
    assert len(rows) == 240
    again = run("anonymise", files[0], "--policy", files[1], "--k", "45", "--out", target)
    assert again.returncode == 2
    assert run("anonymise", files[0], "--policy", files[1], "--k", "45", "--out", target, "--overwrite").returncode == 0


def test_anonymise_at_the_levels_of_last_year(files: tuple[Path, Path], tmp_path: Path) -> None:
    wanted = ("anonymise", files[0], "--policy", files[1], "--k", "45", "--suppression", "0.1")
    last = tmp_path / "last.json"
    last.write_text(run(*wanted, "--json").stdout, encoding="utf-8")
    levels = json.loads(last.read_text(encoding="utf-8"))["levels"]
    again = json.loads(run(*wanted, "--levels", last, "--json", "--out", tmp_path / "a.csv").stdout)
    assert (again["levels"], again["exceeded"], again["search"]) == (levels, False, "given")
    assert again["optimum"]["levels"] == levels
    (tmp_path / "own.json").write_text(json.dumps(dict.fromkeys(levels, 0)), encoding="utf-8")
    target, page = tmp_path / "b.csv", tmp_path / "report.html"
    done = run(*wanted, "--levels", tmp_path / "own.json", "--out", target, "--report", page)
    assert done.returncode == 1
    assert not target.exists()
    words = " ".join(done.stdout.split())
    assert "240 people miss the limits" in words
    assert "but at most 24 may be: nothing is written" in words
    assert "The optimum would have been" in words
    assert "Levels were given, not searched" in page.read_text(encoding="utf-8")
    for content in ("no JSON", "[1]", '{"zip": 99}', '{"street": 1}'):
        (tmp_path / "bad.json").write_text(content, encoding="utf-8")
        assert run(*wanted, "--levels", tmp_path / "bad.json", "--dry-run").returncode == 2


def test_anonymise_says_what_analyses_find(files: tuple[Path, Path], tmp_path: Path) -> None:
    wanted = ("anonymise", files[0], "--policy", files[1], "--k", "45", "--suppression", "0.1")
    page = tmp_path / "report.html"
    done = run(*wanted, "--target", "illness", "--dry-run", "--report", page)
    assert "naive Bayes predicts illness correctly" in " ".join(done.stdout.split())
    report = page.read_text(encoding="utf-8")
    for words in ("What analyses find before and after", "Cramér", "naive Bayes predicts illness"):
        assert words in report
    found = json.loads(run(*wanted, "--target", "illness", "--json").stdout)
    assert set(found["measures"]["columns"]) == {"sex", "zip", "illness"}
    assert found["measures"]["classifier"]["target"] == "illness"
    assert found["measures"]["columns"]["illness"]["distance"] == 0
    assert set(found["utility"]) == {"sex", "zip"}
    assert run(*wanted, "--target", "nothing", "--json").returncode == 3


def test_anonymise_says_how_many_formulas_it_quoted(tmp_path: Path) -> None:
    data, policy, target = tmp_path / "people.csv", tmp_path / "policy.toml", tmp_path / "safe.csv"
    data.write_text("age,note\n30,=1+1\n31,+49 30\n32,-5\n33,@a\n60,=gone\n", encoding="utf-8")
    roles = '[columns.age]\nrole = "quasi"\nhierarchy = { widths = [10] }\n[columns.note]\nrole = "other"\n'
    policy.write_text(roles, encoding="utf-8")
    wanted = ("anonymise", data, "--policy", policy, "--k", "2", "--suppression", "0.2", "--out", target, "--overwrite")
    page = tmp_path / "report.html"
    done = run(*wanted, "--json", "--report", page)
    assert json.loads(done.stdout)["formulas"] == {"mode": "quote", "cells": 3}
    assert "3 cells begin like a formula" in done.stderr
    assert "3 cells begin like a formula" in page.read_text(encoding="utf-8")
    assert "'=1+1" in target.read_text(encoding="utf-8")
    for keep in ((*wanted, "--formulas", "keep"), wanted):
        done = run(*keep, "--json")
        assert json.loads(done.stdout)["formulas"] == {"mode": "keep", "cells": 0}
        assert "left as they are" in done.stderr
        assert "'=1+1" not in target.read_text(encoding="utf-8")
        policy.write_text(f'[data]\nformulas = "keep"\n{roles}', encoding="utf-8")
    assert json.loads(run(*wanted[:-2], tmp_path / "safe.parquet", "--json").stdout)["formulas"] is None


def test_anonymise_lists_what_is_published(files: tuple[Path, Path], tmp_path: Path) -> None:
    wanted = ("anonymise", files[0], "--policy", files[1], "--k", "45")
    done = run(*wanted, "--dry-run", "--report", tmp_path / "report.html")
    report = " ".join((tmp_path / "report.html").read_text(encoding="utf-8").split())
    for column, role, published in (
        ("zip", "quasi", "generalised to level 1 of 5"),
        ("illness", "sensitive", "as it is"),
    ):
        assert any(line.split()[:2] == [column, role] and published in line for line in done.stdout.splitlines())
        assert f">{column}</th><td>{role}</td><td>{published}<" in report
    assert "Left out: name." in done.stdout
    found = json.loads(run(*wanted, "--json").stdout)
    assert {name: about["role"] for name, about in found["published"].items()} == {
        "sex": "quasi", "zip": "quasi", "illness": "sensitive"
    }  # fmt: skip


def test_a_column_without_a_role_is_refused_before_anything_is_searched(write: Any, tmp_path: Path) -> None:
    rows = "".join(f"n{i},F,10115,flu,x,1\n" for i in range(40))
    data, policy = write("more.csv", "name,sex,zip,illness,note,born\n" + rows), write("policy.toml", POLICY)
    target = tmp_path / "a.csv"
    done = run("anonymise", data, "--policy", policy, "--k", "5", "--out", target)
    assert done.returncode == 4
    assert "'note', 'born'" in done.stderr
    assert 'role = "drop"' in done.stderr
    assert not target.exists()
    dry = run("anonymise", data, "--policy", policy, "--k", "5", "--dry-run")
    assert dry.returncode == 0
    assert "note, born" in dry.stderr
    assert json.loads(run("anonymise", data, "--policy", policy, "--k", "5", "--json").stdout)["undeclared"] == [
        "note",
        "born",
    ]
    checked = run("policy", "check", policy, "--data", data)
    assert checked.returncode == 0
    assert "note, born" in checked.stderr
    declared = write("declared.toml", POLICY + '[columns.note]\nrole = "drop"\n[columns.born]\nrole = "other"\n')
    assert run("anonymise", data, "--policy", declared, "--k", "5", "--out", target).returncode == 0
    assert target.read_text(encoding="utf-8").splitlines()[0] == "sex,zip,illness,born"


def test_rows_of_one_person_are_not_counted_as_people(write: Any, tmp_path: Path) -> None:
    panel = HEADER + "".join(f"P{i % 30},F,10115,flu\n" for i in range(240))
    data, policy, target = write("panel.csv", panel), write("policy.toml", POLICY), tmp_path / "a.csv"
    for words in (
        ("anonymise", data, "--policy", policy, "--k", "5", "--out", target),
        ("anonymise", data, "--policy", policy, "--k", "5", "--dry-run"),
        ("policy", "check", policy, "--data", data),
    ):
        done = run(*words)
        assert done.returncode == 4
        assert "'name'" in done.stderr
        assert "30 numbers, 240 rows" in done.stderr
        assert 'person = "row"' in done.stderr
        assert "P7" not in done.stdout + done.stderr
    assert not target.exists()
    assert "240" not in run("assess", data, "--policy", policy).stderr
    assert "30 values of the identifier" in run("assess", data, "--policy", policy).stderr
    said = write("said.toml", '[data]\nperson = "row"\n' + POLICY)
    assert run("anonymise", data, "--policy", said, "--k", "5", "--out", target).returncode == 0
    assert run("policy", "check", said, "--data", data).returncode == 0
    named = write("named.csv", HEADER + "".join(f"Smith,{'FM'[i % 2]},10115,flu\n" for i in range(40)))
    assert run("policy", "check", policy, "--data", named).returncode == 0


def test_anonymise_as_json_writes_nothing_without_a_target(files: tuple[Path, Path]) -> None:
    done = run("anonymise", files[0], "--policy", files[1], "--k", "45", "--json")
    found = json.loads(done.stdout)
    assert found["levels"] == {"sex": 0, "zip": 1}
    assert found["certificate"]["optimal"] is True
    assert (found["suppressed"], found["written"]) == (0, None)
    assert set(found["utility"]) == {"sex", "zip"}


@pytest.mark.parametrize(
    "options",
    [
        ["--diversity", "2"],
        ["--diversity", '{"l": 2, "kind": "entropy"}'],
        ["--closeness", "0.5"],
        ["--closeness", ".5"],
        ["--max-risk", "0.05"],
        ["--average-risk", "0.05"],
        ["--k", "10", "--search", "local"],
        ["--k", "10", "--search", "mondrian"],
        ["--k", "10", "--search", "ola", "--loss", "aecs"],
        ["--k", "10", "--search", "best", "--time-limit", "5"],
    ],
    ids=lambda words: " ".join(words),
)
def test_anonymise_under_every_kind_of_limit(files: tuple[Path, Path], options: list[str]) -> None:
    done = run("anonymise", files[0], "--policy", files[1], *options, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["classes"] >= 1


def test_anonymise_against_a_population(files: tuple[Path, Path], write: Any) -> None:
    register = write("register.csv", "sex,zip\n" + "".join(f"{'FM'[i % 2]},1011{i % 3}\n" for i in range(2400)))
    for options in (
        ["--k-map", "300"],
        ["--max-risk", "0.01", "--risk-model", "journalist"],
        ["--presence", "0", "0.2"],
    ):
        done = run(
            "anonymise", files[0], "--policy", files[1], *options, "--population", register, "--dry-run", "--json"
        )
        assert done.returncode == 0, done.stderr
        assert set(json.loads(done.stdout)["levels"].values()) == {0}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], 2),
        (["--k", "5"], 2),
        (["--k", "500", "--dry-run"], 2),
        (["--k", "5", "--suppression", "1.5", "--dry-run"], 2),
        (["--k", "5", "--loss", "lost", "--dry-run"], 2),
        (["--k", "5", "--diversity", "many", "--dry-run"], 2),
        (["--k-map", "5", "--dry-run"], 2),
        (["--k", "5", "--out", "safe.docx"], 2),
    ],
)
def test_anonymise_refuses_what_cannot_be(files: tuple[Path, Path], options: list[str], code: int) -> None:
    done = run("anonymise", files[0], "--policy", files[1], *options)
    assert done.returncode == code
    assert done.stdout == ""


def test_anonymise_reports(files: tuple[Path, Path], tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    done = run("anonymise", files[0], "--policy", files[1], "--k", "45", "--dry-run", "--report", report)
    assert done.returncode == 0, done.stderr
    page = report.read_text(encoding="utf-8")
    assert "<script" not in page
    assert "Nothing better exists" in page or "nothing better exists" in page


def test_python_m_discreet_is_discreet() -> None:
    found, same = (
        subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        for command in ([sys.executable, "-m", "discreet"], [REAL])
    )
    assert found.stdout == same.stdout


# hierarchies


JOBS = "name,job\n" + "".join(f"n{i},{job}\n" for i, job in enumerate(["Farmer"] * 6 + ["Baker "] * 5 + [CANARY] * 4))
JOB_POLICY = """\
[columns.name]
role = "identifier"
[columns.job]
role = "quasi"
hierarchy = { prefix = [2] }
"""


def test_a_hierarchy_is_drafted_from_common_values(write: Any, tmp_path: Path) -> None:
    data, out = write("jobs.csv", JOBS), tmp_path / "job.csv"
    done = run("hierarchy", "init", data, "job", "--out", out)
    assert (done.returncode, done.stdout) == (0, "")
    assert "are left out: 1, held by 4 people" in done.stderr
    assert out.read_text(encoding="utf-8") == '"Baker ";*\nFarmer;*\n'
    again = run("hierarchy", "init", data, "job", "--out", out)
    assert (again.returncode, again.stdout) == (2, "")
    everything = run("hierarchy", "init", data, "job", "--all-values", "--json")
    assert json.loads(everything.stdout)["rows"] == [["Baker ", "*"], ["Farmer", "*"], [CANARY, "*"]]
    assert run("hierarchy", "init", data, "wage").returncode == 3
    rare = run("hierarchy", "init", data, "name", "--out", tmp_path / "name.csv")
    assert (rare.returncode, (tmp_path / "name.csv").exists()) == (3, False)
    assert "nothing to list" in rare.stderr


def test_levels_are_shown_without_what_few_people_hold(write: Any) -> None:
    data, policy = write("jobs.csv", JOBS), write("jobs.toml", JOB_POLICY)
    done = run("hierarchy", "show", policy, "job", "--data", data)
    assert done.returncode == 0
    assert "Farmer 6" in done.stdout
    assert "Fa 6" in done.stdout
    assert CANARY not in done.stdout + done.stderr
    levels = json.loads(run("hierarchy", "show", policy, "job", "--data", data, "--json").stdout)["levels"]
    assert [(level["values"], level["few"], level["few_people"]) for level in levels] == [
        (3, 1, 4),
        (3, 1, 4),
        (1, 0, 0),
    ]
    assert levels[-1]["shown"] == [{"value": "*", "people": 15}]
    alone = json.loads(run("hierarchy", "show", policy, "job", "--json").stdout)
    assert (alone["height"], alone["example"], alone["levels"]) == (3, ["E11.9", "E1", "*"], None)
    assert run("hierarchy", "show", policy, "jobs").returncode == 2


def test_an_exported_hierarchy_can_be_named_in_the_policy(write: Any, tmp_path: Path) -> None:
    data, policy, out = write("jobs.csv", JOBS), write("jobs.toml", JOB_POLICY), tmp_path / "job.csv"
    assert run("hierarchy", "export", policy, "job", "--data", data, "--out", out).returncode == 0
    by_file = write("file.toml", JOB_POLICY.replace("{ prefix = [2] }", '"job.csv"'))
    shown = [run("hierarchy", "show", one, "job", "--data", data, "--json").stdout for one in (policy, by_file)]
    assert json.loads(shown[0])["levels"] == json.loads(shown[1])["levels"]


@pytest.mark.parametrize("role", ["identifier", "drop", "identifier?"])
def test_values_of_columns_that_are_never_published_are_not_listed(write: Any, role: str) -> None:
    data = write("jobs.csv", JOBS)
    policy = write("jobs.toml", f'[columns.job]\nrole = "{role}"\n')
    for words in (
        ("export", policy, "job", "--data", data),
        ("show", policy, "job", "--data", data),
        ("init", data, "job", "--policy", policy, "--all-values"),
    ):
        done = run("hierarchy", *words)
        assert (done.returncode, done.stdout) == (4, "")
        assert f"has the role {role} and is never published" in " ".join(done.stderr.split())
        assert CANARY not in done.stderr
    silent = write("silent.toml", '[columns.name]\nrole = "drop"\n')
    assert run("hierarchy", "init", data, "job", "--policy", silent).returncode == 0
    assert run("hierarchy", "export", silent, "job", "--data", data).returncode == 2
