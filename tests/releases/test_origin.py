"""Was it a release at all? The law of decoys by chance against trying everything, and against drawing."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.releases_world import World, world
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.releases.claimed import Sorted
from discreet.releases.tracing.evidence import bands, binomial, hypergeometric, origin_of


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


def drawn_at_random(town: World, random: np.random.Generator, number: int) -> Sorted:
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
    return Sorted(tuple(sorted(hit)), tuple(sorted(held)), number - len(hit) - len(held))


def test_claims_at_random_are_not_taken_for_a_release(town: World) -> None:
    random = np.random.default_rng(1)
    small = [origin_of(town.traceable, drawn_at_random(town, random, 60)).p_value <= 0.05 for _ in range(400)]
    assert np.mean(small) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_claims_from_a_copy_are_found_out(town: World) -> None:
    marks, random = town.codebook.marks, np.random.default_rng(2)
    held = np.flatnonzero(town.codebook.present[0])
    decoys = tuple(sorted(random.permutation(held[marks.decoy[held]])[:25].tolist()))
    found = origin_of(town.traceable, Sorted(decoys, (), 0))
    assert found.decoys == found.claims == 25
    assert found.p_value < 1e-6 < found.expected


def test_hits_without_a_decoy_point_at_the_original(town: World) -> None:
    real = tuple(np.flatnonzero(~town.codebook.marks.decoy)[:20].tolist())
    found = origin_of(town.traceable, Sorted(real, (), 0))
    assert found.decoys == 0
    assert found.own_copy == pytest.approx(0.5**20)


def test_classes_of_unknown_link_count_only_weaken_the_evidence(town: World) -> None:
    decoys = tuple(np.flatnonzero(town.codebook.marks.decoy)[:6].tolist())
    values = [origin_of(town.traceable, Sorted(decoys, (), nowhere)).p_value for nowhere in (0, 1, 5, 50)]
    assert values == sorted(values)
    assert values[0] < values[-1]


def test_nothing_claimed_is_nothing_found(town: World) -> None:
    found = origin_of(town.traceable, Sorted((), (), 0))
    assert (found.claims, found.p_value, found.own_copy) == (0, 1.0, None)


def test_the_sum_over_link_counts_is_that_of_independent_draws(town: World) -> None:
    """Against scipy: convolve one hypergeometric law per band."""
    marks = town.codebook.marks
    hit = tuple(range(0, len(marks), 7))
    found = origin_of(town.traceable, Sorted(hit, (), 0))
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
    assert origin_of(bare, Sorted(decoys, (), 0)).p_value == pytest.approx(1.0, abs=1e-9)
