"""Donor columns: codes, numbers, and what follows from a quasi-identifier."""

from __future__ import annotations

import numpy as np

from discreet.kernel import Column, Hierarchy, Mask
from discreet.releases.decoys.donors import DonorColumn, determines, number_of, numbers_of


def test_numbers_dates_and_missing_cells_are_on_a_scale_and_words_are_not() -> None:
    assert DonorColumn.of("pay", ["10", None, "30"]).numbers is not None
    assert DonorColumn.of("day", ["2020-01-01", "2020-01-03"]).numbers is None  # text stays text
    assert DonorColumn.of("pet", ["cat", "dog"]).numbers is None
    assert DonorColumn.of("pay", list(range(100))).binned.max() < 10
    assert number_of("2020-01-03") - number_of("2020-01-01") == 2
    assert np.isnan(number_of("cat"))


def test_masked_postcodes_are_no_quantity() -> None:
    hierarchy = Hierarchy.of([["12", "1*"], ["13", "1*"], ["20", "2*"]])
    assert np.isnan(numbers_of(Column("zip", hierarchy, 1))).all()
    assert Mask(2).path("12") == ("12", "1*", "**")


def test_a_column_determines_another_only_where_it_comes_often_enough() -> None:
    one = np.arange(60) % 6
    assert determines(one, one // 2)
    assert not determines(one // 2, one)
    assert not determines(np.arange(60), one)  # every value comes once: that proves nothing
