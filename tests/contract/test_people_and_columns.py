"""What leaves is what somebody decided on, and a person is counted once: the same on every engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.errors import PolicyError
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
    return found.rows, found.numbered, found.repeated, found.sharing


def test_numbers_that_repeat_are_counted(reader: Reader) -> None:
    """Spaces around a number and the case of its letters do not matter; what has no digit is no number."""
    table = reader(people(nr=NUMBERS, name=NAMES), policy(nr="identifier", name="identifier"))
    assert counts(table, "nr") == (6, 6, 2, 4)
    assert counts(table, "name") == (7, 1, 0, 0)
    assert list(table.repeated_numbers) == ["nr"]


def test_a_column_of_numbers_repeats_as_well_as_one_of_texts(reader: Reader) -> None:
    numbers = pyarrow.array([1, 1, 2, 3], type=pyarrow.int64())
    table = reader(people(nr=numbers), policy(nr="identifier"))
    assert counts(table, "nr") == (4, 4, 1, 2)


@given(
    st.lists(st.sampled_from(["7", "12", "A3", "Ann", "Bob"]), min_size=2, max_size=12).filter(
        lambda v: len(v) % 2 == 0
    )
)
def test_numbers_repeat_exactly_where_two_rows_share_one(values: list[str]) -> None:
    numbers = [value for value in values if any(letter.isdigit() for letter in value)]
    repeats = len(numbers) * 2 > len(values) and len(set(numbers)) < len(numbers)
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
