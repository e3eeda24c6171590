"""`discreet.misuse.score`: how much damage a query result could do in the wrong hands (M-score)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from discreet.misuse.request import conditions
from discreet.misuse.scorer import KnownRows, Score, Scorer, score_entities, scorer_for
from discreet.misuse.sensitivity import Sensitivity, Weights
from discreet.misuse.source.reading import columns_of
from discreet.sql.facts import EVERYTHING, Values

FEW = 32
"""Up to so many dictionaries are scored one by one: arrays would cost more than they save."""


def score(
    result: Any,
    *,
    source: Any,
    quasi: Sequence[str] | None = None,
    sensitivity: Sensitivity | None = None,
    x: float = 2.0,
    entity: str | None = None,
    request: str | None = None,
    dialect: str = "postgres",
    parameters: Sequence[Any] | Mapping[str, Any] | None = None,
) -> Score:
    """How much damage a result could do in the wrong hands.

    `result` is a list of dictionaries, a frame, Arrow, decoded columns, a path or a table; `source` the table it was
    taken from: any of these, or `prepare(source, quasi)`. `x` from 1 to infinity says how little the number of rows
    matters. With `entity`, the column that says whom a row is about, the rows of one entity count as one. With
    `request`, the SQL text that asked for the result, what its conditions give away counts as known.

    >>> f = Sensitivity.from_dict({"account": {"values": {"Gold": 1.0}, "otherwise": 0.1}})
    >>> people = [{"job": "Lawyer", "account": "Gold"}, {"job": "Lawyer", "account": "White"}]
    >>> score(people[:1], source=people, quasi=["job"], sensitivity=f)
    Score(0.5, 1 rows, record score 0.5, x=2)
    """
    scorer = scorer_for(source, quasi, sensitivity, x, entity=entity)
    if (
        entity is None
        and request is None
        and type(result) is list
        and len(result) <= FEW
        and all(type(row) is dict for row in result)
    ):
        return scorer.few(result)
    columns = columns_of(result)
    measure = scorer.columns if entity is None else partial(score_entities, scorer, entity)
    plain = measure(columns)
    if request is None:
        return plain
    known = _known_by(request, scorer, columns.names, dialect=dialect, parameters=parameters)
    return max(plain, measure(columns, known), key=lambda one: one.value) if known.names else plain


def _known_by(
    request: str,
    scorer: Scorer,
    present: Sequence[str],
    *,
    dialect: str,
    parameters: Sequence[Any] | Mapping[str, Any] | None,
) -> KnownRows:
    """What a request tells of every row beyond the columns of its result.

    A sensitive column that is fixed weighs as much as the worst value it may have; a quasi-identifier counts as known
    where its value is certain.
    """
    fixed = conditions(request, dialect=dialect, parameters=parameters)
    tables = scorer.sensitivity.weights
    hidden = [name for name in tables if name not in present and (name.casefold() in fixed or EVERYTHING in fixed)]
    weights = {name: _worst(tables[name], fixed.get(name.casefold())) for name in hidden}
    quasi = scorer.source.quasi if scorer.quasi is None else scorer.quasi
    certain = {
        name: next(iter(values))
        for name in quasi
        if name not in present and (values := fixed.get(name.casefold())) is not None and len(values) == 1
    }
    return KnownRows(weights, certain)


def _worst(weights: Weights, values: Values) -> float:
    return weights.worst if values is None else max(map(weights, values), default=0.0)
