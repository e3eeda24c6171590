"""Clusters against a plain union-find, and matching against brute force."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.linkage import cluster, one_to_one
from discreet.linkage.matching.clusters import components

RECORDS = 12
EDGES = st.lists(st.tuples(st.integers(0, RECORDS - 1), st.integers(0, RECORDS - 1)), max_size=20)


def union_find(edges: list[tuple[int, int]]) -> list[int]:
    of = list(range(RECORDS))
    for _ in range(RECORDS):
        for a, b in edges:
            of = [min(of[a], of[b]) if one in (of[a], of[b]) else one for one in of]
    return of


@given(EDGES, EDGES)
def test_components_and_contradictions(same: list[tuple[int, int]], different: list[tuple[int, int]]) -> None:
    expected = union_find(same)
    found = cluster(RECORDS, np.array(same), np.array(different))
    assert found.of.tolist() == expected
    assert len(found) == len(set(expected))
    assert found.sizes.sum() == RECORDS
    against = [list(pair) for pair in different if expected[pair[0]] == expected[pair[1]]]
    assert found.contradictions.tolist() == against
    assert found.sound == (not against)


@given(EDGES, st.integers(0, RECORDS))
def test_tables_with_everybody_once(same: list[tuple[int, int]], first: int) -> None:
    of = union_find(same)
    crowded = {
        label
        for label in set(of)
        for part in (range(first), range(first, RECORDS))
        if sum(of[record] == label for record in part) > 1
    }
    assert set(cluster(RECORDS, np.array(same), once_per_table=first).crowded.tolist()) == crowded


def test_a_long_chain_in_any_order() -> None:
    rng = np.random.default_rng(1)
    order = rng.permutation(50_000)
    edges = np.stack([order[:-1], order[1:]], axis=1)[rng.permutation(49_999)]
    assert (components(50_000, edges) == 0).all()


def test_a_pair_outside_is_refused() -> None:
    with pytest.raises(UsageError, match="outside"):
        cluster(3, np.array([[0, 3]]))


PAIRS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)), max_size=12, unique_by=lambda one: one[:2]
)


@given(PAIRS)
def test_matching_one_to_one(pairs: list[tuple[int, int, int]]) -> None:
    first, second, weight = (np.array([one[place] for one in pairs], dtype=float) for place in range(3))
    won, tied = one_to_one(first.astype(int), second.astype(int), weight)
    kept = [pair for pair, yes in zip(pairs, won, strict=True) if yes]
    assert len({a for a, _, _ in kept}) == len({b for _, b, _ in kept}) == len(kept)
    assert not (won & tied).any()
    for pair, yes, tie in zip(pairs, won, tied, strict=True):
        rivals = [other for other in pairs if other != pair and (other[0] == pair[0] or other[1] == pair[1])]
        if yes:
            assert all(other[2] != pair[2] or other not in kept for other in rivals)
        elif not tie:  # it lost to a pair that is at least as heavy
            assert any(other[2] >= pair[2] for other in rivals)
        else:
            assert any(other[2] == pair[2] for other in rivals)
    if len({one[2] for one in pairs}) == len(pairs):
        assert won.tolist() == _greedy(pairs)


def _greedy(pairs: list[tuple[int, int, int]]) -> list[bool]:
    used: set[tuple[int, int]] = set()
    won = dict.fromkeys(pairs, False)
    for pair in sorted(pairs, key=lambda one: -one[2]):
        if not used & {(0, pair[0]), (1, pair[1])}:
            won[pair] = True
            used |= {(0, pair[0]), (1, pair[1])}
    return list(won.values())


def seconds_for(pairs: int) -> float:
    """CPU time for so many pairs, nearly all of weights of their own."""
    luck = np.random.default_rng(5)
    first, second = (luck.integers(0, pairs // 2, pairs) for _ in range(2))
    begun = time.process_time()
    won, _ = one_to_one(first, second, luck.random(pairs))
    assert won.any()
    return time.process_time() - begun


def test_matching_takes_time_in_proportion_to_the_pairs() -> None:
    """Eight times as many pairs: eight times as long, where growing sets were copied for every weight sixty-four times."""
    few = min(seconds_for(10_000) for _ in range(3))
    assert min(seconds_for(80_000) for _ in range(3)) < 24 * few


@pytest.mark.slow
def test_two_million_pairs_are_matched_in_seconds() -> None:
    assert seconds_for(2_000_000) < 20
