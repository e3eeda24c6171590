"""Guesses from names and values, for a person to confirm."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernel import Classes
from discreet.policy import Policy, Role
from discreet.risk.role_guess import NEARLY_ALL, guess, in_context
from discreet.risk.value_shape import Shape
from tests.risk.strategies import some


def guessed(name: str, values: list[str], *, share_unique: float = 0.1, records: int = 1_000) -> tuple[Role, str]:
    found = guess(name, Shape(values), share_unique=share_unique, records=records)
    return found.role, found.hierarchy


# roles

MANY = [f"{number}.5" for number in range(40)]
WHOLE = [str(7 * number) for number in range(40)]


def test_a_name_counts_more_than_uniqueness() -> None:
    assert guessed("postcode", ["a", "b"], share_unique=1.0)[0] == "quasi"


@pytest.mark.parametrize(("share", "role"), [(NEARLY_ALL, "identifier"), (1.0, "identifier"), (0.94, "quasi")])
def test_text_that_is_nearly_always_unique_names_people(share: float, role: Role) -> None:
    assert guessed("xyz", ["a", "b", "c"], share_unique=share)[0] == role


def test_texts_that_are_each_a_persons_own_are_not_published_whatever_they_are_about() -> None:
    notes = [f"came on a Monday with number {number}" for number in range(300)]
    for name in ("diagnosis", "treatment notes", "symptoms"):
        assert guessed(name, notes, share_unique=1.0, records=300)[0] == "drop"
        assert (
            guessed(name, [note[7:17] + note[-3:] for note in notes], share_unique=1.0, records=300)[0] == "identifier"
        )
        assert guessed(name, notes[:20], share_unique=0.0, records=300)[0] == "sensitive"
    assert guessed("income", [str(number**2) for number in range(300)], share_unique=1.0, records=300)[0] == "sensitive"


@pytest.mark.parametrize(
    ("values", "role"),
    [
        ([str(number) for number in range(1, 60)], "identifier"),
        ([str(700_000 + 997 * number) for number in range(60)], "identifier"),
        ([str(number**2) for number in range(40)], "sensitive"),
        (MANY, "sensitive"),
    ],
    ids=["running", "long", "whole", "real"],
)
def test_numbers_that_nobody_shares_are_of_records_if_they_run_or_are_long(values: list[str], role: Role) -> None:
    assert guessed("xyz", values, share_unique=1.0, records=len(values))[0] == role


def test_a_record_number_may_repeat() -> None:
    numbers = [str(number) for number in range(13, 558)]
    assert guessed("nr", numbers, share_unique=0.0, records=4_360)[0] == "identifier"
    assert guessed("nr", ["1", "2", "3"], share_unique=0.0, records=4_360)[0] == "quasi"


@pytest.mark.parametrize(
    "values",
    [
        ["ann@example.org", "bob@example.com"],
        ["DE89 3704 0044 0532 0130 00"],
        ["+49 30 123456", "030 1234567"],
        ["123e4567-e89b-12d3-a456-426614174000"],
        ["192.168.0.1"],
        ["078-05-1120"],
    ],
)
def test_values_that_are_addresses_name_people(values: list[str]) -> None:
    assert guessed("xyz", values, share_unique=0.1)[0] == "identifier"


@pytest.mark.parametrize("values", [["E11.9", "I10", "C50.1"], ["N02BE01", "A10BA02"]])
def test_codes_of_diseases_and_drugs_are_sensitive(values: list[str]) -> None:
    assert guessed("xyz", values)[0] == "sensitive"


def test_what_may_be_known_is_no_other() -> None:
    """In doubt a column is a quasi-identifier, or what an attacker would learn; never harmless."""
    assert guessed("xyz", ["a", "b", "c"])[0] == "quasi"
    assert guessed("xyz", ["0", "1"])[0] == "quasi"
    assert guessed("xyz", ["1", "2", "3"])[0] == "quasi"
    assert guessed("xyz", [f"value {number}" for number in range(300)])[0] == "quasi"
    assert guessed("xyz", MANY)[0] == guessed("xyz", WHOLE)[0] == "sensitive"


def test_record_numbers_written_like_codes_of_diseases_name_people() -> None:
    numbers = [f"P{number:04d}" for number in range(300)]
    assert guessed("patient", numbers, share_unique=1.0, records=300)[0] == "identifier"
    assert guessed("pat_id", numbers, share_unique=0.0, records=1_200)[0] == "identifier"
    for name in ("code", "cause", "pat_id"):
        few = numbers[:20] if name == "pat_id" else numbers
        assert guessed(name, few, share_unique=0.1, records=1_200)[0] == "sensitive"


def test_what_is_the_same_for_everybody_is_drafted_by_its_name_and_else_costs_nothing() -> None:
    assert guessed("xyz", ["a"])[0] == guessed("xyz", [])[0] == "quasi"
    assert guessed("diagnosis", ["flu"])[0] == "sensitive"


def test_a_weight_is_of_a_body_or_of_a_survey() -> None:
    assert guessed("weight", ["55", "71", "90"])[0] == "sensitive"
    assert guessed("weight", ["75607", "380166", "1752340"])[0] == "other"
    assert guessed("weight", ["0.7", "1.1", "1.4"])[0] == "other"


@pytest.mark.parametrize("name", ["weight", "wgt", "wt"])
def test_weights_that_are_far_from_each_other_are_of_a_survey(name: str) -> None:
    assert guessed(name, ["3.5", "80", "9000"])[0] == guessed(name, ["0", "60", "80"])[0] == "other"
    assert guessed(name, ["3.5", "60", "80"])[0] == "sensitive"


@pytest.mark.parametrize("name", ["date_of_death", "Sterbedatum", "diagnosis_date", "surgery", "dod"])
def test_a_date_may_be_known_whatever_happened_on_it(name: str) -> None:
    assert guessed(name, ["2001-12-01", "2004-02-29"])[0] == "quasi"


@pytest.mark.parametrize(("name", "most"), [("yrdth", 92), ("modth", 12), ("dadth", 31), ("dthyr", 99)])
def test_parts_of_a_date_of_death_are_known_from_obituaries(name: str, most: int) -> None:
    assert guessed(name, [str(number) for number in range(1, most + 1)])[0] == "quasi"


def test_numbers_without_gaps_are_of_people_although_each_has_several_rows() -> None:
    """Numbers of people leave out few; what is measured has gaps, or few values."""
    numbers = [str(number) for number in range(1, 301)]
    assert guessed("s", numbers, share_unique=0.0, records=7_000)[0] == "identifier"
    assert guessed("s", [str(3 * int(number)) for number in numbers], share_unique=0.0)[0] == "sensitive"
    assert guessed("s", numbers[:100], share_unique=0.0)[0] == "sensitive"
    assert guessed("days", numbers, share_unique=0.0)[0] == "sensitive"


def test_damage_is_no_age() -> None:
    for name in ("damage", "Average", "agency"):
        assert "'age'" not in guess(name, Shape(WHOLE[:10]), share_unique=0.0, records=500).reason
    assert "'age'" in guess("momage", Shape(WHOLE[:10]), share_unique=0.0, records=500).reason


def test_an_unknown_category_belongs_to_the_column_whose_name_it_shares() -> None:
    flag = ["0", "1"]
    found = drafted({"gvhd.time": MANY, "gvhd.stat": flag, "xyz": flag, "sex": flag, "town": ["a", "b"]})
    assert (found["gvhd.time"], found["gvhd.stat"], found["xyz"]) == ("sensitive", "sensitive", "quasi")


def test_a_grade_is_a_class_or_a_result() -> None:
    assert guessed("grade", [str(grade) for grade in range(1, 13)])[0] == "quasi"
    assert guessed("grade", ["1", "2", "3"])[0] == "sensitive"


def drafted(columns: dict[str, list[str]]) -> dict[str, Role]:
    """Roles in the context of a table."""
    shapes = [(name, Shape(values)) for name, values in columns.items()]
    guesses = [guess(name, shape, share_unique=0.0, records=1_000) for name, shape in shapes]
    return {name: one.role for name, one in zip(columns, in_context(guesses, shapes), strict=True)}


SCALE, FLAG = ["1", "2", "3", "4", "5"], ["0", "1"]


def test_one_question_after_the_other_is_what_an_attacker_would_learn() -> None:
    answers = ["never", "often", "always"]
    roles = drafted({"sex": ["f", "m"], "age": SCALE, "xa": answers, "xb": answers, "xc": answers})
    assert [roles[name] for name in ("xa", "xb", "xc")] == ["sensitive"] * 3
    assert drafted({"sex": ["f", "m"], "age": SCALE, "xa": answers})["xa"] == "quasi"


def test_a_category_in_several_columns_is_a_category() -> None:
    flags = {f"zq{number}": FLAG for number in range(3)}
    assert set(drafted({"income": MANY, **flags, "salary": MANY}).values()) == {"sensitive", "quasi"}
    assert drafted({"income": MANY, "zq1": FLAG, "salary": MANY})["zq1"] == "sensitive"


def test_what_stands_between_measurements_is_one() -> None:
    known = {"sex": ["f", "m"], "age": SCALE, "race": SCALE, "region": SCALE}
    assert drafted({**known, "income": MANY, "zq": FLAG, "salary": MANY})["zq"] == "sensitive"
    assert drafted({"income": MANY, "sex": ["f", "m"], "zq": FLAG, **known, "salary": MANY})["zq"] == "quasi"


@pytest.mark.parametrize(
    "power", [lambda age: age**2, lambda age: round(math.log(age), 4)], ids=["square", "logarithm"]
)
def test_what_is_computed_from_a_column_is_what_the_column_is(power: Callable[[int], float]) -> None:
    ages = range(18, 65)
    roles = drafted({"age": [str(age) for age in ages], "zq": [str(power(age)) for age in ages]})
    assert roles == {"age": "quasi", "zq": "quasi"}


def test_yes_or_no_about_an_address_names_nobody() -> None:
    assert guessed("telephone", ["0", "1"])[0] == "quasi"


def test_dates_are_often_known_from_elsewhere() -> None:
    assert guessed("started", ["2001-12-01"]) == ("quasi", '{ dates = ["month", "year", "decade"] }')


def test_a_guess_says_why() -> None:
    assert guess("birthYear", Shape(["1964"]), share_unique=0.1, records=9).reason == "its name says 'birth year'"
    assert "97 %" in guess("xyz", Shape(["a"]), share_unique=0.97, records=99).reason


# hierarchies


@pytest.mark.parametrize(
    ("name", "values", "hierarchy"),
    [
        ("zip", ["00123", "90210"], "{ mask = 5 }"),
        ("zip", ["90210", "10115"], "{ mask = 5 }"),
        ("birth_year", ["1964", "2001"], "{ widths = [2, 4, 8, 16] }"),
        ("dob", ["1964-08-09"], '{ dates = ["month", "year", "decade"] }'),
        ("dob", ["19640809", "20011201"], '{ dates = ["month", "year", "decade"], format = "%Y%m%d" }'),
        ("dob", ["9.8.1964", "01.12.2001"], '{ dates = ["month", "year", "decade"], format = "%d.%m.%Y" }'),
        ("dob", ["12/31/1964"], '{ dates = ["month", "year", "decade"], format = "%m/%d/%Y" }'),
        ("postcode", ["SW1A 1AA", "M1 1AE"], '{ mask = "auto" }'),
        ("xyz", ["1012 AB", "3011 CD"], "{ mask = 7 }"),
        ("age", ["39", "50"], "{ top = 90, widths = [5, 10, 20] }"),
        ("agefm", ["10", "46"], "{ top = 90, widths = [5, 10, 20] }"),
        ("age", ["390", "500"], "{ widths = [10, 20, 40] }"),
        ("children", ["0", "1", "9"], "{ widths = [2, 4, 8] }"),
        ("occupation", [str(1_000 + code) for code in range(40)], "{ mask = 4 }"),
        ("disease", ["E11.9", "I10"], "{ prefix = [3, 1] }"),
        ("sex", ["F", "M"], '{ any = "*" }'),
        ("sex", ["0", "1"], '{ any = "*" }'),
        ("sex", ["1", "2"], '{ any = "*" }'),
        ("region", [str(code) for code in range(1, 57)], '{ any = "*" }'),
        ("disease", ["flu", "cold"], ""),
        ("income", ["100", "200"], ""),
        ("patient_id", ["001", "002"], ""),
    ],
)
def test_quasi_identifiers_get_a_hierarchy_that_fits(name: str, values: list[str], hierarchy: str) -> None:
    assert guessed(name, values)[1] == hierarchy


cells = st.one_of(
    st.dates().map(str),
    st.dates().map("{:%d.%m.%Y}".format),
    st.integers(-999, 9999).map(str),
    st.integers(0, 99_999).map(lambda number: f"{number:05}"),
    st.decimals(-99, 99, places=2).map(str),
    st.sampled_from(["yes", "no", "", "flu", "2024-02-30", "2001-12-01 10:00", "9" * 65, "1e400", "NaN", "E11.9"]),
)


@some
@given(st.sampled_from(["zip", "age", "dob", "children"]), st.lists(cells, min_size=1, max_size=6, unique=True))
def test_a_suggested_hierarchy_knows_the_values_it_was_suggested_for(name: str, values: list[str]) -> None:
    role, hierarchy = guessed(name, values)
    section = {"role": role, "hierarchy": tomllib.loads(f"rule = {hierarchy}")["rule"]}
    rule = Policy.from_dict({"columns": {name: section}}).rule(name)
    classes = Classes.of([name], [(value,) for value in values], rules={name: rule})
    assert len(classes.at([height - 1 for height in classes.heights])) == 1


def test_changes_of_a_weight_are_what_was_measured() -> None:
    assert guessed("wt82_71", ["-10.5", "3.25", "12"])[0] == "sensitive"
