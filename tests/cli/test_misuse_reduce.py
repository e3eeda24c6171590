"""`discreet misuse reduce`, `evaluate` and `fit` as their users meet them."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path

import pytest

from tests.misuse.paper import COLUMNS, PUBLISHED, QUASI, SOURCE
from tests.swift import SHIM

POLICY = (
    "".join(f'[columns.{name}]\nrole = "quasi"\nhierarchy = {{ any = "*" }}\n' for name in QUASI)
    + """\
[columns.account]
role = "sensitive"
[columns.bill]
role = "sensitive"
[sensitivity.account]
values = { Gold = 1.0, Silver = 0.7, Bronze = 0.3, White = 0.1 }
[sensitivity.bill]
bins = [[100, 0.1], [250, 0.2], [400, 0.3], [700, 0.5]]
otherwise = 1.0
"""
)
OPTIONS = ("--source", "source.csv", "--policy", "policy.toml")


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SHIM, "misuse", *words], capture_output=True, text=True, check=False, cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, rows in (("source", SOURCE), ("result", PUBLISHED), ("few", PUBLISHED[-2:])):
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


@pytest.mark.parametrize(("way", "rows", "empty"), [("rows", 5, 0), ("cells", 6, 1), ("generalise", 6, 0)])
def test_a_result_is_reduced_in_three_ways(folder: Path, way: str, rows: int, empty: int) -> None:
    done = run(folder, "reduce", "result.csv", *OPTIONS, "--limit", "1", f"--{way}", "--out", "less.csv", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["way"], found["rows"]["left"], found["empty_cells"]) == (way, rows, empty)
    assert 0 < found["after"] <= 1 < found["before"]
    with (folder / "less.csv").open(newline="") as file:
        left = list(csv.DictReader(file))
    assert len(left) == rows
    assert tuple(left[0]) == COLUMNS
    again = run(folder, "score", "less.csv", *OPTIONS, "--limit", "1", "--json")
    assert again.returncode == 0, "what is written is within the limit"
    assert json.loads(again.stdout)["value"] == pytest.approx(found["after"])
    twice = run(folder, "reduce", "less.csv", *OPTIONS, "--limit", "1", f"--{way}", "--out", "twice.csv", "--json")
    assert json.loads(twice.stdout)["before"] == pytest.approx(found["after"]), "a coarse result is known again"


def test_cells_without_a_value_are_not_counted_as_emptied(folder: Path) -> None:
    text = (folder / "few.csv").read_text().splitlines()
    (folder / "few.csv").write_text("\n".join([*text[:-1], text[-1].rpartition(",")[0] + ","]) + "\n")
    for limit, emptied in (("inf", 0), ("0", 3)):
        done = run(folder, "reduce", "few.csv", *OPTIONS, "--limit", limit, "--cells", "--out", "less.csv", "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert (found["limit"], found["empty_cells"]) == ("inf" if limit == "inf" else 0.0, emptied)


def test_a_result_that_scores_exactly_the_limit_is_within_it(folder: Path) -> None:
    """Programmer, DC, Male: 0.1 + 0.1 of one person; the limit is given as decimals."""
    done = run(folder, "reduce", "few.csv", *OPTIONS, "--limit", "0.2", "--x", "inf", "--out", "less.csv", "--json")
    assert json.loads(done.stdout)["rows"]["left"] == 2
    policy = folder / "policy.toml"
    policy.write_text(policy.read_text().replace("[100, 0.1]", "[100, 0.2]"))
    done = run(folder, "reduce", "few.csv", *OPTIONS, "--limit", "0.3", "--x", "inf", "--out", "sum.csv", "--json")
    found = json.loads(done.stdout)
    assert (found["rows"]["left"], found["after"]) == (2, 0.3), "0.1 + 0.2, without the rest of the floats"


def test_a_result_is_reduced_in_one_way_at_a_time(folder: Path) -> None:
    done = run(folder, "reduce", "result.csv", *OPTIONS, "--limit", "1", "--rows", "--cells", "--out", "less.csv")
    assert done.returncode == 2
    assert "--rows and --cells" in done.stderr
    assert not (folder / "less.csv").exists()


def test_what_cannot_be_reduced_names_no_function(folder: Path) -> None:
    done = run(folder, "reduce", "result.csv", *OPTIONS, "--limit", "0.0001", "--generalise", "--out", "less.csv")
    assert done.returncode == 5
    assert "_" not in done.stderr
    for words in (("--limit", "-1"), ("--limit", "1", "--x", "0.5")):
        done = run(folder, "reduce", "result.csv", *OPTIONS, *words, "--out", "less.csv")
        assert done.returncode == 2
        assert not any(sign in done.stderr for sign in ("limit=", "math.", "_"))


def test_no_limit_is_a_wrong_call_and_nothing_is_replaced(folder: Path) -> None:
    assert run(folder, "reduce", "result.csv", *OPTIONS, "--out", "less.csv").returncode == 2
    done = run(folder, "reduce", "result.csv", *OPTIONS, "--limit", "1", "--out", "result.csv")
    assert done.returncode == 2
    assert len((folder / "result.csv").read_text().splitlines()) == 7


def test_a_spreadsheet_takes_nothing_for_a_formula(folder: Path) -> None:
    text = (folder / "source.csv").read_text().replace("Programmer", "=cmd()")
    (folder / "source.csv").write_text(text)
    (folder / "few.csv").write_text((folder / "few.csv").read_text().replace("Programmer", "=cmd()"))
    run(folder, "reduce", "few.csv", *OPTIONS, "--limit", "9", "--out", "less.csv")
    assert "'=cmd()" in (folder / "less.csv").read_text()


def test_experts_rank_tables(folder: Path) -> None:
    (folder / "ranks.csv").write_text(
        "expert,table,rank,seconds\nann,source.csv,1,30\nann,result.csv,2,20\nann,few.csv,3,10\n"
        "ben,source.csv,2,\nben,result.csv,1,\nben,few.csv,3,\n"
    )
    done = run(folder, "evaluate", "ranks.csv", *OPTIONS, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [one["tau"] for one in found["experts"]] == [pytest.approx(1), pytest.approx(1 / 3)]
    assert found["experts"][0]["seconds"] == 60
    assert found["scores"]["result.csv"] == pytest.approx(1.224745, abs=1e-6)


def test_sensitivity_is_learnt_from_a_column_of_value(folder: Path) -> None:
    rows = "".join(
        f"{account},{20 + place},{worth}\n" for account, worth in (("Gold", 90), ("White", 9)) for place in range(20)
    )
    (folder / "customers.csv").write_text("account,age,revenue\n" + rows)
    (folder / "roles.toml").write_text(
        '[columns.account]\nrole = "sensitive"\n[columns.age]\nrole = "other"\n[columns.revenue]\nrole = "other"\n'
    )
    done = run(folder, "fit", "customers.csv", "--policy", "roles.toml", "--value", "revenue", "--out", "f.toml")
    assert done.returncode == 0, done.stderr
    learnt = (folder / "f.toml").read_text()
    assert "White = 0.1" in learnt
    assert "elicited = " in learnt
    wrong = run(folder, "fit", "customers.csv", "--policy", "roles.toml", "--value", "account", "--column", "age")
    assert wrong.returncode == 3
    assert "Gold" not in wrong.stderr


def test_old_weights_and_other_factors_are_said(folder: Path) -> None:
    """A sensitivity function has an age, and D can be something else than k."""
    policy = folder / "old.toml"
    policy.write_text(
        (folder / "policy.toml")
        .read_text()
        .replace("[sensitivity.account]\n", '[sensitivity.account]\nelicited = "2020-02-29"\n', 1)
    )
    given = ("result.csv", "--source", "source.csv", "--policy", "old.toml")
    done = run(folder, "score", *given, "--factor", "l-diversity")
    assert "Experts said long ago how sensitive values are: account" in done.stderr
    assert "different values" in done.stdout
    values = [
        json.loads(run(folder, "score", *given, "--factor", factor, "--json").stdout)["value"]
        for factor in ("k", "l-diversity", "alpha-k")
    ]
    assert values[0] <= min(values[1:])
    policy.write_text(policy.read_text().replace("2020-02-29", "2021-02-29"))
    wrong = run(folder, "score", *given)
    assert (wrong.returncode, "a day is written as" in wrong.stderr) == (4, True)


def test_ways_of_elicitation_are_compared_on_the_same_experts(folder: Path) -> None:
    assert run(folder, "generate", "--out", "gen", "--days", "5").returncode == 0
    done = run(folder, "compare", "gen/ann.json", "gen/ben.json", "--out", "study")
    assert done.returncode == 0, done.stderr
    assert "record ranking" in done.stdout
    assert "Agreement between experts" in done.stderr
    assert {path.name for path in (folder / "study").iterdir()} == {"answers.csv", "scores.csv"}
    assert run(folder, "compare", "gen/ann.json", "--out", "study").returncode == 2, "nothing is overwritten"
    found = json.loads(run(folder, "compare", "gen/ann.json", "gen/ben.json", "--json").stdout)
    assert set(found["between_experts"]) == {"record ranking", "pairwise comparison", "both"}
