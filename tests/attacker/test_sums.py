"""Sums over long ways: by formula what adding up gives, in a moment and without memory."""

from __future__ import annotations

import resource
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attacker import Attack
from discreet.attacker.case_study import PUBLISHED
from discreet.attacker.sums import ADDED, detections, discounted
from tests.examples import examples

FAR = ADDED + ADDED // 3
HIS = Attack.from_dict(PUBLISHED)


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
    described = {**PUBLISHED, "gain": gain, "exploit_cost": 0.0, "penalty": 0.0, "detection_slope": slope}
    plan = Attack.from_dict({**described, "discount": discount}).known([size])
    assert 0 <= plan.expected_penalties[0] <= max(plan.expected_exploits[0], 0) * (1 + 1e-9)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    Attack.from_dict({**described, "discount": discount}).known([10**9])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < 1 << 20  # KiB
