"""People with several rows are counted as people on every engine, and all their published rows are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

import discreet
from discreet.errors import ColumnError, PolicyError
from discreet.kernel import Recoding
from tests.contract.readers import Reader
from tests.contract.test_people_and_columns import SPELT_OTHERWISE, people, policy, side_by_side

ROWS = 40


def panel() -> pyarrow.Table:
    """Ten people with four rows each; sex changes for the first of them."""
    numbers = [f"P-{row // 4}" for row in range(ROWS)]
    years = pyarrow.array([2000 + row % 4 for row in range(ROWS)], type=pyarrow.int64())
    return people(nr=numbers, year=years).set_column(
        0, "sex", pyarrow.array(["M" if row // 4 in (1, 2) or row == 0 else "F" for row in range(ROWS)])
    )


def declared(**data: Any) -> discreet.Policy:
    return policy({"person": "nr", **data}, nr="identifier", year="sensitive")


def test_people_are_counted_and_rows_are_rows(reader: Reader) -> None:
    table = reader(panel(), declared())
    assert (table.records, table.rows) == (10, ROWS)
    classes = table.classes(sensitive=["year"])
    assert dict(zip(classes.tuples(), classes.sizes.tolist(), strict=True)) == {("F",): 8, ("M",): 3}
    assert classes.rows.tolist() == [31, 9]
    spread = classes.spreads["year"]
    assert spread.overall.tolist() == [10, 10, 10, 10]
    assert sorted(spread.counts[spread.owners == 1].tolist()) == [2, 2, 2, 3]
    (one,) = table.each(["year"])
    assert one.sizes.tolist() == [10] * 4


def test_the_rows_of_published_classes_are_written(reader: Reader, tmp_path: Path) -> None:
    table = reader(panel(), declared())
    classes = table.classes()
    recoding = Recoding.of_levels(classes, {}, kept=classes.sizes >= 4)
    assert table.export(recoding, tmp_path / "out.parquet") == 31
    assert set(discreet.read(tmp_path / "out.parquet").columns) == {"sex", "year"}
    result = discreet.anonymise(table, k=4, suppression=0.25)
    assert (result.suppressed, result.suppressed_rows, result.rows) == (3, 9, ROWS)


def test_several_columns_may_say_whose_row_it_is(reader: Reader) -> None:
    table = reader(
        people(house=["1", "1", "2", "2", "2", "2"], member=["1", "2", "1", "1", "2", "2"]),
        policy({"person": ["house", "member"]}, house="identifier", member="drop"),
    )
    assert (table.records, table.rows) == (4, 6)


def test_a_quasi_identifier_may_say_whose_row_it_is(reader: Reader) -> None:
    table = reader(people(nr=["1", "1", "2", "2"]), policy({"person": "sex"}, nr="identifier"))
    assert (table.records, table.classes().sizes.tolist()) == (2, [1, 1])


def test_a_number_that_is_spelt_otherwise_is_the_same_person(reader: Reader) -> None:
    """What counts as the same number is the same for the engine, which looks for repetitions, and for the people."""
    whole = side_by_side(SPELT_OTHERWISE).slice(0, 40)
    for name in SPELT_OTHERWISE:
        table = reader(whole, policy({"person": name}, **dict.fromkeys(SPELT_OTHERWISE, "identifier")))
        assert table.records == table.engine.numbering(name).values == 20


@pytest.mark.parametrize("nobody", [None, "", " "])
def test_a_row_of_nobody_is_refused(reader: Reader, nobody: str | None) -> None:
    table = reader(people(nr=["1", "1", nobody, "2"]), policy({"person": "nr"}, nr="identifier"))
    with pytest.raises(ColumnError) as caught:
        discreet.assess(table)
    assert caught.value.exit_code == 3
    assert "1 of 4 rows" in caught.value.problem


def test_zero_is_a_number_of_a_person(reader: Reader) -> None:
    table = reader(people(nr=["0", "0", "1", "1"]), policy({"person": "nr"}, nr="identifier"))
    assert table.records == 2


def test_people_with_one_row_each_are_rows(reader: Reader) -> None:
    table = reader(people(nr=["1", "2", "3", "4"]), policy({"person": "nr"}, nr="identifier"))
    assert table.classes().members is None
    assert (table.records, discreet.assess(table).rows) == (4, 4)


def test_a_column_that_is_not_there_cannot_say_whose_row_it_is(reader: Reader) -> None:
    with pytest.raises(ColumnError, match="'pnr'"):
        reader(people(nr=["1", "2"]), policy({"person": "pnr"}, nr="identifier"))


def test_repeated_numbers_are_answered_by_naming_their_column(reader: Reader) -> None:
    table = reader(panel(), policy(nr="identifier", year="sensitive"))
    with pytest.raises(PolicyError) as caught:
        discreet.anonymise(table, k=2)
    assert '[data] person = "nr"' in caught.value.remedy
    assert 'person = "row"' in caught.value.remedy
    assert discreet.anonymise(reader(panel(), declared()), k=2).records == 10


def test_numbers_with_inner_zeros_or_without_are_the_same_where_they_are_searched(reader: Reader) -> None:
    numbers = ["P07", "p7", "AB01-C002", "ab1-c2", "P70", "Q000", "Q0", "A12"]
    found = reader(people(nr=numbers), policy(nr="identifier")).engine.numbering("nr")
    assert (found.values, found.repeated, found.sharing) == (5, 3, 6)


def test_the_population_says_whose_row_it_is_itself() -> None:
    data = discreet.read(people(nr=["1", "2", "3", "4"]), policy=policy({"person": "nr"}, nr="drop"))
    crowd = people(nr=[str(row // 10) for row in range(80)])
    assert data.policy is not None
    with pytest.raises(PolicyError, match="'nr'"):
        discreet.anonymise(data, k_map=5, population=discreet.read(crowd, policy=data.policy.for_population()))
    told = discreet.Policy.from_dict(
        {
            "data": {"person": "nr"},
            "population": {"person": "nr"},
            "columns": {"sex": {"role": "quasi", "hierarchy": {"any": "*"}}, "nr": {"role": "drop"}},
        }
    )
    everybody = discreet.read(crowd, policy=told.for_population())
    assert everybody.records == 8
    assert np.array_equal(everybody.classes().sizes, [8, 8])
    assert discreet.anonymise(data, k_map=8, population=everybody).levels == {"sex": 0}
    assert discreet.anonymise(data, k_map=8, population=everybody).records == 4


def test_a_release_has_one_row_per_person() -> None:
    from discreet.releases import feasibility

    table = discreet.read(panel(), policy=declared())
    with pytest.raises(PolicyError, match="one row per person"):
        feasibility(table, table, k=2)
