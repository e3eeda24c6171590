"""Predicates of a query: what they make certain of every row it returns.

A condition that must hold fixes columns: `account = 'Gold' AND ...`. One of several that may hold fixes only what all
of them fix: `account = 'Gold' OR job = 'Lawyer'` fixes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from sqlglot import exp

from discreet.kernel.hierarchy import text
from discreet.sql.row_constraints import EVERYTHING, IMPOSSIBLE, NOTHING, Facts, Values, all_of, any_of, both
from discreet.sql.scope import (
    Derived,
    Expression,
    Scope,
    is_whole_row,
    join_side,
    meanings,
    part,
    scope_of,
    with_common,
)

Parameters = Sequence[Any] | Mapping[str, Any] | None
RAW = (exp.Min, exp.Max, exp.AnyValue, exp.ArrayAgg, exp.GroupConcat, exp.First, exp.Last)
"""Aggregates that give values as they are."""


@dataclass(frozen=True, eq=False)
class PredicateReader:
    """Reads facts from queries; values of parameters are used where they are known."""

    parameters: Parameters = None

    def of_query(self, query: Expression, common: Mapping[str, Derived], outer: Scope | None = None) -> Facts:
        """Certain of every row of a query."""
        if isinstance(query, exp.Subquery):
            return self.of_query(query.this, with_common(query, common), outer)
        if isinstance(query, exp.SetOperation):
            inner = with_common(query, common)
            left, right = (self.of_query(side, inner, outer) for side in (query.this, query.expression))
            if isinstance(query, exp.Except):
                return left
            return both(left, right) if isinstance(query, exp.Intersect) else any_of([left, right])
        if isinstance(query, (exp.Select, exp.Update, exp.Delete)):
            scope = scope_of(query, common, outer)
            tables = (
                self.of_query(derived.query, derived.common)
                for name, derived in scope.relations.items()
                if derived is not None and name not in scope.optional
            )
            clauses = (query.args.get(name) for name in ("where", "having", "qualify"))
            conditions = (self.implied(clause.this, scope) for clause in clauses if clause is not None)
            start = part(query, "from")
            holders = [query, *([start.this] if start is not None else [])]
            joins = [join for holder in holders for join in holder.args.get("joins") or [] if not join_side(join)]
            inner_joins = (self.implied(join.args["on"], scope) for join in joins if join.args.get("on") is not None)
            return all_of([*tables, *inner_joins, *conditions]).spread()
        inner_query = (
            query.args.get("expression") if isinstance(query, (exp.Insert, exp.Create)) else query.args.get("this")
        )
        if isinstance(query, (exp.Insert, exp.Create, exp.Copy)) and isinstance(inner_query, exp.Query):
            return self.of_query(inner_query, with_common(query, common), outer)
        return NOTHING

    def implied(self, condition: Expression, scope: Scope, truth: bool = True) -> Facts:
        """Certain of every row for which a condition is true, or false."""
        if isinstance(condition, WRAPPERS):
            truths = not isinstance(condition, CASTS) or isinstance(unwrapped(condition), PREDICATES)
            return self.implied(condition.this, scope, truth) if truths else self.assigned(condition, scope, None)
        if isinstance(condition, exp.Not):
            return self.implied(condition.this, scope, not truth)
        if isinstance(condition, (exp.And, exp.Or)):
            parts = (self.implied(side, scope, truth) for side in condition.flatten())
            return all_of(parts) if isinstance(condition, exp.And) == truth else any_of(parts)
        if isinstance(condition, exp.Boolean):
            return NOTHING if condition.this == truth else IMPOSSIBLE
        if isinstance(condition, exp.Column):
            return self.assigned(condition, scope, frozenset(["true" if truth else "false"]))
        if isinstance(condition, (exp.Case, exp.If)):
            return self._cases(condition, scope, lambda result: self.implied(result, scope, truth))
        if isinstance(condition, exp.Coalesce):
            arguments = [condition.this, *condition.expressions]
            return any_of(self.implied(one, scope, truth) for one in arguments)
        if isinstance(condition, exp.Is):
            wanted = condition.expression
            certain = truth and isinstance(wanted, exp.Boolean)
            return self.implied(condition.this, scope, wanted.this) if certain else NOTHING
        return self._comparison(condition, scope, truth)

    def _comparison(self, condition: Expression, scope: Scope, truth: bool) -> Facts:
        equal = (exp.EQ, exp.NullSafeEQ) if truth else (exp.NEQ, exp.NullSafeNEQ)
        if isinstance(condition, equal):
            return self.equal(condition.this, condition.expression, scope)
        if not truth:
            return NOTHING
        if isinstance(condition, exp.In):
            query = condition.args.get("query")
            if query is not None:
                return self.equal(condition.this, query, scope)
            listed: list[Expression] = []
            for one in condition.expressions:  # rows may be written as VALUES
                rows = one.expressions if isinstance(one, exp.Values) else []
                values = [row.expressions[0] if len(row.expressions) == 1 else row for row in rows]
                listed += values if isinstance(one, exp.Values) else [one]
            return self._listed(condition.this, listed, scope)
        if isinstance(condition, exp.Between) and condition.args["low"] == condition.args["high"]:
            return self.equal(condition.this, condition.args["low"], scope)
        if isinstance(
            condition, exp.Like
        ):  # without wildcards a pattern means one text; that of a parameter is unknown
            pattern = condition.expression
            plain = isinstance(pattern, exp.Literal) and not set(str(pattern.this)) & set("%_\\")
            return self.equal(condition.this, pattern, scope) if plain else NOTHING
        if isinstance(condition, exp.ArrayContains) and isinstance(condition.this, exp.Array):
            return self._listed(condition.expression, condition.this.expressions, scope)
        if isinstance(condition, exp.Exists):
            return self.of_query(condition.this, scope.common, scope)
        return NOTHING

    def _listed(self, left: Expression, listed: Sequence[Expression], scope: Scope) -> Facts:
        return any_of(self.equal(left, one, scope) for one in listed)

    def equal(self, left: Expression, right: Expression, scope: Scope) -> Facts:
        """Certain where two expressions are equal."""
        left, right = bare(left), bare(right)
        if isinstance(left, exp.Any):
            left, right = right, left
        if isinstance(right, exp.Any):
            right = bare(right.this)
            if isinstance(right, exp.Array):
                return self._listed(left, right.expressions, scope)
            if isinstance(right, (exp.Subquery, exp.Select)):
                return self._subquery(left, right, scope)
            if isinstance(right, exp.Literal) and right.this.startswith("{") and '"' not in right.this:
                values = [exp.Literal.string(one.strip()) for one in right.this.strip("{}").split(",")]
                return self._listed(left, values, scope)
            return self.assigned(left, scope, None) if _is_constant(right) else NOTHING
        if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple):
            pairs = zip(left.expressions, right.expressions, strict=False)
            return all_of(self.equal(one, other, scope) for one, other in pairs)
        for one, other in ((left, right), (right, left)):
            if isinstance(one, (exp.Subquery, exp.Select)):
                return self._subquery(other, one, scope)
        known = [(self.constant(one), other) for one, other in ((left, right), (right, left)) if _is_constant(one)]
        if len(known) == 2:
            one, other = known[0][0], known[1][0]
            return NOTHING if one is None or other is None or one & other else IMPOSSIBLE
        if known:
            return self.assigned(known[0][1], scope, known[0][0])
        columns = frozenset(name for name in (_plain(left, scope), _plain(right, scope)) if name)
        return Facts(links=frozenset([columns])) if len(columns) == 2 else NOTHING

    def _subquery(self, left: Expression, query: Expression, scope: Scope) -> Facts:
        """Equal to a subquery's result: its conditions hold, its column may be fixed."""
        facts = self.of_query(query, scope.common, scope)
        inner = query.this if isinstance(query, exp.Subquery) else query
        if not isinstance(inner, exp.Select) or len(inner.expressions) != 1:
            return facts
        projection = inner.expressions[0]
        found = projection.unalias()
        if _is_constant(found):
            return both(facts, self.assigned(left, scope, self.constant(found)))
        inner_scope = scope_of(inner, scope.common, scope)
        pair = [_plain(left, scope), _plain(bare(found), inner_scope)]
        links = [frozenset(name for name in pair if name)] if all(pair) and pair[0] != pair[1] else []
        return both(facts, Facts(links=frozenset(links))).spread()

    def assigned(self, expression: Expression, scope: Scope, values: Values) -> Facts:
        """Certain where an expression has one of some values."""
        expression = bare(expression)
        if isinstance(expression, exp.Column):
            return any_of(
                Facts({meaning: values}) if isinstance(meaning, str) else self._result(*meaning, values)
                for meaning in meanings(expression, scope)
            )
        if isinstance(expression, (exp.Window, *RAW)):
            return self.assigned(expression.this, scope, values)
        if isinstance(expression, exp.AggFunc):
            return NOTHING
        if isinstance(expression, (exp.Case, exp.If)):
            return self._cases(expression, scope, lambda result: self._result(result, scope, values))
        if isinstance(expression, PREDICATES):
            if values is None:
                return NOTHING
            wanted = {True: {"true", "1", "t"} & values, False: {"false", "0", "f"} & values}
            return any_of(self.implied(expression, scope, truth) for truth, met in wanted.items() if met)
        if isinstance(expression, (exp.Subquery, exp.Select)):
            return self.of_query(expression, scope.common, scope)
        # Some function of columns: each has one value, but which one the request does not tell.
        if any(expression.find_all(exp.Star, exp.Columns)):
            return Facts({EVERYTHING: None})
        columns = list(expression.find_all(exp.Column))
        rows = [Facts({EVERYTHING: None})] if any(is_whole_row(column, scope) for column in columns) else []
        return all_of([*rows, *(self.assigned(column, scope, None) for column in columns)])

    def _result(self, result: Expression, scope: Scope, values: Values) -> Facts:
        if not _is_constant(bare(result)):
            return self.assigned(result, scope, values)
        known = self.constant(bare(result))
        return NOTHING if known is None or values is None or known & values else IMPOSSIBLE

    def _cases(self, case: Expression, scope: Scope, of_result: Callable[[Expression], Facts]) -> Facts:
        """One of the branches is taken: its condition holds, and none before it did."""
        taken, before = [], NOTHING
        branches: list[tuple[Expression | None, Expression]]
        if isinstance(case, exp.If):
            branches = [(case.this, case.args["true"]), (None, case.args.get("false") or exp.Null())]
        else:  # a simple CASE compares its operand
            branches = [
                (exp.EQ(this=case.this, expression=one.this) if case.this else one.this, one.args["true"])
                for one in case.args["ifs"]
            ]
            branches.append((None, case.args.get("default") or exp.Null()))
        for condition, result in branches:
            holds = NOTHING if condition is None else self.implied(condition, scope)
            taken.append(all_of([before, holds, of_result(result)]))
            before = before if condition is None else both(before, self.implied(condition, scope, False))
        return any_of(taken)

    def constant(self, expression: Expression) -> Values:
        """The value of an expression without columns; None where it cannot be told."""
        if isinstance(expression, exp.Literal):
            return frozenset([expression.this if expression.is_string else _number(expression.this)])
        if isinstance(expression, exp.Boolean):
            return frozenset(["true" if expression.this else "false"])
        if isinstance(expression, exp.Null):
            return frozenset([None])
        if isinstance(expression, exp.Neg) and isinstance(expression.this, exp.Literal):
            return frozenset([_number(f"-{expression.this.this}")])
        given, name = self.parameters, str(expression.name)
        if given is None or not isinstance(expression, (exp.Placeholder, exp.Parameter)):
            return None
        if isinstance(given, Mapping):
            return frozenset([text(given[name])]) if name in given else None
        if name.isdigit():
            return frozenset([text(given[int(name) - 1])]) if 0 < int(name) <= len(given) else None
        return frozenset(text(value) for value in given)  # a parameter without a name or number may be any of them


def _is_constant(expression: Expression) -> bool:
    return not any(expression.find_all(exp.Column, exp.Query, exp.AggFunc, exp.Star))


def _plain(expression: Expression, scope: Scope) -> str | None:
    """The column of a table that an expression is, if it is one."""
    if not isinstance(expression, exp.Column):
        return None
    found = meanings(expression, scope)
    if len(found) != 1:
        return None
    return found[0] if isinstance(found[0], str) else _plain(bare(found[0][0]), found[0][1])


def _number(written: str) -> str | None:
    try:
        return text(Decimal(written))
    except InvalidOperation:
        return written


# Casts in conditions: which leave a value as it is, and which make another one of it.
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
