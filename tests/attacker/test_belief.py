"""Beliefs against the distributions of scipy, where numbers are large, small, or at the edge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.attacker import Attack
from discreet.attacker.bellman import PlanTable, _all_or_nothing, _backwards
from discreet.errors import UsageError
from tests.attacker.strategies import PUBLISHED, attacks
from tests.examples import examples

FEARLESS = Attack(prior=0.7, gain=8000, access_cost=100, link_cost=0, exploit_cost=0, penalty=0)
some = settings(max_examples=examples(60), deadline=None)


def expected(attack: Attack, density: float, people: int) -> float:
    """The value of buying the list, with every group size that has any mass planned for."""
    low, high = stats.binom.interval(1 - 1e-15, people, density)
    sizes = np.arange(max(0, int(low) - 30), min(people, int(high) + 30) + 1)
    worth = PlanTable.of(attack, sizes).access
    return float(-attack.access_cost + attack.discount * (stats.binom.pmf(sizes, people, density) @ worth))


@pytest.mark.parametrize("people", [10, 5_000, 500_000, 6_018_999])
@pytest.mark.parametrize("mean", [0.001, 1, 7.5, 30, 60, 200, 449, 451])
@pytest.mark.parametrize("slope", [0.0, 0.18])
def test_a_binomial_belief_is_exact(people: int, mean: float, slope: float) -> None:
    attack = Attack(**PUBLISHED, detection_slope=slope)
    density = min(1.0, mean / people)
    found = attack.unknown(density=[density], external_size=people, sizes=[3]).value_raw[0]
    assert found == pytest.approx(expected(attack, density, people), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("people", [10, 5_000, 6_018_999])
@pytest.mark.parametrize("density", [0.0, 1e-7, 1e-3, 0.2, 0.7, 1.0])
def test_a_belief_in_crowds_is_exact_for_somebody_who_never_gives_up(people: int, density: float) -> None:
    found = FEARLESS.unknown(density=density, external_size=people, sizes=[3]).value_raw[0]
    assert found == pytest.approx(expected(FEARLESS, density, people), rel=1e-8)


def test_detection_that_rises_keeps_a_reckless_adversary_from_nobody() -> None:
    reckless = replace(FEARLESS, penalty=1e-4, max_penalties=1, detection_slope=0.001, discount=1.0)
    found = reckless.unknown(density=[0.1], external_size=100_000, sizes=[10_000])
    assert found.value_raw[0] == pytest.approx(expected(reckless, 0.1, 100_000), rel=1e-9)
    with pytest.raises(UsageError, match="too large to plan"):
        reckless.known([100_000])


@some
@given(attack=attacks(), sizes=st.lists(st.integers(0, 70), min_size=1, max_size=6, unique=True))
def test_the_closed_form_is_the_recursion(attack: Attack, sizes: list[int]) -> None:
    constant = replace(attack, detection_slope=0.0, max_penalties=None)
    asked = np.sort(np.array(sizes))
    by_formula, stepwise = _all_or_nothing(constant, asked), _backwards(constant, asked)
    np.testing.assert_allclose(by_formula[0], stepwise[0], atol=1e-9 * max(1.0, attack.gain))
    clear = (by_formula[0] > 1e-9) | (asked == 0)
    for formula, step in zip(by_formula[1:], stepwise[1:], strict=True):
        np.testing.assert_allclose(formula[clear], step[clear], atol=1e-9)


@some
@given(attack=attacks(), size=st.integers(0, 30), many=st.integers(1, 40))
def test_mappings_and_lists_say_the_same(attack: Attack, size: int, many: int) -> None:
    row = [1 / (many + 1)] * (many + 1)
    mapping = dict(enumerate(row))
    by_list = attack.unknown(belief=[row, row], sizes=[size, 1]).value_raw
    assert attack.unknown(belief=[mapping, mapping], sizes=[size, 1]).value_raw.tolist() == by_list.tolist()
    assert attack.unknown(belief=mapping, sizes=[size, 1]).value_raw.tolist() == by_list.tolist()
    assert attack.unknown(belief=np.array(row), sizes=[size, 1]).value_raw.tolist() == by_list.tolist()


def test_one_density_serves_all_targets() -> None:
    attack = Attack(**PUBLISHED)
    one = attack.unknown(density=1e-5, external_size=10**6, sizes=[1, 2])
    assert one.value_raw.tolist() == attack.unknown([1e-5, 1e-5], 10**6, [1, 2]).value_raw.tolist()


def test_nobody_to_plan_for_is_fine() -> None:
    attack = Attack(**PUBLISHED)
    assert len(attack.known([]).value) == 0
    assert len(attack.unknown([], 10, []).value_raw) == 0


@pytest.mark.parametrize("people", [0, -1, 2.5, True, None])
def test_an_external_table_has_people(people: object) -> None:
    with pytest.raises(UsageError):
        Attack(**PUBLISHED).unknown([0.1], people, [1])  # type: ignore[arg-type]


@pytest.mark.parametrize("belief", [[["many"]], [{-1: 1.0}], [{0.5: 1.0}], [[1.0], [1.0]], [[[1.0]]], [[2.0, -1.0]]])
def test_odd_beliefs_are_refused(belief: object) -> None:
    with pytest.raises(UsageError):
        Attack(**PUBLISHED).unknown(belief=belief, sizes=[1])  # type: ignore[arg-type]
