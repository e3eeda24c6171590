"""`Score`: what a result could do in the wrong hands, and what makes it so."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.kernel.notebook import card
from discreet.misuse.sensitivity import Sensitivity
from discreet.misuse.source.prepared import Plan
from discreet.wording import percent

TOLERANCE, SHARE = 1e-9, 1e-6
"""Scores are sums of floats: what is exactly at a limit on paper may come out the least bit above it. No more than so much,
and than this share of the limit, so that a limit of 0 stays one."""
SHOWN = 10
"""How many of the rows that weigh most are named."""


def within(score: Any, limit: float) -> Any:
    """Whether a score, or each of an array of scores, is at most the limit. One that is exactly there is within it.

    >>> within(0.1 + 0.2, 0.3), within(0.300001, 0.3), within(1e-12, 0.0)
    (True, False, False)
    """
    return score <= limit + min(TOLERANCE, limit * SHARE)


@dataclass(frozen=True)
class Heavy:
    """A row that weighs much, by its position; its values are nobody's business."""

    row: int
    columns: tuple[str, ...]
    """Its sensitive columns that weigh something, the heaviest first."""
    record_score: float
    crowd: int
    """How many people of the source look like this row."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "row": self.row,
            "columns": list(self.columns),
            "record_score": self.record_score,
            "crowd": self.crowd,
        }


@dataclass(frozen=True, eq=False)
class Weighed:
    """Every row of a result, weighed: arrays, or lists where there are few rows."""

    weights: Sequence[Any]
    """Per sensitive column the weight of each row."""
    crowds: Any
    """D of each row."""
    record_scores: Any
    """RS of each row: its weights added up to at most 1, divided by D."""
    rows: Any = None
    """The position of each row in the result, where entities were weighed: that of its first row."""


@dataclass(frozen=True, eq=False, repr=False)
class Score:
    """The misuse score M of a result: how much damage it could do in the wrong hands."""

    value: float
    """M = rows ** (1 / x) * record_score."""
    record_score: float
    """The largest score of any row."""
    rows: int
    """Rows, or entities where an entity may have several rows."""
    x: float
    weighed: Weighed
    plan: Plan
    sensitivity: Sensitivity
    whole: Callable[[], tuple[int, float] | None]
    """Rows and largest record score of the same columns of the whole source, if they can be had."""
    added: tuple[str, ...] = ()
    """Columns that are not in the result but that its request gave away, where that made the score larger."""

    @cached_property
    def normalised(self) -> float | None:
        """M in relation to that of the whole source with the same columns, at most 1; None where that is not known."""
        found = self.whole()
        if found is None:
            return None
        rows, record_score = found
        largest = power(rows, self.x) * record_score
        if self.value >= largest:
            return 1.0 if self.value > 0 else 0.0
        return self.value / largest

    @cached_property
    def top(self) -> tuple[Heavy, ...]:
        """The rows that weigh most, and in each the columns that weigh most: positions and names, never values."""
        scores = np.asarray(self.weighed.record_scores)
        order = np.argsort(-scores, kind="stable")[:SHOWN].tolist()
        return tuple(self._heavy(row) for row in order if scores[row] > 0)

    def _heavy(self, row: int) -> Heavy:
        weights = {name: float(its[row]) for name, its in zip(self.plan.sensitive, self.weighed.weights, strict=True)}
        columns = tuple(sorted((name for name in weights if weights[name] > 0), key=lambda name: -weights[name]))
        place = row if self.weighed.rows is None else int(self.weighed.rows[row])
        return Heavy(place, columns, float(self.weighed.record_scores[row]), int(self.weighed.crowds[row]))

    def to_dict(self) -> dict[str, Any]:
        """For JSON; the keys are stable."""
        return {
            "value": self.value,
            "normalised": self.normalised,
            "record_score": self.record_score,
            "rows": self.rows,
            "x": self.x if math.isfinite(self.x) else "inf",
            "quasi": list(self.plan.quasi),
            "sensitive": list(self.plan.sensitive),
            "added": list(self.added),
            "top": [heavy.to_dict() for heavy in self.top],
            "sensitivity": self.sensitivity.version,
        }

    def __repr__(self) -> str:
        return f"Score({self.value:.6g}, {self.rows} rows, record score {self.record_score:.6g}, x={self.x:g})"

    def _repr_html_(self) -> str:
        rows = [
            (heavy.row, f"{heavy.record_score:.4g}", f"{heavy.crowd:,}", ", ".join(heavy.columns)) for heavy in self.top
        ]
        share = "" if self.normalised is None else f", {percent(self.normalised)} of what the whole source would score"
        words = (
            f"A misuse score of {self.value:.4g} for {self.rows:,} rows{share}. The rows that weigh most, by position:"
        )
        return card(words, rows, head=("row", "score", "people alike", "columns"))


def power(rows: int, x: float) -> float:
    """How much the number of rows counts: r^(1/x); 1 for x = infinity."""
    return float(rows ** (1 / x)) if rows else 0.0
