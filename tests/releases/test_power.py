"""How many marks and claims it takes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.releases import power
from discreet.releases.marks.codebook import Marks
from discreet.releases.power import (
    NEEDED,
    STRATEGIES,
    claims_until_traced,
    coalition_supported,
    marks_needed,
    shown_by,
)


def test_marks_needed_are_about_thirty_times_the_square_of_those_who_collude() -> None:
    for colluding, marks in NEEDED.items():
        assert marks_needed(20, colluding) == marks
        assert 15 * colluding**2 <= marks <= 50 * colluding**2
    assert marks_needed(20, 7) == NEEDED[8]
    assert marks_needed(20, 11) is None


def test_more_recipients_need_more_marks_and_fewer_marks_carry_less() -> None:
    assert NEEDED[2] < (marks_needed(2000, 2) or 0) < 2 * NEEDED[2]
    assert coalition_supported(10, 20) == 0
    assert coalition_supported(60, 20) == 1
    assert coalition_supported(200, 20) == 2
    assert coalition_supported(2000, 2) == 2


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_coalition_shows_what_all_have_and_hides_what_none_has(strategy: str) -> None:
    random = np.random.default_rng(2)
    for colluding in range(1, 6):
        copies = random.random((colluding, 300)) < 0.5
        shown = shown_by(copies, strategy, random)
        assert shown[copies.all(axis=0)].all()
        assert not shown[~copies.any(axis=0)].any()


def marks(count: int) -> Marks:
    links = np.arange(100, 100 + count)
    labels = tuple((str(number),) for number in range(count))
    places = np.arange(count)
    return Marks(("zip",), labels, places % 2 == 0, np.full(count, 5), links, places ^ 1)


def test_claims_are_counted_class_by_class() -> None:
    """With one probability every hit weighs the same, so that the number of claims is known."""
    sure = np.full(100, 0.5)
    gains = [0.98 / 0.5, 1 + 0.5 / 2 / 0.5, 1 + 0.5 / 3 / 0.5]
    hits = next(number for number in range(1, 99) if sum(gain**number for gain in gains) / 3 >= 20 / 1e-3)
    assert claims_until_traced(marks(100), sure, np.arange(0), 20) == hits
    assert claims_until_traced(marks(100), sure, np.array([1, 2, 3]), 20) == hits + 3
    assert claims_until_traced(marks(100), sure, np.array([5000]), 20) == hits


def test_claims_do_not_depend_on_how_many_classes_are_looked_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    chance, unmarked = rng.choice([0.2, 0.5], 200), rng.integers(90, 300, 400)
    expected = [claims_until_traced(marks(200), chance, unmarked, 20, colluding=one) for one in (1, 2)]
    monkeypatch.setattr(power, "_FIRST_CLAIMS", 3)
    assert [claims_until_traced(marks(200), chance, unmarked, 20, colluding=one) for one in (1, 2)] == expected
    assert all(math.isfinite(claims) for claims in expected)


def test_too_few_marks_never_name_anybody() -> None:
    assert claims_until_traced(marks(6), np.full(6, 0.5), np.arange(50), 20) == math.inf
    assert claims_until_traced(marks(0), np.zeros(0), np.arange(50), 20) == math.inf
