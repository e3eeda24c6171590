"""Reviewers against a known truth."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import DataError
from discreet.ledger import Ledger
from discreet.linkage import Display, Labels, Pairs, ProjectFolder, load_index
from discreet.linkage.evaluation import AnswerAccuracy, evaluate
from discreet.linkage.progress import _times
from discreet.linkage.review.decisions import answers_of
from discreet.linkage.review.reveal import DisplayCost, display_costs
from tests.linkage.test_export import FIRST, SECOND, home, reviewed

__all__ = ["home"]


def labels(home: ProjectFolder, *same: tuple[int, int], different: tuple[tuple[int, int], ...] = ()) -> Labels:
    """Labels by the places of the records in the two tables."""
    a, b = home.records_of(FIRST["id"], "first"), home.records_of(SECOND["id"], "second")
    pairs = [*same, *different]
    first, second = (np.array([side[pair[place]] for pair in pairs]) for place, side in enumerate((a, b)))
    return Labels(
        Pairs.of(first, second, np.zeros(len(pairs))), np.array([True] * len(same) + [False] * len(different))
    )


def test_all_right(ledger: Ledger, home: ProjectFolder) -> None:
    found = evaluate(ledger, reviewed(ledger, home), labels(home, (0, 0), (1, 1)), complete=True)
    ann = found.reviewers[0]
    assert (found.pairs, found.condition, ann.worker) == (9, "masked", "ann")
    assert (ann.accuracy.accuracy, ann.accuracy.precision, ann.accuracy.recall) == (1, 1, 1)
    assert found.final == ann.accuracy
    assert ann.by_confidence["high"].answered == 9
    assert ann.by_confidence["low"].accuracy is None
    assert ann.risk > 0
    json.dumps(found.to_dict(), default=str)


def test_errors_are_counted_by_kind(ledger: Ledger, home: ProjectFolder) -> None:
    """Truly the same: the first pair, which was called so, and (2, 2), which was not."""
    found = evaluate(ledger, reviewed(ledger, home), labels(home, (0, 0), (2, 2)), complete=True).reviewers[0].accuracy
    assert (found.right_same, found.wrong_same, found.right_different, found.wrong_different) == (1, 1, 6, 1)
    assert (found.accuracy, found.precision, found.recall) == (Fraction(7, 9), Fraction(1, 2), Fraction(1, 2))


def test_pairs_of_unknown_truth_are_left_out(ledger: Ledger, home: ProjectFolder) -> None:
    project = reviewed(ledger, home)
    found = evaluate(ledger, project, labels(home, (0, 0), different=((0, 1),)), complete=False)
    assert found.pairs == found.reviewers[0].accuracy.answered == 2
    empty = Labels(Pairs.of(np.array([90]), np.array([91]), np.zeros(1)), np.array([True]))
    with pytest.raises(DataError):
        evaluate(ledger, project, empty, complete=False)


def test_who_decides_faster_than_people_read_is_named(ledger: Ledger, home: ProjectFolder) -> None:
    found = evaluate(ledger, reviewed(ledger, home), labels(home, (0, 0)), complete=True)
    assert found.reviewers[0].too_fast, "a program decides at once"


def test_who_cannot_tell_is_not_right() -> None:
    found = AnswerAccuracy.of([("can't tell", True), ("same", True)])
    assert (found.accuracy, found.recall, found.cannot_tell) == (Fraction(1, 2), 1, 1)
    assert AnswerAccuracy().accuracy is None


def test_times_add_up_over_openings_and_know_no_pauses() -> None:
    start = datetime(2026, 3, 1, tzinfo=UTC)

    def at(seconds: float, pair: int, *, decided: bool) -> tuple[datetime, int, bool]:
        return start + timedelta(seconds=seconds), pair, decided

    acts = [
        at(0, 1, decided=True),
        at(5, 2, decided=False),
        at(9, 2, decided=True),
        at(11, 3, decided=True),
        at(4000, 4, decided=True),
        at(4020, 5, decided=True),
    ]
    assert _times(acts) == {1: None, 2: 9, 3: 2, 4: None, 5: 20}
    assert _times([]) == {}


def test_what_each_display_would_cost(ledger: Ledger, home: ProjectFolder) -> None:
    """As a display of the same pairs opened so, which is worked out by other code."""
    project = reviewed(ledger, home)
    pairs = [answered.records for answered in answers_of(ledger.store, project)]
    costs = display_costs(project, pairs)
    assert list(costs) == ["masked", "minimum", "moderate", "full"]
    assert costs["masked"] == DisplayCost(Fraction(0), Fraction(0))
    assert costs["full"].characters == 1
    shown = Display(load_index(home.path / "index"), pairs=pairs)
    assert costs["full"].risk == shown.open_all("full").score
    risks = [cost.risk for cost in costs.values()]
    assert risks == sorted(risks)
