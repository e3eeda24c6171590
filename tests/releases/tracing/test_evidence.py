"""E-values: their expectation is 1, exactly, for every law; and what is computed is what is defined."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.releases_world import World, world
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.releases.marks.codebook import Law
from discreet.releases.tracing.case import ClaimsByPlace
from discreet.releases.tracing.evidence import (
    COALITIONS,
    TRUST,
    bands,
    binomial,
    factors,
    hypergeometric,
    log_e_paths,
    log_e_values,
    log_mean,
    origin_of,
    posterior,
    threshold,
)

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


@pytest.fixture(scope="module")
def town() -> World:
    return world(100_000, 0.1)


@given(whole=st.integers(1, 7), data=st.data())
def test_drawing_without_replacement_by_trying_everything(whole: int, data: st.DataObject) -> None:
    good, drawn = data.draw(st.integers(0, whole)), data.draw(st.integers(0, whole))
    every = [sum(place < good for place in chosen) for chosen in itertools.combinations(range(whole), drawn)]
    wanted = np.bincount(every, minlength=min(good, drawn) + 1) / len(every)
    assert hypergeometric(whole, good, drawn) == pytest.approx(wanted)


@given(drawn=st.integers(0, 60), chance=st.one_of(st.sampled_from([0.0, 1.0]), st.floats(1e-6, 1 - 1e-6)))
def test_coins_against_scipy(drawn: int, chance: float) -> None:
    assert binomial(drawn, chance) == pytest.approx(stats.binom.pmf(np.arange(drawn + 1), drawn, chance), abs=1e-12)


@given(link=st.integers(1, 10**6))
def test_link_counts_in_one_band_are_within_ten_per_cent(link: int) -> None:
    near = np.arange(link, int(link * 1.2) + 2)
    same = near[bands(near) == bands(np.array([link]))[0]]
    assert same.max() <= 1.1 * link + 1


def drawn_at_random(town: World, random: np.random.Generator, number: int) -> ClaimsByPlace:
    """Classes of the population picked at random, among those with as many people as marks have."""
    links = town.linked.population.sizes
    low, high = np.quantile(town.codebook.marks.links, [0, 1])
    chosen = random.choice(np.flatnonzero((links >= low) & (links <= high)), number, replace=False)
    tuples = list(town.linked.population.tuples())
    marks = {labels: place for place, labels in enumerate(town.codebook.marks.labels)}
    released = {labels: place for place, labels in enumerate(town.linked.released.tuples())}
    picked = [tuples[place] for place in chosen]
    hit = [marks[labels] for labels in picked if labels in marks]
    held = [released[labels] for labels in picked if labels in released and labels not in marks]
    return ClaimsByPlace(tuple(sorted(hit)), tuple(sorted(held)), number - len(hit) - len(held))


def test_claims_at_random_are_not_taken_for_a_release(town: World) -> None:
    random = np.random.default_rng(1)
    small = [origin_of(town.traceable, drawn_at_random(town, random, 60)).p_value <= 0.05 for _ in range(400)]
    assert np.mean(small) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_claims_from_a_copy_are_found_out(town: World) -> None:
    marks, random = town.codebook.marks, np.random.default_rng(2)
    held = np.flatnonzero(town.codebook.present[0])
    decoys = tuple(sorted(random.permutation(held[marks.decoy[held]])[:25].tolist()))
    found = origin_of(town.traceable, ClaimsByPlace(decoys, (), 0))
    assert found.decoys == found.claims == 25
    assert found.p_value < 1e-6 < found.expected


def test_hits_without_a_decoy_point_at_the_original(town: World) -> None:
    real = tuple(np.flatnonzero(~town.codebook.marks.decoy)[:20].tolist())
    found = origin_of(town.traceable, ClaimsByPlace(real, (), 0))
    assert found.decoys == 0
    assert found.own_copy == pytest.approx(0.5**20)


def test_classes_of_unknown_link_count_only_weaken_the_evidence(town: World) -> None:
    decoys = tuple(np.flatnonzero(town.codebook.marks.decoy)[:6].tolist())
    values = [origin_of(town.traceable, ClaimsByPlace(decoys, (), nowhere)).p_value for nowhere in (0, 1, 5, 50)]
    assert values == sorted(values)
    assert values[0] < values[-1]


def test_nothing_claimed_is_nothing_found(town: World) -> None:
    found = origin_of(town.traceable, ClaimsByPlace((), (), 0))
    assert (found.claims, found.p_value, found.own_copy) == (0, 1.0, None)


def test_the_sum_over_link_counts_is_that_of_independent_draws(town: World) -> None:
    """Against scipy: convolve one hypergeometric law per band."""
    marks = town.codebook.marks
    hit = tuple(range(0, len(marks), 7))
    found = origin_of(town.traceable, ClaimsByPlace(hit, (), 0))
    links, numbers = town.traceable.population_links
    law = np.ones(1)
    for band in np.unique(bands(marks.links[list(hit)])):
        whole = int(numbers[bands(links) == band].sum())
        good = int((marks.decoy & (bands(marks.links) == band)).sum())
        drawn = int((bands(marks.links[list(hit)]) == band).sum())
        law = np.convolve(law, stats.hypergeom.pmf(np.arange(drawn + 1), whole, good, drawn))
    assert found.p_value == pytest.approx(law[found.decoys :].sum())
    assert found.expected == pytest.approx(np.arange(len(law)) @ law)


def test_a_population_without_known_link_counts_shows_nothing(town: World) -> None:
    bare = replace(town.traceable, population_links=(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)))
    decoys = tuple(np.flatnonzero(town.codebook.marks.decoy)[:6].tolist())
    assert origin_of(bare, ClaimsByPlace(decoys, (), 0)).p_value == pytest.approx(1.0, abs=1e-9)
