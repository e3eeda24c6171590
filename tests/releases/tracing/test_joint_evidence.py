"""The joint e-value: exact for innocents, whatever happened, and strong against those who put their copies together."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.releases.marks.row_marks import ROW_LAW
from discreet.releases.power import NEEDED, STRATEGIES, named
from discreet.releases.tracing.joint_evidence import COALITIONS, SeenMarks, beliefs
from tests.examples import examples


@pytest.mark.parametrize("colluding", COALITIONS)
def test_beliefs_are_probabilities(colluding: int) -> None:
    assert np.exp(beliefs(colluding)).sum(axis=1) == pytest.approx(1)
    assert len(beliefs(colluding)) == colluding + 1


@given(
    marks=st.integers(1, 5),
    others=st.integers(0, 3),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=examples(25), deadline=None)
def test_the_expectation_is_one_by_enumeration(marks: int, others: int, seed: int) -> None:
    """Over all bits of one recipient, given the file and all other bits, however these came about."""
    random = np.random.default_rng(seed)
    chance = random.choice(ROW_LAW.values, marks)
    seen = SeenMarks(chance, *random.normal(0, 3, (2, marks)))
    rest = random.random((others, marks)) < 0.5
    every = list(product((False, True), repeat=marks))
    weights = [math.prod(p if bit else 1 - p for bit, p in zip(bits, chance, strict=True)) for bits in every]
    values = [math.exp(seen.log_e_values(np.vstack([rest, [bits]]))[-1]) for bits in every]
    assert float(np.dot(weights, values)) == pytest.approx(1)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("colluding", [1, 2, 3])
def test_one_of_those_who_collude_is_named_with_the_marks_that_are_stated(colluding: int, strategy: str) -> None:
    random = np.random.default_rng(colluding)
    runs = [named(ROW_LAW, NEEDED[colluding], colluding, strategy, random) for _ in range(8)]
    assert sum(found for found, _ in runs) >= 7
    assert sum(wrong for _, wrong in runs) == 0


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("colluding", [4, 5, 6, 8, 10])
def test_larger_coalitions_are_named_as_well(colluding: int, strategy: str) -> None:
    random = np.random.default_rng(colluding)
    assert sum(named(ROW_LAW, NEEDED[colluding], colluding, strategy, random)[0] for _ in range(4)) >= 3


def test_innocents_are_accused_no_oftener_than_stated() -> None:
    """600 families of ten beside a coalition of strangers, at a line of 1 in 20: 5 % of families at most."""
    random, accused = np.random.default_rng(7), 0
    for run in range(600):
        chance = random.choice(ROW_LAW.values, 40)
        strangers = random.random((1 + run % 3, 40)) < chance
        shown = strangers.any(axis=0)
        seen = SeenMarks(chance, np.where(shown, -0.02, -4.0), np.where(shown, -4.0, -0.02))
        accused += bool((seen.log_e_values(random.random((10, 40)) < chance) >= math.log(10 / 0.05)).any())
    assert accused / 600 <= 0.05 + 3 * math.sqrt(0.05 / 600)


def test_no_marks_and_nobody_give_nothing() -> None:
    none = SeenMarks(np.zeros(0), np.zeros(0), np.zeros(0))
    assert none.log_e_values(np.zeros((2, 0), dtype=bool)).tolist() == [0.0, 0.0]
