"""Isotonic calibration: against scikit-learn, and its promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from discreet.errors import DataError
from discreet.linkage import Labels, Pairs, calibrate, calibration_error, sample_to_label
from discreet.linkage.calibrating import Calibration, calibration, pooled
from discreet.linkage.matching.pairs import probability_of
from tests.linkage.conftest import Sample

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
