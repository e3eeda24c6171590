"""Exploration of a lattice agrees with brute force and with the search, and answers at once."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.anonymity import LOSSES, anonymise
from discreet.anonymity.anonymise import Exploration
from discreet.errors import UsageError
from tests.anonymity.brute import Data, losses
from tests.anonymity.lattice.test_native_engine import many
from tests.anonymity.strategies import wished_tables
from tests.examples import examples


@settings(max_examples=examples(60), deadline=None)
@given(
    data=wished_tables(),
    k=st.integers(1, 4),
    share=st.sampled_from([0.0, 0.2, 1.0]),
    loss=st.sampled_from(list(LOSSES)),
)
def test_every_combination_is_told_as_it_is(data: Data, k: int, share: float, loss: str) -> None:
    k = min(k, len(data.people))
    exploration = Exploration.of(data.classes(), k=k, suppression=share, loss=loss)
    names = exploration.classes.names
    for node in data.nodes()[:: max(1, len(data.nodes()) // 6)]:
        seen = exploration.at(dict(zip(names, node, strict=True)))
        groups = list(data.groups(node).values())
        hidden, kept = ([group for group in groups if (len(group) < k) is small] for small in (True, False))
        assert seen.suppressed == sum(map(len, hidden))
        assert seen.allowed == (seen.suppressed <= math.floor(share * len(data.people)))
        assert seen.classes == len(kept)
        assert seen.smallest == min(map(len, kept), default=0)
        if seen.allowed:
            assert seen.loss == pytest.approx(losses(data, node, kept, hidden)[loss], abs=1e-9)
            largest = sorted(map(len, kept), reverse=True)[:10]
            assert [group.people for group in seen.groups] == largest
            own = {tuple(person.paths[j][level] for j, level in enumerate(node)) for group in kept for person in group}
            assert {group.values for group in seen.groups} <= own
        else:
            assert (seen.loss, seen.groups) == (None, ())
        for column, name in enumerate(names):
            for near in seen.beside[name]:
                there = (*node[:column], near.level, *node[column + 1 :])
                assert near.suppressed == sum(len(g) for g in data.groups(there).values() if len(g) < k)


def test_the_optimum_looks_as_the_search_says() -> None:
    classes = many(3, 1500, (40, 30, 9))
    found = anonymise(classes, k=4, suppression=0.05)
    exploration = Exploration.of(classes, k=4, suppression=0.05)
    seen = exploration.at(found.levels)
    assert (seen.loss, seen.suppressed, seen.classes) == (found.loss, found.suppressed, found.classes)
    allowed = [node.loss for node in exploration.nodes if node.allowed]
    assert seen.loss == min(allowed)


def test_a_click_takes_milliseconds() -> None:
    exploration = Exploration.of(many(5, 30_000, (90, 40, 20, 16, 9)), k=5, suppression=0.05)
    levels = dict.fromkeys(exploration.classes.names, 1)
    exploration.at(levels)
    took = []
    for _ in range(5):
        started = time.process_time()
        exploration.at(levels)
        took.append(time.process_time() - started)
    assert min(took) < 0.05


def test_what_is_no_combination_is_refused() -> None:
    exploration = Exploration.of(many(1, 50, (9, 8)), k=2)
    with pytest.raises(UsageError, match="No level is given for column 'q1'"):
        exploration.at({"q0": 1})
    with pytest.raises(UsageError, match="has levels 0 to 4"):
        exploration.at({"q0": 9, "q1": 0})
