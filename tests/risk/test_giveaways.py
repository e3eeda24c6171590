"""Columns that give a quasi-identifier away are named, and others are not."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.kernel import AnyValue
from discreet.risk import giveaways as room
from discreet.risk.giveaways import SinglesOut, giveaways, singling_columns
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
    found = giveaways(discreet.read(people(), policy=known), levels)
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
    assert giveaways(discreet.read(frame, policy=known)) == ()


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


@pytest.mark.parametrize("postcode", [str, "AB{}".format])
def test_a_number_that_counts_along_with_postcodes_of_their_own_gives_them_away(postcode: Callable[[int], str]) -> None:
    """As in a file that was sorted by postcode before its rows were numbered."""
    rng = np.random.default_rng(2)
    codes = np.sort(rng.integers(10_000, 99_999, ROWS))
    frame = pandas.DataFrame(
        {"zip": [*map(postcode, codes)], "nr": np.arange(ROWS), "wage": rng.integers(0, 10**6, ROWS)}
    )
    columns = {
        "zip": {"role": "quasi", "hierarchy": {"mask": "auto"}},
        "nr": {"role": "other"},
        "wage": {"role": "sensitive"},
    }
    known = discreet.Policy.from_dict({"columns": columns})
    found = giveaways(discreet.read(frame, policy=known))
    assert [(one.column, one.quasi) for one in found] == [("nr", "zip")]


def test_a_text_that_begins_with_a_date_gives_it_away() -> None:
    rng = np.random.default_rng(3)
    days = pandas.to_datetime("1900-01-01") + pandas.to_timedelta(rng.integers(0, 40_000, ROWS), unit="D")
    frame = pandas.DataFrame({"start": days.strftime("%Y-%m-%d"), "wage": rng.integers(0, 10**6, ROWS)})
    frame["term"] = days.strftime("%Y.%m.%d") + [f" - {reason}" for reason in rng.integers(0, 99, ROWS)]
    columns = {"start": {"role": "quasi"}, "term": {"role": "sensitive"}, "wage": {"role": "sensitive"}}
    found = giveaways(discreet.read(frame, policy={"columns": columns}))
    assert [(one.column, one.quasi) for one in found] == [("term", "start")]


def test_what_follows_from_a_coarser_column_and_divides_its_values_is_named() -> None:
    """50 or older cuts the ages from 40 to 59 in two; 60 or older cuts nothing that is published, and one in ten is no rule."""
    frame = people()
    rng = np.random.default_rng(4)
    frame["older"] = (frame["age"] >= 50).astype(int)
    frame["old"] = (frame["age"] >= 60).astype(int)
    frame["retired"] = np.where(rng.random(ROWS) < 0.1, 1 - frame["old"], frame["old"])
    frame["rare"] = (rng.random(ROWS) < 0.005).astype(int)
    roles = dict.fromkeys(frame.columns, "drop") | dict.fromkeys(["older", "old", "retired", "rare"], "sensitive")
    columns: dict[str, object] = {name: {"role": role} for name, role in roles.items()}
    columns["age"] = {"role": "quasi", "hierarchy": {"widths": [5, 10, 20]}}
    known = discreet.Policy.from_dict({"columns": columns})
    table = discreet.read(frame, policy=known)
    for levels, named in (
        ({"age": 3}, {"older"}),
        ({"age": 2}, set()),
        ({"age": 4}, {"older", "old"}),
        ({"age": 0}, set()),
    ):
        found = giveaways(table, levels)
        assert {one.column for one in found} == named
        assert all(one.cuts and one.exact and "divides what is published of age" in one.words() for one in found)


def test_columns_of_values_that_nobody_shares_are_named(tmp_path: Path) -> None:
    """Numbers, texts and amounts alike; of people where they have several rows, and in words, JSON and report."""
    frame = people()[["age", "answer", "wage"]].assign(
        number=[f"A{place:05}" for place in range(ROWS)],
        half=[place if place < ROWS // 2 else -1 for place in range(ROWS)],
        tenth=[place if place < ROWS // 10 else -1 for place in range(ROWS)],
        person=np.arange(ROWS) // 2,
        visit=[f"visit {place}" for place in range(ROWS)],
    )
    data, file, report = tmp_path / "people.csv", tmp_path / "policy.toml", tmp_path / "report.html"
    frame.to_csv(data, index=False)
    columns = {
        "age": {"role": "quasi", "hierarchy": {"widths": [5, 10, 20]}},
        **{name: {"role": "other"} for name in ("number", "answer", "half", "tenth")},
        "wage": {"role": "sensitive"},
        **{name: {"role": "drop"} for name in ("person", "visit")},
    }
    known = discreet.Policy.from_dict({"columns": columns})
    wages = frame["wage"].map(frame["wage"].value_counts())
    named = {
        (one.column, one.role, one.people, one.records) for one in singling_columns(discreet.read(data, policy=known))
    }
    assert named == {
        ("number", "other", ROWS, ROWS),
        ("half", "other", ROWS // 2, ROWS),
        ("wage", "sensitive", int((wages == 1).sum()), ROWS),
    }
    columns["visit"] = {"role": "other"}
    owned = discreet.Policy.from_dict({"data": {"person": "person"}, "columns": columns})
    found = {one.column: one for one in singling_columns(discreet.read(data, policy=owned))}
    assert (found["visit"].people, found["visit"].records) == (ROWS // 2, ROWS // 2)

    tables = "".join(
        f'[columns.{name}]\nrole = "{about["role"]}"\n' for name, about in columns.items() if name != "age"
    )
    file.write_text(
        f'[columns.age]\nrole = "quasi"\nhierarchy = {{ widths = [5, 10, 20] }}\n{tables}', encoding="utf-8"
    )
    for command in (["assess"], ["anonymise", "--k", "20", "--dry-run"]):
        arguments = [command[0], str(data), "--policy", str(file), *command[1:]]
        listed = json.loads(run(*arguments, "--json").stdout)["singles_out"]
        assert {"column": "number", "columns": ["number"], "role": "other", "people": ROWS} in listed
        page = ["--out" if command[0] == "assess" else "--report", str(report), "--overwrite"]
        sentence = "2,000 of 2,000 people have a value of number (other, published as it is) that nobody else has"
        assert f"Warning: {sentence}" in " ".join(run(*arguments, *page).stderr.split())
        assert sentence in report.read_text(encoding="utf-8")


def test_pairs_of_columns_that_single_people_out_are_named() -> None:
    """45 centimetres by 900 steps of weight: neither singles people out, both do; three yes-or-no columns never."""
    rng = np.random.default_rng(5)
    frame = pandas.DataFrame({"height": rng.integers(150, 195, ROWS), "steps": rng.integers(0, 900, ROWS)})
    frame["sex"], frame["smoker"] = rng.integers(0, 2, ROWS), rng.integers(0, 2, ROWS)
    columns: dict[str, object] = {name: {"role": "other"} for name in frame} | {"sex": {"role": "quasi"}}
    found = singling_columns(discreet.read(frame, policy={"columns": columns}))
    sizes = frame.groupby(["height", "steps"])["sex"].transform("size")
    assert found == (SinglesOut(("height", "steps"), "other", int((sizes == 1).sum()), ROWS),)
    assert "values of height and steps (other, published as they are) that nobody else has" in found[0].words()


@pytest.mark.parametrize("rows", [300, 5_000])
@pytest.mark.parametrize("written", ["%Y-%m-%d", "%d.%m.%Y"])
@pytest.mark.parametrize("levels", [None, {"birth": 1}, {"birth": 2}, {"birth": 3}, {"birth": 4}])
def test_an_age_beside_a_day_of_birth_is_named(rows: int, written: str, levels: dict[str, int] | None) -> None:
    """As a coarser value where less is published, as what divides it where a year is, and not where a month is."""
    rng = np.random.default_rng(6)
    days = pandas.Timestamp("1935-01-01") + pandas.to_timedelta(rng.integers(0, 25_000, rows), unit="D")
    frame = pandas.DataFrame({"birth": days.strftime(written), "visit": rng.integers(0, 30, rows)})
    frame["age"] = ((pandas.Timestamp("2024-07-01") - days).days / 365.25).astype(int)
    frame["year"], frame["wage"] = days.year, np.round(rng.lognormal(8, 1, rows))
    rule = {"dates": ["month", "year", "decade"], "format": written}
    columns: dict[str, object] = {name: {"role": "other"} for name in frame}
    columns["birth"] = {"role": "quasi", "hierarchy": rule}
    known = discreet.Policy.from_dict({"columns": columns})
    found = {one.column: one for one in giveaways(discreet.read(frame, policy=known), levels)}
    if levels == {
        "birth": 1
    }:  # a month of birth says the year, and the age but for the month that the day of counting is in
        assert set(found) <= {"age"}
        return
    assert set(found) == ({"age"} if levels == {"birth": 2} else {"age", "year"})
    assert found["age"].cuts == (levels == {"birth": 2})
    if levels != {"birth": 2}:
        assert found["year"].level == found["age"].level == 2
        assert found["year"].exact
        assert "gives level 2 of birth away exactly" in found["year"].words()
