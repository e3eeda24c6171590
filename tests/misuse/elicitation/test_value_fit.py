"""Sensitivity learnt from a column of customer value."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.kernel import Coded
from discreet.misuse import Sensitivity
from discreet.misuse.elicitation.value_fit import fit_to_value, isotonic


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 3)), min_size=1, max_size=6))
def test_isotonic_regression_is_the_nearest_rising_sequence(pairs: list[tuple[int, int]]) -> None:
    """Against all rising sequences that are made of means of runs, one of which is the best."""
    values, weights = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    found = isotonic(values, weights)
    assert (np.diff(found) >= -1e-9).all()
    best = min(
        float(weights @ (fitted - values) ** 2)
        for cuts in itertools.product([False, True], repeat=len(values) - 1)
        for fitted in [_runs(values, weights, cuts)]
        if (np.diff(fitted) >= -1e-9).all()
    )
    assert float(weights @ (found - values) ** 2) == pytest.approx(best, abs=1e-9)


def _runs(values: np.ndarray, weights: np.ndarray, cuts: tuple[bool, ...]) -> np.ndarray:
    runs = np.concatenate([[0], np.cumsum(cuts)]).astype(int)
    means = np.bincount(runs, weights=values * weights) / np.bincount(runs, weights=weights)
    return means[runs]


def test_categories_weigh_the_mean_value_of_their_people() -> None:
    cells = Coded.of(["Gold"] * 10 + ["White"] * 10 + [None] * 3)
    table = fit_to_value("account", cells, [100.0] * 10 + [20.0, 40.0] * 5 + [900.0] * 3)
    assert table == {"values": {"Gold": 1.0, "White": 0.3}, "otherwise": 0.3}
    assert Sensitivity.from_dict({"account": table})("account", "Gold") == 1


def test_a_value_that_few_people_have_has_no_weight_of_its_own() -> None:
    cells = Coded.of(["Gold"] * 10 + ["White"] * 10 + ["Black"] * 4)
    table = fit_to_value("account", cells, [100.0] * 10 + [30.0] * 10 + [1e6] * 4)
    assert set(table["values"]) == {"Gold", "White"}
    assert table["values"]["Gold"] == 1.0, "the worth of four people does not show"


@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_get_ranges_whose_weights_rise_or_fall(sign: int) -> None:
    ages = list(range(1, 101))
    table = fit_to_value("age", Coded.of([str(age) for age in ages]), [500.0 + sign * 4 * age for age in ages])
    f = Sensitivity.from_dict({"age": table})
    weights = [sign * f("age", age) for age in ages]
    assert weights == sorted(weights)
    assert max(f("age", age) for age in ages) == 1
    assert len(set(weights)) > 4


@pytest.mark.parametrize("people", [4, 9])
def test_too_few_people_are_refused(people: int) -> None:
    with pytest.raises(UsageError):
        fit_to_value("a", Coded.of(["x"] * people), [1.0] * people)
