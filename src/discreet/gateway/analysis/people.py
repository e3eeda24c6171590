"""Whom a statistic is about: the person of a row, and what may not choose them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from discreet.gateway.analysis.block_parts import Resolved, Source, aggregates_of, has_aggregates, output_of
from discreet.sql.fragment import (
    QUERIES,
    Aggregate,
    Cast,
    ColumnName,
    DerivedTable,
    FunctionCall,
    Join,
    Literal,
    Nested,
    NotCovered,
    Operator,
    Select,
    Series,
    Table,
    Window,
    children,
    conjunction,
    conjuncts,
    transformed,
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


def _once(select: Select, resolved: Resolved, alias: str, *beside: str) -> bool:
    """Whether everybody in a part has one row; of parts `beside` it that is known."""
    return single(resolved.sources[alias]) and not repeats(select, resolved, {alias, *beside})


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


# People chosen by their rows elsewhere --------------------------------------------------------------------------------


def with_joins(select: Select, resolved: Resolved) -> Select:
    """A count of people who have some row, written as a join and a count of distinct people.

    So are EXISTS (SELECT ... WHERE v.key = p.key ...), key IN (SELECT key ...), and sub-selects of distinct keys in FROM,
    where they are about sensitive columns.
    """
    changed = select
    for one in conjuncts(select.where):
        if isinstance(one, Nested) and not one.negated and resolved.sensitive(one.query):
            changed = _with_condition(changed, one, resolved)
    for part in parts_of(select.source):
        if isinstance(part, DerivedTable) and resolved.sensitive(part.query):
            whole = _per_person(changed, part, resolved)
            changed = whole if whole is not changed else _with_keys(changed, part, resolved)
    return changed


def _with_condition(select: Select, node: Nested, resolved: Resolved) -> Select:
    """EXISTS or IN as a join."""
    inner = node.query
    if not _is_plain(inner, resolved):
        return select
    if node.kind == "in":
        same = [Operator("=", (node.inner, inner.items[0].inner))] if len(inner.items) == 1 else []
    else:
        same = [one for one in conjuncts(inner.where) if _is_equation_of_keys(one, resolved)]
    within = {part.alias for part in parts_of(inner.source)}
    pairs = [sorted(one.args, key=lambda it: it.table in within) for one in same if _is_equation_of_keys(one, resolved)]
    outer = next((mine for mine, its in pairs if mine.table not in within and its.table in within), None)
    if outer is None:
        return select
    key = next(its for mine, its in pairs if mine == outer)
    once = isinstance(inner.source, Table) and _once(inner, resolved, key.table)
    if not once and not (_counts_rows(select) and _once(select, resolved, outer.table)):
        return select
    where = [one for one in conjuncts(select.where) if one is not node]
    rest = [one for one in conjuncts(inner.where) if one not in same]
    source = Join("inner", select.source, inner.source, conjunction(same))
    joined = replace(select, source=source, where=conjunction([*where, *rest]))
    return joined if once else _of_people(joined, outer)


def _with_keys(select: Select, part: DerivedTable, resolved: Resolved) -> Select:
    """SELECT DISTINCT key FROM ... in FROM as the tables themselves."""
    inner = part.query
    if not isinstance(inner, Select) or nullable_of(select.source)[part.alias] or len(inner.items) != 1:
        return select
    key = inner.items[0].inner
    apart = inner.distinct if inner.groups is None else inner.groups == ((key,),)
    if not apart or not _is_key(key, resolved) or not _is_plain(replace(inner, groups=None, distinct=False), resolved):
        return select
    name = ColumnName(part.alias, next(iter(resolved.sources[part.alias].columns)))
    if not _counts_rows(select) or not _one_row_each(select, part, name, resolved):
        return select
    return _of_people(_in_place(select, part, name, key), key)


def _one_row_each(select: Select, part: DerivedTable, name: ColumnName, resolved: Resolved) -> bool:
    """Whether a block has one row for each row of a part, which has one per person, named there."""
    others = [it.alias for it in parts_of(select.source) if it is not part]
    joined = (mine for mine, its in equations(select, [part.alias, *others]) if its == name and _is_key(mine, resolved))
    return not others or any(_once(select, resolved, mine.table, part.alias) for mine in joined)


def _in_place(select: Select, part: DerivedTable, name: ColumnName, key: ColumnName) -> Select:
    """The tables of a sub-select in its place, and its key in place of the column of this name."""

    def put(node: Any) -> Any:
        if isinstance(node, DerivedTable) and node.alias == part.alias:
            return part.query.source
        return key if node == name else node

    changed: Select = transformed(select, put)
    return replace(changed, where=conjunction([*conjuncts(changed.where), *conjuncts(part.query.where)]))


def _per_person(select: Select, part: DerivedTable, resolved: Resolved) -> Select:
    """Averages and sums of SELECT key, sum(x) ... GROUP BY key: sum(x) by the number of people."""
    inner = part.query
    plain = (
        isinstance(inner, Select) and inner.groups is not None and len(inner.groups) == 1 and len(inner.groups[0]) == 1
    )
    if not plain or nullable_of(select.source)[part.alias] or inner.having is not None:
        return select
    key = inner.groups[0][0]
    rows = replace(inner, items=(), groups=None, order=())
    if not _is_key(key, resolved) or not _is_plain(rows, resolved) or inner.distinct:
        return select
    names = list(resolved.sources[part.alias].columns)
    named = [name for name, one in zip(names, inner.items, strict=True) if one.inner == key]
    if not named or not _one_row_each(select, part, ColumnName(part.alias, named[0]), resolved):
        return select
    given = dict(zip(names, (one.inner for one in inner.items), strict=True))
    people = Aggregate("count", (key,), True)

    def total(node: Any) -> Any:
        """What is added up for a person; None where it may be missing for some."""
        found = given.get(node.name) if isinstance(node, ColumnName) else None
        if not isinstance(found, Aggregate) or found.distinct or found.where is not None:
            return None
        column = found.args[0] if found.name == "sum" else None
        relation = resolved.sources[column.table].relation if isinstance(column, ColumnName) else None
        filled = relation is not None and isinstance(column, ColumnName) and column.name in relation.filled
        return found if filled or (found.name == "count" and not found.args) else None

    def put(node: Any) -> Any:
        if isinstance(node, Window) and node.inner == people:
            return replace(node, inner=Aggregate("count", ()))  # it counts groups
        if not isinstance(node, Aggregate) or node.distinct or node.where is not None:
            return node
        if node.name == "count" and not node.args:
            return people
        whole = total(node.args[0]) if node.name in ("sum", "avg") else None
        if whole is None:
            return node
        share = Operator("/", (Cast(whole, "numeric"), FunctionCall("nullif", (people, Literal("number", "0")))))
        return whole if node.name == "sum" else share

    changed: Select = transformed(replace(select, source=None), put)
    changed = _in_place(replace(changed, source=select.source), part, ColumnName(part.alias, named[0]), key)
    spoken = (changed.items, changed.having, tuple(one.inner for one in changed.order))
    counted = all(one == people or one in given.values() for one in aggregates_of(spoken))
    left = any(isinstance(one, ColumnName) and one.table == part.alias for one in walk(changed))
    return changed if counted and not left else select


def _is_plain(query: Any, resolved: Resolved) -> bool:
    """Rows of tables under conditions."""
    if not isinstance(query, Select) or has_aggregates(query) or query.limit is not None or query.offset is not None:
        return False
    inner = any(join.kind not in ("inner", "cross") for join in joins_of(query.source))
    nested = any(isinstance(one, Window | Nested) for one in walk((query.items, query.where)))
    return not inner and not nested and all(isinstance(part, Table) for part in parts_of(query.source))


def _is_equation_of_keys(node: Any, resolved: Resolved) -> bool:
    """The keys of two tables about the same kind of person, each one column."""
    if not isinstance(node, Operator) or node.sign != "=" or not all(_is_key(one, resolved) for one in node.args):
        return False
    tables = [resolved.sources[one.table].table for one in node.args]
    return len({one.entity for one in tables if one}) == 1 and all(one and len(one.key) == 1 for one in tables)


def _counts_rows(select: Select) -> bool:
    """Whether a block counts rows, and nothing else."""
    aggregates = [*aggregates_of((select.items, select.having, tuple(one.inner for one in select.order)))]
    return bool(aggregates) and all(one.name == "count" and not one.args for one in aggregates)


def _of_people(select: Select, key: ColumnName) -> Select:
    """With people counted in place of rows."""

    def put(node: Any) -> Any:
        if isinstance(node, Window) and isinstance(node.inner, Aggregate) and node.inner.distinct:
            return replace(node, inner=replace(node.inner, args=(), distinct=False))  # it counts groups
        counted = isinstance(node, Aggregate) and node.name == "count" and not node.args
        return replace(node, args=(key,), distinct=True) if counted else node

    changed: Select = transformed(select, put)
    return changed


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
