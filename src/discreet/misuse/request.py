"""What a request gives away by its conditions: `select name ... where account = 'Gold'` reveals the account."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from discreet.errors import MissingExtra, RequestError, UsageError
from discreet.sql.facts import Values

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
