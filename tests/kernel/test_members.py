"""People with several rows, against plain sets of people, and numbers of people however they are spelled."""

from __future__ import annotations

import pickle
from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernel import Classes, Histogram, Members, Recoding, Tree
from discreet.kernel.hierarchy import Coded
from discreet.kernel.members import same_number
from discreet.kernel.survey import numbered
from discreet.risk import assess
from tests.kernel.strategies import Listing, Row, as_dict, levels_of, listings, some, spread_as_dict


def whose(listing: Listing, people: list[int], column: str | None = None) -> Classes:
    """The classes of a listing in which each row belongs to a person; a column may be sensitive."""
    numbers = np.array(people, dtype=np.int64)
    if column is None:
        return Classes.from_histogram(listing.histogram(), rules=listing.trees, people=numbers)
    place = listing.names.index(column)
    rows = tuple((*row[:place], *row[place + 1 :]) for row in listing.rows)
    others = Listing({name: tree for name, tree in listing.trees.items() if name != column}, rows, listing.counts)
    return whose(others, people).with_spread(listing.histogram(), column, rule=listing.trees[column], people=numbers)


def sets(listing: Listing, people: list[int], levels: tuple[int, ...]) -> dict[Row, set[int]]:
    """Who is in each class."""
    found = defaultdict(set)
    for row, number, person in zip(listing.rows, listing.counts, people, strict=True):
        if number:
            found[listing.generalised(row, levels)].add(person)
    return found


@st.composite
def panels(draw: st.DrawFn, *, columns: int | None = None) -> tuple[Listing, list[int]]:
    listing = draw(listings(columns=columns, fewest=1, least=0))
    rows = len(listing.rows)
    return listing, draw(st.lists(st.integers(0, 6), min_size=rows, max_size=rows))


@some
@given(panels(), st.data())
def test_classes_count_people_at_every_level(panel: tuple[Listing, list[int]], data: st.DataObject) -> None:
    listing, people = panel
    levels = data.draw(levels_of(listing))
    classes, expected = whose(listing, people).at(levels), sets(listing, people, levels)
    assert as_dict(classes) == {row: len(held) for row, held in expected.items()}
    assert classes.records == len(set().union(*expected.values()))
    rows = dict(zip(classes.tuples(), classes.rows.tolist(), strict=True))
    assert rows == listing.counted(levels)


@some
@given(panels(), st.data())
def test_people_are_counted_once_where_their_crowd_is_smallest(
    panel: tuple[Listing, list[int]], data: st.DataObject
) -> None:
    listing, people = panel
    classes = whose(listing, people)
    held = sets(listing, people, listing.bottom)
    marked = np.array(data.draw(st.lists(st.booleans(), min_size=len(classes), max_size=len(classes))), dtype=bool)
    chosen = [row for row, mark in zip(classes.tuples(), marked, strict=True) if mark]
    assert classes.people(marked) == len(set().union(*(held[row] for row in chosen)))
    kept = classes.keep(marked)
    assert as_dict(kept) == {row: len(held[row]) for row in chosen}
    once = classes.people_once()
    best = [min(len(those) for those in held.values() if person in those) for person in set().union(*held.values())]
    for size in set(best):
        assert int(once[classes.sizes == size].sum()) == best.count(size)
    assert int(once.sum()) == classes.records


@some
@given(panels(columns=3), st.data())
def test_values_are_counted_by_the_people_who_hold_them(panel: tuple[Listing, list[int]], data: st.DataObject) -> None:
    listing, people = panel
    fine = whose(listing, people, "c2")
    levels = data.draw(levels_of(listing))
    pairs, values = defaultdict(set), defaultdict(set)
    for row, number, person in zip(listing.rows, listing.counts, people, strict=True):
        if number:
            wide = listing.generalised(row, (*levels[:2], 0))
            pairs[wide[:2], wide[2]].add(person)
            values[wide[2]].add(person)
    coarse = fine.at(levels[:2])
    assert spread_as_dict(coarse, "c2") == {pair: len(held) for pair, held in pairs.items()}
    spread = coarse.spreads["c2"]
    overall = dict(zip(spread.values, spread.overall.tolist(), strict=True))
    assert {value: number for value, number in overall.items() if number} == {v: len(h) for v, h in values.items()}


def test_forty_rows_of_one_person_are_a_class_of_one() -> None:
    visits = Members(np.zeros(1, dtype=np.int64), np.array([3]), np.array([40]))
    assert visits.sizes(1).tolist() == [1]
    assert visits.rows_per_class(1).tolist() == [40]


def test_a_person_who_loses_a_row_is_counted_as_suppressed() -> None:
    listing = Listing({"sex": Tree((("F",), ("M",)))}, (("F",), ("F",), ("M",)), (1, 1, 3))
    classes = whose(listing, [1, 2, 1])
    recoding = Recoding.of_levels(classes, {}, kept=classes.sizes >= 2)
    assert (recoding.suppressed, recoding.suppressed_rows, recoding.published.records) == (1, 3, 2)
    assert repr(classes) == "Classes(2 people with 5 rows in 2 classes by sex)"
    again = pickle.loads(pickle.dumps(classes))  # noqa: S301 - our own
    assert as_dict(again.at({})) == as_dict(classes)


SPELLINGS = st.sampled_from(["{}", "0{}", "00{}", "{}.0", " {} ", "+{}", "#{},", "{}\u00a0", "\u200b{}"])


@given(st.lists(st.tuples(st.integers(1, 30), SPELLINGS), min_size=1, max_size=40))
def test_households_are_counted_by_number_and_not_by_spelling(cells: list[tuple[int, str]]) -> None:
    numbers = numbered(Coded.of([spelling.format(number) for number, spelling in cells]))
    truth = np.array([number for number, _ in cells])
    assert ((numbers[:, None] == numbers) == (truth[:, None] == truth)).all()


def test_a_household_is_at_risk_with_both_its_members_however_its_number_is_spelled() -> None:
    rows = [("1", "F", 1), ("01", "M", 1), ("2", "F", 1), ("2.0", "F", 1), (" 3", "M", 1), (None, "M", 1)]
    histogram = Histogram.from_rows(["home", "sex"], rows)
    people = Classes.of(["sex"], [("F",), ("M",)], [3, 3]).with_survey(histogram, household="home")
    household = assess(people).household
    assert household is not None
    assert (household.households, household.without_number) == (4, 1)
    assert same_number("02") == same_number("2.0")
