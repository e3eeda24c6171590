"""The least penalty, price and group size, against literal adversaries on both sides of each answer."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.attacker import Attack
from discreet.attacker.deterrence import LARGEST, deterring_penalties, deterring_prices
from discreet.attacker.piecewise import Pieces, steps
from discreet.errors import UsageError
from tests.attacker.brute import Brute, policies
from tests.attacker.strategies import PUBLISHED, attacks, wavering
from tests.examples import examples

some = settings(max_examples=examples(60), deadline=None)
limits = st.sampled_from([0.0, 0.0, 0.01, 0.1, 0.3, 0.6])


@some
@given(attack=attacks() | wavering(), size=st.integers(1, 6), limit=limits)
def test_the_least_penalty_deters_and_anything_less_does_not(attack: Attack, size: int, limit: float) -> None:
    least = attack.deterring_penalty(size, limit)
    if math.isinf(least):
        assert attack.max_penalties == 0
        assert Brute(attack, size, penalty=1e9).risk() > limit
        return
    assert replace(attack, penalty=least).known([size]).reidentification[0] <= limit + 1e-12
    assert Brute(attack, size, penalty=least * (1 + 1e-9) + 1e-9).risk() <= limit + 1e-12
    if least > 1e-3:
        assert Brute(attack, size, penalty=least * (1 - 1e-9)).risk() > limit


@settings(max_examples=examples(30), deadline=None)
@given(attack=attacks(), size=st.integers(1, 4))
def test_the_deterring_penalty_is_the_last_root_of_any_plan(attack: Attack, size: int) -> None:
    """Every plan is worth a line in the penalty; no plan pays from the largest of their roots on."""
    assume(attack.max_penalties in (None, 1) or (attack.max_penalties == 2 and size < 4))
    brute = Brute(attack, size, penalty=0.0)
    levels = 1 if attack.max_penalties is None else attack.max_penalties + 1
    roots = [Fraction(0)]
    for policy in policies(size, levels):
        worth, slope = line(brute, policy)
        worth = brute.discount * (brute.discount * worth - brute.link) - brute.access
        if worth > 0:
            assert slope < 0
            roots.append(worth / -(slope * brute.discount**2))
    assert attack.deterring_penalty(size) == pytest.approx(float(max(roots)), rel=1e-9, abs=1e-9)


def line(brute: Brute, policy: dict[tuple[int, int], bool]) -> tuple[Fraction, Fraction]:
    def from_here(tried: int, charges: int) -> tuple[Fraction, Fraction]:
        if tried == brute.size or not policy[tried, charges]:
            return Fraction(0), Fraction(0)
        right, caught, discount = brute.right[tried], brute.caught[tried], brute.discount
        due = brute.charged(charges)
        clean, fined = from_here(tried + 1, charges), from_here(tried + 1, charges + (brute.most is not None and due))
        later = [(1 - right) * ((1 - caught) * one + caught * other) for one, other in zip(clean, fined, strict=True)]
        worth = -brute.exploit + discount * (right * brute.gain + later[0])
        return worth, discount * (-caught * due + later[1])

    return from_here(0, 0)


@some
@given(attack=attacks(), size=st.integers(1, 5), limit=limits)
def test_the_least_price_deters_and_anything_less_does_not(attack: Attack, size: int, limit: float) -> None:
    least = attack.deterring_price(size, limit)
    brute = Brute(attack, size, access_cost=0.0)
    assert replace(attack, access_cost=least).known([size]).reidentification[0] <= limit + 1e-12
    if least == 0:
        assert brute.risk() <= limit + 1e-12 or float(brute.raw) < 1e-9
    else:
        assert least == pytest.approx(float(brute.raw), rel=1e-9)
        assert Brute(attack, size, access_cost=least * (1 - 1e-9)).risk() > limit


@some
@given(attack=attacks(), weights=st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any))
def test_the_price_for_a_belief(attack: Attack, weights: list[int]) -> None:
    attack = replace(attack, exploit_cost=attack.exploit_cost + 40)
    belief = [weight / sum(weights) for weight in weights]
    least = attack.deterring_price(belief=belief)
    expected = sum(chance * float(Brute(attack, size).with_table) for size, chance in enumerate(belief))
    assert least == pytest.approx(attack.discount * expected, rel=1e-9, abs=1e-9)
    dear = replace(attack, access_cost=least)
    assert not dear.unknown(belief=[belief], sizes=[1]).accesses[0]
    if least > 1e-6:
        assert replace(attack, access_cost=least * (1 - 1e-9)).unknown(belief=[belief], sizes=[1]).accesses[0]


def test_the_price_for_a_binomial_belief() -> None:
    attack, n = Attack(**PUBLISHED), 100_000
    density = [20 / n, 60 / n, 500 / n]
    prices = deterring_prices(attack, density=density, external_size=n)
    assert (np.diff(prices) < 0).all()
    for q, price in zip(density, prices, strict=True):
        assert attack.deterring_price(density=q, external_size=n) == pytest.approx(price)
        assert not replace(attack, access_cost=float(price)).unknown([q], n, [20]).accesses[0]
        if price > 1e-6:
            assert replace(attack, access_cost=price * (1 - 1e-9)).unknown([q], n, [20]).accesses[0]
    # A real group that he would leave alone once he sees it, or less risk than the limit: nothing need be charged.
    assert attack.deterring_price(60, 0.1, density=20 / n, external_size=n) == 0
    assert attack.deterring_price(10, 0.1, density=20 / n, external_size=n) == pytest.approx(prices[0])
    with pytest.raises(UsageError):
        attack.deterring_price(max_risk=0.1, density=20 / n, external_size=n)


@some
@given(attack=attacks(), limit=limits)
def test_the_least_size(attack: Attack, limit: float) -> None:
    """Looked at one by one, up to where he has long stopped."""
    costly = replace(attack, exploit_cost=attack.exploit_cost + 10)
    last = 700  # beyond 5000 / 10 even a sure gain does not pay for the exploits
    risks = costly.known(np.arange(1, last)).reidentification
    risky = np.flatnonzero(risks > (limit + 1e-12 if limit else 0))
    assert costly.least_size(limit) == (int(risky[-1]) + 2 if len(risky) else 1)


@pytest.mark.parametrize("gain", [50, 100, 200, 250])
def test_the_least_size_against_literal_adversaries(gain: int) -> None:
    attack = Attack(
        prior=0.8, gain=gain, access_cost=5, link_cost=1, exploit_cost=20, penalty=80, max_penalties=1,
        detection_intercept=-1.5, detection_slope=0.4,
    )  # fmt: skip
    for limit in (0.0, 0.2, 0.5):
        risks = [Brute(attack, one).risk() for one in range(1, 11)]
        assert risks[-1] == 0
        risky = [one for one, risk in enumerate(risks, start=1) if risk > limit]
        assert attack.least_size(limit) == max(risky, default=0) + 1


def test_the_least_sizes_of_the_paper() -> None:
    assert Attack(**PUBLISHED).least_size() == 45
    assert Attack(**PUBLISHED, max_penalties=1).least_size() == 48
    assert Attack(**PUBLISHED, detection_slope=0.18).least_size() == 29
    assert Attack(**PUBLISHED, detection_slope=0.18).least_size(0.62) == 14
    assert Attack(**PUBLISHED).least_size(0.63) == 1


def test_risk_need_not_fall_with_the_size_once_penalties_are_limited() -> None:
    """Why the least size is looked for from above: a fined adversary has nothing to fear and goes on."""
    attack = Attack(
        prior=0.5, gain=1100, access_cost=0, link_cost=0, exploit_cost=6, penalty=450, max_penalties=1,
        detection_intercept=-1.0, detection_slope=0.3,
    )  # fmt: skip
    risks = attack.known(np.arange(1, 40)).reidentification
    assert risks[4] > risks[3] + 0.02
    assert Brute(attack, 5).risk() > Brute(attack, 4).risk() + 0.02
    for limit in np.unique(risks)[:-1]:
        least = attack.least_size(float(limit))
        assert least is not None
        assert (risks[least - 1 :] <= limit + 1e-12).all()
        assert risks[least - 2] > limit + 1e-12


def test_groups_beyond_the_table() -> None:
    patient = Attack(prior=1, gain=10_000, access_cost=20, link_cost=0, exploit_cost=0, penalty=0, max_penalties=0)
    least = patient.least_size()
    assert least is not None
    assert least > 2**11
    assert patient.known([least - 1]).accesses[0]
    assert not patient.known([least]).accesses[0]


def test_an_adversary_whom_nothing_deters() -> None:
    fearless = Attack(prior=1.0, gain=1e9, access_cost=0, link_cost=0, exploit_cost=0, penalty=0, max_penalties=0)
    assert fearless.least_size() is None
    assert fearless.known([LARGEST]).accesses[0]
    assert fearless.least_size(1.0) == 1
    assert fearless.deterring_penalty(3) == math.inf
    assert replace(fearless, max_penalties=None, detection_intercept=-800).deterring_penalty(3) == math.inf
    assert fearless.deterring_penalty(3, 1.0) == 0
    assert fearless.deterring_penalty(0) == 0


def test_an_adversary_detected_only_later() -> None:
    """The first exploit is never detected, later ones surely: he stops at one, whatever the penalty."""
    careful = Attack(
        prior=1.0, gain=100, access_cost=0, link_cost=0, exploit_cost=1, penalty=0, detection_intercept=-800,
        detection_slope=900,
    )  # fmt: skip
    assert careful.deterring_penalty(4) == math.inf
    least = careful.deterring_penalty(4, 0.3)
    assert 0 < least < math.inf
    assert replace(careful, penalty=least).known([4]).reidentification[0] == pytest.approx(0.25)
    assert replace(careful, penalty=least * (1 - 1e-9)).known([4]).reidentification[0] > 0.3


def test_many_sizes_at_once() -> None:
    attack = Attack(**PUBLISHED, detection_slope=0.18, max_penalties=2)
    sizes = [30, 0, 5, 5]
    assert deterring_penalties(attack, sizes, 0.1).tolist() == [attack.deterring_penalty(size, 0.1) for size in sizes]
    assert deterring_prices(attack, sizes, 0.1).tolist() == [attack.deterring_price(size, 0.1) for size in sizes]
    assert len(deterring_penalties(attack, [])) == 0


@some
@given(attack=attacks() | wavering(), size=st.integers(0, 6), along=st.sampled_from(["penalty", "gain"]))
def test_the_steps_are_all_there_is(attack: Attack, size: int, along: Any) -> None:
    """Between two steps the literal risk is the one claimed, and just beyond each it is another."""
    found = steps(attack, [size], along)[0]
    assert (np.diff(found.risks) < 0).all()
    sign = 1 if along == "penalty" else -1
    edges = [*found.starts.tolist(), 0.0 if along == "gain" else found.starts[-1] * 2 + 100]
    edges[0] = 0.0 if along == "penalty" else min(edges[1] * 2, 0.0) - 100
    for low, high, risk in zip(edges[:-1], edges[1:], found.risks, strict=True):
        if high - low > 1e-6 * max(1.0, abs(high)):
            for share in (0.001, 0.5, 0.999):
                brute = Brute(attack, size, **{along: abs(low + share * (high - low)) * 1.0})
                assert sign * (low + share * (high - low)) >= 0
                if brute.closest() > 1e-9:
                    assert brute.risk() == pytest.approx(risk, abs=1e-9)


@some
@given(attack=wavering(), size=st.integers(2, 9))
def test_each_limit_is_met_where_its_step_begins(attack: Attack, size: int) -> None:
    found = steps(attack, [size], "penalty")[0]
    for place, (start, risk) in enumerate(zip(found.starts, found.risks, strict=True)):
        assert attack.deterring_penalty(size, float(risk)) == pytest.approx(start, rel=1e-9, abs=1e-9)
        if place:
            between = (risk + found.risks[place - 1]) / 2
            assert attack.deterring_penalty(size, float(between)) == pytest.approx(start, rel=1e-9, abs=1e-9)


@some
@given(attack=attacks(), size=st.integers(0, 30))
def test_the_pieces_are_the_plan(attack: Attack, size: int) -> None:
    plan = attack.known([size])
    for along, amount in (("penalty", attack.penalty), ("gain", -attack.gain)):
        found = Pieces.of(attack, np.array([size]), along=along)  # type: ignore[arg-type]
        worth = found.constant + found.slope * amount
        assert worth == pytest.approx(plan.value_raw, abs=1e-9 * max(1, attack.gain))
        if abs(plan.value_raw[0]) > 1e-9 and found.end[0] - amount > 1e-9 * abs(amount):
            assert found.risk == pytest.approx(plan.reidentification, abs=1e-9)


@pytest.mark.parametrize("limit", [-0.1, 1.1, math.nan, "much", True])
def test_limits_are_probabilities(limit: Any) -> None:
    attack = Attack(**PUBLISHED)
    for ask in (attack.deterring_penalty, attack.deterring_price):
        with pytest.raises(UsageError, match="max_risk"):
            ask(5, limit)
    with pytest.raises(UsageError, match="max_risk"):
        attack.least_size(limit)


@pytest.mark.parametrize("size", [-1, 1.5, "a", None])
def test_sizes_are_numbers_of_people(size: Any) -> None:
    with pytest.raises(UsageError):
        Attack(**PUBLISHED).deterring_penalty(size)
    with pytest.raises(UsageError):
        Attack(**PUBLISHED).deterring_price(size)
