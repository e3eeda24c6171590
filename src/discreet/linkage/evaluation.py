"""Reviewers against a known truth: how often they are right, how well they know it, how long they take.

As the authors of MINDFIRL evaluated theirs: accuracy, precision and recall per reviewer and condition (what was open at
the start), beside the privacy risk (KAPR) that was spent for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from itertools import pairwise
from statistics import median
from typing import Any

from sqlalchemy import select

from discreet.errors import DataError
from discreet.kernel.serialise import json_of
from discreet.ledger import Ledger
from discreet.linkage.matching.pairs import Labels
from discreet.linkage.progress import LONGEST_PAUSE, progress
from discreet.linkage.project import Project
from discreet.linkage.review.decisions import answers_of
from discreet.linkage.review.views import CHOICES
from discreet.store import Store
from discreet.store.tables.linkage import ASSIGNMENT, CELL, DECISION

HURRY = 3.0
"""Seconds for a pair below which nobody has read it: in the authors' study people took 18."""
HURRIED = 0.2
"""The share of such decisions from which it is said."""
CONFIDENCES = ("high", "medium", "low")
Records = tuple[int, int]


@dataclass(frozen=True)
class AnswerAccuracy:
    """Answers of which the truth is known."""

    right_same: int = 0
    wrong_same: int = 0
    right_different: int = 0
    wrong_different: int = 0
    cannot_tell: int = 0

    @classmethod
    def of(cls, answers: Iterable[tuple[str, bool]]) -> AnswerAccuracy:
        """From pairs of an answer and whether the two records are the same person.

        >>> AnswerAccuracy.of([("same", True), ("same", False), ("different", False)]).precision
        Fraction(1, 2)
        """
        counts = {"same": [0, 0], "different": [0, 0], "can't tell": [0, 0]}
        for answer, same in answers:
            counts[answer][same] += 1
        (wrong_same, right_same), (right_different, wrong_different) = counts["same"], counts["different"]
        return cls(right_same, wrong_same, right_different, wrong_different, sum(counts["can't tell"]))

    @property
    def answered(self) -> int:
        """Answers, among them those who could not tell."""
        return self.right_same + self.wrong_same + self.right_different + self.wrong_different + self.cannot_tell

    @property
    def accuracy(self) -> Fraction | None:
        """The share of right answers; who cannot tell is not right."""
        return share(self.right_same + self.right_different, self.answered)

    @property
    def precision(self) -> Fraction | None:
        """Of the pairs called the same, the share that are."""
        return share(self.right_same, self.right_same + self.wrong_same)

    @property
    def recall(self) -> Fraction | None:
        """Of the pairs that are the same and were answered, the share called so, or None where there are none."""
        return share(self.right_same, self.right_same + self.wrong_different)

    to_dict = json_of(
        "answered accuracy precision recall cannot_tell right_same wrong_same right_different wrong_different"
    )


def share(part: int, whole: int) -> Fraction | None:
    """A share, or None of nothing."""
    return Fraction(part, whole) if whole else None


@dataclass(frozen=True)
class ReviewerResult:
    """One reviewer against the truth."""

    worker: str
    condition: str
    """What was open at the start: masked, minimum, moderate, full."""
    accuracy: AnswerAccuracy
    by_confidence: Mapping[str, AnswerAccuracy]
    """Calibration: how often they are right where they say they are sure."""
    seconds: float | None
    """The median time between two decisions, without pauses."""
    hurried: int
    """Decisions within less than three seconds of the act before."""
    risk: Fraction
    """Privacy risk (KAPR) that was spent."""
    characters: Fraction

    @property
    def too_fast(self) -> bool:
        """Whether so many decisions come faster than people read that it should be looked into."""
        return self.accuracy.answered > 0 and self.hurried > HURRIED * self.accuracy.answered

    to_dict = json_of("worker condition accuracy by_confidence seconds hurried too_fast risk characters")


@dataclass(frozen=True)
class LinkEvaluation:
    """A project against the truth."""

    project: str
    condition: str
    pairs: int
    """Pairs of the project of which the truth is known."""
    final: AnswerAccuracy
    """What counts in the end, after adjudication."""
    reviewers: tuple[ReviewerResult, ...]

    to_dict = json_of("project condition pairs final reviewers")


def evaluate(ledger: Ledger, project: Project, labels: Labels, *, complete: bool) -> LinkEvaluation:
    """Hold all answers of a project against labels; `complete` says that pairs without a label are different people."""
    known = _truth(labels)
    answers = answers_of(ledger.store, project)

    def truth(records: Records) -> bool | None:
        ordered = (min(records), max(records))
        return known.get(ordered, False if complete else None)

    judged = [(answered, same) for answered in answers if (same := truth(answered.records)) is not None]
    if not judged:
        raise DataError(
            "The truth says nothing about any pair of this project.",
            remedy="Give a file with two columns of ids of the same records, and same (1 or 0) where pairs differ.",
        )
    times, reviewers = decision_times(ledger.store, project), []
    for worker in progress(ledger, project).workers:
        given = [
            (CHOICES[choice], same)
            for answered, same in judged
            for choice in [answered.reviews.get(worker.worker)]
            if choice is not None
        ]
        gaps = [gap for gap in times.get(worker.worker, {}).values() if gap is not None]
        reviewers.append(
            ReviewerResult(
                worker.worker,
                project.initial,
                AnswerAccuracy.of((answer, same) for (answer, _), same in given),
                {
                    level: AnswerAccuracy.of((answer, same) for (answer, sure), same in given if sure == level)
                    for level in CONFIDENCES
                },
                median(gaps) if gaps else None,
                sum(gap < HURRY for gap in gaps),
                worker.risk.used,
                worker.characters.used,
            )
        )
    final = AnswerAccuracy.of(
        (answered.verdict, same) for answered, same in judged if answered.verdict in ("same", "different")
    )
    return LinkEvaluation(project.name, project.initial, len(judged), final, tuple(reviewers))


def _truth(labels: Labels) -> dict[Records, bool]:
    """Whether two records are the same person, by their numbers, the smaller first."""
    firsts, seconds = labels.pairs.first.tolist(), labels.pairs.second.tolist()
    return {
        (min(pair), max(pair)): bool(same) for *pair, same in zip(firsts, seconds, labels.same.tolist(), strict=True)
    }


def decision_times(store: Store, project: Project) -> dict[str, dict[int, float | None]]:
    """Per reviewer and pair the seconds from their act before to the decision that counts.

    Of a pair in which cells were opened that is the time since the decision on another pair, openings included. The first
    pair, and one after a pause of more than five minutes, has none.
    """
    with store.reading() as connection:
        rows = connection.execute(
            select(ASSIGNMENT.c.worker, ASSIGNMENT.c.pair, DECISION.c.at, DECISION.c.choice)
            .join(DECISION, DECISION.c.assignment == ASSIGNMENT.c.id)
            .where(ASSIGNMENT.c.project == project.id)
            .order_by(DECISION.c.id)
        ).all()
        opened = connection.execute(
            select(ASSIGNMENT.c.worker, ASSIGNMENT.c.pair, CELL.c.at)
            .join(CELL, CELL.c.assignment == ASSIGNMENT.c.id)
            .where(ASSIGNMENT.c.project == project.id, CELL.c.reason == "asked")
        ).all()
    acts: dict[str, list[tuple[datetime, int, bool]]] = defaultdict(list)
    for worker, pair, at, choice in rows:
        acts[worker].append((datetime.fromisoformat(at), pair, choice is not None))
    for worker, pair, at in opened:
        acts[worker].append((datetime.fromisoformat(at), pair, False))
    return {worker: _times(sorted(each)) for worker, each in acts.items()}


def _times(acts: Sequence[tuple[datetime, int, bool]]) -> dict[int, float | None]:
    spent: dict[int, float | None] = {}
    at_this: float | None = None
    for (before, earlier, _), (now, pair, decided) in pairwise([(acts[0][0], -1, False), *acts] if acts else []):
        gap = (now - before).total_seconds()
        # Acts on one pair add up; the first act of all, and one after a pause, has no beginning.
        fresh = None if earlier == -1 or gap > LONGEST_PAUSE else gap
        at_this = fresh if pair != earlier or at_this is None else at_this + (fresh or 0.0)
        if decided:
            spent[pair] = at_this
    return spent


def times_by_pair(store: Store, project: Project) -> Mapping[tuple[int, str], Any]:
    """The same by pair and reviewer, for `decisions.csv`."""
    found = decision_times(store, project)
    return {(pair, worker): seconds for worker, pairs in found.items() for pair, seconds in pairs.items()}
