"""Zones against brute force over all thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.linkage import Pairs, Zones, distribution, zones_by_capacity, zones_by_errors

WEIGHTS = st.lists(st.integers(-12, 12).map(float), min_size=0, max_size=30)
SHARES = st.sampled_from([0.0, 0.001, 0.01, 0.05, 0.2, 1.0])


def pairs(weights: list[float]) -> Pairs:
    return Pairs.of(np.arange(len(weights)), np.arange(len(weights)) + 1000, weights)


def cuts(weights: list[float]) -> list[float]:
    return [*sorted(set(weights)), float("inf")]


@given(WEIGHTS, SHARES, SHARES)
def test_errors_are_kept_with_as_few_pairs_as_possible(weights: list[float], false_same: float, missed: float) -> None:
    found = pairs(weights)
    zones = zones_by_errors(found, false_same=false_same, missed=missed)
    w, p = found.weight, found.probability
    good = [
        (low, high)
        for low in cuts(weights)
        for high in cuts(weights)
        if low <= high
        and (1 - p[w >= high]).sum() <= false_same * (w >= high).sum() + 1e-9
        and p[w < low].sum() <= missed * p.sum() + 1e-9
    ]
    fewest = min(int(((w >= low) & (w < high)).sum()) for low, high in good)
    assert zones.people == fewest
    assert zones.false_same <= false_same * zones.same + 1e-9
    assert zones.missed <= missed * p.sum() + 1e-9


@given(WEIGHTS, st.integers(0, 12))
def test_capacity_is_kept_and_spent_on_the_most_uncertain(weights: list[float], review: int) -> None:
    found = pairs(weights)
    zones = zones_by_capacity(found, review=review)
    assert zones.people <= review
    w, p = found.weight, found.probability
    if len(set(weights)) == len(weights):
        doubt = np.sort(np.minimum(p, 1 - p))[::-1]
        assert zones.people == min(review, len(weights))
        assert zones.false_same + zones.missed == pytest.approx(doubt[review:].sum(), abs=1e-9)
    assert zones.different + zones.people + zones.same == len(weights)
    assert zones.missed == pytest.approx(p[w < zones.lower].sum(), abs=1e-9)


@given(WEIGHTS, st.integers(0, 12))
def test_everybody_gets_the_decision_that_was_counted(weights: list[float], review: int) -> None:
    found = pairs(weights)
    zones = zones_by_capacity(found, review=review)
    assert np.bincount(zones.of(found), minlength=3).tolist() == [zones.different, zones.people, zones.same]


@given(st.lists(st.integers(-12, 12).map(float), min_size=1, max_size=30), st.integers(1, 60))
def test_the_chart_counts_every_pair_once(weights: list[float], bins: int) -> None:
    found = pairs(weights)
    data = distribution(found, zones_by_errors(found), bins=bins)
    assert sum(data.counts) == len(weights)
    assert sum(data.expected) == pytest.approx(found.expected)
    assert data.false_same[0] == pytest.approx((1 - found.probability).sum())
    assert data.missed[0] == 0
    assert set(data.to_dict()) >= {"edges", "counts", "expected", "thresholds", "false_same", "missed", "zones"}


def test_nonsense_is_refused() -> None:
    with pytest.raises(UsageError):
        zones_by_errors(pairs([1.0]), false_same=2)
    with pytest.raises(UsageError):
        zones_by_capacity(pairs([1.0]), review=-1)
    with pytest.raises(UsageError, match="no score"):
        zones_by_errors(pairs([float("nan")]))
    with pytest.raises(UsageError, match="no pairs"):
        distribution(pairs([]), zones_by_errors(pairs([])))


def test_pairs_without_a_score_go_to_people() -> None:
    zones = Zones(0.0, 1.0, 0, 0, 0, 0.0, 0.0, 0.0)
    assert zones.of(pairs([float("nan"), -1.0, 0.5, 2.0])).tolist() == [1, 0, 1, 2]


def test_thresholds_at_infinity_are_null_in_json() -> None:
    assert zones_by_errors(pairs([]))
    assert zones_by_capacity(pairs([]), review=3).to_dict()["upper"] is None
