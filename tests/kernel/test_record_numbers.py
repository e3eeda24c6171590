"""Numbers of people and households: spellings of one number are one household."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernel import Classes, Histogram
from discreet.kernel.hierarchy import Coded
from discreet.kernel.record_numbers import same_number
from discreet.kernel.survey import numbered
from discreet.risk import assess

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
