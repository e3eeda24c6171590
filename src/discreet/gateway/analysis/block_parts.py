"""Parts of query blocks: names and expressions of outputs, aggregates over the rows of a block."""

from __future__ import annotations

from typing import Any

from discreet.sql.fragment import (
    QUERIES,
    Aggregate,
    Nested,
    OrderBy,
    Output,
    Select,
    SetQuery,
    ValuesList,
    Window,
    children,
)


def output_of(query: Any, place: int) -> Any:
    """The expressions that an output of a query is made of."""
    if isinstance(query, SetQuery):
        return (output_of(query.left, place), output_of(query.right, place))
    if isinstance(query, ValuesList):
        return tuple(row.values[place] for row in query.rows)
    return query.items[place].inner


def names_of(query: Any) -> list[str]:
    """The names of a resolved query's outputs."""
    if isinstance(query, SetQuery):
        return names_of(query.left)
    if isinstance(query, ValuesList):
        return [f"column{place}" for place in range(1, len(query.rows[0].values) + 1)]
    return [one.name for one in query.items]


def has_aggregates(select: Select) -> bool:
    """Whether a block gives out groups: it groups, or has an aggregate that is no window's own function."""
    if select.groups is not None or select.having is not None:
        return True
    return any(True for _ in aggregates_of((select.items, tuple(one.inner for one in select.order))))


def aggregates_of(node: Any) -> Any:
    """Aggregates over the rows of a block, not those of its windows or of sub-selects."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, tuple):
            waiting.extend(reversed(one))
        elif isinstance(one, Aggregate):
            yield one
        elif isinstance(one, Window):
            inner = one.inner
            waiting.extend([one.order, one.partition])
            waiting.append(getattr(inner, "where", None))
            waiting.append(inner.args)
        elif isinstance(one, OrderBy | Output | Nested):
            waiting.append(one.inner)
        elif one is not None and not isinstance(one, (*QUERIES, str)):
            waiting.extend(reversed(list(children(one))))
