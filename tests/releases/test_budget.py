"""What a copy loses, against the exact law of its losses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.releases.budget import UNLUCKY, Budget, expected_lost, worst_lost

MARKS = st.lists(st.tuples(st.integers(1, 9), st.sampled_from([0.2, 0.5, 0.8])), min_size=1, max_size=40)


def law_of_losses(sizes: list[int], chances: list[float]) -> np.ndarray:
    """The chance of losing 0, 1, 2, ... rows."""
    law = np.ones(1)
    for size, chance in zip(sizes, chances, strict=True):
        step = np.zeros(size + 1)
        step[0], step[size] = chance, 1 - chance
        law = np.convolve(law, step)
    return law


@given(MARKS)
def test_fewer_than_one_copy_in_a_million_loses_more(marks: list[tuple[int, float]]) -> None:
    sizes, chances = [size for size, _ in marks], [chance for _, chance in marks]
    bound = worst_lost(np.array(sizes), np.array(chances))
    for count in range(1, len(marks) + 1):
        law = law_of_losses(sizes[:count], chances[:count])
        assert law[int(np.floor(bound[count - 1])) + 1 :].sum() <= UNLUCKY * (1 + 1e-9)
    assert (np.diff(bound) >= -1e-9).all()
    law = law_of_losses(sizes, chances)
    assert expected_lost(np.array(sizes), np.array(chances)) == pytest.approx(np.dot(law, np.arange(len(law))))


def test_the_budget_takes_as_many_pairs_as_fit() -> None:
    sizes, chances = np.full(1000, 6), np.full(1000, 0.35)
    count = Budget().pairs(sizes, chances, released=30_000)
    bound = worst_lost(sizes, chances)
    assert bound[count - 1] <= 1500 < bound[count]
    assert 250 < count < 1500 / (6 * 0.65)


@pytest.mark.parametrize("given", [{"rows": 0.0}, {"shift": 1.0}])
def test_a_budget_is_a_share(given: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        Budget(**given)
