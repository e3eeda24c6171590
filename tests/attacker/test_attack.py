"""The planning adversary against published numbers, the literal process, and what must always hold."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attacker import Attack
from discreet.errors import UsageError
from discreet.reference.process import SOLVERS, Process, State
from tests.attacker.strategies import PUBLISHED, attacks
from tests.examples import examples

some = settings(max_examples=examples(60), deadline=None)


@pytest.mark.parametrize(
    ("slope", "most", "expected"),
    [(0.0, None, (51, 45, 51)), (0.0, 1, (54, 48, 54)), (0.18, None, (14, 29, 46))],
    ids=["unlimited", "one penalty", "rising detection"],
)
def test_the_thresholds_of_the_printed_amounts(slope: float, most: int | None, expected: tuple[int, int, int]) -> None:
    found = Attack(**PUBLISHED, max_penalties=most, detection_slope=slope).thresholds()
    assert (found.stops_early, found.no_access, found.no_exploit) == expected


def test_with_constant_detection_and_unlimited_penalties_it_is_all_or_nothing() -> None:
    plan = Attack(**PUBLISHED, max_penalties=None).known(np.arange(1, 80))
    assert set(plan.exploits[plan.exploits > 0] - plan.sizes[plan.exploits > 0]) == {0}


def walk(process: Process, size: int, plan_value: Any) -> tuple[float, float, float]:
    """Equation 5: the literal Markov chain of the optimal policy on the real group, from the linked state on."""
    values: dict[State, float] = {}

    def value(state: State) -> float:
        if state.terminated:
            return 0.0
        if state not in values:
            values[state] = max(worth(state, action) for action in process.actions(state))
        return values[state]

    def worth(state: State, action: str) -> float:
        ahead = sum(chance * value(after) for chance, after in process.transitions(state, action))
        return process.reward(state, action) + process.parameters.discount * ahead

    reach = {State(accessed=True, linked=True, group=size, remaining=size): 1.0}
    success = exploits = penalties = 0.0
    while reach:
        ahead: dict[State, float] = {}
        for state, chance in reach.items():
            success += chance * state.success
            penalties += chance * process._charged(state)
            worths = {action: worth(state, action) for action in process.actions(state)}
            if not worths or worths.get("exploit", -math.inf) <= worths["terminate"] + 1e-12:
                continue
            exploits += chance
            for odds, after in process.transitions(state, "exploit"):
                ahead[after] = ahead.get(after, 0.0) + chance * odds
        reach = ahead
    del plan_value
    return success, exploits, penalties


@some
@given(attack=attacks(), size=st.integers(1, 7))
def test_the_reduced_pass_equals_the_literal_chain(attack: Attack, size: int) -> None:
    free = replace(attack, access_cost=0.0, link_cost=0.0)
    plan = free.known([size])
    if not plan.accesses[0] or plan.start_value[0] < 1e-9:
        return
    process = Process(free, {size: 1.0})
    success, exploits, penalties = walk(process, size, plan)
    assert plan.reidentification[0] == pytest.approx(success, abs=1e-9)
    assert plan.expected_exploits[0] == pytest.approx(exploits, abs=1e-9)
    assert plan.expected_wrong[0] == pytest.approx(exploits - success, abs=1e-9)
    assert plan.expected_penalties[0] == pytest.approx(penalties, abs=1e-9)


@settings(max_examples=examples(40), deadline=None)
@given(attack=attacks(), weights=st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any))
def test_the_three_solvers_agree(attack: Attack, weights: list[int]) -> None:
    belief = {size: weight / sum(weights) for size, weight in enumerate(weights) if weight}
    values = {name: solve(attack, belief) for name, solve in SOLVERS.items()}
    scale = max(1.0, attack.gain)
    for name, value in values.items():
        assert value == pytest.approx(values["table"], abs=1e-9 * scale), name


@some
@given(attack=attacks(), sizes=st.lists(st.integers(0, 60), min_size=1, max_size=8))
def test_what_must_hold_of_every_plan(attack: Attack, sizes: list[int]) -> None:
    plan = attack.known(sizes)
    assert (plan.accesses == (plan.value_raw > 0)).all()
    assert ((plan.reidentification >= 0) & (plan.reidentification <= attack.prior + 1e-12)).all()
    assert (plan.expected_wrong >= -1e-12).all()
    assert (plan.exploits <= plan.sizes).all()
    assert (plan.reidentification[~plan.accesses] == 0).all()
    assert (plan.value == np.maximum(plan.value_raw, 0)).all()


@some
@given(attacks())
def test_larger_groups_are_never_worth_more(attack: Attack) -> None:
    start = attack.known(np.arange(1, 60)).start_value
    assert (np.diff(start) <= 1e-9 * max(1.0, attack.gain)).all()


@some
@given(attack=attacks(), size=st.integers(1, 30), more=st.floats(1.01, 3))
def test_more_gain_attracts_and_more_penalty_deters(attack: Attack, size: int, more: float) -> None:
    free = replace(attack, access_cost=0.0, link_cost=0.0)
    one = free.known([size])
    richer = replace(free, gain=free.gain * more).known([size])
    dearer = replace(free, penalty=free.penalty * more).known([size])
    assert richer.start_value[0] >= one.start_value[0] - 1e-9
    assert dearer.start_value[0] <= one.start_value[0] + 1e-9
    assert richer.reidentification[0] >= one.reidentification[0] - 1e-9
    assert dearer.reidentification[0] <= one.reidentification[0] + 1e-9


@some
@given(attack=attacks(), n=st.integers(5, 400), sizes=st.lists(st.integers(0, 40), min_size=1, max_size=5))
def test_a_binomial_belief_equals_the_explicit_one(attack: Attack, n: int, sizes: list[int]) -> None:
    density = [min(1.0, (size + 0.5) / n) for size in sizes]
    explicit = [[math.comb(n, g) * q**g * (1 - q) ** (n - g) for g in range(n + 1)] for q in density]
    explicit = [[mass / sum(row) for mass in row] for row in explicit]
    binomial = attack.unknown(density=density, external_size=n, sizes=sizes)
    other = attack.unknown(belief=explicit, sizes=sizes)
    scale = max(1.0, attack.gain)
    np.testing.assert_allclose(binomial.value_raw, other.value_raw, atol=1e-9 * scale)


@some
@given(attack=attacks(), size=st.integers(1, 40))
def test_a_certain_belief_is_knowledge(attack: Attack, size: int) -> None:
    sure = attack.unknown(belief=[[float(g == size) for g in range(size + 1)]], sizes=[size])
    known = attack.known([size])
    assert sure.value_raw == pytest.approx(known.value_raw, abs=1e-9 * max(1.0, attack.gain))
    assert sure.accesses[0] == known.accesses[0]
    assert sure.reidentification == pytest.approx(known.reidentification)


def test_the_published_case_of_an_unknown_group() -> None:
    attack = Attack(**PUBLISHED, max_penalties=1)
    n = 6018999
    found = attack.unknown(density=[49.0 / n, 50.0 / n], external_size=n, sizes=[40, 40])
    assert found.accesses.tolist() == [True, False]


def test_the_densities_at_which_he_buys_are_one_interval() -> None:
    attack = Attack(**PUBLISHED, max_penalties=1)
    density = np.linspace(0, 200, 4001) / 100_000
    found = attack.unknown(density=density, external_size=100_000, sizes=np.ones(4001, dtype=int))
    changes = np.flatnonzero(np.diff(found.accesses.astype(int)))
    assert len(changes) == 2
    assert attack.unknown(density=[0.01], external_size=10**6, sizes=[10_000]).accesses.tolist() == [False]


def test_a_tie_is_no_attack() -> None:
    worthless = Attack(
        prior=1.0, gain=10, access_cost=0, link_cost=0, exploit_cost=9, penalty=0, max_penalties=0, discount=0.9
    )
    assert worthless.known([1]).start_value[0] == 0
    assert not worthless.known([1]).accesses[0]


def test_the_baseline_makes_one_guess() -> None:
    attack = Attack(**PUBLISHED)
    found = attack.baseline([0, 1, 1000])
    caught = 1 / (1 + math.exp(4.59))
    assert found.payoff[1] == pytest.approx(0.63 * 8000 - 110 - caught * 10000)
    assert found.attacks.tolist() == [False, True, False]
    assert found.risk.tolist() == [0, 0.63, 0]


def test_empty_groups_are_left_alone() -> None:
    plan = Attack(**PUBLISHED).known([0])
    assert (plan.accesses[0], plan.reidentification[0], plan.access_value[0]) == (False, 0, 0)


def test_an_adversary_with_nothing_to_lose_has_no_thresholds() -> None:
    fearless = Attack(prior=1.0, gain=1e9, access_cost=0, link_cost=0, exploit_cost=0, penalty=0, max_penalties=0)
    assert fearless.thresholds().no_access is None
    assert fearless.known([20_000]).accesses[0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"prior": 0},
        {"prior": 1.1},
        {"gain": -1},
        {"access_cost": math.nan},
        {"exploit_cost": math.inf},
        {"penalty": "much"},
        {"discount": 0},
        {"discount": 1.5},
        {"max_penalties": -1},
        {"max_penalties": 1.5},
        {"link_cost": True},
        {"gain": np.complex128(1)},
        {"penalty": 10**400},
        {"prior": 5e-324},
    ],
)
def test_nonsense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        Attack(**{**PUBLISHED, **wrong})
    assert next(iter(wrong)) in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize(
    "sizes", [[-1], [1.5], [[1]], ["a"], [[1], [1, 2]], [2**70], np.array([2**63], np.uint64), None]
)
def test_sizes_are_numbers_of_people(sizes: Any) -> None:
    with pytest.raises(UsageError):
        Attack(**PUBLISHED).known(sizes)


@pytest.mark.parametrize(
    "belief",
    [
        {},
        {"density": [0.1]},
        {"density": [1.1], "external_size": 10},
        {"density": [0.1, 0.2], "external_size": 10},
        {"belief": [[0.5, 0.4]]},
        {"belief": [[1.0]], "density": [0.1], "external_size": 3},
    ],
)
def test_beliefs_are_distributions(belief: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Attack(**PUBLISHED).unknown(sizes=[1], **belief)
