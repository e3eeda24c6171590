"""Population uniqueness from a sample: closed forms, recovery of known populations, edges, speed."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import special, stats

from discreet.errors import UsageError
from discreet.risk import population as model
from discreet.risk.gamma import log_rising, reciprocals
from discreet.risk.population import dankar, estimate, pitman, snb, zayatz

Ints = NDArray[np.int64]
MANY_ONES = np.repeat([1, 2, 3, 10], [600, 150, 60, 12])


# gamma


@pytest.mark.parametrize("x", [1e-9, 1e-3, 0.5, 1.0, 1.4616, 7.3, 100.0, 12345.6])
@pytest.mark.parametrize("k", [0.0, 0.25, 1.0, 2.0, 30.5, 1e4, 1e7])
def test_gamma_differences_agree_with_scipy(x: float, k: float) -> None:
    assert log_rising(x, k) == pytest.approx(
        special.gammaln(x + k) - special.gammaln(x), rel=1e-12, abs=1e-10 if x > 10 else 1e-13
    )
    assert reciprocals(x, k) == pytest.approx(special.digamma(x + k) - special.digamma(x), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("x", [3e-7, 0.7, 50.0, 1e6, 1e12, 1e15])
@pytest.mark.parametrize("k", [1, 2, 17, 4000])
def test_gamma_differences_agree_with_plain_sums_where_subtraction_would_cancel(x: float, k: int) -> None:
    assert reciprocals(x, float(k)) == pytest.approx(math.fsum(1 / (x + i) for i in range(k)), rel=1e-12)
    assert log_rising(x, float(k)) == pytest.approx(math.fsum(math.log(x + i) for i in range(k)), rel=1e-12, abs=1e-13)


def test_gamma_differences_take_arrays() -> None:
    x, k = np.array([0.3, 2.0, 9.0]), np.array([4.0, 0.0, 7.0])
    assert reciprocals(x, k).tolist() == [reciprocals(a, b) for a, b in zip(x.tolist(), k.tolist(), strict=True)]
    assert log_rising(x, k)[1] == 0


# Zayatz


def exact_zayatz(sizes: list[int], population: int) -> Fraction:
    n, ones = sum(sizes), sizes.count(1)
    draws = math.comb(population, n)
    single = sum(Fraction(j * math.comb(population - j, n - 1), draws) for j in sizes)
    return ones * Fraction(ones) / single


@pytest.mark.parametrize(
    ("sizes", "population"),
    [([1], 2), ([1, 1, 1, 2, 5], 100), ([1, 2, 2, 9], 15), ([1, 7], 9), ([1] * 40 + [2] * 9 + [30], 5000)],
)
def test_zayatz_is_bayes_rule_with_exact_hypergeometrics(sizes: list[int], population: int) -> None:
    assert zayatz(np.array(sizes), population) == pytest.approx(float(exact_zayatz(sizes, population)), rel=1e-12)


def test_zayatz_chances_agree_with_scipy_up_to_a_billion_people() -> None:
    for sizes, population in ((MANY_ONES, 20_000), (np.array([1, 50, 900]), 1000), (MANY_ONES, 10**9)):
        sample = model._observe(sizes, population)
        expected = stats.hypergeom.pmf(1, population, sample.sizes, sample.people)
        assert model._single(sample) == pytest.approx(expected, rel=1e-6 if population > 10**6 else 1e-10, abs=1e-300)


# Pitman


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
    sample = model._observe(np.array(sizes), 10**6)
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
    above, alpha, _ = model._fit(model._observe(np.array(sizes), 10**6))
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
    above, found, _ = model._fit(model._observe(sizes, 60_000))
    assert found == pytest.approx(alpha, abs=0.04)
    assert above - found == pytest.approx(theta, rel=0.25)
    assert pitman(sizes, 60_000) == pytest.approx((np.bincount(seats) == 1).sum(), rel=0.15)


@pytest.mark.parametrize(("theta", "alpha"), [(-0.3, 0.8), (2.0, 0.8), (20.0, 0.6)])
def test_pitman_recovers_alpha_where_theta_is_too_small_to_be_told(theta: float, alpha: float) -> None:
    sizes = np.bincount(pitman_yor(np.random.default_rng(1), 20_000, theta, alpha))
    assert model._fit(model._observe(sizes, 60_000))[1] == pytest.approx(alpha, abs=0.04)


def test_pitman_has_no_estimate_without_a_maximum_or_beyond_the_population() -> None:
    assert pitman(np.ones(40, dtype=int), 1000) is None
    assert pitman(np.array([7]), 1000) is None
    assert pitman(np.array([1]), 1000) is None
    assert pitman(np.repeat([1, 2], [5000, 1]), 6000) is None


def test_pitman_falls_back_to_ewens_where_classes_are_evenly_filled() -> None:
    sizes = np.repeat([1, 2, 3], [30, 40, 30])
    above, alpha, _ = model._fit(model._observe(sizes, 10_000))
    people, classes = sizes.sum(), len(sizes)
    assert alpha == 0
    assert above * (special.digamma(above + people) - special.digamma(above)) == pytest.approx(classes)
    assert pitman(sizes, 10_000) == pytest.approx(above)


# Slide negative binomial


@pytest.mark.parametrize("fraction", [0.02, 0.2, 0.7])
@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.1), (0.05, 0.02), (3.0, 0.3), (40.0, 0.9)])
def test_snb_solves_for_the_shape_of_a_thinned_distribution(fraction: float, alpha: float, beta: float) -> None:
    sizes = np.arange(1, 20_000)
    spread = stats.nbinom.pmf(sizes - 1, alpha, beta)
    single, double = (float(spread @ stats.binom.pmf(j, sizes, fraction)) for j in (1, 2))
    odds = (1 - fraction) / fraction
    ratio = 2 * odds * double / single
    found = model._shape(math.log(single / fraction), ratio, odds)
    assert found is not None
    assert found == pytest.approx(alpha, rel=1e-6)
    sample = model._Sample(np.array([1.0]), np.array([single]), 1, 1)
    assert model._slid_ones(sample, found, model._tilt(found, ratio)) / fraction == pytest.approx(beta**alpha, rel=1e-7)


def test_snb_first_moment_rises_with_the_shape() -> None:
    rng = np.random.default_rng(3)
    for log_ratio, log_fraction in rng.uniform((-4, -3), (4, -0.001), (300, 2)):
        ratio, fraction = 10**log_ratio, 10**log_fraction
        odds = (1 - fraction) / fraction
        shapes = model._least_shape(ratio, odds) * np.geomspace(1 + 1e-9, 1e9, 60)
        heights = np.array([model._log_singles(float(shape), ratio, odds) for shape in shapes])
        assert (np.diff(heights) > -1e-9 * (1 + abs(heights[1:]))).all()


def test_shlosser_is_the_published_formula() -> None:
    sizes, population = MANY_ONES, 4000
    p = sizes.sum() / population
    n = {int(j): int((sizes == j).sum()) for j in np.unique(sizes)}
    first = sum(i * p**2 * (1 - p**2) ** (i - 1) * n[i] for i in n)
    first /= sum((1 - p) ** i * ((1 + p) ** i - 1) * n[i] for i in n)
    second = sum((1 - p) ** i * n[i] for i in n) / sum(i * p * (1 - p) ** (i - 1) * n[i] for i in n)
    assert model._shlosser(model._observe(sizes, population)) == pytest.approx(len(sizes) + n[1] * first * second**2)


@pytest.mark.parametrize("fraction", [0.2, 0.3, 0.5])
@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.1), (1.0, 0.05), (2.0, 0.1)])
def test_snb_recovers_its_own_populations_within_15_percent(fraction: float, alpha: float, beta: float) -> None:
    rng = np.random.default_rng(7)
    people = rng.negative_binomial(alpha, beta, 100_000) + 1
    sampled = rng.binomial(people, fraction)
    found = snb(sampled[sampled > 0], int(people.sum()))
    assert found == pytest.approx((people == 1).sum(), rel=0.15)


def test_snb_has_no_estimate_without_pairs_or_when_too_evenly_filled() -> None:
    assert snb(np.array([1, 1, 3]), 10) is None
    assert snb(np.array([2, 2]), 10) is None
    assert snb(np.repeat([1, 2], [2, 500]), 1500) is None
    assert snb(np.ones(5, dtype=int), 20) == 20


# The rule, and all of it together


@pytest.mark.parametrize(
    ("classes", "spread", "factors"),
    [(100_000, 2.0, (4.5, 2.5, 1.3)), (1_000_000, 2.0, (2.5, 1.7, 1.25)), (100_000, 1.0, (4.5, 2.2, 1.8))],
)
def test_lognormal_populations_are_estimated_within_a_factor_from_above(
    classes: int, spread: float, factors: tuple[float, ...]
) -> None:
    """Uniques are overrated, less so the larger the sample, and less than by Zayatz, as Dankar et al. 2012 found."""
    rng, people = np.random.default_rng(11), 200_000
    weights = rng.lognormal(0, spread, classes)
    member_of = rng.choice(classes, people, p=weights / weights.sum())
    truth = (np.bincount(member_of) == 1).sum() / people
    for fraction, factor in zip((0.01, 0.05, 0.2), factors, strict=True):
        sampled = np.bincount(member_of[: int(fraction * people)])
        found = estimate(sampled[sampled > 0], people)
        assert 0.9 < found.dankar / truth < factor
        assert found.dankar < found.zayatz


def test_the_rule_follows_the_sampling_fraction() -> None:
    assert estimate(MANY_ONES, 12_000).model == "pitman"
    assert estimate(MANY_ONES, 11_000).model == "snb"
    assert estimate(np.ones(5, dtype=int), 1000).model == "zayatz"
    assert estimate(np.array([1, 1, 3]), 10).model == "zayatz"
    assert estimate(np.array([2, 2, 3]), 1000).model == "none"


def test_shares_are_the_counts_over_the_population() -> None:
    for population in (20_000, 4000):
        found = estimate(MANY_ONES, population)
        assert found.zayatz == zayatz(MANY_ONES, population) / population
        assert found.pitman == pytest.approx((pitman(MANY_ONES, population) or 0) / population)
        assert found.snb == pytest.approx((snb(MANY_ONES, population) or 0) / population)
        assert found.dankar == dankar(MANY_ONES, population) / population
        assert found.sampling_fraction == MANY_ONES.sum() / population


def test_a_census_is_counted_not_estimated() -> None:
    found = estimate(np.array([1, 1, 2, 6]), 10)
    assert (found.zayatz, found.pitman, found.snb, found.dankar) == (0.2, 0.2, 0.2, 0.2)


@pytest.mark.parametrize(
    ("sizes", "population", "share"),
    [([1] * 30, 500, 1.0), ([1], 500, 1.0), ([1], 1, 1.0), ([40], 500, 0.0), ([2, 2, 3], 8, 0.0), ([5], 5, 0.0)],
)
def test_edges(sizes: list[int], population: int, share: float) -> None:
    assert estimate(np.array(sizes), population).dankar == pytest.approx(share)


def test_order_does_not_matter() -> None:
    assert estimate(MANY_ONES[::-1], 20_000) == estimate(MANY_ONES, 20_000)


def test_an_estimate_is_plain_json() -> None:
    found = estimate(MANY_ONES, 20_000).to_dict()
    assert json.loads(json.dumps(found)) == found
    assert {type(value) for value in found.values()} == {int, float, str}


def test_a_population_smaller_than_its_sample_is_refused() -> None:
    with pytest.raises(UsageError, match="population of 4 people cannot have a sample of 5") as error:
        estimate(np.array([2, 3]), 4)
    assert error.value.remedy


@pytest.mark.parametrize("sizes", [np.array([], dtype=int), np.array([0, 2]), np.array([1.0, 2.0])])
def test_sizes_that_are_no_sizes_are_refused(sizes: Ints) -> None:
    with pytest.raises(UsageError, match="whole numbers"):
        estimate(sizes, 100)


sizes_of_any_kind = st.one_of(
    st.lists(st.integers(1, 4), min_size=1, max_size=60),
    st.lists(st.integers(1, 10**7), min_size=1, max_size=12),
    st.builds(
        lambda ones, twos, rest: [1] * ones + [2] * twos + rest,
        st.integers(1, 3000),
        st.integers(0, 40),
        st.lists(st.integers(3, 10**6), max_size=3),
    ),
)


@settings(max_examples=300, deadline=None)
@given(sizes_of_any_kind, st.one_of(st.integers(0, 50), st.integers(0, 10**12)))
def test_every_estimate_is_a_share(sizes: list[int], unsampled: int) -> None:
    found = estimate(np.array(sizes), sum(sizes) + unsampled)
    for share in (found.zayatz, found.pitman, found.snb, found.dankar):
        assert share is None or 0 <= share <= 1


def test_thirteen_million_people_in_800_000_classes_take_less_than_half_a_second() -> None:
    sizes = np.minimum(np.random.default_rng(2).zipf(1.7, 800_000), 100_000) * 2 - 1
    sizes[:1000] += 8000
    start = time.process_time()
    found = estimate(sizes, 20 * int(sizes.sum()))
    assert time.process_time() - start < 0.5
    assert sizes.sum() > 13_000_000
    assert found.model == "pitman"
