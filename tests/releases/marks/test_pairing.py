"""How far marks may reach, against attacks played out."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.releases.decoys.detectability import auc
from discreet.releases.doubt import LIMIT, expected_aucs, undecided


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
