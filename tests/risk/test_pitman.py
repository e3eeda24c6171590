"""Uniques by Pitman: the likelihood and its ridge, recovery of known populations, edges."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from discreet.risk import population as model
from discreet.risk.population import observe, pitman_uniques

Ints = NDArray[np.int64]


def log_likelihood(sizes: list[int], theta: complex, alpha: complex) -> complex:
    """The formula as it is written, term by term; complex arguments give derivatives without cancellation."""
    classes, people = len(sizes), sum(sizes)
    return complex(
        np.log(theta + np.arange(1, classes) * alpha).sum()
        - np.log(theta + np.arange(1, people)).sum()
        + sum(np.log(np.arange(1, size) - alpha).sum() for size in sizes)
    )


@pytest.mark.parametrize(
    ("theta", "alpha"), [(5.0, 0.4), (-0.2, 0.3), (300.0, 0.99), (1e5, 1e-7), (2e9, 0.2), (0.01, 1e-3), (7.0, 0.0)]
)
def test_pitman_scores_are_the_gradient_of_the_likelihood(theta: float, alpha: float) -> None:
    sizes, step = [1] * 30 + [2] * 8 + [3, 3, 40], 1e-30
    sample = observe(np.array(sizes), 10**6)
    at = theta + alpha, alpha, 1 - alpha
    by_theta = log_likelihood(sizes, theta + 1j * step, alpha).imag / step
    by_alpha = log_likelihood(sizes, theta, alpha + 1j * step).imag / step
    assert model._score_theta(sample, *at) == pytest.approx(by_theta, rel=1e-9)
    assert model._score_alpha(sample, *at) == pytest.approx(by_alpha, rel=1e-9)


def partitions(people: int, largest: int) -> Iterator[list[int]]:
    if people == 0:
        yield []
    for size in range(min(people, largest), 0, -1):
        for rest in partitions(people - size, size):
            yield [size, *rest]


def test_the_ridge_of_the_likelihood_turns_at_most_once_for_every_partition_of_18_people() -> None:
    alpha = special.expit(np.linspace(-14, 14, 41))
    for people in range(3, 19):
        inner = np.cumsum([0 * alpha, *(1 / (i - alpha) for i in range(1, people))], axis=0)
        across = {u: climbing(u, people, alpha) for u in range(2, people)}
        for sizes in partitions(people, people):
            if 1 < len(sizes) < people:
                rises = across[len(sizes)] - inner[np.array(sizes) - 1].sum(axis=0) > 0
                assert not (np.diff(rises.astype(int)) > 0).any(), sizes


def climbing(classes: int, people: int, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """The part of d log L / dα that the classes share, at the best θ for each α, by bisection on plain sums."""
    low, high = np.full(alpha.shape, -40.0), np.full(alpha.shape, 2 * math.log(people))
    i, j = np.arange(1, classes)[:, None], np.arange(1, people)[:, None]
    for _ in range(70):
        middle = (low + high) / 2
        theta = np.exp(middle) - alpha
        rises = (1 / (theta + i * alpha)).sum(axis=0) > (1 / (theta + j)).sum(axis=0)
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return np.asarray((i / (np.exp(low) - alpha + i * alpha)).sum(axis=0))


@pytest.mark.parametrize(
    "sizes",
    [[1, 2], [1, 1, 3], [1, 9], [2, 2, 2], [1] * 50 + [2], [1] * 50 + [30], [3] * 4 + [1], [1] * 9 + [2] * 5 + [40]],
)
def test_no_pair_of_parameters_is_likelier_than_the_fit(sizes: list[int]) -> None:
    above, alpha, _ = model._fit(observe(np.array(sizes), 10**6))
    best = log_likelihood(sizes, above - alpha, alpha).real
    for other in np.linspace(0, 0.999, 40):
        for log_above in np.linspace(-12, 12, 60):
            assert log_likelihood(sizes, np.exp(log_above) - other, other).real <= best + 1e-9


def pitman_yor(rng: np.random.Generator, people: int, theta: float, alpha: float) -> Ints:
    """Seat people one by one: a new class with probability (θ + α u) / (θ + i), else a class of size s ∝ s − α."""
    seats, sizes = np.zeros(people, dtype=np.int64), [1]
    for i in range(1, people):
        chosen = len(sizes)
        if rng.random() * (theta + i) >= theta + alpha * len(sizes):
            chosen = int(seats[int(rng.random() * i)])
            while rng.random() * sizes[chosen] >= sizes[chosen] - alpha:
                chosen = int(seats[int(rng.random() * i)])
        else:
            sizes.append(0)
        seats[i] = chosen
        sizes[chosen] += 1
    return seats


@pytest.mark.parametrize(("theta", "alpha"), [(200.0, 0.3), (500.0, 0.5), (1000.0, 0.1)])
def test_pitman_recovers_parameters_and_uniques_of_a_pitman_yor_population(theta: float, alpha: float) -> None:
    seats = pitman_yor(np.random.default_rng(1), 60_000, theta, alpha)
    sizes = np.bincount(seats[:6000])  # seats are exchangeable: the first are a random sample
    above, found, _ = model._fit(observe(sizes, 60_000))
    assert found == pytest.approx(alpha, abs=0.04)
    assert above - found == pytest.approx(theta, rel=0.25)
    assert pitman_uniques(observe(sizes, 60_000)) == pytest.approx((np.bincount(seats) == 1).sum(), rel=0.15)


@pytest.mark.parametrize(("theta", "alpha"), [(-0.3, 0.8), (2.0, 0.8), (20.0, 0.6)])
def test_pitman_recovers_alpha_where_theta_is_too_small_to_be_told(theta: float, alpha: float) -> None:
    sizes = np.bincount(pitman_yor(np.random.default_rng(1), 20_000, theta, alpha))
    assert model._fit(observe(sizes, 60_000))[1] == pytest.approx(alpha, abs=0.04)


def test_pitman_has_no_estimate_without_a_maximum_or_beyond_the_population() -> None:
    assert pitman_uniques(observe(np.ones(40, dtype=int), 1000)) is None
    assert pitman_uniques(observe(np.array([7]), 1000)) is None
    assert pitman_uniques(observe(np.array([1]), 1000)) is None
    assert pitman_uniques(observe(np.repeat([1, 2], [5000, 1]), 6000)) is None


def test_pitman_falls_back_to_ewens_where_classes_are_evenly_filled() -> None:
    sizes = np.repeat([1, 2, 3], [30, 40, 30])
    above, alpha, _ = model._fit(observe(sizes, 10_000))
    people, classes = sizes.sum(), len(sizes)
    assert alpha == 0
    assert above * (special.digamma(above + people) - special.digamma(above)) == pytest.approx(classes)
    assert pitman_uniques(observe(sizes, 10_000)) == pytest.approx(above)
