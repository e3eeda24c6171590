"""Columns that give a quasi-identifier away are named, and others are not."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.kernel import AnyValue
from discreet.risk import inference as room
from discreet.risk.inference import coarser_at, giveaways
from tests.cli.test_commands import run

ROWS = 2_000


def people() -> pandas.DataFrame:
    rng = np.random.default_rng(1)
    age = rng.integers(18, 90, ROWS)
    city = rng.integers(0, 60, ROWS)
    born = 2024 - age - rng.integers(0, 2, ROWS)
    return pandas.DataFrame(
        {
            "age": age,
            "region": city // 10,
            "age_squared": age**2,
            "log_age": np.round(np.log(age), 3),
            "born": born,
            "city": [f"city {place}" for place in city],
            "wage": np.round(rng.lognormal(8, 1, ROWS) + 20 * age, 2),
            "answer": rng.integers(0, 5, ROWS),
            "number": np.arange(ROWS),
        }
    )


def policy(**roles: str) -> discreet.Policy:
    columns = {name: {"role": roles.get(name, "other")} for name in people().columns}
    columns["age"] = {"role": "quasi", "hierarchy": {"widths": [5, 10, 20]}}  # type: ignore[dict-item]
    columns["region"] = {"role": "quasi", "hierarchy": {"any": "*"}}  # type: ignore[dict-item]
    return discreet.Policy.from_dict({"columns": columns})


def pairs(levels: dict[str, int], **roles: str) -> dict[tuple[str, str], bool]:
    known = policy(**roles)
    found = giveaways(discreet.read(people(), policy=known), coarser_at(known, levels))
    return {(one.column, one.quasi): one.exact for one in found}


AGES = {("age_squared", "age"): True, ("log_age", "age"): True, ("born", "age"): False}


@pytest.mark.parametrize("level", [1, 4])
def test_what_says_a_coarser_column_is_named_and_nothing_else(level: int) -> None:
    assert pairs({"age": level, "region": 1}) == {**AGES, ("city", "region"): True}


def test_what_is_published_as_it_is_cannot_be_given_away() -> None:
    assert pairs({"age": 0, "region": 1}) == {("city", "region"): True}
    assert pairs({"age": 0, "region": 0}) == {}


def test_columns_that_are_left_out_give_nothing_away() -> None:
    assert pairs({"age": 1, "region": 0}, age_squared="drop", born="identifier") == {("log_age", "age"): True}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=40))
def test_agreement_is_that_of_all_pairs(rows: list[tuple[int, int]]) -> None:
    alike = [(first, second) for first, second in itertools.combinations(rows, 2) if first[0] == second[0]]
    both = sum(first == second for first, second in alike)
    columns = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    share = room._agreement(*columns)
    assert share == (None if len(alike) < room.FEWEST_PAIRS else both / len(alike))


def test_few_rows_give_nothing_away() -> None:
    frame = pandas.DataFrame({"age": ["1", "2", "3"], "other": ["a", "b", "c"]})
    known = discreet.Policy.from_dict(
        {"columns": {"age": {"role": "quasi", "hierarchy": {"any": "*"}}, "other": {"role": "other"}}}
    )
    assert isinstance(known.rule("age"), AnyValue)
    assert giveaways(discreet.read(frame, policy=known), {"age": None}) == ()


def test_the_commands_warn_in_words_json_and_report(tmp_path: Path) -> None:
    data, file, report = tmp_path / "people.csv", tmp_path / "policy.toml", tmp_path / "report.html"
    people().drop(columns=["number", "wage"]).to_csv(data, index=False)
    roles = "".join(
        f'[columns.{name}]\nrole = "other"\n' for name in ("age_squared", "log_age", "born", "city", "answer")
    )
    file.write_text(
        '[columns.age]\nrole = "quasi"\nhierarchy = { widths = [5, 10, 20] }\n'
        f'[columns.region]\nrole = "quasi"\nhierarchy = {{ any = "*" }}\n{roles}',
        encoding="utf-8",
    )
    for command in (["assess"], ["anonymise", "--k", "20", "--dry-run"]):
        arguments = [command[0], str(data), "--policy", str(file), *command[1:]]
        found = json.loads(run(*arguments, "--json").stdout)["gives_away"]
        assert {"column": "age_squared", "quasi": "age", "exact": True}.items() <= next(
            one for one in found if one["column"] == "age_squared"
        ).items()
        shown = run(*arguments)
        assert "Warning: age_squared (other, published as it is) gives age away exactly." in " ".join(
            shown.stderr.split()
        )
    run("assess", str(data), "--policy", str(file), "--out", str(report))
    assert "gives age away" in report.read_text(encoding="utf-8")
