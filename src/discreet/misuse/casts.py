"""Casts in conditions: which leave a value as it is, and which make another one of it."""

from __future__ import annotations

from sqlglot import exp

from discreet.misuse.queries import Expression

PREDICATES = (exp.Predicate, exp.And, exp.Or, exp.Not, exp.Boolean)
CASTS = (exp.Cast, exp.TryCast)
WRAPPERS = (exp.Paren, *CASTS, exp.Collate)
WIDE = frozenset(("TEXT", "VARCHAR"))
"""Types that hold every value as it is written, if no length is given."""
PLAIN = WIDE | {"SMALLINT", "INT", "BIGINT", "DECIMAL", "DOUBLE", "DATE", "TIMESTAMP", "TIMESTAMPTZ", "UUID", "BOOLEAN"}
"""Types that read a literal in one way only."""


def bare(expression: Expression) -> Expression:
    """Without parentheses and collation, and without casts that change no value: 123::varchar(1) is 1."""
    while isinstance(expression, WRAPPERS) and not (isinstance(expression, CASTS) and _changes(expression)):
        expression = expression.this
    return expression


def unwrapped(expression: Expression) -> Expression:
    """Without parentheses, collation and casts."""
    while isinstance(expression, WRAPPERS):
        expression = expression.this
    return expression


def _changes(cast: Expression) -> bool:
    """Whether a cast may make another value of one, or one of several."""
    to, inner = cast.args["to"], cast.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if to.is_type("array") and len(to.expressions) == 1 and isinstance(to.expressions[0], exp.DataType):
        to = to.expressions[0]
    elif to.is_type("array"):
        return True
    if to.expressions or not isinstance(to.this, exp.DataType.Type):
        return True
    known = (exp.Literal, exp.Boolean, exp.Null, exp.Placeholder, exp.Parameter, exp.Neg, exp.Array, *PREDICATES)
    return to.this.value not in (PLAIN if isinstance(inner, known) else WIDE)
