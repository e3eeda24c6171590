"""Distances between classes."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.kernel import Classes, Mask, Widths
from discreet.kernel.rules import Dates
from discreet.releases.closeness import Space, numbers_of

ROWS = [("10115", "1960"), ("10115", "1964"), ("10117", "1980"), ("20095", "1961"), ("20095", "2000")]


def people(level: int = 0) -> Classes:
    classes = Classes.of(["zip", "born"], ROWS, rules={"zip": Mask(5), "born": Widths((2, 4))})
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
