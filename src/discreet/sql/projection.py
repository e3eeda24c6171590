"""Projection of a statement: its output columns, and names used only there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from discreet.sql.catalog import Leaf
from discreet.sql.scope import Names

AVERAGES = (exp.Avg, exp.Sum, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop)
WRITES = (exp.Insert, exp.Update, exp.Delete, exp.Merge)
Node = Any


@dataclass(frozen=True)
class Projecting:
    """Looks at what is given out."""

    names: Names

    def projections(self) -> tuple[Projection, ...]:
        """The columns of the result."""
        node = self.names.tree
        if isinstance(node, WRITES):
            returning = node.args.get("returning")
            return self._listed(returning.expressions) if returning is not None else ()
        return self._of_query(node)

    def _of_query(self, node: Node) -> tuple[Projection, ...]:
        if isinstance(node, (exp.Subquery, exp.Paren)):
            return self._of_query(node.this)
        if isinstance(node, exp.Select):
            return self._listed(node.expressions)
        if isinstance(node, exp.SetOperation):
            left, right = self._of_query(node.this), self._of_query(node.expression)
            if len(left) == len(right) and not any(one.kind == "star" for one in (*left, *right)):
                return tuple(_both(one, other) for one, other in zip(left, right, strict=True))
        return (Projection("star", frozenset(self.names.everything())),)

    def _listed(self, expressions: list[Node]) -> tuple[Projection, ...]:
        return tuple(self._projection(one) for one in expressions)

    def _projection(self, expression: Node) -> Projection:
        inner = expression.this if isinstance(expression, exp.Alias) else expression
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if isinstance(inner, exp.Star) or (isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)):
            return Projection("star", frozenset(self.names.leaves(inner) or self.names.everything()))
        if _counts(inner):
            return Projection("people" if self._counts_keys(inner) else "count")
        leaves = frozenset(self.names.leaves(inner))
        if isinstance(inner, AVERAGES) and isinstance(inner.this, exp.Column):
            return Projection("group" if self._is_flat() else "collect", leaves)
        # Whether values of many people may stand in one cell.
        kind = (
            "collect" if (inner.find(exp.Query) is not None or _gathers(inner)) or self._collects_inside() else "value"
        )
        return Projection(kind, leaves, self.names.literally(inner))

    def _collects_inside(self) -> bool:
        """Whether any inner query puts values of many into one cell, which may then be given out under any name."""
        return any(
            select.parent is not None and any(_gathers(one) or one.find(*AVERAGES) for one in select.expressions)
            for select in self.names.tree.find_all(exp.Select)
        )

    def _counts_keys(self, count: Node) -> bool:
        """Whether it counts people: count(DISTINCT key)."""
        if not isinstance(count.this, exp.Distinct):
            return False
        leaves = self.names.leaves(count.this)
        return bool(leaves) and all((leaf[1],) == self.names.catalog.governed[leaf[0]].key for leaf in leaves)

    def _is_flat(self) -> bool:
        """Whether columns are those of one table, so that a sum of them is not one of expressions."""
        tables = list(self.names.tree.find_all(exp.Table))
        selects = list(self.names.tree.find_all(exp.Select))
        return len(tables) == len(selects) == 1 and all(
            relation.kind in ("r", "p") for relation in self.names.relations(tables[0])
        )


def is_plain(column: Node) -> bool:
    """Whether it is only given out, as it is or as the whole of an average or count."""
    at = column
    while isinstance(at.parent, (exp.Alias, exp.Paren)):
        at = at.parent
    if isinstance(at.parent, (*AVERAGES, exp.Count)):
        at = at.parent
        while isinstance(at.parent, (exp.Alias, exp.Paren)):
            at = at.parent
    return isinstance(at.parent, (exp.Select, exp.Returning)) and at.arg_key == "expressions" and _flows(at.parent)


def _flows(query: Node) -> bool:
    """Whether what a query gives out only goes on to what the statement gives out, as often as it is there.

    Within another query, DISTINCT and UNION compare values, and how many are left tells of them.
    """
    parent: Node = query.parent
    if parent is not None and query.args.get("distinct"):
        return False
    if parent is None or isinstance(query, exp.Returning):
        return True
    if isinstance(parent, exp.Subquery):
        holder = parent.parent
        if holder is None or isinstance(holder, exp.Subquery):
            return _flows(parent) if holder is not None else True
        if isinstance(holder, (exp.From, exp.Join)) and parent.arg_key == "this":
            return _flows(holder.parent)
        return isinstance(holder, exp.Union) and _flows(holder)
    if isinstance(parent, exp.CTE):
        clause: Node = parent.parent
        return _flows(clause.parent)
    if isinstance(parent, exp.Union) and not isinstance(parent, (exp.Intersect, exp.Except)):
        return _flows(parent)
    return False


def _both(one: Projection, other: Projection) -> Projection:
    kind = one.kind if one.kind == other.kind else "collect" if "collect" in (one.kind, other.kind) else "value"
    return Projection(kind, one.leaves | other.leaves, one.named | other.named)


def _counts(node: Node) -> bool:
    """count(*), count(1), count(column): how many, and nothing about anybody."""
    if not isinstance(node, exp.Count):
        return False
    inner = (
        node.this.expressions[0]
        if isinstance(node.this, exp.Distinct) and len(node.this.expressions) == 1
        else node.this
    )
    return isinstance(inner, (exp.Star, exp.Literal)) or (
        isinstance(inner, exp.Column) and not isinstance(inner.this, exp.Star)
    )


def _gathers(node: Node) -> bool:
    if node.find(exp.Array, exp.ArrayAgg, exp.GroupConcat, exp.Window):
        return True
    names = {str(one.name).lower() for one in node.find_all(exp.Anonymous, exp.AnonymousAggFunc)}
    return any("agg" in name or name in ("array", "mode") for name in names) or any(
        not _gives_one(one) for one in node.find_all(exp.AggFunc)
    )


def _gives_one(aggregate: Node) -> bool:
    """Whether it gives the value of one, or the average or number of all; a sum of expressions may hold everybody's."""
    if isinstance(aggregate, (exp.Min, exp.Max, exp.LogicalAnd, exp.LogicalOr)):
        return True
    inner = aggregate.this
    if isinstance(inner, exp.Distinct) and len(inner.expressions) == 1:
        inner = inner.expressions[0]
    return isinstance(aggregate, (*AVERAGES, exp.Count)) and isinstance(inner, (exp.Column, exp.Star, exp.Literal))


@dataclass(frozen=True)
class Projection:
    """A column that a statement gives out."""

    kind: str
    """value, count and people (tell of nobody), group (an average or sum), collect (values of many in one cell), star."""
    leaves: frozenset[Leaf] = frozenset()
    named: frozenset[Leaf] = frozenset()
    """Those of them that it names, and not only may mean."""
