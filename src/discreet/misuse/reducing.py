"""Reduce a result until its misuse score is within a limit: fewer rows, or fewer cells. Both are exact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.arrays import Floats, Ints
from discreet.misuse.measured import power, within
from discreet.misuse.score import Scorer, added, scorer_for
from discreet.misuse.sensitivity import Sensitivity
from discreet.misuse.source import columns as source_columns
from discreet.misuse.source.reading import columns_of


def reduce_rows(
    result: Any,
    *,
    source: Any,
    limit: float,
    quasi: Sequence[str] | None = None,
    sensitivity: Sensitivity | None = None,
    x: float = 2.0,
) -> Any:
    """The largest part of a result whose score is within the limit, in the shape the result was given in.

    >>> f = Sensitivity.from_dict({"account": {"values": {"Gold": 1.0}, "otherwise": 0.1}})
    >>> people = [{"job": "Lawyer", "account": "Gold"}, {"job": "Teacher", "account": "White"}]
    >>> reduce_rows(people, source=people, quasi=["job"], sensitivity=f, limit=0.5)
    [{'job': 'Teacher', 'account': 'White'}]
    """
    check_limit(limit)
    scorer = scorer_for(source, quasi, sensitivity, x)
    columns = columns_of(result)
    plan = scorer.plan(columns.names)
    found = scorer.columns(columns)
    if plan.crowds is not None:
        kept = _least(np.asarray(found.weighed.record_scores), scorer, limit)
    else:
        kept = _lightest(np.minimum(added(found.weighed.weights, columns.rows), 1.0), scorer, limit)
    return source_columns.take(result, columns, kept)


def _least(scores: Floats, scorer: Scorer, limit: float) -> Ints:
    """The k rows of least record score, for the largest k within the limit.

    Among k rows those of least score have the least maximum, and k^(1/x) times it only grows with k.
    """
    order = np.argsort(scores, kind="stable")
    powers = np.array([power(rows, scorer.x) for rows in range(1, len(scores) + 1)])
    return np.sort(order[: int(within(powers * scores[order], limit).sum())])


def _lightest(weights: Floats, scorer: Scorer, limit: float) -> Ints:
    """Without quasi-identifiers D is the number of rows kept, so more rows hide each other: M = k^(1/x) * t / k.

    Among the parts whose heaviest row weighs t, the one with all rows up to t is the largest and has the least score.
    """
    order = np.argsort(weights, kind="stable")
    ordered = weights[order]
    last = np.append(ordered[1:] != ordered[:-1], True) if len(ordered) else np.zeros(0, dtype=bool)
    sizes = np.flatnonzero(last) + 1
    allowed = [
        size for size in sizes.tolist() if within(power(size, scorer.x) * float(ordered[size - 1] / size), limit)
    ]
    return np.sort(order[: max(allowed, default=0)])


def reduce_cells(
    result: Any,
    *,
    source: Any,
    limit: float,
    quasi: Sequence[str] | None = None,
    sensitivity: Sensitivity | None = None,
    x: float = 2.0,
) -> Any:
    """The whole result with the fewest sensitive cells emptied that bring its score within the limit.

    Rows do not disturb each other: each loses its heaviest cells until what is left weighs little enough.

    >>> f = Sensitivity.from_dict({"account": {"values": {"Gold": 1.0}, "otherwise": 0.1}})
    >>> people = [{"job": "Lawyer", "account": "Gold"}, {"job": "Teacher", "account": "White"}]
    >>> reduce_cells(people, source=people, quasi=["job"], sensitivity=f, limit=0.5)
    [{'job': 'Lawyer', 'account': None}, {'job': 'Teacher', 'account': 'White'}]
    """
    check_limit(limit)
    scorer = scorer_for(source, quasi, sensitivity, x)
    columns = columns_of(result)
    found = scorer.columns(columns)
    plan, rows = found.plan, columns.rows
    left = np.array(found.weighed.weights, dtype=np.float64).reshape(len(plan.sensitive), rows)
    empty = np.zeros(left.shape, dtype=bool)
    factor, crowds = power(rows, x), np.asarray(found.weighed.crowds)
    heavy = np.arange(rows)
    while len(heavy):
        sums = added(list(left[:, heavy]), len(heavy))
        heavy = heavy[~within(factor * (np.minimum(sums, 1.0) / crowds[heavy]), limit)]
        worst = left[:, heavy].argmax(axis=0) if len(heavy) else heavy
        left[worst, heavy], empty[worst, heavy] = 0.0, True
    return source_columns.blank(result, columns, dict(zip(plan.sensitive, empty, strict=True)))


def check_limit(limit: float) -> None:
    """A limit is a number from 0 up."""
    if math.isnan(limit) or limit < 0:
        raise UsageError(f"The limit is a score from 0 up, not {limit}.", remedy="limit=1.0, for example.")
