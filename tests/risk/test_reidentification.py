"""The three adversaries, person by person and in exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernel.arrays import Ints
from discreet.risk import Band, bands, journalist, marketer, prosecutor
from tests.risk.strategies import crowds, few, sizes, some

thresholds = st.one_of(st.floats(0.001, 1), st.integers(1, 60).map(lambda crowd: 1 / crowd))


def people_of(sample: Ints, crowd: Ints) -> list[int]:
    """For every person of the sample, the crowd they hide in."""
    return [int(around) for size, around in zip(sample, crowd, strict=True) for _ in range(size)]


def average(crowds_of_people: list[int]) -> Fraction:
    return sum((Fraction(1, crowd) for crowd in crowds_of_people), Fraction()) / len(crowds_of_people)


@some
@given(sizes, thresholds)
def test_the_prosecutor_looks_among_the_people_in_the_data(sample: Ints, threshold: float) -> None:
    found, everybody = prosecutor(sample, threshold=threshold), people_of(sample, sample)
    assert found.at_risk == sum(1 / crowd > threshold for crowd in everybody) / len(everybody)
    assert found.highest == max(1 / crowd for crowd in everybody)
    assert found.success == pytest.approx(float(average(everybody)), rel=1e-12)
    assert found.success == len(sample) / len(everybody)


@some
@given(crowds(), thresholds)
def test_the_journalist_looks_among_the_people_of_the_population(drawn: tuple[Ints, Ints], threshold: float) -> None:
    sample, population = drawn
    found, everybody = journalist(sample, population, threshold=threshold), people_of(sample, population)
    mean, classes = average(everybody), Fraction(len(sample), int(population.sum()))
    assert found.at_risk == sum(1 / crowd > threshold for crowd in everybody) / len(everybody)
    assert found.highest == max(1 / crowd for crowd in everybody)
    assert found.success == pytest.approx(float(max(mean, classes)), rel=1e-12)


@some
@given(crowds())
def test_the_marketer_gets_the_average_right(drawn: tuple[Ints, Ints]) -> None:
    assert marketer(*drawn) == pytest.approx(float(average(people_of(*drawn))), rel=1e-12)


@few
@given(sizes, thresholds)
def test_without_a_population_all_three_are_one(sample: Ints, threshold: float) -> None:
    alone, among = prosecutor(sample, threshold=threshold), journalist(sample, sample, threshold=threshold)
    assert (alone.at_risk, alone.highest) == (among.at_risk, among.highest)
    assert alone.success == pytest.approx(among.success)
    assert alone.success == pytest.approx(marketer(sample, sample))


@few
@given(crowds(), thresholds)
def test_a_larger_crowd_never_raises_a_risk(drawn: tuple[Ints, Ints], threshold: float) -> None:
    sample, population = drawn
    near, far = prosecutor(sample, threshold=threshold), journalist(sample, population, threshold=threshold)
    assert far.at_risk <= near.at_risk
    assert far.highest <= near.highest
    assert far.success <= near.success * (1 + 1e-12)


def test_the_journalist_takes_the_better_of_his_two_ways() -> None:
    sample, population = np.array([1, 9]), np.array([1, 90])
    assert journalist(sample, population, threshold=0.2).success == pytest.approx((1 + 9 / 90) / 10)
    sample, population = np.array([1, 9]), np.array([3, 9])
    assert journalist(sample, population, threshold=0.2).success == pytest.approx(2 / 12)


@pytest.mark.parametrize(("threshold", "at_risk"), [(0.2, 0.5), (0.25, 0.1), (0.1999, 1.0), (1.0, 0.0), (0.5, 0.1)])
def test_only_risks_strictly_above_the_threshold_count(threshold: float, at_risk: float) -> None:
    assert prosecutor(np.array([1, 4, 5]), threshold=threshold).at_risk == at_risk


def test_risks_go_into_json_under_their_names() -> None:
    assert prosecutor(np.array([2, 2]), threshold=0.2).to_dict() == {"at_risk": 1.0, "highest": 0.5, "success": 0.5}


# bands


@some
@given(st.lists(st.integers(1, 30_000), max_size=30))
def test_bands_share_out_the_people_without_overlap(numbers: list[int]) -> None:
    sample = np.array(numbers, dtype=np.int64)
    found = bands(sample)
    for band in found:
        inside = [size for size in numbers if band.smallest <= size <= (band.largest or size)]
        assert (band.classes, band.records) == (len(inside), sum(inside))
    assert sum(band.records for band in found) == sum(numbers)
    assert sum(band.classes for band in found) == len(numbers)


def test_bands_follow_each_other_without_a_gap() -> None:
    found = bands(np.array([1]))
    assert found[0].smallest == 1
    assert found[-1].largest is None
    assert [band.largest for band in found[:-1]] == [band.smallest - 1 for band in found[1:]]


@few
@given(crowds())
def test_bands_of_a_crowd_count_the_people_of_the_sample(drawn: tuple[Ints, Ints]) -> None:
    sample, population = drawn
    for band in bands(sample, population):
        inside = [
            n for n, crowd in zip(sample, population, strict=True) if band.smallest <= crowd <= (band.largest or crowd)
        ]
        assert (band.classes, band.records) == (len(inside), sum(inside))


@pytest.mark.parametrize(
    ("band", "label"),
    [(Band(1, 1, 0, 0), "1"), (Band(1000, 9999, 0, 0), "1,000 to 9,999"), (Band(10_000, None, 0, 0), "10,000 or more")],
)
def test_bands_are_told_in_words(band: Band, label: str) -> None:
    assert band.label == label
