"""Experts combined: geometric mean, agreement, disputes; and simulated experts.

>>> kendall_tau(np.array([0.1, 0.5, 0.9]), np.array([0.2, 0.3, 1.0]))
1.0
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import DataError
from discreet.kernel.arrays import Floats
from discreet.misuse.elicitation.comparisons import SCALE
from discreet.misuse.elicitation.interview import Interview
from discreet.misuse.elicitation.items import Item
from discreet.misuse.elicitation.joint_fit import Compare, Question

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
            tuple(_tau(self.single[i], self.single[j]) for j in range(i + 1, len(self.experts)))
            for i in range(len(self.experts))
        )

    @property
    def disagreement(self) -> Floats:
        """Per item the spread of the experts' scores, as the standard deviation of their logarithms."""
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


def _tau(first: Floats, second: Floats) -> float | None:
    both = ~(np.isnan(first) | np.isnan(second))
    return kendall_tau(first[both], second[both])


def kendall_tau(first: Floats, second: Floats) -> float | None:
    """Tau-b: agreement of two orders, from −1 to 1, with ties; None where one of them orders nothing."""
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
