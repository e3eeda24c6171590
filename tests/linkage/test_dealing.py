"""Dealing pairs: everybody about as many, every pair to as many as asked, nobody twice."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.linkage.dealing import deal


@given(
    pairs=st.integers(0, 60), people=st.integers(1, 6), overlap=st.integers(1, 6), most=st.none() | st.integers(0, 30),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_a_deal_is_fair_and_complete(pairs: int, people: int, overlap: int, most: int | None, seed: int) -> None:
    workers = [f"w{number}" for number in range(people)]
    overlap = min(overlap, people)
    dealt = deal(range(pairs), workers, overlap=overlap, most=most, rng=random.Random(seed))
    looks = Counter(pair for mine in dealt.pairs.values() for pair in mine)
    assert sum(looks.values()) + dealt.left_over == pairs * overlap
    assert all(count <= overlap for count in looks.values())
    assert all(len(set(mine)) == len(mine) for mine in dealt.pairs.values())
    sizes = [len(mine) for mine in dealt.pairs.values()]
    assert max(sizes) - min(sizes) <= 1
    assert most is None or max(sizes) <= most
    if most is None:
        assert dealt.left_over == 0


def test_everybody_has_an_order_of_her_own() -> None:
    dealt = deal(range(50), ["ann", "ben"], overlap=2, rng=random.Random(1))
    assert sorted(dealt.pairs["ann"]) == sorted(dealt.pairs["ben"]) == list(range(50))
    assert dealt.pairs["ann"] != dealt.pairs["ben"]
    assert list(dealt.pairs["ann"]) != sorted(dealt.pairs["ann"])


def test_who_has_a_pair_counts_and_who_had_it_does_not_get_it_again() -> None:
    dealt = deal([1, 2], ["ann", "ben", "eve"], overlap=2, had={1: ["ann"]}, seen_by={1: ["ben"]}, rng=random.Random(1))
    assert sorted(worker for worker, mine in dealt.pairs.items() if 1 in mine) == ["eve"]
    assert sum(2 in mine for mine in dealt.pairs.values()) == 2


@pytest.mark.parametrize(("workers", "overlap"), [([], 1), (["ann", "ann"], 1), (["ann"], 2), (["ann"], 0)])
def test_what_cannot_be_dealt_is_refused(workers: list[str], overlap: int) -> None:
    with pytest.raises(UsageError):
        deal([1], workers, overlap=overlap, rng=random.Random(1))
