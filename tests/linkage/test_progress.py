"""Kappa against examples worked by hand, and against scikit-learn."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from discreet.errors import UsageError
from discreet.linkage.progress import agreement_of_many, agreement_of_two

ANSWERS = ["same", "different", "can't tell"]


def test_cohens_kappa_of_a_table_worked_by_hand() -> None:
    """20 both yes, 5 yes-no, 10 no-yes, 15 both no: observed 35/50, expected (25*30 + 25*20)/2500 = 1/2, kappa 2/5."""
    first = "y" * 25 + "n" * 25
    second = "y" * 20 + "n" * 5 + "y" * 10 + "n" * 15
    assert agreement_of_two(first, second) == Fraction(2, 5)


def test_fleiss_kappa_of_the_published_example() -> None:
    """Fourteen raters, ten subjects, five categories (the example after Fleiss 1971): kappa 0.210."""
    table = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    rows = [[category for category, count in enumerate(row) for _ in range(count)] for row in table]
    found = agreement_of_many(rows)
    assert found is not None
    assert round(float(found), 3) == 0.210


@given(st.lists(st.tuples(st.sampled_from(ANSWERS), st.sampled_from(ANSWERS)), min_size=1, max_size=40))
def test_cohens_kappa_is_that_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    found = agreement_of_two(first, second)
    assume(found is not None)
    assert float(found or 0) == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)


@given(st.lists(st.lists(st.sampled_from(ANSWERS), min_size=3, max_size=3), min_size=1, max_size=20), st.randoms())
def test_fleiss_kappa_knows_no_order(rows: list[list[str]], rng: object) -> None:
    shuffled = [sorted(row) for row in rows[::-1]]
    assert agreement_of_many(rows) == agreement_of_many(shuffled)
    found = agreement_of_many(rows)
    assert found is None or -1 <= found <= 1


def test_agreement_beyond_chance_needs_something_to_differ_about() -> None:
    assert agreement_of_two("yyy", "yyy") is None
    assert agreement_of_many(["yy", "yy"]) is None
    assert agreement_of_two("yn", "yn") == 1
    assert agreement_of_two("yn", "ny") == -1


@pytest.mark.parametrize("rows", [[], ["y"], ["yn", "ynn"]])
def test_pairs_with_too_few_answers_are_refused(rows: list[str]) -> None:
    with pytest.raises(UsageError):
        agreement_of_many(rows)
    with pytest.raises(UsageError):
        agreement_of_two("y", "")
