"""Answers, adjudication, agreement, and what managers see of it."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import BudgetExhausted, NotThere, Refused, UsageError
from discreet.ledger import Ledger
from discreet.linkage import ProjectFolder
from discreet.linkage.progress import progress, summary
from discreet.linkage.project import Project, close_project
from discreet.linkage.review import reveal
from discreet.linkage.review.assignments import Limits, assign
from discreet.linkage.review.decisions import adjudicate, answers_of, decide, disputes, labels_of, next_pair, undo
from discreet.store.tables.linkage import ASSIGNMENT, CELL, DECISION
from tests.linkage.review.test_reveal import consistent, numbers_of, rows
from tests.linkage.worlds import PAIRS, PEOPLE, registered


def test_an_answer_is_saved_taken_back_and_never_lost(ledger: Ledger, project: Project) -> None:
    order = [row.pair for row in sorted(rows(ledger, ASSIGNMENT), key=lambda row: row.place) if row.worker == "ann"]
    first = order[0]
    assert next_pair(ledger.store, project, "ann") == first
    decide(ledger.store, project, "ann", first, 5)
    assert next_pair(ledger.store, project, "ann") == order[1]
    seen = reveal.view(ledger, project, "ann", first)
    assert (seen.choice, seen.decided, seen.place, seen.previous, seen.following) == (5, 1, 1, None, order[1])
    undo(ledger.store, project, "ann", first)
    assert reveal.view(ledger, project, "ann", first).choice is None
    assert next_pair(ledger.store, project, "ann") == first
    undo(ledger.store, project, "ann", first)  # nothing to take back
    decide(ledger.store, project, "ann", first, 0)
    assert [row.choice for row in rows(ledger, DECISION)] == [5, None, 0]
    assert reveal.view(ledger, project, "ann", order[1]).previous == first


def test_taking_an_answer_back_refunds_nothing(ledger: Ledger, project: Project) -> None:
    reveal.reveal(ledger, project, "ann", 1, "sex", key="a")
    spent = ledger.budget(project.budget("ann")).spent
    decide(ledger.store, project, "ann", 1, 6)
    undo(ledger.store, project, "ann", 1)
    assert reveal.view(ledger, project, "ann", 1).cell("sex").mode == "full"
    assert ledger.budget(project.budget("ann")).spent == spent > 0


def test_only_answers_that_exist_and_pairs_that_are_ones_own(ledger: Ledger, project: Project) -> None:
    for choice in (7, -1):
        with pytest.raises(UsageError):
            decide(ledger.store, project, "ann", 1, choice)
    for worker, number in (("eve", 1), ("ann", 99)):
        with pytest.raises(NotThere):
            decide(ledger.store, project, worker, number, 1)
    close_project(ledger, project, actor="manager")
    with pytest.raises(Refused, match="closed"):
        decide(ledger.store, project, "ann", 1, 1)
    assert rows(ledger, DECISION) == []


def decided(ledger: Ledger, project: Project, ann: str, ben: str) -> None:
    """Let both answer pair after pair with these choices."""
    for worker, choices in (("ann", ann), ("ben", ben)):
        for number, choice in enumerate(choices, start=1):
            decide(ledger.store, project, worker, number, int(choice))


def test_who_differs_is_adjudicated_with_all_that_was_opened(ledger: Ledger, project: Project) -> None:
    reveal.reveal(ledger, project, "ann", 1, "sex", key="a")
    for turn in range(2):
        reveal.reveal(ledger, project, "ben", 1, "number", key=f"b{turn}")
    reveal.reveal(ledger, project, "ben", 2, "born", key="c")
    decided(ledger, project, "6111116", "1111106")
    assert [one.pair for one in disputes(ledger.store, project)] == [1, 6]
    with pytest.raises(UsageError, match="reviewed by 'ann'"):
        adjudicate(ledger, project, "ann", actor="manager")
    with pytest.raises(UsageError, match="not disputed"):
        adjudicate(ledger, project, "eve", actor="manager", pairs=[2])
    with pytest.raises(BudgetExhausted):
        adjudicate(ledger, project, "eve", actor="manager", limits=Limits.of(0))
    assert adjudicate(ledger, project, "eve", actor="manager", limits=Limits.of("0.9")) == 2
    shown = reveal.view(ledger, project, "eve", 1)
    union = {cell.attribute: cell.mode for cell in shown.cells}
    assert union == {"given": "masked", "family": "masked", "born": "masked", "sex": "full", "number": "full"}
    assert shown.role == "adjudication"
    assert shown.risk.used > 0
    assert {row.reason for row in rows(ledger, CELL)} == {"asked", "seen by others"}
    assert consistent(ledger, project, "ann", "ben", "eve")
    reveal.reveal(ledger, project, "eve", 1, "given", key="a")  # she may open more, on her own budget
    decide(ledger.store, project, "eve", 1, 4)
    verdicts = {one.pair: one.verdict for one in answers_of(ledger.store, project)}
    assert verdicts == {
        1: "same",
        2: "different",
        3: "different",
        4: "different",
        5: "different",
        6: "disputed",
        7: "same",
    }
    assert disputes(ledger.store, project) == []
    labels = labels_of(answers_of(ledger.store, project))
    assert (len(labels), int(labels.same.sum())) == (6, 2)
    found = numbers_of(ledger, project)
    assert labels.pairs.first.tolist() == [found[number][0] for number in (1, 2, 3, 4, 5, 7)]


def test_progress_in_numbers_worked_by_hand(ledger: Ledger, project: Project) -> None:
    decided(ledger, project, "6111116", "1111106")
    found = progress(ledger, project)
    assert found.verdicts == {"same": 1, "different": 4, "can't tell": 0, "disputed": 2, "open": 0}
    assert (found.pairs, found.unassigned, found.to_adjudicate, found.compared) == (7, 0, 2, 7)
    # Ann: 2 same, 5 different; Ben: 1 same, 5 different, 1 can't tell; agreed on 5 of 7; by chance (2*1 + 5*5) / 49.
    assert found.between == (("ann", "ben", 7, (Fraction(5, 7) - Fraction(27, 49)) / (1 - Fraction(27, 49))),)
    # Fleiss: 3 same, 10 different, 1 can't tell of 14.
    chance = Fraction(9 + 100 + 1, 14 * 14)
    assert found.agreement == (Fraction(5, 7) - chance) / (1 - chance)
    ann = summary(ledger, project, "ann")
    assert (ann.pairs, ann.decided, ann.choices[6], ann.choices[1]) == (7, 7, 2, 5)
    with pytest.raises(NotThere):
        summary(ledger, project, "eve")


def test_managers_see_no_value(ledger: Ledger, project: Project, folder: Path) -> None:
    for name in project.attributes:
        for turn in range(2):
            reveal.reveal(ledger, project, "ann", 1, name, key=f"{name}{turn}")
    told = json.dumps(progress(ledger, project).to_dict())
    records = ProjectFolder.open(folder).identifying()
    shown = [cell.rows[0].text for cell in reveal.view(ledger, project, "ann", 1).cells]
    assert all(len(text) == 1 or text in [*records["given"], *records["family"], *records["born"], *records["number"], "?"]
               for text in shown)  # fmt: skip
    values = [str(value) for person in PEOPLE for name, value in person.items() if name != "sex" and value]
    assert [value for value in values if value in told] == []


def test_a_pair_is_open_until_all_have_answered(ledger: Ledger, folder: Path) -> None:
    project = registered(ledger, folder)
    assign(ledger, project, ["ann", "ben"], actor="manager", overlap=2, most=3, rng=random.Random(1))
    mine = [row.pair for row in rows(ledger, ASSIGNMENT) if row.worker == "ann"]
    decide(ledger.store, project, "ann", mine[0], 6)
    found = progress(ledger, project)
    assert found.verdicts["open"] == len(PAIRS)
    assert (found.unassigned, found.agreement, found.between) == (4, None, ())
