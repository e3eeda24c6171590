"""Delta-presence and k-map, class by class in exact fractions."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ColumnError
from discreet.kernel import Classes, Mask
from discreet.risk import Presence, presence
from discreet.risk.reidentification import linked_sizes
from tests.kernel.strategies import levels_of
from tests.risk.strategies import Listing, few, listings, some


def by_zip(**people: int) -> Classes:
    """People per postcode."""
    names = [(name.removeprefix("z"),) for name in people]
    return Classes.of(["zip"], names, list(people.values()), rules={"zip": Mask(2)})


@some
@given(st.data())
def test_presence_agrees_with_dictionaries(data: st.DataObject) -> None:
    sample = data.draw(listings(fewest=1, least=1))
    population = data.draw(listings(trees_of=sample.trees))
    levels = data.draw(levels_of(sample))
    mine, theirs = sample.counted(levels), population.counted(levels)
    crowd = {row: max(size, theirs.get(row, 0)) for row, size in mine.items()}
    shares = [Fraction(size, crowd[row]) for row, size in mine.items()]
    shares += [Fraction(0) for row in theirs if row not in mine]
    found = presence(sample.classes().at(levels), population.classes())
    assert found.lowest == pytest.approx(float(min(shares)))
    assert found.highest == pytest.approx(float(max(shares)))
    assert found.k_map == min(crowd.values())
    assert found.uncovered == sum(size for row, size in mine.items() if theirs.get(row, 0) < size)


@few
@given(st.data())
def test_linked_sizes_never_fall_below_the_sample(data: st.DataObject) -> None:
    sample = data.draw(listings())
    population = data.draw(listings(trees_of=sample.trees))
    linked, uncovered = linked_sizes(sample.classes(), population.classes())
    expected = {row: max(size, population.counted().get(row, 0)) for row, size in sample.counted().items()}
    assert dict(zip(sample.classes().tuples(), linked.tolist(), strict=True)) == expected
    assert 0 <= uncovered <= sample.people


@few
@given(listings(fewest=1, least=1))
def test_a_sample_that_is_the_population_is_certain_of_everybody(listing: Listing) -> None:
    classes = listing.classes()
    assert presence(classes, classes) == Presence(1.0, 1.0, int(classes.sizes.min()), 0)


def test_people_of_the_population_whom_nobody_resembles_are_surely_absent() -> None:
    assert presence(by_zip(z10=1), by_zip(z10=2, z11=5)) == Presence(0.0, 0.5, 2, 0)


def test_where_everybody_is_resembled_the_least_share_counts() -> None:
    assert presence(by_zip(z10=1, z11=3), by_zip(z10=4, z11=6)) == Presence(0.25, 0.5, 4, 0)


def test_people_whom_the_population_does_not_show_are_their_own_crowd() -> None:
    assert presence(by_zip(z10=3, z11=2), by_zip(z10=9)) == Presence(1 / 3, 1.0, 2, 2)


def test_people_of_whom_the_population_shows_too_few_are_their_own_crowd() -> None:
    assert presence(by_zip(z10=3), by_zip(z10=2)) == Presence(1.0, 1.0, 3, 3)


def test_a_finer_population_is_taken_up_to_the_sample() -> None:
    assert presence(by_zip(z10=1).at([1]), by_zip(z10=1, z11=1, z12=2)) == Presence(0.25, 0.25, 4, 0)


def test_a_population_without_the_columns_is_refused() -> None:
    with pytest.raises(ColumnError):
        presence(by_zip(z10=1), Classes.of(["age"], [("39",)]))


def test_presence_goes_into_json_under_its_names() -> None:
    found = presence(by_zip(z10=1), by_zip(z10=4)).to_dict()
    assert found == {"lowest": 0.25, "highest": 0.25, "k_map": 4, "uncovered": 0}
