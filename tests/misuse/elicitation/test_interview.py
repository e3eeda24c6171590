"""An interview goes on where it stopped, asks sensibly, and refuses what it cannot read."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DataError, UsageError
from discreet.misuse.elicitation import Compare, Interview, Item, Rate, SimulatedExpert, combine
from discreet.misuse.elicitation.comparisons import eigenvector, parts
from discreet.misuse.elicitation.joint_fit import clamped_fit
from tests.examples import examples
from tests.misuse.elicitation.strategies import ITEMS, interviewed, truthful

TRUE = np.array([0.05, 0.3, 0.6, 0.95, 0.15, 0.4, 0.1, 0.7, 0.2])


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(0, 1000), st.integers(0, 40))
def test_stopping_and_reading_back_changes_nothing(seed: int, stop: int) -> None:
    rng = np.random.default_rng(seed)
    expert = SimulatedExpert(TRUE, rng)
    talk = Interview.begin("ann", ITEMS, seed=seed, ratings=10)
    for _ in range(stop):
        question = talk.next_question()
        if question is None:
            break
        talk = talk.answer(question, None if rng.random() < 0.2 else expert.says(question))
    back = Interview.from_dict(json.loads(json.dumps(talk.to_dict())))
    assert back == talk
    assert back.next_question() == talk.next_question()
    assert (back.scores() == talk.scores()).all()


def test_all_values_are_connected_as_soon_as_possible() -> None:
    talk = Interview.begin("ann", ITEMS, seed=3)
    for _ in range(len(ITEMS) - 1):
        question = talk.next_question()
        assert isinstance(question, Compare)
        talk = talk.answer(question, truthful(TRUE, question))
    assert set(parts(talk.pairs, len(ITEMS))) == {0}


def test_no_question_comes_twice_and_passing_is_allowed() -> None:
    talk = Interview.begin("ann", ITEMS, comparisons=36, ratings=30)
    asked = []
    while (question := talk.next_question()) is not None:
        asked.append(frozenset(vars(question).values()) if isinstance(question, Compare) else frozenset(question.items))
        talk = talk.answer(question, None if len(asked) % 3 else truthful(TRUE, question))
    kinds = [isinstance(answer.question, Compare) for answer in talk.answers]
    assert kinds == [True] * 36 + [False] * 30
    assert len(set(asked[:36])) == 36
    assert len(set(asked[36:])) == 30


def test_a_record_has_at_most_one_value_of_a_column() -> None:
    talk = interviewed(TRUE, comparisons=8, ratings=40)
    for record, _ in talk.rated:
        columns = [ITEMS[item].column for item in record]
        assert len(set(columns)) == len(columns)


def test_many_values_are_asked_about_without_listing_every_record() -> None:
    items = [Item(f"c{column}", f"v{value}", (f"v{value}",)) for column in range(5) for value in range(6)]
    scores = np.geomspace(0.05, 1.0, 30)
    talk = Interview.begin("ann", items, comparisons=29, ratings=3)
    while (question := talk.next_question()) is not None:
        talk = talk.answer(question, truthful(scores, question))
    assert len(talk.rated) == 3


def test_each_instrument_alone() -> None:
    compared = interviewed(TRUE, comparisons=12, ratings=0)
    assert (compared.scores() == eigenvector(compared.pairs, 9)).all()
    rated = interviewed(TRUE, comparisons=0, ratings=30)
    assert (rated.scores() == clamped_fit(rated.evidence.matrix, rated.evidence.ratings)).all()


def test_an_answer_can_be_taken_back_or_given_again() -> None:
    talk = interviewed(TRUE[:3], comparisons=3, ratings=4)
    last = talk.answers[-1].question
    assert talk.undo().next_question() == last
    first = talk.answers[0].question
    assert isinstance(first, Compare)
    turned = talk.answer(Compare(first.second, first.first), 9.0)
    assert len(turned.pairs) == len(talk.pairs)
    assert turned.scores()[first.second] > talk.scores()[first.second]


def test_what_is_in_dispute_is_asked_again() -> None:
    ann = interviewed(TRUE, comparisons=16, ratings=12)
    ben = interviewed(np.where(np.arange(9) == 2, 0.05, TRUE), comparisons=16, ratings=12)
    panel = combine([ann, ben])
    assert panel.disputed[0] == 2
    again = ann.ask_again(panel.disputed[:1], most=2)
    assert again.left == 2
    for _ in range(2):
        question = again.next_question()
        assert question is not None
        assert 2 in (vars(question).values() if isinstance(question, Compare) else question.items)
        again = again.answer(question, truthful(TRUE, question))
    assert again.left == 0
    assert Interview.from_dict(again.to_dict()) == again


def test_a_contradiction_is_put_once_more() -> None:
    talk = interviewed(TRUE[:4], comparisons=6, ratings=0)
    assert talk.recheck() == talk
    one = talk.pairs[0]
    turned = talk.answer(Compare(one.first, one.second), 9.0 if one.ratio < 1 else 1 / 9)
    asked = turned.recheck().next_question()
    assert asked in (Compare(one.first, one.second), Compare(one.second, one.first))


@pytest.mark.parametrize("value", [10.0, 0.1, -1.0, float("nan"), float("inf")])
def test_a_ratio_outside_the_scale_is_refused(value: float) -> None:
    with pytest.raises(UsageError):
        Interview.begin("ann", ITEMS).answer(Compare(0, 1), value)


@pytest.mark.parametrize("question", [Compare(0, 0), Compare(0, 99), Rate(()), Rate((1, 1)), Rate((-1,))])
def test_questions_about_nothing_are_refused(question: Any) -> None:
    with pytest.raises(UsageError):
        Interview.begin("ann", ITEMS).answer(question, 1.0)


SOUND = interviewed(TRUE[:3], comparisons=2, ratings=1).to_dict()
BROKEN = [
    None,
    [],
    {},
    {**SOUND, "format": "2"},
    {**SOUND, "items": []},
    {**SOUND, "items": SOUND["items"][:2] * 2},
    {**SOUND, "answers": [{"compare": [0], "answer": 1}]},
    {**SOUND, "answers": [{"compare": [0, 1], "answer": "much"}]},
    {**SOUND, "answers": [{"rate": [0], "answer": 3}]},
    {**SOUND, "seed": "x"},
    {key: value for key, value in SOUND.items() if key != "again"},
]


@pytest.mark.parametrize("content", BROKEN, ids=range(len(BROKEN)))
def test_a_file_that_is_no_interview_is_refused(content: Any) -> None:
    with pytest.raises(DataError):
        Interview.from_dict(content)


def test_one_value_is_nothing_to_ask_about() -> None:
    with pytest.raises(DataError):
        Interview.begin("ann", ITEMS[:1])
