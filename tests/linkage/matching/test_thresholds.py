"""Isotonic calibration: against scikit-learn, and its promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from discreet.errors import DataError, UsageError
from discreet.linkage import (
    Labels,
    Pairs,
    Zones,
    calibrate,
    calibration_error,
    distribution,
    sample_to_label,
    zones_by_capacity,
    zones_by_errors,
)
from discreet.linkage.matching.pairs import probability_of
from discreet.linkage.matching.thresholds import Calibration, at_most, calibration, pooled
from tests.linkage.conftest import Sample

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


WEIGHTED = st.lists(st.tuples(st.integers(-8, 8), st.booleans(), st.integers(1, 9)), min_size=1, max_size=40)


@settings(deadline=None)  # scikit-learn takes its time when it is first called
@given(st.lists(st.tuples(st.floats(-10, 10), st.floats(0.1, 5)), min_size=1, max_size=50))
def test_pooling_is_isotonic_regression(points: list[tuple[float, float]]) -> None:
    values, weights = (np.array(column) for column in zip(*points, strict=True))
    theirs = IsotonicRegression().fit_transform(np.arange(len(values)), values, sample_weight=weights)
    assert np.allclose(pooled(values, weights), theirs, atol=1e-9)


@settings(deadline=None)
@given(WEIGHTED)
def test_calibration_at_the_labels_is_isotonic_regression(points: list[tuple[int, bool, int]]) -> None:
    weight, same, counts = (np.array(column) for column in zip(*points, strict=True))
    ours = calibration(weight.astype(float), same, counts.astype(float))
    theirs = IsotonicRegression(y_min=0, y_max=1).fit(weight, same, sample_weight=counts)
    assert np.allclose(ours(weight.astype(float)), theirs.predict(weight), atol=1e-9)


@given(WEIGHTED)
def test_a_label_that_counts_thrice_is_three_labels(points: list[tuple[int, bool, int]]) -> None:
    weight, same, counts = (np.array(column) for column in zip(*points, strict=True))
    once = calibration(weight.astype(float), same, counts.astype(float))
    each = calibration(np.repeat(weight, counts).astype(float), np.repeat(same, counts))
    grid = np.linspace(-12, 12, 97)
    assert np.allclose(once(grid), each(grid), atol=1e-9)


@given(WEIGHTED)
def test_order_is_kept_and_values_are_probabilities(points: list[tuple[int, bool, int]]) -> None:
    weight, same, _ = (np.array(column) for column in zip(*points, strict=True))
    found = calibration(weight.astype(float), same)(np.linspace(-30, 30, 301))
    assert (np.diff(found) >= -1e-12).all()
    assert ((found >= 0) & (found <= 1)).all()


def test_beyond_the_labels_the_model_speaks_as_far_as_it_keeps_the_order() -> None:
    found = calibration(np.array([-1.0, 1.0]), np.array([False, True]))
    assert found(np.array([-5.0, 5.0])).tolist() == [0.0, 1.0]
    flat = calibration(np.array([-1.0, 0.0, 1.0]), np.array([True, False, True]))
    assert flat(np.array([-5.0]))[0] == pytest.approx(probability_of(np.array([-5.0]))[0])


def test_it_survives_json() -> None:
    found = calibration(np.array([-1.0, 0.0, 1.0]), np.array([True, False, True]))
    again = Calibration.from_dict(found.to_dict())
    assert np.array_equal(again(np.linspace(-3, 3, 9)), found(np.linspace(-3, 3, 9)))
    assert repr(again) == "Calibration(3 labels, 3 knots)"


def test_with_all_labels_nothing_that_keeps_the_order_is_nearer(sample: Sample) -> None:
    """The model's own probabilities keep the order too, so isotonic regression is at least as near to the truth."""
    pairs, same = sample.found.pairs, sample.same
    better = calibrate(sample.folder, pairs, Labels(pairs, same)).applied(pairs)
    assert better.calibrated
    assert ((better.probability - same) ** 2).mean() <= ((pairs.probability - same) ** 2).mean()
    assert better.expected == pytest.approx(same.sum())


def test_a_sample_of_labels_tells_how_many_pairs_are_true(sample: Sample) -> None:
    pairs, same = sample.found.pairs, sample.same
    chosen, stands = sample_to_label(pairs, 200, seed=1)
    better = calibrate(sample.folder, pairs, Labels(pairs.where(chosen), same[chosen], stands)).applied(pairs)
    assert better.expected == pytest.approx(same.sum(), rel=0.05)


def test_a_cautious_model_is_mended_by_a_sample_of_labels() -> None:
    """The truth is three times as sure as the model, and shifted; checked on pairs that were not labelled."""
    rng = np.random.default_rng(1)
    weight = np.concatenate([rng.normal(-6, 3, 20_000), rng.normal(4, 3, 3_000)])
    same = rng.random(len(weight)) < probability_of(3 * weight + 4)
    pairs = Pairs.of(np.arange(len(weight)), np.arange(len(weight)) + 50_000, weight)
    chosen, stands = sample_to_label(pairs, 600, seed=2)
    rest = ~np.isin(np.arange(len(weight)), chosen)
    found = calibration(weight[chosen], same[chosen], stands)(weight[rest])
    assert calibration_error(found, same[rest]) < 0.25 * calibration_error(pairs.probability[rest], same[rest])


def test_too_few_labels_are_refused(sample: Sample) -> None:
    pairs = sample.found.pairs.where(np.arange(5))
    with pytest.raises(DataError, match="5 labels"):
        calibrate(sample.folder, sample.found.pairs, Labels(pairs, np.array([True, False, True, False, True])))


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60))
def test_the_error_is_a_share(points: list[tuple[float, bool]]) -> None:
    probability, same = (np.array(column) for column in zip(*points, strict=True))
    assert 0 <= calibration_error(probability, same) <= 1
    assert calibration_error(same.astype(float), same) == 0


@given(st.integers(1, 60), st.data())
def test_a_sample_bounds_the_share_as_clopper_and_pearson_do(labels: int, data: st.DataObject) -> None:
    from scipy.stats import beta

    wrong = data.draw(st.integers(0, labels))
    found = at_most(np.arange(labels) < wrong, np.full(labels, 3.0))
    expected = 1.0 if wrong == labels else beta.ppf(0.95, wrong + 1, labels - wrong)
    assert found == pytest.approx(expected, abs=1e-6)


def test_unequal_labels_are_worth_fewer() -> None:
    even, uneven = (
        at_most(np.zeros(50, dtype=bool), counts) for counts in (np.ones(50), np.append(np.ones(49), 100.0))
    )
    assert even is not None
    assert uneven is not None
    assert even < uneven
    assert at_most(np.zeros(0, dtype=bool), np.zeros(0)) is None
