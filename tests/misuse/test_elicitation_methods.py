"""Record ranking and pairwise comparison on the same simulated people, and the data of a study."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.misuse.elicitation import Interview, Item, SimulatedExpert
from discreet.misuse.evaluation import METHODS, compare_methods, study_files

SCORES = np.array([0.05, 0.2, 0.5, 0.9, 0.1, 0.4])
ITEMS = [Item("illness", name, (name,)) for name in ("flu", "gout", "angina", "HIV")] + [
    Item("bill", "up to 100", upper=100.0),
    Item("bill", "over 100"),
]


def interviews(error: float, *, comparisons: int | None = None) -> list[Interview]:
    found = []
    for number in range(3):
        rng = np.random.default_rng([7, number])
        expert = SimulatedExpert(SCORES, rng, comparing=error)
        talk = expert.interview(f"expert {number}", ITEMS, seed=number)
        found.append(talk)
    return found


def test_both_methods_order_values_as_the_expert_does_and_predict_records() -> None:
    found = compare_methods(interviews(0.05))
    assert [row.method for row in found.rows[:3]] == list(METHODS)
    for row in found.rows:
        known = ~np.isnan(row.scores)
        order = np.argsort(SCORES[known])
        assert row.questions > 0
        assert np.corrcoef(row.scores[known][order], SCORES[known][order])[0, 1] > 0.8
        assert row.error is not None
        assert row.error < 0.25
    both = [row.error for row in found.rows if row.method == "both"]
    alone = [row.error for row in found.rows if row.method == "pairwise comparison"]
    assert sum(filter(None, both)) < sum(filter(None, alone)), "two instruments know more than one"
    assert all((tau := found.tau(name)) is not None and tau > 0.5 for name in found.experts)
    assert all((tau := found.agreement(method)) is not None and tau > 0.5 for method in METHODS)


def test_a_record_is_predicted_without_its_own_answer() -> None:
    """With one record alone nothing else says what it weighs."""
    talk = Interview.begin("ann", ITEMS, comparisons=0, ratings=1)
    question = talk.next_question()
    assert question is not None
    rows = compare_methods([talk.answer(question, 0.7)]).rows
    assert [row.error for row in rows] == [None, None, None]


def test_a_study_is_exported_with_times_and_without_formulas() -> None:
    talk = Interview.begin("=evil()", ITEMS)
    question = talk.next_question()
    assert question is not None
    talk = talk.answer(question, 3.0, seconds=4.25)
    read = Interview.from_dict(talk.to_dict())
    assert read.answers[0].seconds == 4.25
    files = study_files([talk])
    (row,) = csv.DictReader(io.StringIO(files["answers.csv"]))
    assert (row["expert"], row["question"], row["answer"], row["seconds"]) == ("'=evil()", "comparison", "3.0", "4.2")
    assert len(list(csv.DictReader(io.StringIO(files["scores.csv"])))) == len(ITEMS) * len(METHODS)
    with pytest.raises(UsageError, match="seconds"):
        talk.answer(question, 3.0, seconds=-1.0)
