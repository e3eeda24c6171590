"""Several experts: the mean, the agreement, the dispute."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DataError
from discreet.misuse.elicitation import Interview, combine, kendall_tau
from tests.misuse.elicitation.strategies import ITEMS, interviewed

TRUE = np.array([0.05, 0.3, 0.6, 0.95, 0.15, 0.4, 0.1, 0.7, 0.2])
scores = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=12)


@given(scores)
def test_tau_is_tau_b(pairs: list[tuple[int, int]]) -> None:
    first, second = (np.array(one, dtype=float) for one in zip(*pairs, strict=True))
    mine, theirs = kendall_tau(first, second), scipy.stats.kendalltau(first, second)[0]
    assert mine is None if np.isnan(theirs) else mine == pytest.approx(theirs)


def test_the_mean_is_geometric_and_agreement_is_seen() -> None:
    ann = interviewed(TRUE, comparisons=20, ratings=20)
    ben = interviewed(np.minimum(TRUE * 1.5, 1), comparisons=20, ratings=20)
    panel = combine([ann, ben])
    assert panel.scores == pytest.approx(np.sqrt(ann.scores() * ben.scores()))
    assert panel.agreement is not None
    assert panel.agreement > 0.9
    assert panel.taus[1] == ()


def test_opposite_experts_disagree() -> None:
    panel = combine([interviewed(TRUE, ratings=20), interviewed(1.0 - TRUE, ratings=20)])
    assert panel.agreement is not None
    assert panel.agreement < -0.8


def test_one_expert_is_enough_and_agrees_with_nobody() -> None:
    panel = combine([interviewed(TRUE, ratings=20)])
    assert panel.agreement is None
    assert panel.disputed == []


def test_what_one_expert_did_not_answer_the_other_decides() -> None:
    whole = interviewed(TRUE, comparisons=16, ratings=10)
    question = whole.answers[0].question
    part = Interview.begin("ben", ITEMS).answer(question, 3.0)
    panel = combine([whole, part])
    missing = np.isnan(panel.single[1])
    assert missing.sum() == len(ITEMS) - 2
    assert panel.scores[missing] == pytest.approx(whole.scores()[missing])


def test_silence_and_different_questions_are_refused() -> None:
    with pytest.raises(DataError, match="of 9 values"):
        combine([Interview.begin("ann", ITEMS)])
    with pytest.raises(DataError, match="same values"):
        combine([interviewed(TRUE, ratings=1), interviewed(TRUE[:4], ratings=1)])
    with pytest.raises(DataError):
        combine([])


def test_a_harmless_value_stays_harmless() -> None:
    talk = interviewed(np.array([0.0, 0.5, 1.0, 0.2]), comparisons=0, ratings=12)
    assert combine([talk, talk]).scores[0] == 0
