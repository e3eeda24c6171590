"""Experts who do not exist: they know the scores and err, for benchmarks, tests and the demo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.kernel.arrays import Floats
from discreet.misuse.elicitation.comparisons import SCALE
from discreet.misuse.elicitation.interview import Interview
from discreet.misuse.elicitation.items import Item
from discreet.misuse.elicitation.questions import Compare, Question

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
