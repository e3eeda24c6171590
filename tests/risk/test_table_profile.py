"""`profile`: what is in a table, without showing what few people share."""

from __future__ import annotations

import json
import random
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.errors import UsageError
from discreet.policy import Policy, write_draft
from discreet.risk import ColumnProfile, Profile, profile
from discreet.sources.duckdb import engine as duckdb_engine
from tests.risk.strategies import Rows, few, some

words = st.sampled_from([f"word-{letter}-end" for letter in "ABCDEFGHIJKLMNOP"])
columns = st.one_of(
    st.lists(st.one_of(words, st.none()), min_size=1, max_size=60),
    st.lists(st.one_of(st.integers(-500, 500), st.none()), min_size=1, max_size=60),
    st.lists(st.one_of(st.floats(-1e6, 1e6), st.none()), min_size=1, max_size=60),
    st.lists(st.one_of(st.dates(), st.none()), min_size=1, max_size=60),
    st.lists(st.one_of(st.booleans(), st.none()), min_size=1, max_size=20),
)


def one_column(cells: list[Any], name: str = "column") -> ColumnProfile:
    return profile(Rows((name,), [(cell,) for cell in cells])).columns[0]


def shown(column: ColumnProfile) -> dict[str, int]:
    """People per label; fails if a label comes twice."""
    found = {share.label: share.records for share in column.distribution}
    assert len(found) == len(column.distribution)
    return found


def ends(label: str) -> list[str]:
    """The numbers in the label of a range."""
    return re.findall(r"-?\d[\d.,]*(?:e[+-]?\d+)?", label)


# distributions


@some
@given(columns)
def test_people_are_shown_hidden_or_missing(cells: list[Any]) -> None:
    column = one_column(cells)
    assert sum(shown(column).values()) + column.hidden + column.missing == len(cells)
    assert column.hidden >= 0
    assert column.missing == cells.count(None)


@some
@given(columns)
def test_nothing_is_shown_that_fewer_than_five_people_share(cells: list[Any]) -> None:
    assert all(share.records >= 5 for share in one_column(cells).distribution)


@some
@given(st.lists(st.one_of(words, st.none()), min_size=1, max_size=60))
def test_values_of_fewer_than_five_people_appear_nowhere(cells: list[str | None]) -> None:
    table = Rows(("column", "other"), [(cell, cell) for cell in cells])
    told = json.dumps(profile(table).to_dict()) + repr(profile(table))
    for value, people in Counter(cells).items():
        assert value is None or people >= 5 or value not in told


def test_the_commonest_values_are_shown_in_order() -> None:
    column = one_column(["a"] * 7 + ["b"] * 9 + ["c"] * 4 + ["d"] * 7 + [None])
    assert list(shown(column).items()) == [("b", 9), ("a", 7), ("d", 7)]
    assert (column.hidden, column.missing, column.distinct) == (4, 1, 4)


def test_at_most_ten_values_are_shown() -> None:
    column = one_column([f"value {number}" for number in range(12) for _ in range(5)])
    assert (len(column.distribution), column.hidden) == (10, 10)


def test_few_numbers_are_shown_as_they_are() -> None:
    assert shown(one_column([1, 2, 3] * 6)) == {"1": 6, "2": 6, "3": 6}


def test_many_numbers_are_shown_as_ranges() -> None:
    column = one_column([*range(100), *range(100)])
    assert column.looks == "number"
    assert len(column.distribution) <= 12
    assert sum(shown(column).values()) == 200


@pytest.mark.parametrize("written", ["19{}-05-17", "17.05.19{}", "19{}0517", "17/5/19{}"])
def test_dates_are_shown_as_decades(written: str) -> None:
    column = one_column([written.format(year) for year in range(60, 80)])
    assert shown(column) == {"1960s": 10, "1970s": 10}


def test_the_ends_of_ranges_do_not_tell_the_least_and_the_largest_value() -> None:
    column = one_column([1217, 1301, *range(1230, 9700, 71), 9731])
    assert len(shown(column)) > 1
    assert not {end for label in shown(column) for end in ends(label)} & {"1217", "9731"}


def test_ranges_of_large_numbers_can_be_told_apart() -> None:
    labels = list(shown(one_column([*range(20_000_000, 20_000_100)] * 2)))
    assert len(labels) > 5
    assert all(len(set(ends(label))) == len(ends(label)) for label in labels)


@pytest.mark.parametrize("outlier", ["1e400", "-1e400", "1.7e308"])
def test_a_number_of_absurd_size_does_no_harm(outlier: str) -> None:
    column = one_column([*map(str, range(20)), outlier, "-1.7e308"])
    assert sum(shown(column).values()) + column.hidden == 22


def test_many_spellings_of_one_number_do_no_harm() -> None:
    column = one_column([f"1.{'0' * zeros}" for zeros in range(1, 13)])
    assert sum(shown(column).values()) + column.hidden == 12


# uniqueness


def test_uniqueness_is_the_share_of_people_with_a_value_of_their_own() -> None:
    assert one_column(["a", "b", "c", "c"]).share_unique == 0.5


def test_columns_on_which_everybody_is_alone_are_minimal() -> None:
    table = Rows(("number", "colour"), [(f"n{row}", "red") for row in range(30)])
    assert profile(table).minimal_unique == (("number",),)


def test_pairs_on_which_everybody_is_alone_are_found() -> None:
    table = Rows(("row", "seat", "hall"), [(row, seat, "A") for row in range(6) for seat in range(6)])
    found = profile(table)
    assert found.minimal_unique == (("row", "seat"),)
    assert found.singling_out.largest == 2
    assert [one.columns for one in found.telling] == [("row",), ("row", "seat")]


def test_a_column_that_is_given_or_missing_helps_to_single_out() -> None:
    table = Rows(("number", "flag"), [(number, flag) for number in range(10) for flag in ("x", None)])
    assert profile(table).minimal_unique == (("number", "flag"),)


def test_a_nearly_unique_measurement_helps_to_single_out() -> None:
    rows = [(number, "red") for number in range(39)] + [(0, "blue")]
    assert profile(Rows(("reading", "colour"), rows)).minimal_unique == (("reading", "colour"),)


def test_the_search_goes_as_far_as_told() -> None:
    rows = [tuple((row >> place) & 1 for place in range(5)) for row in range(32)]
    assert profile(Rows(tuple("vwxyz"), rows), largest=2).singling_out.largest == 2
    assert profile(Rows(tuple("vwxyz"), rows), largest=5).minimal_unique == (tuple("vwxyz"),)


@pytest.mark.parametrize("largest", [0, -1])
def test_combinations_of_no_columns_are_refused(largest: int) -> None:
    with pytest.raises(UsageError):
        profile(Rows(("a",), [("x",)]), largest=largest)


# the draft and the JSON


@pytest.fixture
def clinic() -> Profile:
    rows = [
        (f"p{row}", f"{10_115 + row % 7}", 20 + row % 40, "FM"[row % 2], f"19{40 + row % 50}-05-17", "flu")
        for row in range(200)
    ]
    return profile(Rows(("patient_id", "zip", "age", "sex", "born", "diagnosis"), rows))


def test_roles_are_suggested_for_every_column(clinic: Profile) -> None:
    assert {column.name: column.role for column in clinic.columns} == {
        "patient_id": "identifier",
        "zip": "quasi",
        "age": "quasi",
        "sex": "quasi",
        "born": "quasi",
        "diagnosis": "sensitive",
    }


def test_the_draft_is_a_policy_that_can_be_loaded(clinic: Profile) -> None:
    draft = Policy.from_dict(tomllib.loads(write_draft(clinic.drafts())))
    policy = draft.confirm(*draft.unconfirmed)
    assert policy.quasi == ("zip", "age", "sex", "born")
    assert policy.rule("zip").height == 6


def test_a_profile_gives_the_drafted_policy(clinic: Profile) -> None:
    drafted = clinic.policy()
    assert drafted.unconfirmed == tuple(drafted.roles)
    sure = drafted.confirm(*drafted.unconfirmed)
    assert (sure.quasi, sure.sensitive) == (("zip", "age", "sex", "born"), ("diagnosis",))
    assert drafted.digest == Policy.parse(write_draft(clinic.drafts())).digest


def test_a_number_on_several_rows_says_whose_row_it_is() -> None:
    rows = [(100 + row // 4, 7_000 + row // 8, f"n{row % 3}", 1980 + row % 4) for row in range(200)]
    found = profile(Rows(("nr", "household_id", "name", "year"), rows))
    assert found.person == "nr"
    assert found.policy().person == ("nr",)
    assert 'person = "nr"  # its numbers are on several rows each' in write_draft(found.drafts())


def test_names_that_repeat_say_nothing_of_whose_row_it_is(clinic: Profile) -> None:
    assert clinic.person is None
    assert profile(Rows(("surname",), [(name,) for name in ("Ann", "Bob") for _ in range(30)])).person is None


def test_identifiers_are_not_searched_for_combinations(clinic: Profile) -> None:
    assert not any("patient_id" in one.columns for one in clinic.singling_out.combinations)


def test_the_keys_of_the_json_are_stable(clinic: Profile) -> None:
    found = json.loads(json.dumps(clinic.to_dict(), allow_nan=False))
    assert set(found) == {
        *("source", "records", "rows", "person", "missing", "columns"),
        *("minimal_unique", "combinations_up_to", "singling_out"),
    }
    assert set(found["columns"][0]) == {
        "name",
        "type",
        "distinct",
        "missing",
        "share_unique",
        "distribution",
        "hidden",
        "suggested_role",
        "reason",
        "suggested_hierarchy",
    }
    assert (found["source"], found["records"]) == ("some rows", 200)


@few
@given(columns)
def test_any_column_goes_into_json(cells: list[Any]) -> None:
    found = profile(Rows(("column",), [(cell,) for cell in cells])).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_an_empty_column_is_called_empty() -> None:
    column = one_column([None] * 6)
    assert (column.looks, column.distinct, column.missing, column.distribution) == ("empty", 0, 6, ())


def test_the_repr_counts_and_shows_no_value(clinic: Profile) -> None:
    assert repr(clinic) == "Profile(200 people, 6 columns)"


def test_values_of_an_identifier_are_not_shown_however_many_rows_have_them() -> None:
    """Eight rows with one number are one person; whether a policy or only the name says so."""
    numbers = [f"PAT-{row // 8}" for row in range(96)]
    rows = {"patient_id": numbers, "ward": ["W1" if row // 8 else "W2" for row in range(96)]}
    policy = discreet.Policy.from_dict({"columns": {"ward": {"role": "identifier"}}})
    told = json.dumps(discreet.profile(discreet.read(pyarrow.table(rows), policy=policy)).to_dict())
    assert "PAT-7" not in told
    assert "W1" not in told
    told = json.dumps(discreet.profile(discreet.read(pyarrow.table(rows))).to_dict())
    assert "W1" in told
    assert "PAT-7" not in told


def test_values_on_many_rows_of_few_people_are_not_shown_though_no_policy_says_whose_rows_they_are() -> None:
    """Numbers of patients repeat: values, ranges and decades count those who hold them, each once."""
    luck = random.Random(3)
    person = [row // 8 for row in range(480)]
    visits = {
        "patient_id": [f"PAT-{nr}" for nr in person],
        "ward": ["lighthouse" if nr == 7 else "W1" for nr in person],
        "dose": [9_000 + luck.randrange(900) if nr == 7 else luck.randrange(400) for nr in person],
        "seen": [f"{1905 if nr == 7 else 1990 + luck.randrange(10)}-0{1 + luck.randrange(9)}-11" for nr in person],
    }
    found = discreet.profile(discreet.read(pandas.DataFrame(visits)))
    assert (found.person, found.records, found.rows) == ("patient_id", 60, 480)
    ward, dose, seen = found.columns[1:]
    assert shown(ward) == {"W1": 59}
    assert shown(seen) == {"1990s": 59}
    assert max(shown(dose).values()) <= 60
    assert not any(float(end) > 1_000 for label in shown(dose) for end in ends(label))
    declared = discreet.read(pandas.DataFrame(visits), policy={"data": {"person": "patient_id"}})
    assert [one.distribution for one in discreet.profile(declared).columns] == [
        one.distribution for one in found.columns
    ]
    unknown = pandas.DataFrame(visits).assign(patient_id=[None, *visits["patient_id"][1:]])
    assert not any(one.distribution for one in discreet.profile(discreet.read(unknown)).columns)


def panel(rows: int = 400, **columns: list[str | None]) -> discreet.Profile:
    frame = {"sex": ["F", "M"] * (rows // 2), "nr": [str(1_000 + row // 4) for row in range(rows)], **columns}
    return discreet.profile(discreet.read(pandas.DataFrame(frame)), largest=1)


def test_a_person_column_with_empty_cells_is_drafted_and_the_cells_are_counted() -> None:
    numbers = [None if row < 3 else str(1_000 + row // 4) for row in range(400)]
    profile = panel(nr=numbers)
    assert profile.person == "nr"
    assert "3 rows have no number" in write_draft(profile.drafts())
    assert profile.policy().person == ("nr",)


@pytest.mark.parametrize("name", ["pweight", "weight", "wgt", "Hochrechnungsfaktor"])
def test_survey_weights_are_drafted_as_weights_unless_one_is_none(name: str) -> None:
    weights: list[str | None] = [str(1.5 + row % 7 * 15_000.25) for row in range(400)]
    assert panel(**{name: weights}).policy().weight == name
    assert panel(**{name: weights}).policy().roles[name] == "drop"  # as it is, a weight can tell people apart
    assert panel(**{name: [None, *weights[1:]]}).policy().weight is None
    assert panel(**{name: ["0", *weights[1:]]}).policy().weight is None


def test_household_numbers_are_drafted_where_several_people_share_one() -> None:
    homes: list[str | None] = [str(7_000 + row // 3) for row in range(400)]
    each: list[str | None] = [str(1_000 + row) for row in range(400)]
    several = panel(hid=homes, nr=each)
    assert (several.person, several.policy().household) == (None, "hid")
    assert several.policy().roles["hid"] == "identifier"
    assert panel(hid=[str(7_000 + row) for row in range(400)]).policy().household is None


def test_body_weights_are_none_of_a_survey() -> None:
    assert panel(weight=[str(50 + row % 60) for row in range(400)]).policy().weight is None


def test_decimal_commas_are_found_and_written_into_the_draft() -> None:
    commas: list[str | None] = [f"{row},{row % 10}5" for row in range(400)]
    profile = panel(height=commas)
    assert (profile.decimal, profile.policy().decimal) == (",", ",")
    (height,) = [column for column in profile.columns if column.name == "height"]
    assert (height.looks, height.distribution[0].label) == ("number", "below 50")
    policy = profile.policy()
    assert policy.rule("height").path("12,5") is not None


@pytest.mark.parametrize("other", [["1.5"] * 400, ["1,234"] * 400])
def test_points_and_thousands_are_no_decimal_commas(other: list[str | None]) -> None:
    texts: list[str | None] = [f"{row},500" for row in range(400)]
    assert panel(height=texts, other=other).decimal is None


def test_many_numbers_with_commas_are_what_they_are_with_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one of very many values is summed up, in columns of any name."""
    monkeypatch.setattr(duckdb_engine, "MANY_VALUES", 10)
    found = []
    for mark in ".,":
        path = tmp_path / f"numbers{ord(mark)}.csv"
        numbers = [f"{number / 4:.2f}".replace(".", mark) for number in range(-300, 700)]
        path.write_text("b;n\n" + "".join(f"{number};x\n" for number in numbers), encoding="utf-8")
        found.append(discreet.profile(discreet.read(path), largest=1).columns[0])
    assert found[0] == found[1]
    assert sum(share.records for share in found[0].distribution) == 1_000


def test_decimal_commas_are_found_beside_codes_for_missing_values() -> None:
    profile = panel(height=[f"{row},5" if row % 7 else "NA" for row in range(400)])
    assert (profile.decimal, profile.missing) == (",", ("NA",))
    (height,) = [column for column in profile.columns if column.name == "height"]
    assert (height.looks, height.missing) == ("number", 58)
    dashes = panel(height=[f"{row},5" if row % 7 else "." for row in range(400)])
    assert (dashes.decimal, dashes.missing) == (",", (".",))


def test_codes_for_missing_values_among_numbers_are_drafted() -> None:
    cells = {"dose": ["NA", *map(str, range(60))], "town": ["NA", "?", *["Ulm"] * 59], "none": ["."] * 61}
    found = discreet.profile(discreet.read(pandas.DataFrame(cells)))
    assert (found.missing, found.policy().missing) == (("NA",), ("NA",))
    dose, town, none = found.columns
    assert (dose.looks, dose.missing, town.missing, none.missing) == ("number", 1, 1, 0)
    said = discreet.read(pandas.DataFrame(cells), policy={"data": {"missing": ["?"]}})
    assert discreet.profile(said).missing == ()


def test_a_frame_is_profiled_as_it_is() -> None:
    frame = pandas.DataFrame({"sex": ["F", "M"] * 20})
    assert discreet.profile(frame).records == 40  # type: ignore[arg-type]


def test_numbers_that_several_columns_count_from_one_are_nobodys() -> None:
    """People have one number; of two columns like that neither says whose row it is."""
    rng = np.random.default_rng(7)
    frame = pandas.DataFrame({f"v{place}": rng.integers(0, 400, 3_000) for place in range(2)})
    assert discreet.profile(discreet.read(frame[["v0"]])).person == "v0"
    found = discreet.profile(discreet.read(frame))
    assert (found.person, {column.role for column in found.columns}) == (None, {"sensitive"})
