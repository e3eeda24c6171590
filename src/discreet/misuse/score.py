"""`discreet.misuse.score`: the M-score of a query result and of its conditions."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from discreet.errors import MissingExtra, RequestError, UsageError
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


# What a request gives away by its conditions: `select name ... where account = 'Gold'` reveals the account.
DIALECTS = {"postgres": "postgres", "postgresql": "postgres", "duckdb": "duckdb"}


def conditions(
    request: str, *, dialect: str = "postgres", parameters: Sequence[Any] | Mapping[str, Any] | None = None
) -> dict[str, Values]:
    """The columns that a request fixes for every row it gives, with the values they may have.

    None stands for one value that the request does not tell, such as that of a parameter which is not given, or where
    a function of the column is compared. Names are in lower case, without their tables; "*" stands for all columns,
    where a whole row is compared.

    >>> conditions("select name from customers where account = 'Gold' and (job = 'Lawyer' or city = 'NY')")
    {'account': frozenset({'Gold'})}
    """
    statement = _parsed(request, dialect)
    from discreet.sql.predicates import PredicateReader

    try:
        return dict(PredicateReader(parameters).of_query(statement, {}).fixed)
    except RecursionError:
        raise _unreadable("is nested too deeply") from None


def _parsed(request: str, dialect: str) -> Any:
    if dialect not in DIALECTS:
        raise UsageError(f"The dialect '{dialect}' is not known.", remedy="Use postgres or duckdb.")
    try:
        import sqlglot
    except ImportError:
        raise MissingExtra("misuse", needed_for="Reading what a request gives away") from None
    try:
        with _silent():
            statements = [one for one in sqlglot.parse(request, dialect=DIALECTS[dialect]) if one is not None]
    except sqlglot.errors.SqlglotError:
        raise _unreadable(f"is not {dialect}") from None  # its message would quote the request
    except RecursionError:
        raise _unreadable("is nested too deeply") from None
    if len(statements) != 1:
        raise _unreadable(f"holds {len(statements)} statements instead of one")
    kinds = sqlglot.exp
    known = (kinds.Query, kinds.Values, kinds.Insert, kinds.Update, kinds.Delete, kinds.Create, kinds.Copy)
    if not isinstance(statements[0], known):
        raise _unreadable("is a statement that cannot be looked into")
    return statements[0]


@contextmanager
def _silent() -> Iterator[None]:
    """The parser logs what it does not understand, with the values in it."""
    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _unreadable(why: str) -> RequestError:
    return RequestError(f"The request {why}.", remedy="Send one plain statement; what is not understood is refused.")
