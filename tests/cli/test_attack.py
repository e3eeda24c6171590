"""`discreet attack` as its users meet it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import CANARY, CROWD, HEADER, POLICY, run

LIST = "sex,zip\n" + "".join(f"{'FM'[i % 2]},1011{i % 3}\n" for i in range(600))


@pytest.fixture
def people(write: Any) -> list[str | Path]:
    """A crowd, and one person who is alone with his ZIP code on the list."""
    data = write("people.csv", CROWD + f"{CANARY},F,99999,flu\n")
    return [data, "--policy", write("policy.toml", POLICY), "--external", write("list.csv", LIST + "F,99999\n")]


def test_somebody_who_stands_alone_is_attacked(people: list[str | Path]) -> None:
    done = run("attack", *people, "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert found["known"] | {"attacked": 1, "in_full": 1, "in_part": 0, "not_at_all": 240} == found["known"]
    assert found["known"]["reidentified"] == pytest.approx(0.63)
    assert found["thresholds"] == {"stops_early": 51, "no_access": 45, "no_exploit": 51}
    assert found["external_size"] == 601
    assert found["limit"]["exceeded"] is True
    assert "case study" in done.stderr
    assert CANARY not in done.stdout + done.stderr


def test_a_fine_that_deters_him_ends_with_0(people: list[str | Path]) -> None:
    done = run("attack", *people, "--set", "penalty=600000")
    assert done.returncode == 0, done.stderr
    assert "not attacked" in done.stdout


def test_his_parameters_come_from_a_file(people: list[str | Path], tmp_path: Path) -> None:
    file = tmp_path / "attack.toml"
    assert run("attack", "init", "--out", file).returncode == 0
    again = run("attack", "init", "--out", file)
    assert (again.returncode, "exists already" in again.stderr) == (2, True)
    assert run("attack", "init").stdout == file.read_text(encoding="utf-8")
    found = json.loads(run("attack", *people, "--attack", file, "--json").stdout)
    assert found["parameters"]["max_penalties"] is None
    assert run("attack", *people, "--attack", file).stderr == ""


def test_the_report_and_the_classes_are_written(people: list[str | Path], tmp_path: Path) -> None:
    report, classes = tmp_path / "report.html", tmp_path / "risks.csv"
    assert run("attack", *people, "--out", report, "--classes", classes).returncode == 1
    page = report.read_text(encoding="utf-8")
    assert "<script" not in page
    assert CANARY not in page
    rows = list(csv.DictReader(classes.read_text(encoding="utf-8").splitlines()))
    alone = next(row for row in rows if row["zip"] == "99999")
    assert (alone["people"], alone["group"], alone["reidentification_known"]) == ("1", "1", "0.63")
    assert sum(int(row["people"]) for row in rows) == 241


def test_the_loss_can_be_a_column(write: Any, people: list[str | Path]) -> None:
    losses = "".join(f"n{i},F,10111,{i}\n" for i in range(4))
    data = write("costs.csv", HEADER + losses)
    found = json.loads(run("attack", data, *people[1:], "--loss", "illness", "--json").stdout)
    assert found["loss"] == {"column": "illness", "highest": 3.0}
    wrong = run("attack", *people, "--loss", "illness")
    assert (wrong.returncode, "flu" in wrong.stderr) == (3, False)


def test_thresholds_in_words_and_numbers() -> None:
    assert "groups of up to 44" in run("attack", "thresholds").stdout
    assert "14 to 45" in run("attack", "thresholds", "--set", "detection_slope=0.18").stdout
    found = json.loads(run("attack", "thresholds", "--set", "max_penalties=1", "--json").stdout)
    assert (found["no_access"], found["parameters"]["max_penalties"]) == (48, 1)
    assert "does not buy the list for anybody" in run("attack", "thresholds", "--set", "gain=0").stdout


def test_thresholds_say_no_more_than_was_looked_at() -> None:
    cheap = ("--set", "exploit_cost=0", "--set", "penalty=1", "--set", "detection_slope=0.18")
    told = run("attack", "thresholds", *cheap).stdout
    assert "some of them in groups of 5,088 to at least 8,192.\n" in told
    told = run("attack", "thresholds", "--set", "exploit_cost=0", "--set", "access_cost=0", "--set", "penalty=0").stdout
    assert "buys the list for groups of at least 1,048,576 people" in told
    assert "every candidate in groups of at least 1,048,576." in told


def test_a_sweep_moves_one_parameter(people: list[str | Path]) -> None:
    found = json.loads(run("attack", "sweep", "--vary", "penalty=1000:50000:50", "--json").stdout)
    steps = found["steps"]
    assert len(steps) == 50
    assert (steps[0]["penalty"], steps[-1]["penalty"]) == (1000, 50000)
    sizes = [step["no_access"] for step in steps]
    assert sizes == sorted(sizes, reverse=True)
    told = run("attack", "sweep", *people, "--vary", "access_cost=0:20000:3")
    assert told.returncode == 0, told.stderr
    assert len(told.stdout.splitlines()) == 7
    again = json.loads(run("attack", "sweep", *people, "--vary", "max_penalties=0:2:3", "--json").stdout)
    assert [step["max_penalties"] for step in again["steps"]] == [0, 1, 2]


@pytest.mark.parametrize(
    "vary",
    [
        "penalty",
        "penalty=1",
        "penalty=1:2:x",
        "penalty=1:2:0",
        "fines=1:2:3",
        "penalty=a:b:3",
        "gain=-5:1:2",
        "gain=inf:1:3",
    ],
)
def test_a_range_is_a_range(vary: str) -> None:
    done = run("attack", "sweep", "--vary", vary)
    assert done.returncode == 2
    assert "Next:" in done.stderr
    assert "Warning" not in done.stderr


def test_options_about_a_table_need_one(people: list[str | Path]) -> None:
    done = run("attack", "sweep", *people[1:], "--vary", "penalty=1:2:2")
    assert (done.returncode, "about DATA" in done.stderr) == (2, True)


def test_a_wrong_name_for_the_classes_is_refused_before_the_work(people: list[str | Path]) -> None:
    done = run("attack", *people, "--classes", "risks.txt")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    ("content", "code"),
    [("penalty = 1\n", 4), ("[attack]\npenalty = 1\n", 2), ("[attack\n", 4), ("[attack]\n[other]\n", 4)],
)
def test_a_file_that_is_no_attack_is_refused(write: Any, content: str, code: int) -> None:
    done = run("attack", "thresholds", "--attack", write("attack.toml", content))
    assert (done.returncode, "Next:" in done.stderr) == (code, True)


def test_a_file_that_is_not_there_is_missed(tmp_path: Path) -> None:
    done = run("attack", "thresholds", "--attack", tmp_path / "none.toml")
    assert (done.returncode, "attack init" in done.stderr) == (4, True)


def test_anonymise_leaves_him_nothing_to_attack(people: list[str | Path], tmp_path: Path) -> None:
    file = tmp_path / "attack.toml"
    run("attack", "init", "--out", file)
    data, _, policy, _, listed = people
    limits = ["--attack", file, "--max-risk", "0", "--population", listed, "--suppression", "0.01"]
    done = run("anonymise", data, "--policy", policy, *limits, "--json", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["suppressed"] == 1


def test_help_speaks_of_tables_first() -> None:
    done = run("attack", "--help")
    assert "discreet attack people.csv" in done.stdout
    assert "thresholds" in done.stdout
    assert "--external" in run("attack", "table", "--help").stdout


@pytest.mark.parametrize("option", ["--population", "--external"])
def test_a_number_of_people_is_no_list(people: list[str | Path], option: str) -> None:
    done = run("attack", *people[:3], option, "5000")
    assert (done.returncode, "number of people does not say" in done.stderr) == (2, True)
