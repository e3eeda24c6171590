"""Person identifiers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.people.identifiers import LEFT, RIGHT, scatter
from tests.examples import examples


def test_all_ten_digit_numbers_can_occur() -> None:
    assert LEFT * RIGHT == 10**10 - 10**9


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(1, 250_000), st.integers(0, 2**32))
def test_identifiers_are_distinct_and_have_ten_digits(people: int, seed: int) -> None:
    found = scatter(people, np.random.default_rng(seed))
    assert len(np.unique(found)) == people
    assert found.min() >= 10**9
    assert found.max() < 10**10


def test_identifiers_do_not_tell_the_row() -> None:
    found = scatter(200_000, np.random.default_rng(1))
    assert abs(np.corrcoef(found, np.arange(len(found)))[0, 1]) < 0.02
    assert len(np.unique(np.diff(found))) > 199_000
