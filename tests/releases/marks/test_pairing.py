"""Pairs for marks: how far they may reach, against attacks played out, and how far they shift the share of a value."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.kernel.arrays import Ints
from discreet.releases.decoys.detectability import auc
from discreet.releases.marks.pairing import (
    ENOUGH_FOR_CLAIMS,
    LIMIT,
    UNLUCKY,
    AmbiguityBand,
    Balance,
    MarkBudget,
    ambiguous,
    balanced,
    chances,
    closest,
    expected_aucs,
    expected_lost,
    most,
    shifts_so_far,
    undecided,
    worst_lost,
)
from discreet.releases.population_link import Linked

VALUES = st.sampled_from("abcd")
NUMBERS = st.lists(st.integers(1, 60).map(lambda tenths: tenths / 20), max_size=7)


def brute(left: tuple[float, ...], right: tuple[float, ...], tolerance: float) -> int:
    """The size of a largest pairing, by trying everything."""

    @cache
    def best(place: int, taken: int) -> int:
        if place == len(left):
            return 0
        found = best(place + 1, taken)
        for other, value in enumerate(right):
            if not taken >> other & 1 and abs(left[place] - value) <= tolerance + 1e-12:
                found = max(found, 1 + best(place + 1, taken | 1 << other))
        return found

    return best(0, 0)


def check(pairs: Ints, left: list[float], right: list[float]) -> None:
    assert len(set(pairs[:, 0].tolist())) == len(pairs) == len(set(pairs[:, 1].tolist()))
    assert all(abs(left[one] - right[other]) <= 0.1 + 1e-9 for one, other in pairs.tolist())


@given(NUMBERS, NUMBERS)
def test_most_is_a_largest_pairing(left: list[float], right: list[float]) -> None:
    pairs = most(np.array(left), np.array(right))
    check(pairs, left, right)
    assert len(pairs) == brute(tuple(left), tuple(right), 0.1)


@given(NUMBERS, NUMBERS)
def test_closest_leaves_nothing_that_could_be_paired(left: list[float], right: list[float]) -> None:
    pairs = closest(np.array(left), np.array(right))
    check(pairs, left, right)
    free_left = [value for place, value in enumerate(left) if place not in pairs[:, 0]]
    free_right = [value for place, value in enumerate(right) if place not in pairs[:, 1]]
    assert not any(abs(one - other) <= 0.1 for one in free_left for other in free_right)
    assert 2 * len(pairs) >= brute(tuple(left), tuple(right), 0.1)


def test_equal_link_counts_are_paired_with_each_other() -> None:
    """The largest pairing may shift one side against the other; the closest one does not."""
    left, right = np.log(np.arange(100, 200)), np.log(np.arange(95, 200))
    pairs = closest(left, right)
    assert len(pairs) == 100
    assert np.array_equal(left[pairs[:, 0]], right[pairs[:, 1]])


def scene() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    real = np.sort(rng.integers(100, 400, 60))
    decoys = np.sort(np.clip(real + rng.integers(-8, 9, 60), 1, None))
    unmarked = rng.integers(200, 500, 80)
    return real, decoys, rng.choice([0.2, 0.5], 120), np.concatenate([real, unmarked])


@pytest.mark.parametrize("count", [20, 60])
def test_expected_aucs_are_those_of_copies_that_are_drawn(count: int) -> None:
    real, decoys, chance, released = scene()
    rng, found = np.random.default_rng(5), []
    made, marks = decoys[:count], real[:count]
    low, high = made.min(), made.max()
    unmarked = np.concatenate([released[60:], real[count:]])
    links = np.concatenate([made, marks, unmarked])
    probability = np.concatenate([chance[60 : 60 + count], chance[:count], np.ones(len(unmarked))])
    truth = np.arange(len(links)) < count
    for _ in range(1500):
        mine, other = rng.random((2, len(links))) < probability
        asked = mine & (links >= low) & (links <= high)
        scores = ~other[asked] + 1 / (2.0 + links[asked])
        found.append((auc(-links[asked].astype(float), truth[asked]), auc(scores, truth[asked])))
    assert expected_aucs(real, decoys, chance, released, count) == pytest.approx(np.mean(found, axis=0), abs=0.02)


def test_marks_end_where_link_counts_would_tell() -> None:
    real, decoys, chance, released = scene()
    count = undecided(real, decoys, chance, released, fewest=5)
    assert 5 <= count < 60
    kept = np.concatenate([chance[:60], chance[60:]])
    assert max(expected_aucs(real, decoys, kept, released, count)) <= LIMIT
    assert max(expected_aucs(real, decoys, kept, released, 60)) > LIMIT


def test_fewer_marks_than_there_are_tell_two_who_compare_their_copies() -> None:
    """Whatever an accomplice lacks is a mark. That hides decoys only where nearly all classes as risky are marks."""
    rng, links = np.random.default_rng(6), np.repeat([100, 101], 500)
    chance = rng.choice([0.2, 0.5], 2000)
    assert max(expected_aucs(links, links, chance, links, 1000)) <= LIMIT
    for kept in (np.arange(700), np.sort(rng.permutation(1000)[:700])):
        some = chance[np.concatenate([kept, kept + 1000])]
        assert expected_aucs(links[kept], links[kept], some, links, 700)[1] > LIMIT + 0.05


def test_the_fewest_marks_are_kept_whatever_they_tell() -> None:
    real, decoys = np.arange(100, 110), np.arange(100, 110)
    released = np.concatenate([real, np.full(500, 109)])
    assert max(expected_aucs(real, decoys, np.full(20, 0.35), released, 10)) > LIMIT
    assert undecided(real, decoys, np.full(20, 0.35), released, fewest=10) == 10
    assert undecided(real[:3], decoys[:3], np.full(6, 0.35), released, fewest=8) == 3


@given(
    st.lists(st.integers(0, 200_000), min_size=1, max_size=20),
    st.floats(1e-4, 0.999),
    st.integers(1, 60),
)
def test_chances_are_those_of_the_binomial_law(links: list[int], sampling: float, k: int) -> None:
    found = chances(np.array(links), sampling=sampling, k=k)
    np.testing.assert_allclose(found, binom.sf(k - 1, links, sampling), rtol=1e-7, atol=1e-11)


def test_a_large_k_where_the_first_terms_are_below_the_least_float() -> None:
    links = np.array([90_000, 100_000, 110_000])
    np.testing.assert_allclose(chances(links, sampling=0.01, k=1000), binom.sf(999, links, 0.01), rtol=1e-6)


def test_everybody_in_the_data_leaves_nothing_in_doubt() -> None:
    assert chances(np.array([4, 5]), sampling=1.0, k=5).tolist() == [0.0, 1.0]
    assert not ambiguous(np.arange(1, 100), sampling=1.0, k=5).any()


def test_the_band_has_both_ends() -> None:
    links = np.arange(1, 2000)
    chance = binom.sf(4, links, 0.01)
    assert np.array_equal(ambiguous(links, sampling=0.01, k=5), (chance >= 0.02) & (chance <= 0.85))


@pytest.mark.parametrize("subjects", [0, 2])
def test_suppressed_people_in_a_class_change_nothing(subjects: int) -> None:
    """If decoys avoided suppressed people, an uncovered decoy would tell that nobody of its class is in the data."""
    labels = [("a",), ("b",), ("c",), ("d",)]
    everybody = Classes.of(["zip"], labels, [40, 42, 40, 878])
    rows = [("a",), ("b",), ("d",)]
    people = Classes.of(
        ["zip"], [*rows, *([("c",)] if subjects else [])], [6, 7, 87, *([subjects] if subjects else [])]
    )
    band = AmbiguityBand.of(Linked.at_node(people, everybody, {"zip": 0}, k=5))
    assert (band.real.tolist(), band.free.tolist()) == ([0, 1], [2])


MARKS = st.lists(st.tuples(st.integers(1, 9), st.sampled_from([0.2, 0.5, 0.8])), min_size=1, max_size=40)


def law_of_losses(sizes: list[int], chances: list[float]) -> np.ndarray:
    """The chance of losing 0, 1, 2, ... rows."""
    law = np.ones(1)
    for size, chance in zip(sizes, chances, strict=True):
        step = np.zeros(size + 1)
        step[0], step[size] = chance, 1 - chance
        law = np.convolve(law, step)
    return law


@given(MARKS)
def test_fewer_than_one_copy_in_a_million_loses_more(marks: list[tuple[int, float]]) -> None:
    sizes, chances = [size for size, _ in marks], [chance for _, chance in marks]
    bound = worst_lost(np.array(sizes), np.array(chances))
    for count in range(1, len(marks) + 1):
        law = law_of_losses(sizes[:count], chances[:count])
        assert law[int(np.floor(bound[count - 1])) + 1 :].sum() <= UNLUCKY * (1 + 1e-9)
    assert (np.diff(bound) >= -1e-9).all()
    law = law_of_losses(sizes, chances)
    assert expected_lost(np.array(sizes), np.array(chances)) == pytest.approx(np.dot(law, np.arange(len(law))))


def test_the_budget_takes_as_many_pairs_as_fit() -> None:
    sizes, chances = np.full(1000, 6), np.full(1000, 0.35)
    count = MarkBudget(average=0.5).pairs(sizes, chances, released=30_000)
    bound = worst_lost(sizes, chances)
    assert bound[count - 1] <= 1500 < bound[count]
    assert 250 < count < 1500 / (6 * 0.65)
    assert MarkBudget().pairs(sizes, chances, released=30_000) == int(300 / (6 * 0.65))
    assert MarkBudget(rows=0.5).pairs(sizes, chances, released=3_000) == ENOUGH_FOR_CLAIMS // 2


@pytest.mark.parametrize("given", [{"rows": 0.0}, {"shift": 1.0}])
def test_a_budget_is_a_share(given: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        MarkBudget(**given)


@given(
    st.dictionaries(VALUES, st.integers(20, 90), min_size=1),
    st.lists(st.tuples(VALUES, st.floats(-1, 1)), min_size=1, max_size=12),
)
def test_shifts_are_counted_again(base: dict[str, int], moves: list[tuple[str, float]]) -> None:
    values, changes = [value for value, _ in moves], np.array([change for _, change in moves])
    found = shifts_so_far({value: float(count) for value, count in base.items()}, values, changes)
    after: Counter[str] = Counter()
    after.update({value: float(count) for value, count in base.items()})  # type: ignore[arg-type]
    people = sum(base.values())
    for place, (value, change) in enumerate(moves):
        after[value] += change  # type: ignore[assignment]
        total = sum(after.values())
        moved = max(abs(after[one] / total - base.get(one, 0) / people) for one in {*after, *base})
        assert found[place] == pytest.approx(moved, abs=1e-12)


def test_no_marks_shift_nothing() -> None:
    assert shifts_so_far({"a": 1.0}, [], np.zeros(0)).tolist() == []


@given(
    st.lists(st.tuples(VALUES, VALUES, st.floats(-9, 0), st.floats(0, 9)), max_size=12),
    st.sampled_from([0.005, 0.02, 0.2]),
)
def test_pairs_are_passed_over_that_would_shift_too_far(
    pairs: list[tuple[str, str, float, float]], limit: float
) -> None:
    base = {"a": 60.0, "b": 30.0, "c": 200.0, "d": 15.0}
    column = Balance.of(base, [one for one, *_ in pairs], [other for _, other, *_ in pairs])
    changes = np.array([[gone, come] for *_, gone, come in pairs]).reshape(-1, 2)
    kept = balanced([column], changes, limit).tolist()
    so_far: list[int] = []
    for place in range(len(pairs)):
        tried = [*so_far, place]
        values = [value for one in tried for value in pairs[one][:2]]
        moved = shifts_so_far(base, values, np.array([change for one in tried for change in pairs[one][2:]]))[-1]
        if abs(moved - limit) > 1e-12:
            assert (place in kept) == (moved < limit)
        if place in kept:
            so_far.append(place)
