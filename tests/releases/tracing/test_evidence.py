"""E-values: their expectation is 1, exactly, for every law; and what is computed is what is defined."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.releases.evidence import (
    COALITIONS,
    TRUST,
    factors,
    log_e_paths,
    log_e_values,
    log_mean,
    posterior,
    threshold,
)
from discreet.releases.laws import Law

LAWS = ("0.2/0.5", "0.5", "0.1/0.9", *(f"nuida:{colluding}" for colluding in range(1, 9)))
TRUSTED = Fraction(98, 100)
chances = st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=1000)
hit_marks = st.lists(st.sampled_from([0.2, 0.5, 0.211, 0.789]), min_size=1, max_size=6)


def exact(probabilities: list[Fraction], bits: tuple[int, ...]) -> Fraction:
    """The e-value as it is defined."""
    products = []
    for colluding in COALITIONS:
        product = Fraction(1)
        for p, bit in zip(probabilities, bits, strict=True):
            held, missed = factors(p, colluding, trust=TRUSTED)
            product *= held if bit else missed
        products.append(product)
    return sum(products, Fraction(0)) / len(COALITIONS)


def chance_of(probabilities: list[Fraction], bits: tuple[int, ...]) -> Fraction:
    return math.prod((p if bit else 1 - p for p, bit in zip(probabilities, bits, strict=True)), start=Fraction(1))


def test_the_trust_is_the_one_that_is_stated() -> None:
    assert Fraction(str(TRUST)) == TRUSTED


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("colluding", COALITIONS)
def test_every_factor_has_expectation_one_under_every_law(law: str, colluding: int) -> None:
    for value in Law.parse(law).values:
        p = Fraction(value)
        held, missed = factors(p, colluding, trust=TRUSTED)
        assert p * held + (1 - p) * missed == 1
        assert missed > 0


@given(p=chances, colluding=st.integers(1, 40))
def test_every_factor_has_expectation_one_whatever_the_probability(p: Fraction, colluding: int) -> None:
    held, missed = factors(p, colluding, trust=TRUSTED)
    assert p * held + (1 - p) * missed == 1


@given(probabilities=st.lists(chances, min_size=1, max_size=5))
def test_the_e_value_has_expectation_one_over_all_bits(probabilities: list[Fraction]) -> None:
    every = itertools.product((0, 1), repeat=len(probabilities))
    assert sum(chance_of(probabilities, bits) * exact(probabilities, bits) for bits in every) == 1


@given(probabilities=st.lists(chances, min_size=2, max_size=4), cut=st.integers(1, 3))
def test_incidents_that_hit_different_marks_multiply(probabilities: list[Fraction], cut: int) -> None:
    first, second = probabilities[:cut], probabilities[cut:]
    every = itertools.product((0, 1), repeat=len(probabilities))
    expected = sum(
        chance_of(probabilities, bits) * exact(first, bits[:cut]) * exact(second, bits[cut:]) for bits in every
    )
    assert expected == 1


@given(probabilities=st.lists(chances, min_size=1, max_size=4), claimed=st.data())
def test_it_is_a_martingale_when_the_next_claim_depends_on_all_other_copies(
    probabilities: list[Fraction], claimed: st.DataObject
) -> None:
    """Whatever was seen so far, the next mark's bit of the innocent is still a fresh draw."""
    seen = tuple(claimed.draw(st.integers(0, 1)) for _ in probabilities)
    p = claimed.draw(chances)
    after = p * exact([*probabilities, p], (*seen, 1)) + (1 - p) * exact([*probabilities, p], (*seen, 0))
    assert after == exact(probabilities, seen)


@given(probabilities=hit_marks, seed=st.integers(0, 2**32))
def test_logarithms_are_those_of_the_definition(probabilities: list[float], seed: int) -> None:
    bits = np.random.default_rng(seed).random((3, len(probabilities))) < 0.5
    found = log_e_values(np.array(probabilities), bits)
    wanted = [float(exact([Fraction(p) for p in probabilities], tuple(map(int, row)))) for row in bits.tolist()]
    assert np.exp(found) == pytest.approx(wanted, rel=1e-12)


@given(probabilities=hit_marks, seed=st.integers(0, 2**32))
def test_paths_end_where_values_are(probabilities: list[float], seed: int) -> None:
    p = np.array(probabilities)
    bits = np.random.default_rng(seed).random((4, len(p))) < p
    paths = log_e_paths(p, bits)
    assert paths[:, -1] == pytest.approx(log_e_values(p, bits))
    assert paths[:, 0] == pytest.approx(log_e_values(p[:1], bits[:, :1]))


def test_no_hit_is_no_evidence() -> None:
    assert log_e_values(np.zeros(0), np.zeros((3, 0), dtype=bool)).tolist() == [0.0, 0.0, 0.0]


def test_thousands_of_hits_stay_numbers() -> None:
    p = np.full(20_000, 0.2)
    found = log_e_values(p, np.array([np.ones(20_000, dtype=bool), np.zeros(20_000, dtype=bool)]))
    assert np.isfinite(found).all()
    assert found[0] > 20_000
    assert found[1] < -8_000


def test_the_line_is_n_over_alpha() -> None:
    assert math.exp(threshold(20, 1e-3)) == pytest.approx(20_000)


@given(logs=st.lists(st.floats(-900, 900), min_size=1, max_size=8), prior=st.floats(0.01, 0.99))
def test_posteriors_are_shares_of_a_whole(logs: list[float], prior: float) -> None:
    found = posterior(np.array(logs), prior)
    assert found.min() >= 0
    assert found.sum() <= 1 + 1e-9
    assert found[int(np.argmax(logs))] == found.max()


def test_a_posterior_by_hand() -> None:
    found = posterior(np.log(np.array([30.0, 2.0])), 0.4)
    whole = 0.2 * 30 + 0.2 * 2 + 0.6
    assert found == pytest.approx([0.2 * 30 / whole, 0.2 * 2 / whole])


def test_the_mean_of_huge_numbers() -> None:
    assert float(log_mean(np.array([2000.0, 0.0]))) == pytest.approx(2000 - math.log(2))
