"""Decisions against brute force: the largest part of the rows, and masks that bring all within the limit."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.gateway.enforcement.decide import adds_nothing, decide, linked
from discreet.gateway.limits import Limit
from discreet.gateway.publication import SEEN, UNTOLD, Publication
from discreet.misuse import Exposure, Sensitivity

LEVELS = (0.0, 0.2, 0.5, 1.0)
F = Sensitivity.from_dict({"a": {"otherwise": 1.0}, "b": {"otherwise": 1.0}, SEEN: {"otherwise": 0.0}})
EMPTY = Exposure(F, bucket=1e12)
WEIGHTS = st.sampled_from(LEVELS)
ROWS = st.lists(st.tuples(WEIGHTS, WEIGHTS, st.sampled_from([1, 2, 5])), min_size=1, max_size=6)


def publication(rows: list[tuple[float, float, int]], first: int = 0) -> Publication:
    a, b, crowds = zip(*rows, strict=True)
    return Publication(
        np.arange(first, first + len(rows)),
        {"a": np.array(a), "b": np.array(b)},
        np.array(crowds),
        {"a": LEVELS, "b": LEVELS},
        {"a": (0,), "b": (1,)},
        len(rows),
        reducible=True,
    )


def value(before: Exposure, told: Publication, rows: list[int]) -> float:
    return before.learn(told.knowledge(np.array(rows, dtype=np.int64)), at=1).value


@given(ROWS, ROWS, st.floats(0, 3))
@settings(deadline=None)
def test_the_largest_allowed_part(
    known: list[tuple[float, float, int]], rows: list[tuple[float, float, int]], limit: float
) -> None:
    before = EMPTY.learn(publication(known, 100).knowledge(), at=0)
    told = publication(rows)
    outcome = decide(before, told, Limit(limit, "subset"), at=1)
    places = range(len(rows))
    fitting = [
        len(some)
        for size in range(len(rows) + 1)
        for some in combinations(places, size)
        if value(before, told, list(some)) <= limit
    ]
    most = max(fitting, default=0)
    if outcome.what == "release":
        assert most == len(rows)
    elif outcome.what == "subset":
        assert outcome.rows is not None
        assert int(outcome.rows.sum()) == most
        assert outcome.after.value <= limit
    else:
        assert most == 0


@given(ROWS, st.floats(0, 3))
@settings(deadline=None)
def test_masks_bring_everything_within_the_limit(rows: list[tuple[float, float, int]], limit: float) -> None:
    told = publication(rows)
    outcome = decide(EMPTY, told, Limit(limit, "mask"), at=1)
    assert outcome.what in ("release", "mask")
    assert outcome.after.value <= limit
    if outcome.masked is not None:
        assert set(outcome.masked) == {"a", "b"}
        again = EMPTY.learn(told.knowledge(masked=outcome.masked), at=1)
        assert again.value == outcome.after.value


@given(ROWS)
@settings(deadline=None)
def test_the_same_again_adds_nothing(rows: list[tuple[float, float, int]]) -> None:
    told = publication(rows)
    once = EMPTY.learn(told.knowledge(), at=0)
    assert adds_nothing(once, once.learn(told.knowledge(), at=1))
    assert not adds_nothing(EMPTY, once)


def test_what_is_not_told_is_not_learned() -> None:
    told = Publication(
        np.array([1, 2]), {"a": np.array([1.0, UNTOLD])}, np.array([1, 1]), {"a": LEVELS}, {"a": (0,)}, 2
    )
    assert EMPTY.learn(told.knowledge(), at=0).value == 1.0
    assert EMPTY.learn(told.worst(), at=0).value == 1.0


def test_a_key_that_is_linked_makes_everybody_recognisable() -> None:
    seen = EMPTY.learn(publication([(1.0, 0.0, 5)] * 4).knowledge(), at=0)
    assert seen.value == 0.4
    link = Publication(np.array([9]), {SEEN: np.zeros(1)}, np.array([1]), {SEEN: (0.0,)}, marks=(77,), unmasks=True)
    after = decide(seen, link, Limit(9.0, "deny"), at=1).after
    assert after.value == 2.0
    later = publication([(1.0, 0.0, 5)], 50)
    assert linked(after, Publication(**{**later.__dict__, "marks": (77,)}), at=2)[1].crowds.tolist() == [1]


def test_a_limit_of_nothing_denies() -> None:
    outcome = decide(EMPTY, publication([(1.0, 1.0, 1)]), Limit(0.0, "deny"), at=0)
    assert (outcome.what, outcome.after) == ("deny", EMPTY)
