"""Combinations of columns that single people out, against trying every one."""

from __future__ import annotations

import importlib
import time
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernel import Classes, Tree
from discreet.risk import singling_out
from tests.risk.strategies import Listing, few, listings, some

Names = tuple[str, ...]

search = importlib.import_module("discreet.risk.table_profile")


def unique_people(listing: Listing, columns: Names) -> int:
    """People who are alone on these columns, by counting them."""
    places = [listing.names.index(name) for name in columns]
    sums: Counter[tuple[str | None, ...]] = Counter()
    for row, number in listing.counted().items():
        sums[tuple(row[place] for place in places)] += number
    return sum(number == 1 for number in sums.values())


def tried(listing: Listing, largest: int) -> dict[Names, int]:
    """Every combination of up to so many columns, in the order of the table."""
    sizes = range(1, largest + 1)
    return {columns: unique_people(listing, columns) for size in sizes for columns in combinations(listing.names, size)}


def minimal(listing: Listing, largest: int) -> set[Names]:
    everybody = {columns for columns, unique in tried(listing, largest).items() if unique == listing.people}
    return {one for one in everybody if not any(set(other) < set(one) for other in everybody)}


@st.composite
def people(draw: st.DrawFn) -> Listing:
    """Few people on four columns, no two alike on all of them, so that many combinations single everybody out."""
    tree = Tree((("v0",), ("v1",), ("v2",)))
    cell = st.sampled_from(["v0", "v1", "v2", None])
    rows = draw(st.lists(st.tuples(cell, cell, cell, cell), min_size=1, max_size=7, unique=True))
    return Listing(dict.fromkeys("abcd", tree), tuple(rows), (1,) * len(rows))


@some
@given(people(), st.integers(1, 4))
def test_minimal_combinations_are_those_of_which_no_part_will_do(listing: Listing, largest: int) -> None:
    found = singling_out(listing.classes(), largest=largest).minimal_unique
    assert len(found) == len(set(found))
    assert set(found) == minimal(listing, largest)


@some
@given(listings(columns=4, fewest=1, least=1), st.integers(1, 4))
def test_the_people_singled_out_are_counted_right(listing: Listing, largest: int) -> None:
    expected = tried(listing, largest)
    for one in singling_out(listing.classes(), largest=largest).combinations:
        assert one.unique == expected[one.columns]
        assert one.share == one.unique / listing.people


@some
@given(people(), st.integers(1, 4))
def test_every_combination_is_looked_at_unless_a_part_of_it_is_unique(listing: Listing, largest: int) -> None:
    alone = minimal(listing, largest)
    expected = {one for one in tried(listing, largest) if not any(set(part) < set(one) for part in alone)}
    found = {one.columns for one in singling_out(listing.classes(), largest=largest).combinations}
    assert expected <= found


@some
@given(people())
def test_nothing_that_contains_a_unique_combination_is_reported(listing: Listing) -> None:
    found = singling_out(listing.classes())
    for one in found.combinations:
        assert not any(set(part) < set(one.columns) for part in found.minimal_unique)


@few
@given(listings(columns=3, fewest=1, least=1))
def test_combinations_that_single_out_most_people_come_first(listing: Listing) -> None:
    found = [one.unique for one in singling_out(listing.classes()).combinations]
    assert found == sorted(found, reverse=True)


def test_fewer_columns_come_first_among_equals() -> None:
    people_ = Classes.of(["a", "b", "c"], [("1", "1", "x"), ("1", "2", "x"), ("2", "1", "x")])
    found = [one.columns for one in singling_out(people_).combinations]
    assert found.index(("a",)) < found.index(("a", "c"))
    assert found[0] == ("a", "b")


def test_twins_are_singled_out_by_nothing() -> None:
    found = singling_out(Classes.of(["a", "b"], [("1", "x"), ("1", "x"), ("2", "y")]))
    assert found.minimal_unique == ()
    assert {one.unique for one in found.combinations} == {1}


def test_rows_that_stand_for_several_people_are_never_unique() -> None:
    assert {one.unique for one in singling_out(Classes.of(["a"], [("1",), ("2",)], [2, 3])).combinations} == {0}


def test_a_lonely_person_is_unique_on_every_column() -> None:
    assert singling_out(Classes.of(["a", "b"], [("1", "x")])).minimal_unique == (("a",), ("b",))


def test_the_search_says_how_far_it_went() -> None:
    rows = [tuple(f"{(row >> place) & 1}" for place in range(6)) for row in range(20)]
    classes = Classes.of(list("abcdef"), rows)
    assert singling_out(classes, largest=3).largest == 3
    assert singling_out(classes, largest=9).largest == 6


def test_a_search_that_would_take_too_long_stops_at_smaller_combinations(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [tuple(f"{(row >> place) & 1}" for place in range(6)) for row in range(20)]
    monkeypatch.setattr(search, "WORK", 20 * (6 + 15 + 20))
    found = singling_out(Classes.of(list("abcdef"), rows), largest=6)
    assert found.largest == 3
    assert max(len(one.columns) for one in found.combinations) == 3


def test_pairs_are_looked_at_however_many_people_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "WORK", 1)
    assert singling_out(Classes.of(["a", "b", "c"], [("1", "1", "1"), ("2", "1", "1")])).largest == 2


@pytest.mark.parametrize(("columns", "reach"), [(40, 4), (60, 3), (150, 2), (500, 2), (700, 1)])
def test_few_people_on_many_columns_do_not_take_long(columns: int, reach: int) -> None:
    names = [f"c{place}" for place in range(columns)]
    rows = [tuple(f"{(row * (place + 3)) % 4}" for place in range(columns)) for row in range(6)]
    start = time.process_time()
    found = singling_out(Classes.of(names, rows))
    assert found.largest == reach
    assert time.process_time() - start < 40


def test_many_pairs_on_which_everybody_is_alone_are_told_from_their_parts_quickly() -> None:
    """Half of the columns tell the rows of a grid apart, the others its columns: any two of both tell everybody."""
    half = 150
    names = [f"c{place}" for place in range(2 * half)]
    rows = [tuple(f"{row % 5}" if place < half else f"{row // 5}" for place in range(2 * half)) for row in range(25)]
    start = time.process_time()
    found = singling_out(Classes.of(names, rows), largest=2)
    assert len(found.minimal_unique) == half * half
    assert time.process_time() - start < 20


def test_pairs_of_too_many_columns_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST", 5)
    found = singling_out(Classes.of(["a", "b", "c"], [("1", "1", "1"), ("2", "1", "1")]))
    assert (found.largest, {len(one.columns) for one in found.combinations}) == (1, {1})


def test_a_combination_goes_into_json_under_its_names() -> None:
    found = singling_out(Classes.of(["a"], [("1",), ("2",)])).combinations[0]
    assert found.to_dict() == {"columns": ["a"], "unique": 2, "share": 1.0}
