"""`discreet link assign | review | status | export`: a whole project without a browser."""

from __future__ import annotations

import csv
import inspect
import json
from itertools import combinations
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from discreet.cli.main import cli
from discreet.errors import DiscreetError
from discreet.linkage.project import find_project
from discreet.linkage.review.decisions import decide
from discreet.store import Store
from tests.linkage.worlds import PAIRS, PEOPLE, folder_of

APART = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
"""Data and talk are kept apart; click does so by itself since 8.2."""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of seven pairs beside an empty store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_STORE", str(tmp_path / "store.db"))
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    folder_of(tmp_path / "project")
    return tmp_path


def link(*words: str, typed: str = "") -> Result:
    return CliRunner(**APART).invoke(cli, ["link", *words], input=typed)


def done(*words: str, typed: str = "") -> Result:
    result = link(*words, typed=typed)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def refused(*words: str) -> DiscreetError:
    error = link(*words).exception
    assert isinstance(error, DiscreetError)
    return error


def status(*words: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(done("status", *words, "--json").stdout)
    return found


def test_a_whole_project(place: Path) -> None:
    given = done("assign", "project", "--worker", "ann", "--worker", "ben", "--overlap", "2", "--risk", "0.5", "--json")
    assert json.loads(given.stdout) == {
        "project": "project", "new_pairs": 7, "assigned": {"ann": 7, "ben": 7}, "left_over": 0,
    }  # fmt: skip
    for worker, keys in (("ann", "6 6 6 6 6 6 6"), ("ben", "1 6 6 6 6 6 6")):
        screen = done("review", "project", "--worker", worker, "--json", typed=keys).stdout
        assert json.loads(screen[screen.index("{") :])["decided"] == 7
    assert status("project")["to_adjudicate"] == 1
    assert "Fleiss" in done("status", "project").stdout
    assert refused("export", "project", "--out", "linked").exit_code == 5
    done("assign", "project", "--adjudicator", "eve")
    done("review", "project", "--worker", "eve", typed="6")
    assert json.loads(done("status", "--json").stdout)[0]["verdicts"]["same"] == 7
    written = done("export", "project", "--out", "linked", "--format", "csv", "--json")
    assert json.loads(written.stdout)["undecided"] == 0
    assert sorted(path.name for path in (place / "linked").iterdir()) == [
        "clusters.csv", "contradictions.csv", "decisions.csv", "disclosures.csv", "linked.csv",
    ]  # fmt: skip
    shown = CliRunner().invoke(cli, ["ledger", "show", "--room", "linkage"])
    assert "linkage.exported" in shown.stdout


def test_the_next_step_is_on_the_same_store() -> None:
    given = done("assign", "project", "--worker", "ann", "--store", "another one.db")
    assert "discreet link status project --store 'another one.db'" in given.stderr
    done("review", "project", "--worker", "ann", "--store", "another one.db", typed="6 6 6 6 6 6 6")
    assert (
        "discreet link export project --out FOLDER --store 'another one.db'"
        in done("status", "project", "--store", "another one.db").stderr
    )


def test_keys_open_answer_take_back_and_move() -> None:
    done("assign", "project", "--worker", "ann", "--characters", "0.9")
    screen = done("review", "project", "--worker", "ann", typed="d\n? x\n6\nz\nn p\n1 0\nq\n5\n").stdout
    pages = screen.split("project   pair ")[1:]
    assert "1 of 7, 0 decided" in pages[0]
    sexes = {person["sex"] for person in PEOPLE}
    row = next(line for line in pages[1].splitlines() if " sex " in line).split()
    assert row[0] == "sex"  # nothing is left to open, so it has no key any more
    assert set(row[1:3]) <= sexes
    assert [page.partition("decided")[0] for page in pages] == [
        "1 of 7, 0 ", "1 of 7, 0 ", "2 of 7, 1 ", "1 of 7, 0 ", "2 of 7, 0 ", "1 of 7, 0 ", "2 of 7, 1 ", "3 of 7, 2 ",
    ]  # fmt: skip
    assert status("project")["workers"][0]["decided"] == 2  # type: ignore[index]


def test_a_refusal_is_said_and_the_review_goes_on(place: Path) -> None:
    done("assign", "project", "--worker", "ann", "--risk", "0")
    told = done("review", "project", "--worker", "ann", typed="d\n6\n")
    assert "Refused: your limit of privacy risk" in told.stderr
    assert "closed: your limit" in told.stdout
    assert "2 of 7, 1 decided" in told.stdout
    assert "1 of 7 pairs decided" in told.stdout


def test_after_the_last_pair_there_is_a_summary() -> None:
    done("assign", "project", "--worker", "ann")
    told = done("review", "project", "--worker", "ann", typed=" ".join("6" * len(PAIRS)))
    assert "That was your last pair: z takes the answer back, q ends." in told.stderr
    assert "7 of 7 pairs decided. Thank you." in told.stdout
    assert "nothing left" in done("review", "project", "--worker", "ann").stderr
    assert refused("review", "project", "--worker", "nobody").exit_code == 2


def test_what_is_settled_once_stays_settled() -> None:
    done("assign", "project", "--worker", "ann", "--kappa", "2", "--initial", "minimum", "--name", "registry")
    assert status("registry")["project"]["kappa"] == 2  # type: ignore[index]
    assert status("project")["project"]["name"] == "registry"  # type: ignore[index]
    assert "--kappa was fixed" in str(refused("assign", "registry", "--worker", "ben", "--kappa", "3"))
    assert "7 pairs were withdrawn" in done("assign", "registry", "--withdraw", "ann").stdout
    assert json.loads(done("assign", "registry", "--worker", "ben", "--rebalance", "--json").stdout)["assigned"] == {
        "ben": 7
    }


@pytest.mark.parametrize(
    "words",
    [
        ("assign", "nowhere", "--worker", "ann"),
        ("assign", "project"),
        ("assign", "project", "--worker", "ann", "--overlap", "2"),
        ("assign", "project", "--worker", "ann", "--risk", "12"),
        ("assign", "project", "--worker", "ann", "--risk", "much"),
        ("status", "project"),
        ("export", "project", "--out", "x"),
        ("review", "project", "--worker", "ann"),
    ],
)
def test_what_cannot_be_done_is_said(words: tuple[str, ...]) -> None:
    error = refused(*words)
    assert error.exit_code in (2, 69)
    assert error.remedy


def test_contradictions_end_with_1(place: Path) -> None:
    """Three of the pairs are a triangle: if two of them are the same, the third cannot be different."""
    done("assign", "project", "--worker", "ann")
    done("review", "project", "--worker", "ann", typed=" ".join("6" * len(PAIRS)))
    assert exported("all-same") == (0, 0)
    with (place / "all-same" / "decisions.csv").open(encoding="utf-8", newline="") as file:
        edges = {int(row["pair"]): {row["first"], row["second"]} for row in csv.DictReader(file)}
    number = next(
        number
        for number, edge in edges.items()
        if sum(
            len(edge | one | other) == 3 for one, other in combinations(edges.values(), 2) if edge not in (one, other)
        )
    )
    with Store.open() as store:
        decide(store, find_project(store, "project"), "ann", number, 1)
    assert exported("contradicted") == (1, 1)


def exported(name: str) -> tuple[object, int]:
    """How the command ends, and how many contradictions it tells."""
    words = ["link", "export", "project", "--out", name, "--json"]
    result = CliRunner().invoke(cli, words, standalone_mode=False)
    return result.return_value, json.loads(result.stdout)["contradictions"]


def test_init_registers_if_asked(place: Path) -> None:
    (place / "people.csv").write_text("id,name,born\n1,Ann,1980-01-01\n2,Anne,1980-01-01\n", encoding="utf-8")
    (place / "link.toml").write_text(
        '[linkage]\nid = "id"\n[linkage.identifying]\nname = { kind = "string" }\nborn = { kind = "date" }\n',
        encoding="utf-8",
    )
    done("init", "people.csv", "--spec", "link.toml", "--out", "new", "--register", "--name", "clinic", "--as", "mary")
    assert status("clinic")["project"]["actor"] == "mary"  # type: ignore[index]
