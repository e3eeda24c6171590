"""Experts who never existed: their scores are known, their answers noisy."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from discreet.misuse.elicitation import Compare, Interview, Item, Question
from discreet.misuse.elicitation.comparisons import SCALE, PairwiseJudgement

ITEMS = tuple(
    Item(column, label, values=(label,))
    for column, labels in {"illness": "abcd", "account": "efg", "debt": "hi"}.items()
    for label in labels
)


def truthful(scores: np.ndarray, question: Question) -> float:
    """What an expert without errors says, on scales without steps."""
    if isinstance(question, Compare):
        return float(np.clip(scores[question.first] / scores[question.second], 1 / 9, 9))
    return float(min(1.0, scores[list(question.items)].sum()))


def interviewed(scores: np.ndarray, **plan: int) -> Interview:
    """A whole interview without errors."""
    talk = Interview.begin("expert", ITEMS[: len(scores)], **plan)
    while (question := talk.next_question()) is not None:
        talk = talk.answer(question, truthful(scores, question))
    return talk


@st.composite
def connected(draw: st.DrawFn, *, most: int = 6) -> tuple[int, list[PairwiseJudgement]]:
    """Comparisons that connect all items: a tree, and some more."""
    items = draw(st.integers(2, most))
    edges = {(draw(st.integers(0, place - 1)), place) for place in range(1, items)}
    every = [(i, j) for j in range(items) for i in range(j)]
    edges |= set(draw(st.lists(st.sampled_from(every), max_size=8)))
    return items, [PairwiseJudgement(i, j, draw(st.sampled_from(SCALE))) for i, j in sorted(edges)]
