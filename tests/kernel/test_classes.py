"""The class histogram against plain dictionaries."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ColumnError, CountError, OutsideHierarchy, UsageError
from discreet.kernel import AnyValue, Classes, Histogram, Mask, Tree, Widths, count
from tests.kernel.strategies import Listing, as_dict, few, levels_of, listings, some

SEXES = Classes.of(["sex"], [("F",), ("M",)], [5, 1])


def places(rows: int = 2) -> Classes:
    """Some people by sex and a postcode of five digits."""
    tuples = [("F", "10115"), ("F", "10117"), ("M", "10115"), ("M", "20095")][:rows]
    return Classes.of(["sex", "zip"], tuples, rules={"zip": Mask(5), "sex": AnyValue("Person")})


# counting


@some
@given(listings())
def test_counting_agrees_with_a_dictionary(listing: Listing) -> None:
    classes = listing.classes()
    assert as_dict(classes) == listing.counted()
    assert len(classes) == len(listing.counted())
    assert classes.records == listing.people


def test_without_counts_each_tuple_is_one_person() -> None:
    assert as_dict(Classes.of(["sex"], [("F",), ("M",), ("F",)])) == {("F",): 2, ("M",): 1}


def test_a_missing_value_is_a_value_of_its_own() -> None:
    assert as_dict(Classes.of(["sex"], [("F",), (None,), ("",), (None,)])) == {("F",): 1, ("",): 1, (None,): 2}


@some
@given(listings(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_show(listing: Listing, shuffler: random.Random) -> None:
    pairs = list(zip(listing.rows, listing.counts, strict=True))
    shuffler.shuffle(pairs)
    shuffled = Listing(listing.trees, tuple(row for row, _ in pairs), tuple(number for _, number in pairs))
    one, other = listing.classes(), shuffled.classes()
    assert list(one.tuples()) == list(other.tuples())
    assert one.sizes.tolist() == other.sizes.tolist()
    assert [column.hierarchy.labels for column in one.columns] == [column.hierarchy.labels for column in other.columns]


def test_classes_come_in_order_of_their_values_with_missing_ones_last() -> None:
    rows = [(None, "b"), ("y", "a"), ("x", None), ("x", "b"), ("x", "a")]
    assert list(Classes.of(["p", "q"], rows).tuples()) == [
        ("x", "a"),
        ("x", "b"),
        ("x", None),
        ("y", "a"),
        (None, "b"),
    ]


def test_rows_that_stand_for_nobody_vanish() -> None:
    assert as_dict(Classes.of(["sex"], [("F",), ("M",), ("M",)], [0, 0, 3])) == {("M",): 3}


def test_people_who_are_all_weighted_away_leave_an_empty_table() -> None:
    assert len(Classes.of(["sex"], [("F",)], [0])) == 0


def test_negative_counts_are_refused() -> None:
    with pytest.raises(CountError):
        Classes.of(["sex"], [("F",), ("M",)], [2, -1])


@pytest.mark.parametrize("number", [1.5, math.nan, None, "many"])
def test_what_is_no_number_of_people_is_refused(number: Any) -> None:
    with pytest.raises(CountError):
        Classes.of(["sex"], [("F",)], [number])


def test_doubled_columns_are_refused_rather_than_dropped() -> None:
    with pytest.raises(ColumnError):
        Classes.of(["a", "a"], [("x", "1"), ("x", "2")])


@pytest.mark.parametrize("numbers", [[2**53, 1, 1], [2**61, 2**61 - 3, 7], [2**52 - 1, 1, 0]])
def test_counts_beyond_the_reach_of_floats_stay_exact(numbers: list[int]) -> None:
    classes = Classes.of(["zip"], [("11",), ("12",), ("12",)], numbers, rules={"zip": Mask(2)})
    assert as_dict(classes) == {("11",): numbers[0], ("12",): numbers[1] + numbers[2]}
    assert as_dict(classes.at([1])) == {("1*",): sum(numbers)}
    assert classes.records == sum(numbers)


# many columns: more combinations than an integer can number


def wide_rows(columns: int = 12, values: int = 3000) -> list[tuple[str, ...]]:
    """Thousands of values in each of twelve columns, with twins and with rows that differ in one cell only."""
    rng = random.Random(1)
    rows = [tuple(f"{rng.randrange(values):04}" for _ in range(columns)) for _ in range(values)]
    rows += [(*row[:-1], "last") for row in rows[:200]]
    rows += [("first", *row[1:]) for row in rows[:200]]
    return [*rows, *rows[100:300]]


@pytest.fixture(scope="module")
def wide() -> Classes:
    return Classes.of([f"c{place}" for place in range(12)], wide_rows())


def test_more_combinations_than_a_key_can_hold_are_counted_right(wide: Classes) -> None:
    combinations = 1
    for column in wide.columns:
        combinations *= len(column.labels)
    assert combinations > 2**100
    assert as_dict(wide) == Counter(wide_rows())


def test_more_combinations_than_a_key_can_hold_keep_their_order(wide: Classes) -> None:
    assert list(wide.tuples()) == sorted(set(wide_rows()))


def test_more_combinations_than_a_key_can_hold_are_looked_up_and_linked(wide: Classes) -> None:
    row = next(wide.tuples())
    assert wide.lookup([row, (*row[:-1], "nothing")]).tolist() == [wide.sizes[0], 0]
    assert wide.link(wide).tolist() == wide.sizes.tolist()


# tables without people, tables without columns


def empty() -> Classes:
    tree = Tree((("F", "Person"), ("M", "Person")))
    return Classes.of(["sex", "zip", "age"], [], rules={"zip": Mask(5), "sex": tree, "age": Widths((5,))})


def test_an_empty_table_has_nobody() -> None:
    assert (len(empty()), empty().records, list(empty().tuples())) == (0, 0, [])


def test_an_empty_table_can_do_what_others_can() -> None:
    assert len(empty().at({"zip": 2, "sex": 1})) == 0
    assert len(empty().project(["zip"])) == 0
    assert empty().lookup([("F", "10115", "3")]).tolist() == [0]
    assert empty().link(empty()).tolist() == []
    assert empty().suppress(below=5)[1] == 0


def test_nobody_is_linked_to_an_empty_population() -> None:
    assert places().link(Classes.of(["sex", "zip"], [])).tolist() == [0, 0]


def test_without_columns_all_people_look_alike() -> None:
    classes = Classes.of([], [(), (), ()])
    assert classes.sizes.tolist() == [3]
    assert classes.lookup([()]).tolist() == [3]
    assert classes.at([]).records == 3


def test_without_columns_the_one_class_has_the_empty_tuple() -> None:
    assert list(Classes.of([], [(), (), ()]).tuples()) == [()]
    assert list(Classes.of([], []).tuples()) == []


# going up


@some
@given(st.data())
def test_going_up_equals_counting_generalised_tuples(data: st.DataObject) -> None:
    listing = data.draw(listings())
    levels = data.draw(levels_of(listing))
    assert as_dict(listing.classes().at(levels)) == listing.counted(levels)


@some
@given(st.data())
def test_going_up_in_two_steps_equals_going_up_in_one(data: st.DataObject) -> None:
    listing = data.draw(listings())
    one, two = data.draw(levels_of(listing)), data.draw(levels_of(listing))
    low, high = tuple(map(min, one, two)), tuple(map(max, one, two))
    direct, staged = listing.classes().at(high), listing.classes().at(low).at(high)
    assert list(direct.tuples()) == list(staged.tuples())
    assert direct.sizes.tolist() == staged.sizes.tolist()


@few
@given(st.data())
def test_going_up_loses_nobody(data: st.DataObject) -> None:
    listing = data.draw(listings())
    coarse = listing.classes().at(data.draw(levels_of(listing)))
    assert coarse.records == listing.people
    assert len(coarse) <= len(listing.classes())


def test_going_up_never_asks_the_table_again() -> None:
    class Once:
        asked = 0

        def classes(self, by: Sequence[str] | None = None, *, sensitive: Sequence[str] = ()) -> Classes:
            self.asked += 1
            return places(4)

    table = Once()
    count(table).at({"zip": 1}).at({"zip": 3}).project(["zip"])
    assert table.asked == 1


def test_columns_that_are_not_named_stay_where_they_are() -> None:
    classes = places(4).at({"zip": 1}).at({"sex": 1})
    assert classes.levels == {"sex": 1, "zip": 1}
    assert as_dict(classes) == {("Person", "1011*"): 3, ("Person", "2009*"): 1}


@pytest.mark.parametrize("levels", [{"zip": 6}, {"zip": -1}, {"zip": 1}, [0], [0, 2, 0]])
def test_levels_that_cannot_be_reached_are_refused(levels: dict[str, int] | list[int]) -> None:
    with pytest.raises(UsageError):
        places().at({"zip": 2}).at(levels)


def test_a_level_for_an_unknown_column_is_refused() -> None:
    with pytest.raises(ColumnError, match="'postcode'"):
        places().at({"postcode": 1})


def test_heights_count_the_values_themselves() -> None:
    assert places().heights == (2, 6)


# fewer columns


@few
@given(st.data())
def test_projecting_equals_counting_fewer_columns(data: st.DataObject) -> None:
    listing = data.draw(listings())
    names = data.draw(st.permutations(listing.names).map(lambda all_names: all_names[: len(all_names) // 2 + 1]))
    expected: Counter[tuple[str | None, ...]] = Counter()
    for row, number in listing.counted().items():
        expected[tuple(row[listing.names.index(name)] for name in names)] += number
    assert as_dict(listing.classes().project(names)) == expected


@few
@given(st.data())
def test_projecting_and_going_up_can_trade_places(data: st.DataObject) -> None:
    listing = data.draw(listings(columns=3))
    levels = dict(zip(listing.names, data.draw(levels_of(listing)), strict=True))
    kept = {name: levels[name] for name in ("c2", "c0")}
    one = listing.classes().at(levels).project(list(kept))
    other = listing.classes().project(list(kept)).at(kept)
    assert list(one.tuples()) == list(other.tuples())
    assert one.sizes.tolist() == other.sizes.tolist()


def test_projecting_on_nothing_leaves_one_class() -> None:
    assert places(4).project([]).sizes.tolist() == [4]


def test_projecting_on_an_unknown_column_is_refused() -> None:
    with pytest.raises(ColumnError, match="'age'"):
        places().project(["age"])


# looking up and linking


@some
@given(st.data())
def test_looking_up_agrees_with_a_dictionary(data: st.DataObject) -> None:
    listing = data.draw(listings())
    levels = data.draw(levels_of(listing))
    expected = listing.counted(levels)
    asked = [*expected, *((f"v{digit}",) * len(levels) for digit in range(3)), (None,) * len(levels)]
    assert listing.classes().at(levels).lookup(asked).tolist() == [expected.get(row, 0) for row in asked]


def test_looking_up_spells_values_as_counting_does() -> None:
    assert Classes.of(["age"], [(39,), (40,)], [5, 1]).lookup([(39,)]).tolist() == [5]  # type: ignore[list-item]


def test_looking_up_nothing_gives_nothing() -> None:
    assert SEXES.lookup([]).tolist() == []


@pytest.mark.parametrize("asked", [[("F", "10115")], [()], [("F",), ("F", "M")]])
def test_looking_up_tuples_of_the_wrong_length_is_refused(asked: list[tuple[str, ...]]) -> None:
    with pytest.raises(UsageError, match="sex"):
        SEXES.lookup(asked)


@some
@given(st.data())
def test_linking_finds_the_same_people_in_another_table(data: st.DataObject) -> None:
    sample = data.draw(listings())
    population = data.draw(listings(trees_of=sample.trees))
    levels, finer = data.draw(levels_of(sample)), data.draw(levels_of(sample))
    theirs = population.classes().at(tuple(map(min, levels, finer)))
    mine = sample.classes().at(levels)
    expected = population.counted(levels)
    assert mine.link(theirs).tolist() == [expected.get(row, 0) for row in mine.tuples()]


@few
@given(st.data())
def test_linking_finds_columns_by_name_among_others(data: st.DataObject) -> None:
    sample = data.draw(listings(columns=2))
    trees = {"extra": Tree((("v0",), ("v1",))), "c1": sample.trees["c1"], "c0": sample.trees["c0"]}
    population = data.draw(listings(trees_of=trees))
    expected: Counter[tuple[str | None, ...]] = Counter()
    for (_, second, first), number in population.counted().items():
        expected[first, second] += number
    mine = sample.classes()
    assert mine.link(population.classes()).tolist() == [expected[row] for row in mine.tuples()]


def test_linking_goes_by_value_where_the_hierarchies_hold_different_values() -> None:
    few_sexes = Tree((("F", "Person"), ("M", "Person")))
    more_sexes = Tree((("X", "Person"), ("M", "Person"), ("F", "Person")))
    sample = Classes.of(["sex"], [("M",), ("F",)], rules={"sex": few_sexes})
    population = Classes.of(["sex"], [("X",), ("F",), ("M",)], [7, 2, 3], rules={"sex": more_sexes})
    assert dict(zip(sample.tuples(), sample.link(population).tolist(), strict=True)) == {("F",): 2, ("M",): 3}
    assert sample.at([1]).link(population).tolist() == [12]


def test_people_without_a_value_link_to_people_without_a_value_whatever_else_is_in_the_data() -> None:
    sample = Classes.of(["zip"], [("10115",), (None,)], rules={"zip": Mask(5)})
    population = Classes.of(["zip"], [("10115",), ("20095",), (None,)], [3, 5, 7], rules={"zip": Mask(5)})
    for level, expected in [(0, {"10115": 3, None: 7}), (1, {"1011*": 3, None: 7}), (5, {"*****": 15})]:
        mine = sample.at([level])
        assert {row[0]: found for row, found in zip(mine.tuples(), mine.link(population), strict=True)} == expected


def test_a_population_that_is_coarser_than_the_sample_is_refused() -> None:
    with pytest.raises(UsageError, match="zip"):
        places().link(places().at({"zip": 1}))


def test_a_population_without_a_column_of_the_sample_is_refused() -> None:
    with pytest.raises(ColumnError, match="'zip'"):
        places().link(SEXES)


# leaving people out


@few
@given(listings(), st.integers(0, 12))
def test_suppression_leaves_out_small_classes_and_counts_their_people(listing: Listing, below: int) -> None:
    kept, gone = listing.classes().suppress(below=below)
    expected = {row: number for row, number in listing.counted().items() if number >= below}
    assert as_dict(kept) == expected
    assert gone == listing.people - sum(expected.values())


@few
@given(st.data())
def test_keeping_some_classes_keeps_exactly_those(data: st.DataObject) -> None:
    classes = data.draw(listings()).classes()
    marks = data.draw(st.lists(st.booleans(), min_size=len(classes), max_size=len(classes)))
    kept = classes.keep(np.array(marks, dtype=bool))
    expected = [row for row, mark in zip(classes.tuples(), marks, strict=True) if mark]
    assert list(kept.tuples()) == expected
    assert kept.sizes.tolist() == classes.lookup(expected).tolist()


def test_kept_classes_can_go_up_further() -> None:
    kept, _ = places(4).at({"sex": 1}).suppress(below=2)
    assert as_dict(kept.at({"zip": 5})) == {("Person", "*****"): 2}


# values that are outside their hierarchy


def test_strangers_are_counted_by_value_and_by_person_and_never_shown() -> None:
    rows = [("10115",), ("secret",), ("hidden!",), ("secret",), (None,)]
    with pytest.raises(OutsideHierarchy) as caught:
        Classes.of(["zip"], rows, [1, 2, 3, 4, 5], rules={"zip": Mask(5)})
    message = str(caught.value)
    assert "'zip': 2 of 4 distinct values (in 9 records)" in message
    assert "secret" not in message
    assert "hidden!" not in message
    assert caught.value.__context__ is None


def test_all_columns_with_strangers_are_in_one_error() -> None:
    rows = [("10115", "x"), ("1", "x"), ("2", "12"), ("3", "34")]
    with pytest.raises(OutsideHierarchy) as caught:
        Classes.of(["zip", "age"], rows, [1, 2, 3, 9], rules={"zip": Mask(5), "age": Widths((5,))})
    zips, ages = str(caught.value).splitlines()
    assert "'zip': 3 of 4 distinct values (in 14 records)" in zips
    assert "'age': 1 of 3 distinct values (in 3 records)" in ages


def test_a_missing_value_is_never_a_stranger() -> None:
    assert Classes.of(["zip"], [(None,)], rules={"zip": Mask(5)}).at([5]).records == 1


def test_strangers_who_stand_for_nobody_do_no_harm() -> None:
    assert Classes.of(["zip"], [("10115",), ("?",)], [1, 0], rules={"zip": Mask(5)}).records == 1


# values, not variables


def test_attributes_cannot_be_set() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        SEXES.sizes = np.array([1])  # type: ignore[misc]


def test_sizes_cannot_be_written_into() -> None:
    with pytest.raises(ValueError, match="read-only"):
        places().sizes[0] = 99


def test_codes_cannot_be_written_into() -> None:
    with pytest.raises(ValueError, match="read-only"):
        places().codes[0][0] = 1


def test_spreads_cannot_be_added_from_outside() -> None:
    with pytest.raises(TypeError):
        places().spreads["illness"] = None  # type: ignore[index]


@few
@given(st.data())
def test_no_operation_changes_the_classes_it_starts_from(data: st.DataObject) -> None:
    listing = data.draw(listings(fewest=1, least=1))
    classes = listing.classes()
    classes.at(data.draw(levels_of(listing))).suppress(below=3)
    classes.project(listing.names[:1]).link(classes)
    classes.lookup(list(classes.tuples()))
    assert as_dict(classes) == listing.counted()


def test_what_an_engine_does_with_its_histogram_later_does_not_show() -> None:
    histogram = Histogram.from_rows(["sex"], [("F", 2), ("M", 1)])
    classes = Classes.from_histogram(histogram)
    with contextlib.suppress(ValueError):  # where it is frozen, so much the better
        histogram.counts[:] = 0
        histogram.columns["sex"].codes[:] = 0
    assert as_dict(classes) == {("F",): 2, ("M",): 1}


# in words


def test_the_repr_counts_and_shows_no_value() -> None:
    shown = repr(places(4).at({"zip": 2}))
    assert shown == "Classes(4 people in 3 classes by sex, zip:2)"


# count


def test_counting_classes_again_projects_them() -> None:
    classes = places(4)
    assert count(classes) is classes
    assert as_dict(count(classes, ["sex"])) == {("F",): 2, ("M",): 2}


def test_counting_a_table_asks_the_table() -> None:
    class Table:
        def classes(self, by: Sequence[str] | None = None, *, sensitive: Sequence[str] = ()) -> Classes:
            return SEXES if by == ["sex"] else places()

    assert count(Table(), ["sex"]) is SEXES
    assert count(Table()).names == ("sex", "zip")
