"""Guesses from names and values, for a person to confirm."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernel import Classes
from discreet.policy import Policy, Role
from discreet.risk.table_profile import NEARLY_ALL, Content, content, guess
from tests.risk.strategies import some

ROLES: dict[Role, str] = {
    "identifier": "id ID patient_id PatientID ssn SSN name first_name firstName LASTNAME last.name e-mail email_address "
    "phone_number telephone street home_address passport NHS_number MRN ip ip_address IPAddress iban uuid fullname "
    "postal_address birth_name",
    "quasi": "age Sex GENDER race zip zip_code ZIPCODE postcode postalCode city state native-country marital-status "
    "education occupation workclass date_of_birth birthDate birthdate birth_year dob BIRTHDAY admission_date ethnicity "
    "religion nationality country_name",
    "sensitive": "diagnosis diagnoses disease icd_10 icd10 income salary-class Salary medication hiv_status credit_score vote "
    "party bmi drug_name",
    "other": "fnlwgt hours-per-week notes x1 colour page usage message estate idea",
}


def guessed(name: str, values: list[str], *, share_unique: float = 0.1) -> tuple[Role, str]:
    found = guess(name, content(values), values, share_unique=share_unique)
    return found.role, found.hierarchy


# content


@pytest.mark.parametrize(
    ("values", "looks"),
    [
        ([], "empty"),
        (["39", "50", "-7", "1.5", "1e3"], "number"),
        (["1964-08-09", "2001-12-01"], "date"),
        (["1964-08-09 10:30:00", "2001-12-01T00:00:00"], "date"),
        (["1964-02-30", "2001-12-01"], "text"),
        (["1964-08-09xyz", "2001-12-01"], "text"),
        (["19640809", "20011201"], "number"),
        (["true", "false"], "boolean"),
        (["Yes", "No"], "boolean"),
        (["0", "1"], "boolean"),
        (["0", "1", "2"], "number"),
        (["00123", "90210"], "code"),
        (["90210", "10115"], "number"),
        (["0123", "90210"], "number"),
        (["00123", "9021a"], "text"),
        (["NaN", "Infinity"], "text"),
        (["flu", "cold"], "text"),
        (["39", "forty"], "text"),
        ([""], "text"),
    ],
)
def test_values_look_like_what_they_are(values: list[str], looks: Content) -> None:
    assert content(values) == looks


@some
@given(st.lists(st.text(max_size=12), max_size=5))
def test_any_values_look_like_something(values: list[str]) -> None:
    assert content(values) in {"number", "date", "boolean", "code", "text", "empty"}


# roles


@pytest.mark.parametrize(("role", "name"), [(role, name) for role, names in ROLES.items() for name in names.split()])
def test_typical_names_are_known(role: Role, name: str) -> None:
    assert guessed(name, ["a", "b", "c"])[0] == role


def test_a_name_counts_more_than_uniqueness() -> None:
    assert guessed("postcode", ["a", "b"], share_unique=1.0)[0] == "quasi"


@pytest.mark.parametrize(("share", "role"), [(NEARLY_ALL, "identifier"), (1.0, "identifier"), (0.94, "other")])
def test_text_that_is_nearly_always_unique_names_people(share: float, role: Role) -> None:
    assert guessed("reference", ["a", "b"], share_unique=share)[0] == role


def test_measurements_may_be_unique_without_naming_people() -> None:
    assert guessed("reading", ["1.25", "3.75"], share_unique=1.0)[0] == "other"


def test_dates_are_often_known_from_elsewhere() -> None:
    assert guessed("started", ["2001-12-01"]) == ("quasi", '{ dates = ["month", "year", "decade"] }')


def test_a_guess_says_why() -> None:
    assert guess("birthYear", "number", ["1964"], share_unique=0.1).reason == "its name says 'birth'"
    assert "97 %" in guess("ref", "text", ["a"], share_unique=0.97).reason


# hierarchies


@pytest.mark.parametrize(
    ("name", "values", "hierarchy"),
    [
        ("zip", ["00123", "90210"], "{ mask = 5 }"),
        ("zip", ["90210", "10115"], "{ mask = 5 }"),
        ("postcode", ["SW1A 1AA", "M1 1AE"], '{ any = "*" }'),
        ("postcode", [""], '{ any = "*" }'),
        ("postcode", ["9" * 65], "{ widths = [5, 10, 20, 40] }"),
        ("age", ["39", "50"], "{ widths = [5, 10, 20, 40] }"),
        ("birth_year", ["1964", "2001"], "{ widths = [2, 4, 8, 16] }"),
        ("dob", ["1964-08-09"], '{ dates = ["month", "year", "decade"] }'),
        ("sex", ["F", "M"], '{ any = "*" }'),
        ("sex", ["0", "1"], '{ any = "*" }'),
        ("illness", ["flu", "cold"], ""),
        ("income", ["100", "200"], ""),
        ("patient_id", ["001", "002"], ""),
    ],
)
def test_quasi_identifiers_get_a_hierarchy_that_fits(name: str, values: list[str], hierarchy: str) -> None:
    assert guessed(name, values)[1] == hierarchy


cells = st.one_of(
    st.dates().map(str),
    st.integers(-999, 9999).map(str),
    st.integers(0, 99_999).map(lambda number: f"{number:05}"),
    st.decimals(-99, 99, places=2).map(str),
    st.sampled_from(["yes", "no", "", "flu", "2024-02-30", "2001-12-01 10:00"]),
)


@some
@given(st.sampled_from(["zip", "age", "dob"]), st.lists(cells, min_size=1, max_size=6, unique=True))
def test_a_suggested_hierarchy_knows_the_values_it_was_suggested_for(name: str, values: list[str]) -> None:
    role, hierarchy = guessed(name, values)
    section = {"role": role, "hierarchy": tomllib.loads(f"rule = {hierarchy}")["rule"]}
    rule = Policy.from_dict({"columns": {name: section}}).rule(name)
    classes = Classes.of([name], [(value,) for value in values], rules={name: rule})
    assert len(classes.at([rule.height - 1])) == 1
