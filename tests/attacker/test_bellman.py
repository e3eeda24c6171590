"""Planning goes no further than it is asked to, and what is skipped makes no difference."""

from __future__ import annotations

import resource
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attacker import Attack, bellman
from discreet.attacker.bellman import ADDED, Horizon, PlanTable, detections, discounted
from discreet.errors import UsageError
from discreet.reference.case_study import PUBLISHED as CASE_STUDY_PUBLISHED
from tests.attacker.strategies import PUBLISHED, attacks, wavering
from tests.examples import examples

some = settings(max_examples=examples(60), deadline=None)
reckless = Attack(**{**PUBLISHED, "exploit_cost": 0, "penalty": 10, "discount": 1}, max_penalties=1)
"""Starts in any group, though there is no closed form."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything beyond a few sizes is far."""
    for name, value in {"FIRST": 4, "NEAR": 16, "MOST": 64, "MOST_BY_FORMULA": 64, "PROBES": 3}.items():
        monkeypatch.setattr(bellman, name, value)


@pytest.mark.usefixtures("small")
@settings(max_examples=examples(150), deadline=None)
@given(attack=attacks() | wavering())
def test_thresholds_are_the_first_sizes_of_the_whole_table(attack: Attack) -> None:
    whole = PlanTable.of(attack, np.arange(1, 65))
    marks = (
        whole.exploits < whole.sizes,
        -attack.access_cost + attack.discount * whole.access <= 0,
        whole.access <= 0,
    )
    expected = [int(np.argmax(mark)) + 1 if mark.any() else None for mark in marks]
    found = Horizon(attack).thresholds()
    assert [found.stops_early, found.no_access, found.no_exploit] == expected


@pytest.mark.usefixtures("small")
@some
@given(attack=attacks() | wavering(), sizes=st.lists(st.integers(0, 100), min_size=1, max_size=8))
def test_plans_are_those_of_the_whole_table(attack: Attack, sizes: list[int]) -> None:
    whole, found = PlanTable.of(attack, np.arange(101)).at(np.array(sizes)), Horizon(attack).plans(np.array(sizes))
    for name in ("start", "access", "exploits", "success", "tries", "penalties"):
        np.testing.assert_allclose(getattr(found, name), getattr(whole, name), rtol=1e-9, atol=1e-9, err_msg=name)


@some
@given(attack=attacks(), sizes=st.lists(st.integers(0, 12), min_size=1, max_size=4))
def test_more_penalties_than_people_are_no_limit(attack: Attack, sizes: list[int]) -> None:
    often, always = (replace(attack, max_penalties=most) for most in (10**9, None))
    for name in ("value_raw", "exploits", "reidentification", "expected_penalties"):
        assert getattr(often.known(sizes), name).tolist() == getattr(always.known(sizes), name).tolist()
        assert getattr(often.unconfirmed(sizes, true_positive=0.9), name).tolist() == pytest.approx(
            getattr(always.unconfirmed(sizes, true_positive=0.9), name).tolist()
        )
    assert often.deterring_penalty(sizes[0]) == always.deterring_penalty(sizes[0])


@some
@given(attack=attacks(), size=st.integers(1, 30))
def test_nobody_is_exploited_where_linking_does_not_pay(attack: Attack, size: int) -> None:
    """The list is paid for, linking is not: if that is not worth it, he tries nobody."""
    dear = replace(attack, link_cost=attack.gain + 1)
    assert dear.known([size]).start_value == attack.known([size]).start_value
    assert dear.known([size]).exploits[0] == dear.unconfirmed([size]).exploits[0] == 0
    assert dear.thresholds().no_exploit == dear.thresholds().stops_early == 1


def test_only_what_is_asked_for_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[int] = []
    original = PlanTable.of

    def noted(parameters: Any, sizes: Any) -> PlanTable:
        planned.append(int((sizes.astype(float) + 1).sum()))
        return original(parameters, sizes)

    monkeypatch.setattr(PlanTable, "of", noted)
    reckless.known([100])
    replace(reckless, max_penalties=50).known([3000])
    reckless.thresholds()
    assert sum(planned) < 1_000_000  # the whole table has more than 30 million entries


def test_groups_of_any_size_are_answered_at_once() -> None:
    usual, huge = Attack(**PUBLISHED), [10**7, 2**50]
    assert not usual.known(huge).accesses.any()
    assert not usual.unconfirmed(huge, true_positive=0.9).accesses.any()
    assert [usual.deterring_penalty(size) for size in huge] == [0, 0]
    careless = Attack(**{**PUBLISHED, "exploit_cost": 0, "penalty": 0})
    assert careless.known([10**7]).start_value == pytest.approx(0.9 * 0.63e-7 * 8000 / 0.1)
    timeless = replace(careless, discount=1.0)
    assert timeless.known([10**7]).expected_exploits == pytest.approx(10**7 * (1 - 0.63 / 2))


def test_groups_that_would_take_too_long_are_refused() -> None:
    for ask in (
        lambda: reckless.known([10**7]),
        lambda: reckless.unconfirmed([10**7]),
        lambda: reckless.uncertain(10**7, gain={1.0: 1.0}),
        lambda: reckless.simulated(10**7, np.random.default_rng(1), 10, gain=lambda random, many: np.ones(many)),
    ):
        with pytest.raises(UsageError, match="65,536"):
            ask()


def test_enormous_amounts_do_not_overflow() -> None:
    found = Attack(**{**PUBLISHED, "gain": 1e300}).unknown([1e-6, 0.5], 100, [1, 2])
    assert np.isfinite(found.value_raw).all()
    assert found.accesses.all()


FAR = ADDED + ADDED // 3
HIS = Attack.from_dict(CASE_STUDY_PUBLISHED)


def by_adding(terms: np.ndarray) -> tuple[float, float]:
    steps = np.arange(len(terms), dtype=np.float64)
    return float(terms.sum()), float((steps * terms).sum())


@pytest.mark.parametrize("slope", [1e-9, -1e-9, 3e-7, -3e-7, 2e-6, -2e-6, 5e-5, -5e-5, 1e-3, -1e-3, 0.3, -0.3, 5e-324])
@pytest.mark.parametrize("intercept", [-4.59, 6.0, -40.0])
def test_detections_far_out_are_what_adding_gives(slope: float, intercept: float) -> None:
    p = replace(HIS, detection_slope=slope, detection_intercept=intercept)
    plain, rising = detections(p, np.array([0, 1, 5, ADDED, FAR]))
    for place, size in enumerate((0, 1, 5, ADDED, FAR)):
        expected = by_adding(p.detection(np.arange(size)))
        assert (plain[place], rising[place]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("less", [1e-13, 1e-11, 3e-11, 1e-9, 1e-7, 1e-6, 1e-5])
def test_discounts_close_to_one_are_what_adding_gives(less: float) -> None:
    gamma = 1 - less
    plain, rising = discounted(gamma, np.array([3, ADDED, FAR]))
    for place, size in enumerate((3, ADDED, FAR)):
        expected = by_adding(gamma ** np.arange(size, dtype=np.float64))
        assert (plain[place], rising[place]) == pytest.approx(expected, rel=1e-9)


@settings(max_examples=examples(60), deadline=None)
@given(
    slope=st.floats(-1, 1),
    discount=st.one_of(st.floats(0.5, 1), st.floats(0, 1e-6).map(lambda less: 1 - less)),
    gain=st.floats(0, 1e12),
    size=st.integers(1, 10**9),
)
def test_no_group_is_too_large_for_somebody_who_risks_nothing(
    slope: float, discount: float, gain: float, size: int
) -> None:
    described = {**CASE_STUDY_PUBLISHED, "gain": gain, "exploit_cost": 0.0, "penalty": 0.0, "detection_slope": slope}
    plan = Attack.from_dict({**described, "discount": discount}).known([size])
    assert 0 <= plan.expected_penalties[0] <= max(plan.expected_exploits[0], 0) * (1 + 1e-9)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    Attack.from_dict({**described, "discount": discount}).known([10**9])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < 1 << 20  # KiB
