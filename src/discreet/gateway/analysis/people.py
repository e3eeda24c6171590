"""Whom a statistic is about: the person of a row, and what may not choose them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from discreet.gateway.analysis.block_parts import Resolved, Source, has_aggregates, output_of
from discreet.sql.fragment import (
    QUERIES,
    ColumnName,
    DerivedTable,
    Join,
    Nested,
    NotCovered,
    Operator,
    Select,
    Series,
    Table,
    Window,
    children,
    conjuncts,
    walk,
)

INSTEAD = "ask for groups by other columns; rows of single people are asked for without aggregates"


@dataclass(frozen=True)
class Person:
    """The columns that say whom a row is about, and whether each person has at most one row."""

    columns: tuple[ColumnName, ...]
    once: bool
    nullable: bool


def parts_of(source: Any) -> Iterator[Any]:
    """The parts of a FROM."""
    if isinstance(source, Join):
        yield from parts_of(source.left)
        yield from parts_of(source.right)
    elif source is not None:
        yield source


def joins_of(source: Any) -> Iterator[Join]:
    """All joins of a FROM."""
    if isinstance(source, Join):
        yield source
        yield from joins_of(source.left)
        yield from joins_of(source.right)


def nullable_of(source: Any, outer: bool = False) -> dict[str, bool]:
    """Whether each part stands on a side of an outer join that may be missing."""
    if isinstance(source, Join):
        left = outer or source.kind in ("right", "full")
        right = outer or source.kind in ("left", "full")
        return nullable_of(source.left, left) | nullable_of(source.right, right)
    return {source.alias: outer} if source is not None else {}


def equations(select: Select, present: Collection[str]) -> Iterator[tuple[ColumnName, ColumnName]]:
    """Columns that are equal in every row in which these parts of FROM are there, both ways.

    What ON says holds for rows of an outer join only where the side that may be missing is there, and of a join within
    such a side likewise: of rows without it, it says nothing.
    """
    found = [*conjuncts(select.where)]
    waiting = [(select.source, True)]
    while waiting:
        join, always = waiting.pop()
        if not isinstance(join, Join):
            continue
        left, right = ({part.alias for part in parts_of(side)} & {*present} for side in (join.left, join.right))
        holds = {"inner": always or bool(left | right), "left": bool(right), "right": bool(left)}.get(join.kind, False)
        found += conjuncts(join.on) if holds else ()
        waiting.append((join.left, bool(left) or (always and join.kind in ("inner", "cross", "left"))))
        waiting.append((join.right, bool(right) or (always and join.kind in ("inner", "cross", "right"))))
    for one in found:
        if isinstance(one, Operator) and one.sign == "=" and all(isinstance(it, ColumnName) for it in one.args):
            yield one.args[0], one.args[1]
            yield one.args[1], one.args[0]


def person_of(select: Select, resolved: Resolved, aliases: frozenset[str]) -> Person:
    """The one person that the sensitive columns of a block are about; NotCovered if there may be several."""
    keys = {alias: _key(resolved.sources[alias]) for alias in aliases}
    if any(not key for key in keys.values()):
        alias = next(alias for alias, key in keys.items() if not key)
        name = resolved.sources[alias].table
        raise NotCovered(f"statistics of {name.name if name else 'a table'}, whose policy names no key")
    reached, waiting = set(), [sorted(aliases)[0]]
    while waiting:
        alias = waiting.pop()
        reached.add(alias)
        for other in aliases - reached:
            one, two = resolved.sources[alias].table, resolved.sources[other].table
            same = {*equations(select, (alias, other))}
            linked = all(pair in same for pair in zip(keys[alias], keys[other], strict=False))
            if one and two and one.entity == two.entity and len(keys[alias]) == len(keys[other]) and linked:
                waiting.append(other)
    if reached != aliases:
        raise NotCovered("one statistic about the sensitive columns of two people", "join the tables by their keys")
    nullable = nullable_of(select.source)
    if len(aliases) > 1 and any(nullable[alias] for alias in aliases):
        raise NotCovered(
            "one statistic about a table that an outer join may leave empty, and another",
            "use an inner join, or ask for each by itself",
        )
    first = min(aliases, key=lambda alias: (nullable[alias], not single(resolved.sources[alias]), alias))
    return Person(keys[first], _once(select, resolved, first), nullable[first])


def _key(source: Source) -> tuple[ColumnName, ...]:
    return tuple(ColumnName(source.alias, name) for name in source.table.key) if source.table is not None else ()


def single(source: Source) -> bool:
    """Whether nobody has two rows in a governed table."""
    relation = source.relation
    return relation is not None and any(one <= set(source.table.key if source.table else ()) for one in relation.unique)


def _once(select: Select, resolved: Resolved, alias: str) -> bool:
    """Whether everybody in a part has one row."""
    return single(resolved.sources[alias]) and not repeats(select, resolved, {alias})


def repeats(select: Select, resolved: Resolved, aliases: Collection[str]) -> bool:
    """Whether a join may repeat the rows of some parts taken together."""
    fixed, waiting = {*aliases}, True
    parts = list(parts_of(select.source))
    while waiting:
        waiting = False
        for part in parts:
            source = resolved.sources[part.alias]
            if part.alias in fixed or not isinstance(part, Table) or source.relation is None:
                continue
            same = equations(select, (*aliases, part.alias))
            given = {mine.name for mine, other in same if mine.table == part.alias and other.table in fixed}
            if any(one <= given for one in source.relation.unique):
                fixed.add(part.alias)
                waiting = True
    kinds = all(join.kind in ("inner", "left", "cross") for join in joins_of(select.source))
    return len(fixed) < len(parts) or not kinds


def refuse_choice(select: Select, conditions: tuple[Any, ...], groups: tuple[Any, ...], resolved: Resolved) -> None:
    """Keys, identifiers and LIMIT may not choose the people of a statistic about sensitive columns."""
    for join in joins_of(select.source):
        for one in conjuncts(join.on):
            _check(one, resolved, joining=True)
    for one in conditions:
        _check(one, resolved, joining=True)
    for one in groups:
        _check(one, resolved, joining=False)
    for part in parts_of(select.source):
        if isinstance(part, Series):
            continue
        source = resolved.sources[part.alias]
        if source.writable and source.table is None and source.relation is not None:
            raise NotCovered(
                f"a statistic of sensitive columns over {source.relation.name}, which you may write to",
                "use a table that you may only read",
            )
        if isinstance(part, DerivedTable):
            _check_query(part.query, resolved)


def _check(node: Any, resolved: Resolved, *, joining: bool) -> None:
    """One condition or group: keys only in equations of keys."""
    if (
        joining
        and isinstance(node, Operator)
        and node.sign == "="
        and all(isinstance(one, ColumnName) for one in node.args)
    ):
        roles = [resolved.roles(one) for one in node.args]
        if all("key" in its for its in roles):
            return
    if isinstance(node, ColumnName):
        found = resolved.roles(node) & {"key", "identifier"}
        if found:
            kind = "key" if "key" in found else "identifier"
            raise NotCovered(f"the {kind} `{node.name}` choosing the people of a statistic", INSTEAD)
    elif isinstance(node, Nested):
        same = node.kind == "in" and _is_key(node.inner, resolved) and _is_key(output_of(node.query, 0), resolved)
        if node.inner is not None and not same:
            _check(node.inner, resolved, joining=False)
        _check_query(node.query, resolved, items=not same and node.kind != "exists")
    elif isinstance(node, QUERIES):
        _check_query(node, resolved, items=True)
    elif node is not None:
        for one in children(node):
            _check(one, resolved, joining=False)


def _is_key(node: Any, resolved: Resolved) -> bool:
    return isinstance(node, ColumnName) and "key" in resolved.roles(node)


def _check_query(query: Any, resolved: Resolved, *, items: bool = False) -> None:
    for one in walk(query):
        if not isinstance(one, Select):
            continue
        if any(resolved.sources[part.alias].table is not None for part in parts_of(one.source)):
            if (one.limit is not None or one.offset is not None) and not has_aggregates(one):
                raise NotCovered("LIMIT in a sub-select choosing the people of a statistic", INSTEAD)
            if any(isinstance(inner, Window) for inner in walk(one.items)):
                raise NotCovered("a window in a sub-select choosing the people of a statistic", INSTEAD)
        for output in one.items if items else ():
            _check(output.inner, resolved, joining=False)
        for condition in (*conjuncts(one.where), *conjuncts(one.having)):
            _check(condition, resolved, joining=True)
        for join in joins_of(one.source):
            for condition in conjuncts(join.on):
                _check(condition, resolved, joining=True)
