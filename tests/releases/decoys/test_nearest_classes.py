"""Near classes on shelves, against measuring every distance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernel import Classes, Mask, Widths
from discreet.kernel.arrays import Ints
from discreet.kernel.rules import Dates
from discreet.releases.decoys import nearest_classes
from discreet.releases.decoys.donors import FEWEST, neighbours
from discreet.releases.decoys.nearest_classes import Space, numbers_of

NAMES = ("born", "visits", "sex", "zip")
ROWS = st.tuples(st.integers(1950, 1960), st.integers(0, 3), st.sampled_from("FM"), st.sampled_from(["1a", "2b", "3c"]))
CLASSES = st.dictionaries(ROWS, st.integers(1, 9), min_size=1, max_size=30)
WEIGHTS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([0.1, 0.7, 2.0]))
CHOSEN = st.sampled_from([NAMES, ("born", "sex", "zip"), ("sex", "zip"), ("born", "visits")])


def classes_of(people: dict[tuple[object, ...], int], names: tuple[str, ...]) -> Classes:
    cells = [tuple(str(value) for value in row) for row in people]
    return Classes.of(NAMES, cells, list(people.values())).project(names)


def all_neighbours(space: Space, classes: Classes, sizes: Ints, seed: int) -> list[list[int]]:
    """As they are defined: all classes in the order of their distances, until they have enough rows."""
    luck, found = np.random.default_rng(seed).random(len(space.classes)), []
    for place, far in enumerate(space.distances(space.points(classes))):
        order = np.lexsort([np.roll(luck, place), far.round(9)])
        enough = np.searchsorted(np.cumsum(space.classes.sizes[order]), max(2 * int(sizes[place]), FEWEST))
        found.append(order[: enough + 1].tolist())
    return found


@pytest.mark.parametrize("most", [nearest_classes.MOST_CATEGORIES, 1])
@given(CLASSES, CLASSES, CHOSEN, WEIGHTS, st.integers(1, 3))
def test_near_classes_are_those_that_all_distances_show(
    most: int,
    mine: dict[tuple[object, ...], int],
    theirs: dict[tuple[object, ...], int],
    names: tuple[str, ...],
    weights: dict[str, float],
    first: int,
) -> None:
    space, others = Space(classes_of(mine, names), weights), classes_of(theirs, names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest_classes, "MOST_CATEGORIES", most)
        patch.setattr(nearest_classes, "_FIRST", first)
        far = space.distances(space.points(others))
        assert space.nearest(others).tolist() == far.min(axis=1).tolist()
        own = space.distances(space.points(space.classes))
        np.fill_diagonal(own, np.inf)
        assert space.nearest(space.classes, itself=np.arange(len(own))).tolist() == own.min(axis=1).tolist()
        found = neighbours(space, others, others.sizes, np.random.default_rng(7))
        assert [one.tolist() for one in found] == all_neighbours(space, others, others.sizes, 7)


ROWS_CLOSENESS = [("10115", "1960"), ("10115", "1964"), ("10117", "1980"), ("20095", "1961"), ("20095", "2000")]


def people(level: int = 0) -> Classes:
    classes = Classes.of(["zip", "born"], ROWS_CLOSENESS, rules={"zip": Mask(5), "born": Widths((2, 4))})
    return classes.at({"zip": level, "born": level})


@pytest.mark.parametrize("level", [0, 1, 2])
def test_years_count_in_standard_deviations_and_postcodes_as_the_same_or_not(level: int) -> None:
    classes = people(level)
    space = Space(classes, {"zip": 2.0})
    far = space.distances(space.points(classes))
    years = numbers_of(classes.columns[1])[classes.codes[1]]
    zips = classes.codes[0]
    for one in range(len(classes)):
        for other in range(len(classes)):
            expected = abs(years[one] - years[other]) / years.std() + 2.0 * 0.5 * (zips[one] != zips[other])
            assert far[one, other] == pytest.approx(expected)


def test_the_nearest_other_class() -> None:
    classes = people()
    space = Space(classes)
    far = space.distances(space.points(classes))
    np.fill_diagonal(far, np.inf)
    assert space.nearest(classes, itself=np.arange(len(classes))) == pytest.approx(far.min(axis=1))
    assert space.nearest(classes) == pytest.approx(np.zeros(len(classes)))


def test_a_value_that_the_data_do_not_have_is_another_one() -> None:
    space = Space(Classes.of(["zip"], [("11",), ("12",)], rules={"zip": Mask(2)}))
    other = Classes.of(["zip"], [("13",), ("12",)], rules={"zip": Mask(2)})
    assert sorted(space.nearest(other).tolist()) == [0.0, 0.5]


def test_days_are_numbers_and_missing_values_are_not() -> None:
    days = Classes.of(["born"], [("1960-01-01",), ("1960-01-11",)], rules={"born": Dates(("month",))})
    assert np.diff(numbers_of(days.columns[0])).tolist() == [10.0]
    missing = Classes.of(["born"], [("1960",), (None,)], rules={"born": Widths((2,))})
    assert np.isnan(numbers_of(missing.columns[0])).any()
