"""Isotonic calibration: against scikit-learn, and its promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from discreet.errors import DataError
from discreet.linkage import Labels, calibrate, calibration_error, sample_to_label
from discreet.linkage.calibrating import Calibration, calibration, pooled
from discreet.linkage.pairs import probability_of
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


def test_labels_make_probabilities_meet_the_truth(sample: Sample) -> None:
    """Twins deceive the model; labels tell."""
    pairs, same = sample.found.pairs, sample.same
    chosen, stands = sample_to_label(pairs, 200, seed=1)
    labels = Labels(pairs.where(chosen), same[chosen], stands)
    better = calibrate(sample.folder, pairs, labels).applied(pairs)
    assert better.calibrated
    assert calibration_error(better.probability, same) < calibration_error(pairs.probability, same)
    assert better.expected == pytest.approx(same.sum(), rel=0.05)


def test_too_few_labels_are_refused(sample: Sample) -> None:
    pairs = sample.found.pairs.where(np.arange(5))
    with pytest.raises(DataError, match="5 labels"):
        calibrate(sample.folder, sample.found.pairs, Labels(pairs, np.array([True, False, True, False, True])))


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60))
def test_the_error_is_a_share(points: list[tuple[float, bool]]) -> None:
    probability, same = (np.array(column) for column in zip(*points, strict=True))
    assert 0 <= calibration_error(probability, same) <= 1
    assert calibration_error(same.astype(float), same) == 0
