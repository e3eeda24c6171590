"""Reviewers against a known truth: how often they are right, how well they know it, how long they take.

As the authors of MINDFIRL evaluated theirs: accuracy, precision and recall per reviewer and condition (what was open at
the start), beside the privacy risk (KAPR) that was spent for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from fractions import Fraction
from statistics import fmean, median

from discreet.errors import DataError
from discreet.kernel.serialise import json_of
from discreet.ledger import Ledger
from discreet.linkage.matching.pairs import Labels
from discreet.linkage.progress import decision_times, progress
from discreet.linkage.project import Project
from discreet.linkage.review.decisions import answers_of
from discreet.linkage.review.views import CHOICES

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

    @classmethod
    def total(cls, parts: Iterable[AnswerAccuracy]) -> AnswerAccuracy:
        """Several together."""
        return cls(*(sum(counts) for counts in zip(*map(astuple, parts), strict=True)))

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
    """The interface: what was open at the start, or that of a participant of a study."""
    accuracy: AnswerAccuracy
    by_confidence: Mapping[str, AnswerAccuracy]
    """Calibration: how often they are right where they say they are sure."""
    seconds: float | None
    """The median time between two decisions, without pauses."""
    hurried: int
    """Decisions within less than three seconds of the act before."""
    too_fast: bool
    risk: Fraction
    """Privacy risk (KAPR) that was spent."""
    characters: Fraction

    to_dict = json_of("worker condition accuracy by_confidence seconds hurried too_fast risk characters")


@dataclass(frozen=True)
class ConditionResult:
    """One interface against the truth: its reviewers together."""

    reviewers: int
    accuracy: AnswerAccuracy
    by_confidence: Mapping[str, AnswerAccuracy]
    seconds: float | None
    """The mean of their median times for a pair."""
    risk: Fraction
    """Privacy risk (KAPR), their mean."""
    characters: Fraction

    @classmethod
    def of(cls, found: Sequence[ReviewerResult]) -> ConditionResult:
        """From the results of its reviewers."""
        times = [one.seconds for one in found if one.seconds is not None]
        return cls(
            len(found),
            AnswerAccuracy.total(one.accuracy for one in found),
            {level: AnswerAccuracy.total(one.by_confidence[level] for one in found) for level in CONFIDENCES},
            fmean(times) if times else None,
            Fraction(sum(one.risk for one in found), len(found)),
            Fraction(sum(one.characters for one in found), len(found)),
        )

    to_dict = json_of()


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

    @property
    def conditions(self) -> dict[str, ConditionResult]:
        """The same by interface: all answers of its reviewers together."""
        by_name: dict[str, list[ReviewerResult]] = defaultdict(list)
        for reviewer in self.reviewers:
            by_name[reviewer.condition].append(reviewer)
        return {name: ConditionResult.of(found) for name, found in by_name.items()}

    to_dict = json_of("project condition pairs final conditions reviewers")


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
                worker.condition or project.initial,
                AnswerAccuracy.of((answer, same) for (answer, _), same in given),
                {
                    level: AnswerAccuracy.of((answer, same) for (answer, sure), same in given if sure == level)
                    for level in CONFIDENCES
                },
                median(gaps) if gaps else None,
                worker.hurried,
                worker.too_fast,
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
