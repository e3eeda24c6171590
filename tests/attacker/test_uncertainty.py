"""Uncertain amounts: exact distributions against literal adversaries on a fine grid, and drawn ones against exact."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.attacker import Attack
from discreet.attacker.piecewise import AMOUNTS
from discreet.attacker.uncertainty import Simulated, from_quantiles, lognormal, normal, uniform
from discreet.errors import UsageError
from tests.attacker.brute import Brute
from tests.attacker.strategies import PUBLISHED, attacks, wavering
from tests.examples import examples

some = settings(max_examples=examples(60), deadline=None)
along = st.sampled_from(["gain", "penalty"])
RISING = Attack(**PUBLISHED, detection_slope=0.18, max_penalties=2)


@some
@given(attack=attacks() | wavering(), size=st.integers(0, 5), name=along, data=st.data())
def test_a_discrete_amount(attack: Attack, size: int, name: str, data: st.DataObject) -> None:
    weights = data.draw(st.dictionaries(st.floats(0, 3000), st.integers(1, 5), min_size=1, max_size=6))
    total = sum(weights.values())
    found = attack.uncertain(size, **{name: {amount: weight / total for amount, weight in weights.items()}})
    cases = [(Brute(attack, size, **{name: amount}), weight / total) for amount, weight in weights.items()]
    if size and min(brute.closest() for brute, _ in cases) < 1e-9:
        return
    assert found.probabilities.sum() == pytest.approx(1)
    assert found.mean == pytest.approx(sum(brute.risk() * chance for brute, chance in cases), abs=1e-9)
    for limit in (0.0, 0.1, 0.3):
        above = sum(chance for brute, chance in cases if brute.risk() > limit + 1e-12)
        assert found.exceeds(limit) == pytest.approx(above, abs=1e-9)
        within = sorted((brute.risk(), chance) for brute, chance in cases)
        q = data.draw(st.floats(0.01, 0.99))
        reached = next(
            risk for place, (risk, _) in enumerate(within) if sum(c for _, c in within[: place + 1]) >= q - 1e-12
        )
        assert found.quantile(q) == pytest.approx(reached, abs=1e-9)


@settings(max_examples=examples(20), deadline=None)
@given(attack=attacks() | wavering(), size=st.integers(1, 4), name=along)
def test_a_continuous_amount_is_the_limit_of_a_fine_grid(attack: Attack, size: int, name: str) -> None:
    top, cells = 4000.0, 200
    found = attack.uncertain(size, **{name: uniform(0, top)})
    middles = (np.arange(cells) + 0.5) * top / cells
    risks = np.array([Brute(attack, size, **{name: float(amount)}).risk() for amount in middles])
    for risk, chance in zip(found.risks, found.probabilities, strict=True):
        share = (np.abs(risks - risk) < 1e-9).mean()
        assert chance == pytest.approx(share, abs=2.5 / cells)
    assert found.mean == pytest.approx(risks.mean(), abs=2.5 / cells)


@pytest.mark.parametrize("name", ["gain", "penalty"])
def test_distributions_of_every_kind(name: str) -> None:
    """Against quadrature: risks at very many quantiles of the amount."""
    kinds = {
        "uniform": (uniform(500, 20_000), stats.uniform(500, 19_500)),
        "normal": (normal(9000, 3000), stats.norm(9000, 3000)),
        "lognormal": (lognormal(8000, 0.7), stats.lognorm(0.7, scale=8000)),
        "scipy": (stats.gamma(2, scale=4000).cdf, stats.gamma(2, scale=4000)),
        "quantiles": (from_quantiles(stats.gamma(2, scale=4000).ppf), stats.gamma(2, scale=4000)),
    }
    cells = 20_000
    for kind, (given_as, law) in kinds.items():
        found = RISING.uncertain(20, **{name: given_as})
        amounts = law.ppf((np.arange(cells) + 0.5) / cells)
        fine = RISING.uncertain(20, **{name: {float(amount): 1 / cells for amount in amounts}})
        assert len(found.risks) > 3
        assert found.probabilities.sum() == pytest.approx(1)
        assert found.mean == pytest.approx(fine.mean, abs=1e-3), kind
        for limit in (0, 0.2, 0.5):
            assert found.exceeds(limit) == pytest.approx(fine.exceeds(limit), abs=2e-4), kind


def test_where_the_probability_lies_exactly() -> None:
    """All or nothing: he attacks below the deterring penalty, and not at it."""
    attack = Attack(**PUBLISHED)
    least = attack.deterring_penalty(10)
    found = attack.uncertain(10, penalty=uniform(0, 4 * least))
    assert found.risks == pytest.approx([0, 0.63])
    assert found.probabilities == pytest.approx([0.75, 0.25], abs=1e-12)
    at = attack.uncertain(10, penalty={least: 0.5, least * (1 - 1e-12): 0.5})
    assert at.probabilities.tolist() == [0.5, 0.5]
    # A distribution function with an atom at the edge: the atom is deterred.
    assert attack.uncertain(10, penalty=lambda x: float(x >= least)).risks.tolist() == [0]
    assert attack.uncertain(10, penalty=uniform(-100, -50)).mean == pytest.approx(0.63)
    assert attack.uncertain(10, gain={-5.0: 1.0}).mean == 0


def test_at_the_edge_itself_he_does_not_act() -> None:
    """One candidate, detected every other time, gain 100: a penalty of 200 makes it worth exactly nothing."""
    attack = Attack(
        prior=1, gain=100, access_cost=0, link_cost=0, exploit_cost=0, penalty=200, detection_intercept=0, discount=1
    )
    assert attack.deterring_penalty(1) == 200
    assert attack.uncertain(1, penalty=lambda x: float(x >= 200)).risks.tolist() == [0]
    assert attack.uncertain(1, penalty=lambda x: float(x >= 199.9999)).risks.tolist() == [1]
    assert attack.uncertain(1, gain=lambda x: float(x >= 100)).risks.tolist() == [0]
    assert attack.uncertain(1, gain=lambda x: float(x >= 100.0001)).risks.tolist() == [1]
    assert attack.uncertain(1, gain={100: 0.25, 101: 0.75}).probabilities.tolist() == [0.25, 0.75]


@some
@given(attack=attacks(), size=st.integers(0, 12), seed=st.integers(0, 100))
def test_every_drawn_adversary_is_planned_as_alone(attack: Attack, size: int, seed: int) -> None:
    low = {"prior": 0.1, "discount": 0.3, "detection_intercept": -5, "detection_slope": -0.2}
    high = {"prior": 1, "discount": 1, "detection_intercept": 0, "detection_slope": 0.5}
    samplers = {
        name: lambda random, many, name=name: random.uniform(low.get(name, 0), high.get(name, 500), many)
        for name in AMOUNTS
    }
    found = attack.simulated(size, np.random.default_rng(seed), draws=5, **samplers)
    again = np.random.default_rng(seed)
    drawn = {name: sampler(again, 5) for name, sampler in samplers.items()}
    alone = []
    for place in range(5):
        changes = {name: float(values[place]) for name, values in drawn.items()}
        alone.append(Attack(**changes, max_penalties=attack.max_penalties).known([size]).reidentification[0])
    assert found.risks == pytest.approx(np.sort(alone), abs=1e-9)


def test_drawn_and_exact_agree() -> None:
    exact = RISING.uncertain(20, penalty=uniform(0, 30_000))
    drawn = RISING.simulated(20, np.random.default_rng(5), 20_000, penalty=lambda r, n: r.uniform(0, 30_000, n))
    assert abs(drawn.mean - exact.mean) < 4 * drawn.mean_error
    share, error = drawn.exceeds(0.3)
    assert abs(share - exact.exceeds(0.3)) < 4 * error
    for q in (0.05, 0.5, 0.9):
        low, high = drawn.quantile_between(q, 0.999)
        assert low <= exact.quantile(q) <= high
        assert low <= drawn.quantile(q) <= high
    assert RISING.simulated(20, np.random.default_rng(5), 50, penalty=lambda r, n: r.uniform(0, 1, n)).mean > 0


def test_bounds_of_a_quantile_hold_as_often_as_they_say() -> None:
    random, inside = np.random.default_rng(3), 0
    for _ in range(400):
        low, high = Simulated(np.sort(random.uniform(size=80))).quantile_between(0.7, 0.9)
        inside += low <= 0.7 <= high
    assert inside / 400 > 0.87  # 3.2 standard errors below 0.9 would be 0.852
    few = Simulated(np.array([0.2, 0.4]))
    assert few.quantile_between(0.5) == (0.0, 1.0)
    assert few.quantile_between(1.0)[1] == 1.0
    assert few.quantile_between(0.0)[0] == 0.0
    assert (few.quantile(0), few.quantile(0.5), few.quantile(1)) == (0.2, 0.2, 0.4)
    assert Simulated(np.array([0.2])).mean_error == math.inf


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"gain": {1.0: 1.0}, "penalty": {1.0: 1.0}},
        {"prior": {0.5: 1.0}},
        {"gain": {1.0: 0.5}},
        {"gain": {math.inf: 1.0}},
        {"gain": {}},
        {"penalty": lambda x: 2.0},
        {"penalty": lambda x: 1 - uniform(0, 1e6)(x)},
    ],
)
def test_distributions_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        RISING.uncertain(20, **wrong)
    assert caught.value.remedy


@pytest.mark.parametrize("wrong", [lambda: uniform(2, 1), lambda: normal(0, 0), lambda: lognormal(0, 1),
                                   lambda: RISING.uncertain(3, gain={1.0: 1.0}).quantile(2),
                                   lambda: Simulated(np.zeros(3)).quantile(-1),
                                   lambda: Simulated(np.zeros(3)).quantile_between(0.5, 1.0)])  # fmt: skip
def test_nonsense_is_refused(wrong: Any) -> None:
    with pytest.raises(UsageError):
        wrong()


@pytest.mark.parametrize(
    ("draws", "samplers"),
    [
        (0, {"gain": lambda r, n: np.ones(n)}),
        (5, {}),
        (5, {"luck": lambda r, n: np.ones(n)}),
        (5, {"gain": lambda r, n: np.ones(n + 1)}),
        (5, {"gain": lambda r, n: -np.ones(n)}),
        (5, {"prior": lambda r, n: np.zeros(n)}),
        (5, {"detection_slope": lambda r, n: np.full(n, np.nan)}),
    ],
)
def test_samplers_are_checked(draws: int, samplers: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        RISING.simulated(5, np.random.default_rng(1), draws, **samplers)
    assert caught.value.remedy
