"""How many marks and claims it takes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.releases import power
from discreet.releases.marks.codebook import DEFAULT, Law, Marks
from discreet.releases.power import claims_until_traced, coalition_supported, marks_needed, strategies

NEEDED = {1: (15, 27), 2: (90, 135), 3: (245, 370)}
"""For 20 recipients, an error of 0.001 and a power of 0.95, whatever those who collude do."""


@pytest.mark.parametrize("colluding", NEEDED)
def test_marks_needed_are_those_that_are_known(colluding: int) -> None:
    low, high = NEEDED[colluding]
    assert low <= (marks_needed(DEFAULT, 20, colluding) or 0) <= high


@pytest.mark.parametrize("law", ["0.5", "nuida:3"])
def test_other_laws_need_about_as_many(law: str) -> None:
    for colluding, (low, high) in NEEDED.items():
        assert 0.95 * low <= (marks_needed(Law.parse(law), 20, colluding) or 0) <= 1.05 * high


def test_more_recipients_need_more_marks_and_fewer_marks_carry_less() -> None:
    assert (marks_needed(DEFAULT, 20, 2) or 0) <= (marks_needed(DEFAULT, 2000, 2) or 0)
    assert coalition_supported(10, DEFAULT, 20) == 0
    assert coalition_supported(60, DEFAULT, 20) == 1
    assert coalition_supported(200, DEFAULT, 20) == 2
    assert coalition_supported(2000, DEFAULT, 2) == 2
    assert marks_needed(DEFAULT, 20, 3, most=50) is None


def test_a_coalition_shows_what_all_have_and_hides_what_none_has() -> None:
    for colluding in range(1, 6):
        for choice in strategies(colluding).values():
            assert (len(choice), choice[0], choice[-1]) == (colluding + 1, 0.0, 1.0)
            assert all(0 <= chance <= 1 for chance in choice)


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
