"""What leaves is what somebody decided on, and a person is counted once: the same on every engine."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.errors import ColumnError, PolicyError
from discreet.kernel import Recoding
from tests.contract.readers import Reader

NUMBERS = ["P-17", "p-17 ", "P-18", "P-18", "P-19", None, "", "P-20"]
NAMES = ["Ann", "Ann", "Bob", "Bob", "Bob", "Bob", None, "Carl the 2nd"]


def people(**columns: list[Any]) -> pyarrow.Table:
    rows = len(next(iter(columns.values())))
    return pyarrow.table({"sex": pyarrow.array(["F", "M"] * (rows // 2)), **columns})


def policy(data: dict[str, Any] | None = None, **roles: str) -> discreet.Policy:
    columns = {"sex": {"role": "quasi", "hierarchy": {"any": "*"}}, **{name: {"role": roles[name]} for name in roles}}
    return discreet.Policy.from_dict({"data": {"delimiter": ";", **(data or {})}, "columns": columns})


def as_it_is(table: discreet.Table) -> Recoding:
    return Recoding.of_levels(table.classes(), {}, kept=np.ones(len(table.classes()), dtype=bool))


def counts(table: discreet.Table, name: str) -> tuple[int, int, int, int]:
    found = table.engine.numbering(name)
    return found.values, found.numbers, found.repeated, found.sharing


def test_numbers_that_repeat_are_counted(reader: Reader) -> None:
    """Spaces around a number and the case of its letters do not matter; what has no digit is no number."""
    table = reader(people(nr=NUMBERS, name=NAMES), policy(nr="identifier", name="identifier"))
    assert counts(table, "nr") == (4, 4, 2, 4)
    assert counts(table, "name") == (3, 1, 0, 0)
    assert list(table.repeated_numbers) == ["nr"]


def test_a_column_of_numbers_repeats_as_well_as_one_of_texts(reader: Reader) -> None:
    numbers = pyarrow.array([1, 1, 2, 3], type=pyarrow.int64())
    table = reader(people(nr=numbers), policy(nr="identifier"))
    assert counts(table, "nr") == (3, 3, 1, 2)


NUMBERINGS: dict[str, list[str]] = {
    "digits": [f"{number:05}" for number in range(1, 31)],
    "insurance": [f"756.{number:04}.5678.97" for number in range(30)],
    "letters": [f"AB 12 {number:02} 56 C" for number in range(30)],
    "prefix": [f"Patient {number}" for number in range(30)],
    "two_prefixes": [f"{'Patient' if number % 2 else 'Control'} {number}" for number in range(30)],
    "dashed": [f"subject-{number}" for number in range(30)],
    "birth_and_more": [f"19640809-{number:04}" for number in range(30)],
    "as_years": [f"19{40 + number}" for number in range(30)],
    "uuid": [f"3f2b6a1e-{number:04}-4c1d-9e8f-0a1b2c3d4e5f" for number in range(30)],
    "mail": [f"anna{number}@post.example" for number in range(30)],
    "eastern": [f"\u0664\u0665{chr(0x0660 + number % 10)}{chr(0x0660 + number // 10)}" for number in range(30)],
}
STREETS = ("Station", "Low", "Mill", "Church", "Berg")
REPEAT_BY_NATURE: dict[str, list[str]] = {
    "names": ["Ann Smith", "Bob Jones", "José Peña", "李雷"] * 8,
    "iso": [f"19{40 + number}-0{1 + number % 9}-1{number % 9}" for number in range(30)],
    "german": [f"1{number % 9}.0{1 + number % 9}.19{40 + number}" for number in range(30)],
    "american": [f"{1 + number % 12}/{1 + number % 28}/{50 + number}" for number in range(30)],
    "compact": [f"19{40 + number}0{1 + number % 9}1{number % 9}" for number in range(30)],
    "backwards": [f"{1 + number:02}1219{40 + number}" for number in range(28)],
    "worded": [f"{1 + number} Mar 19{40 + number}" for number in range(28)],
    "sas": [f"{1 + number:02}MAR19{40 + number}" for number in range(28)],
    "months": [f"19{40 + number}-0{1 + number % 9}" for number in range(30)],
    "hours": [f"1{number % 9}:{10 + number}" for number in range(30)],
    "moments": [f"2020-01-0{1 + number % 9} 12:{10 + number}:00" for number in range(30)],
    "mostly_dates": [*(f"19{40 + number}-03-1{number % 9}" for number in range(29)), "9999-99-99"],
    "addresses": [f"{number} {street} Street" for number in range(8) for street in STREETS],
    "house_numbers_last": [f"{street}straße {number}" for number in range(8) for street in STREETS],
}
SPELT_OTHERWISE: dict[str, list[str]] = {
    "leading_zeros": [spelt for number in range(20) for spelt in (f"{10_000 + number}", f"000{10_000 + number}")],
    "separators": [spelt for number in range(20) for spelt in (f"1234-{5000 + number}", f"1234 {5000 + number}")],
    "dots": [spelt for number in range(20) for spelt in (f"756.{1000 + number}.12", f"756-{1000 + number}/12")],
    "case": [spelt for number in range(20) for spelt in (f"ab{1000 + number}", f"AB{1000 + number} ")],
    "closed_up": [spelt for number in range(20) for spelt in (f"12-{3400 + number}", f"12{3400 + number}")],
    "fractions": [spelt for number in range(20) for spelt in (f"{1000 + 10 * number}", f" {1000 + 10 * number}.00")],
    "signs": [spelt for number in range(20) for spelt in (f"+{1000 + number}", f"#{1000 + number},")],
}
LONGEST = 80


def side_by_side(columns: dict[str, list[str]], *, times: int = 1) -> pyarrow.Table:
    """A table with all of the columns, each value so many times; where they are shorter they have missing values."""
    padded = {name: [*values * times, *[None] * LONGEST][:LONGEST] for name, values in columns.items()}
    return people(**padded)


def identifiers(columns: dict[str, list[str]]) -> discreet.Policy:
    return policy(**dict.fromkeys(columns, "identifier"))


def test_numbers_and_codes_are_known_by_their_looks(reader: Reader) -> None:
    once, twice = side_by_side(NUMBERINGS), side_by_side(NUMBERINGS, times=2)
    assert reader(once, identifiers(NUMBERINGS)).repeated_numbers == {}
    found = reader(twice, identifiers(NUMBERINGS)).repeated_numbers
    assert {name: (one.repeated, one.sharing) for name, one in found.items()} == dict.fromkeys(NUMBERINGS, (30, 60))


def test_names_dates_and_addresses_repeat_by_nature(reader: Reader) -> None:
    table = reader(side_by_side(REPEAT_BY_NATURE, times=2), identifiers(REPEAT_BY_NATURE))
    assert table.repeated_numbers == {}


def test_a_number_that_is_spelt_otherwise_is_the_same_number(reader: Reader) -> None:
    found = reader(side_by_side(SPELT_OTHERWISE), identifiers(SPELT_OTHERWISE)).repeated_numbers
    assert {name: one.repeated for name, one in found.items()} == dict.fromkeys(SPELT_OTHERWISE, 20)


def test_codes_for_missing_numbers_neither_hide_nor_repeat_numbers(reader: Reader) -> None:
    numbers = [str(10_000 + number) for number in range(20)]
    columns = {"zeros": [*numbers, *["00000"] * 20], "unknown": [*numbers, *numbers, *["not known"] * 40]}
    assert list(reader(side_by_side(columns), identifiers(columns)).repeated_numbers) == ["unknown"]


def test_many_houses_of_few_streets_are_addresses() -> None:
    houses = [f"{number} {street} Rd" for number in range(400) for street in STREETS]
    assert discreet.read(people(nr=houses * 2), policy=policy(nr="identifier")).repeated_numbers == {}


@given(
    st.lists(st.sampled_from(["7", "12", "A3", "Ann", "Bob"]), min_size=2, max_size=12).filter(
        lambda v: len(v) % 2 == 0
    )
)
def test_numbers_repeat_exactly_where_two_rows_share_one(values: list[str]) -> None:
    numbers = [value for value in values if any(letter.isdigit() for letter in value)]
    repeats = len(set(numbers)) * 2 > len(set(values)) and len(set(numbers)) < len(numbers)
    table = discreet.read(people(nr=values), policy=policy(nr="identifier"))
    assert bool(table.repeated_numbers) is repeats
    assert not discreet.read(people(nr=values), policy=policy({"person": "row"}, nr="identifier")).repeated_numbers


@pytest.mark.parametrize("search", ["optimal", "local"])
def test_rows_of_one_person_are_not_anonymised_as_people(search: str) -> None:
    """Forty rows of one man are no class of forty."""
    table = discreet.read(people(nr=["4711"] * 40), policy=policy(nr="identifier"))
    with pytest.raises(PolicyError) as caught:
        discreet.anonymise(table, k=2, search=search)
    assert caught.value.exit_code == 4
    assert "'nr'" in caught.value.problem
    assert "4711" not in str(caught.value)
    assert 'person = "row"' in caught.value.remedy
    each = discreet.read(people(nr=["4711"] * 40), policy=policy({"person": "row"}, nr="identifier"))
    assert discreet.anonymise(each, k=2, search=search).records == 40


def test_numbers_of_households_may_repeat_where_the_policy_says_what_they_are() -> None:
    homes = people(nr=[str(4711 + row // 4) for row in range(40)])
    undeclared = discreet.read(homes, policy=policy(nr="identifier"))
    with pytest.raises(PolicyError, match="'nr'"):
        discreet.anonymise(undeclared, k=2)
    declared = discreet.read(homes, policy=policy({"household": "nr"}, nr="identifier"))
    assert not declared.repeated_numbers
    assert discreet.anonymise(declared, k=2).records == 40


def test_rows_of_one_person_do_not_make_a_population(reader: Reader) -> None:
    """Ten rows of one person hide nobody."""
    data = discreet.read(people(nr=["1", "2", "3", "4"]), policy=policy(nr="identifier"))
    crowd = reader(people(nr=[str(number // 10) for number in range(80)]), policy(nr="identifier").for_population())
    with pytest.raises(PolicyError, match="'nr'"):
        discreet.anonymise(data, k_map=5, population=crowd)
    alone = reader(people(nr=[str(number) for number in range(80)]), policy(nr="identifier").for_population())
    assert discreet.anonymise(data, k_map=5, population=alone).records == 4
    unnumbered = reader(people(place=["x"] * 80), policy(nr="identifier").for_population())
    assert discreet.anonymise(data, k_map=5, population=unnumbered).records == 4


def test_names_that_differ_in_case_only_are_refused() -> None:
    """DuckDB takes them for one, and gave the values of an identifier under the name of another column."""
    for names in ("'S-1' AS Code, 'a' AS code", "'S-1' AS code, 'a' AS code"):
        with pytest.raises(ColumnError, match="names"):
            discreet.read(duckdb.connect().sql(f"SELECT 'F' AS sex, {names}"), policy=policy(Code="identifier"))


def test_a_column_without_a_role_is_not_written(reader: Reader, tmp_path: Any) -> None:
    table = reader(people(note=["a", "b", "c", "d"], born=["1", "2", "3", "4"]), policy(born="other"))
    with pytest.raises(PolicyError) as caught:
        table.export(as_it_is(table), tmp_path / "out.parquet")
    assert caught.value.exit_code == 4
    assert "'note'" in caught.value.problem
    assert "'born'" not in caught.value.problem
    assert 'role = "drop"' in caught.value.remedy
    assert not (tmp_path / "out.parquet").exists()


def test_a_dropped_column_is_left_out(reader: Reader, tmp_path: Any) -> None:
    columns = {"note": ["a", "b", "c", "d"], "born": ["1", "2", "3", "4"], "name": ["A", "B", "C", "D"]}
    table = reader(people(**columns), policy(note="drop", born="sensitive", name="identifier"))
    assert table.export(as_it_is(table), tmp_path / "out.parquet") == 4
    assert set(discreet.read(tmp_path / "out.parquet").columns) == {"sex", "born"}
    assert table.published == {"sex": "quasi", "born": "sensitive"}


def test_every_published_column_is_named_with_its_role_and_treatment(reader: Reader) -> None:
    table = reader(
        people(born=["1", "2", "3", "4"], n=pyarrow.array([1, 1, 2, 1], type=pyarrow.int64()), note=["a"] * 4),
        policy({"count": "n"}, born="sensitive", note="drop"),
    )
    result = discreet.anonymise(table, k=3)
    assert result.to_dict()["published"] == {
        "sex": {"role": "quasi", "treatment": "generalised to level 1 of 1"},
        "born": {"role": "sensitive", "treatment": "as it is"},
        "n": {"role": "count", "treatment": "as it is"},
    }
