"""Interviews with experts as values, and the experts' answers combined.

An interview gives the next question, takes an answer, and can be written as JSON.
Nothing here knows of a terminal or a page. An interview is frozen; answering gives the next one. What was asked
depends on the answers and the seed alone, so an interview read back from its JSON goes on where it stopped.

>>> from discreet.misuse.elicitation import Item
>>> talk = Interview.begin("ann", [Item("illness", "flu", ("flu",)), Item("illness", "HIV", ("HIV",))])
>>> question = talk.next_question()
>>> talk = talk.answer(question, 1 / 5 if question.first == 0 else 5)
>>> talk.scores().round(2).tolist()
[0.2, 1.0]
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import DataError, UsageError
from discreet.kernel.arrays import Floats
from discreet.misuse.elicitation.comparisons import (
    MOST,
    SCALE,
    Consistency,
    PairwiseJudgement,
    consistency,
    eigenvector,
    parts,
)
from discreet.misuse.elicitation.items import Item, check
from discreet.misuse.elicitation.joint_fit import (
    Compare,
    ElicitedAnswers,
    Fit,
    Question,
    Rate,
    clamped_fit,
    fit,
    incidence,
    next_pair,
    next_record,
)

FORMAT = "discreet-interview-1"
RATINGS = 25


@dataclass(frozen=True)
class Answer:
    """A question with what was said; None where the expert passed."""

    question: Question
    value: float | None
    """A ratio from 1/9 to 9 (first over second), or a rating from 0 to 1."""
    seconds: float | None = None
    """How long the expert took, where that was measured."""

    @property
    def places(self) -> tuple[int, ...]:
        """The values it is about."""
        asked = self.question
        return (asked.first, asked.second) if isinstance(asked, Compare) else asked.items

    @property
    def subject(self) -> tuple[str, frozenset[int]]:
        """What it is about, whichever way round it was asked."""
        return "compare" if isinstance(self.question, Compare) else "rate", frozenset(self.places)


@dataclass(frozen=True)
class Interview:
    """One expert's answers so far, and how much is to be asked."""

    expert: str
    items: tuple[Item, ...]
    comparisons: int
    ratings: int
    seed: int = 0
    answers: tuple[Answer, ...] = ()
    again: tuple[Question, ...] = ()
    """Questions to be put once more before anything new."""

    @classmethod
    def begin(
        cls,
        expert: str,
        items: Sequence[Item],
        *,
        comparisons: int | None = None,
        ratings: int = RATINGS,
        seed: int = 0,
    ) -> Interview:
        """A new interview, by default with twice the comparisons that connect all values."""
        check(items)
        pairs = len(items) * (len(items) - 1) // 2
        wanted = min(pairs, 2 * (len(items) - 1) if comparisons is None else comparisons)
        return cls(expert, tuple(items), wanted, ratings, seed)

    @cached_property
    def latest(self) -> tuple[Answer, ...]:
        """The answers that count: the last one to each question."""
        return tuple({answer.subject: answer for answer in self.answers}.values())

    @cached_property
    def pairs(self) -> tuple[PairwiseJudgement, ...]:
        """The comparisons that were answered."""
        return tuple(
            PairwiseJudgement(answer.question.first, answer.question.second, answer.value)
            for answer in self.latest
            if isinstance(answer.question, Compare) and answer.value is not None
        )

    @cached_property
    def rated(self) -> tuple[tuple[tuple[int, ...], float], ...]:
        """The records that were rated."""
        return tuple(
            (answer.question.items, answer.value)
            for answer in self.latest
            if isinstance(answer.question, Rate) and answer.value is not None
        )

    @cached_property
    def evidence(self) -> ElicitedAnswers:
        """Everything that was answered, as numbers."""
        records = incidence([record for record, _ in self.rated], len(self.items))
        return ElicitedAnswers(self.pairs, records, np.array([rating for _, rating in self.rated], dtype=float))

    @cached_property
    def fit(self) -> Fit:
        """Comparisons and ratings together."""
        return fit(self.evidence)

    @property
    def consistency(self) -> Consistency:
        """How far the comparisons agree with each other."""
        return consistency(self.pairs, len(self.items))

    @cached_property
    def known(self) -> tuple[bool, ...]:
        """Values that were rated, or compared, directly or through others, with a rated one.

        Without any rating, all that is known are ratios: then those in the largest connected part are known.
        """
        part = parts(self.pairs, len(self.items))
        anchors = {part[item] for record, _ in self.rated for item in record}
        if not anchors:
            anchors = {max(part, key=part.count)} if self.pairs else set()
        return tuple(one in anchors for one in part)

    def scores(self) -> Floats:
        """f of every item.

        Comparisons alone: Saaty's eigenvector, the worst value scored 1. Ratings alone: the clamped least squares.
        Both: the joint fit.
        """
        if self.rated and self.pairs:
            return self.fit.scores
        if self.rated:
            return clamped_fit(self.evidence.matrix, self.evidence.ratings)
        if self.pairs and all(self.known):
            return eigenvector(self.pairs, len(self.items))
        return self.fit.scores

    def next_question(self) -> Question | None:
        """What to ask; None when enough was asked."""
        if self.again:
            return self.again[0]
        subjects = {answer.subject for answer in self.answers}
        compared = {about for kind, about in subjects if kind == "compare"}
        rated = {about for kind, about in subjects if kind == "rate"}
        found: Question | None = None
        if len(compared) < self.comparisons:
            order: list[int] = np.random.default_rng(self.seed).permutation(len(self.items)).tolist()
            found = next_pair(self.pairs, compared, order)
        if found is None and len(rated) < self.ratings:
            rng = np.random.default_rng([self.seed, len(self.answers)])
            columns: dict[str, list[int]] = {}
            for place, item in enumerate(self.items):
                columns.setdefault(item.column, []).append(place)
            found = next_record(self.fit, list(columns.values()), rated, rng)
        return found

    def answer(self, question: Question, value: float | None, *, seconds: float | None = None) -> Interview:
        """Interview with one more answer: a ratio, a rating, or None to pass."""
        places = (question.first, question.second) if isinstance(question, Compare) else question.items
        if not places or len(set(places)) < len(places) or not all(0 <= place < len(self.items) for place in places):
            raise UsageError("This question is about no items of this interview.", remedy="Ask next_question().")
        low, high = (1 / MOST, MOST) if isinstance(question, Compare) else (0.0, 1.0)
        number = low if value is None else float(value)
        if not (math.isfinite(number) and low * (1 - 1e-9) <= number <= high * (1 + 1e-9)):
            raise UsageError(
                "The answer is outside its scale.", remedy="A comparison is from 1/9 to 9, a rating from 0 to 1."
            )
        left = self.again[1:] if self.again and self.again[0] == question else self.again
        if seconds is not None and not (math.isfinite(seconds) and seconds >= 0):
            raise UsageError("The time of an answer is a number of seconds.", remedy="Leave it out if it is not known.")
        return replace(self, answers=(*self.answers, Answer(question, value, seconds)), again=left)

    def undo(self) -> Interview:
        """Without the last answer; its question comes next."""
        if not self.answers:
            return self
        return replace(self, answers=self.answers[:-1], again=(self.answers[-1].question, *self.again))

    def ask_again(self, items: Sequence[int], *, most: int) -> Interview:
        """Interview that repeats the last questions about these items, in this order."""
        wanted: list[Question] = []
        for item in items:
            about = [one.question for one in self.latest if item in one.subject[1] and one.question not in wanted]
            wanted += about[-3:]
        return replace(self, again=tuple(wanted[:most]))

    def recheck(self) -> Interview:
        """Interview that repeats the most contradictory comparison, if the ratio is not tolerable."""
        found = self.consistency
        if found.tolerable or found.worst is None:
            return self
        return replace(self, again=(Compare(found.worst.first, found.worst.second), *self.again))

    @property
    def left(self) -> int:
        """About how many questions are still to come."""
        subjects = {answer.subject for answer in self.answers}
        kinds = [kind for kind, _ in subjects]
        repeated = sum(Answer(question, None).subject in subjects for question in self.again)
        return repeated + max(0, self.comparisons - kinds.count("compare")) + max(0, self.ratings - kinds.count("rate"))

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "format": FORMAT,
            "expert": self.expert,
            "items": [item.to_dict() for item in self.items],
            "comparisons": self.comparisons,
            "ratings": self.ratings,
            "seed": self.seed,
            "answers": [
                {**_question_dict(answer.question), "answer": answer.value}
                | ({} if answer.seconds is None else {"seconds": answer.seconds})
                for answer in self.answers
            ],
            "again": [_question_dict(question) for question in self.again],
        }

    @classmethod
    def from_dict(cls, content: Any) -> Interview:
        """Read back from JSON; anything that is not as `to_dict` writes it is refused."""
        try:
            if content["format"] != FORMAT:
                raise ValueError
            found = cls(
                str(content["expert"]),
                tuple(
                    Item(one["column"], one["label"], tuple(one["values"]), one["upper"]) for one in content["items"]
                ),
                int(content["comparisons"]),
                int(content["ratings"]),
                int(content["seed"]),
                again=tuple(_question(one) for one in content["again"]),
            )
            check(found.items)
            for one in content["answers"]:
                said = found.answer(_question(one), one["answer"], seconds=one.get("seconds"))
                found = replace(found, answers=said.answers)
        except (KeyError, TypeError, ValueError, AttributeError, UsageError):
            raise DataError(
                "This is no file of answers.", remedy="Give a file that discreet misuse elicit has written."
            ) from None
        return found


def _question_dict(question: Question) -> dict[str, Any]:
    if isinstance(question, Compare):
        return {"compare": [question.first, question.second]}
    return {"rate": list(question.items)}


def _question(content: dict[str, Any]) -> Question:
    if "compare" in content:
        first, second = content["compare"]
        return Compare(int(first), int(second))
    return Rate(tuple(int(item) for item in content["rate"]))


# Experts combined: geometric mean, agreement and disputes.
LEAST = 0.001
"""What a score of 0 counts as in a geometric mean, which a single 0 would otherwise decide; below, the mean is 0."""


@dataclass(frozen=True)
class Panel:
    """What several experts say together."""

    items: tuple[Item, ...]
    experts: tuple[str, ...]
    scores: Floats
    """f of each item: the geometric mean over experts."""
    single: Floats
    """One row per expert; NaN where an expert said nothing."""
    ratios: tuple[float | None, ...]
    """Each expert's consistency ratio."""

    @property
    def agreement(self) -> float | None:
        """Kendall's tau between two experts, averaged over all pairs; None for one expert alone."""
        found = [tau for row in self.taus for tau in row if tau is not None]
        return float(np.mean(found)) if found else None

    @property
    def taus(self) -> tuple[tuple[float | None, ...], ...]:
        """Tau of each expert with each later one."""
        return tuple(
            tuple(
                kendall_tau(one[both], other[both])
                for other in self.single[place + 1 :]
                for both in [~(np.isnan(one) | np.isnan(other))]
            )
            for place, one in enumerate(self.single)
        )

    @property
    def disagreement(self) -> Floats:
        """Standard deviation of the logarithms of the experts' scores, per item."""
        logs = np.log(np.maximum(self.single, LEAST))
        known = ~np.isnan(logs)
        mean = np.where(known, logs, 0).sum(axis=0) / known.sum(axis=0)
        squares = np.where(known, (logs - mean) ** 2, 0).sum(axis=0)
        found: Floats = np.sqrt(squares / np.maximum(known.sum(axis=0) - 1, 1))
        return found

    @property
    def disputed(self) -> list[int]:
        """Items by disagreement, the worst first; those all agree on are left out."""
        spread = self.disagreement
        return [int(place) for place in np.argsort(-spread, kind="stable") if spread[place] > 0]

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        spread = self.disagreement
        return {
            "experts": [
                {"name": name, "consistency_ratio": ratio}
                for name, ratio in zip(self.experts, self.ratios, strict=True)
            ],
            "agreement": self.agreement,
            "items": [
                {
                    "column": item.column,
                    "label": item.label,
                    "score": round(float(self.scores[place]), 4),
                    "disagreement": round(float(spread[place]), 4),
                }
                for place, item in enumerate(self.items)
            ],
        }


def combine(interviews: Sequence[Interview]) -> Panel:
    """All experts with the same say."""
    if not interviews:
        raise DataError("There are no answers to combine.", remedy="Ask an expert: discreet misuse elicit DATA")
    items = interviews[0].items
    if any(interview.items != items for interview in interviews):
        raise DataError(
            "These experts were not asked about the same values.",
            remedy="Begin all interviews with the same data, policy and options.",
        )
    single = np.array([np.where(one.known, one.scores(), np.nan) for one in interviews])
    unknown = int(np.isnan(single).all(axis=0).sum())
    if unknown:
        raise DataError(
            f"About {unknown} of {len(items)} values nobody has said anything yet.",
            remedy="Go on with: discreet misuse elicit DATA",
        )
    logs = np.log(np.maximum(single, LEAST))
    mean = np.exp(np.nanmean(logs, axis=0))
    scores = np.where(mean < LEAST * 1.0001, 0.0, mean)
    ratios = tuple(one.consistency.ratio for one in interviews)
    return Panel(items, tuple(one.expert for one in interviews), scores, single, ratios)


def kendall_tau(first: Floats, second: Floats) -> float | None:
    """Tau-b: agreement of two orders, with ties; None where one orders nothing.

    >>> kendall_tau(np.array([0.1, 0.5, 0.9]), np.array([0.2, 0.3, 1.0]))
    1.0
    """
    pairs = list(itertools.combinations(range(len(first)), 2))
    one = np.array([np.sign(first[i] - first[j]) for i, j in pairs])
    other = np.array([np.sign(second[i] - second[j]) for i, j in pairs])
    size = np.sqrt(np.sum(one**2) * np.sum(other**2))
    return float(np.sum(one * other) / size) if size > 0 else None


# Experts who do not exist: they know the scores and err, for benchmarks, tests and the demo.
STEPS = 10
"""Ratings come in steps of a tenth."""


@dataclass(frozen=True)
class SimulatedExpert:
    """Answers like a person: with errors, on Saaty's scale and in tenths."""

    scores: Floats
    rng: np.random.Generator
    comparing: float = 0.4
    """Standard deviation of the logarithm of a ratio."""
    rating: float = 0.1
    """Standard deviation of a rating."""

    def says(self, question: Question) -> float:
        """The answer to a question."""
        if not isinstance(question, Compare):
            return self.rates(question.items)
        truth = np.log(np.maximum(self.scores[[question.first, question.second]], 1e-6))
        said = truth[0] - truth[1] + self.rng.normal(0, self.comparing)
        return float(min(SCALE, key=lambda step: abs(np.log(step) - said)))

    def rates(self, items: Sequence[int]) -> float:
        """How bad a record is."""
        said = self.scores[list(items)].sum() + self.rng.normal(0, self.rating)
        return float(np.clip(round(said * STEPS) / STEPS, 0, 1))

    def interview(
        self, name: str, items: Sequence[Item], *, comparisons: int | None = None, ratings: int = 25, seed: int = 0
    ) -> Interview:
        """A whole interview.

        >>> items = [Item("illness", name, (name,)) for name in ("flu", "gout", "HIV")]
        >>> expert = SimulatedExpert(np.array([0.1, 0.2, 1.0]), np.random.default_rng(1))
        >>> expert.interview("ann", items, ratings=6).scores().argmax().item()
        2
        """
        talk = Interview.begin(name, items, comparisons=comparisons, ratings=ratings, seed=seed)
        while (question := talk.next_question()) is not None:
            talk = talk.answer(question, self.says(question))
        return talk
