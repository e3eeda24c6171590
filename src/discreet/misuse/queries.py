"""Which columns of tables a name in a query means, through aliases, subqueries and common table expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from discreet.errors import RequestError

Expression = Any


@dataclass(frozen=True, eq=False)
class Scope:
    """The tables that a query sees by their names there; None stands for a table of the database."""

    query: Expression
    relations: Mapping[str, Derived | None] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()
    """Tables whose rows may be missing: the outer side of an outer join."""
    common: Mapping[str, Derived] = field(default_factory=dict)
    """Common table expressions that can be named here."""
    outer: Scope | None = None
    """The query around this one, whose columns a subquery may name."""


@dataclass(frozen=True, eq=False)
class Derived:
    """A subquery or common table expression under a name, with the names of its columns if they were given."""

    query: Expression
    columns: tuple[str, ...]
    common: Mapping[str, Derived]
    recursive: bool = False


Meaning = tuple[Expression, Scope] | str
"""An expression of an inner query, or the name of a column of a table."""


def key(identifier: Any) -> str:
    """A name without regard to case: PostgreSQL folds it, DuckDB ignores it, and a name too many does no harm."""
    return str(identifier.name if isinstance(identifier, exp.Expression) else identifier).casefold()


def part(query: Expression, name: str) -> Any:
    """A part of a query; some names end with an underscore in newer versions of sqlglot."""
    return query.args.get(name) or query.args.get(f"{name}_")


def scope_of(query: Expression, common: Mapping[str, Derived], outer: Scope | None) -> Scope:
    """What a SELECT, UPDATE or DELETE sees."""
    common = with_common(query, common)
    relations: dict[str, Derived | None] = {}
    optional: set[str] = set()
    for table, side in _tables(query):
        name, meant = _relation(table, common)
        if side in ("RIGHT", "FULL"):
            optional |= set(relations)
        if side in ("LEFT", "FULL", "ANTI"):
            optional.add(name)
        relations[name] = meant
    return Scope(query, relations, frozenset(optional), common, outer)


def with_common(query: Expression, common: Mapping[str, Derived]) -> dict[str, Derived]:
    """The common table expressions that can be named in a query."""
    found = dict(common)
    clause = part(query, "with")
    for one in clause.expressions if clause else []:
        recursive = bool(clause.args.get("recursive"))
        found[key(one.alias)] = Derived(one.this, _column_names(one), dict(found), recursive)
    return found


def _tables(query: Expression) -> Iterator[tuple[Expression, str]]:
    """The tables of a query with the side of their join: empty for inner joins."""
    start = part(query, "from")
    if start is not None:
        yield start.this, ""
        yield from _joined(start.this)
    if isinstance(query, (exp.Update, exp.Delete)):
        yield query.this, ""
        yield from ((table, "") for table in query.args.get("using") or [])
    yield from _joined(query)
    yield from ((lateral, "") for lateral in query.args.get("laterals") or [])


def _joined(holder: Expression) -> Iterator[tuple[Expression, str]]:
    for join in holder.args.get("joins") or []:
        yield join.this, join_side(join)
        yield from _joined(join.this)


def join_side(join: Expression) -> str:
    """LEFT, RIGHT, FULL, ANTI, or nothing for a join that keeps only rows with a match."""
    return "ANTI" if str(join.kind).upper() == "ANTI" else str(join.side).upper()


def _relation(table: Expression, common: Mapping[str, Derived]) -> tuple[str, Derived | None]:
    inner = table.this if isinstance(table, exp.Lateral) else table
    if isinstance(inner, exp.Subquery):
        return key(table.alias) or f"#{id(table)}", Derived(inner.this, _column_names(table), common)
    name = key(table.alias_or_name) if hasattr(table, "alias_or_name") else f"#{id(table)}"
    meant = common.get(key(table)) if isinstance(table, exp.Table) and not table.args.get("db") else None
    renamed = _column_names(table)
    if renamed and meant is not None:
        return name, Derived(meant.query, renamed, meant.common, meant.recursive)
    if renamed and isinstance(table.this, exp.Identifier):
        raise RequestError(
            "The request names the columns of a table anew, by their position.",
            remedy="Use the names of the columns; AS t (a, b) hides which ones are meant.",
        )
    return name, meant


def _column_names(named: Expression) -> tuple[str, ...]:
    alias = named.args.get("alias")
    return tuple(key(column) for column in alias.columns) if isinstance(alias, exp.TableAlias) else ()


def meanings(column: Expression, scope: Scope) -> list[Meaning]:
    """What a column may mean; several where a subquery is a union."""
    table, name = key(column.table), key(column)
    at: Scope | None = scope
    while at is not None:
        named = at.relations.get(table) if table else None
        if table and table in at.relations:
            return [name] if named is None else _inside(named, name) or [name]
        if not table:
            for meant in at.relations.values():
                if meant is not None and (found := _inside(meant, name, stars=False)):
                    return found
        at = at.outer if table or not _holds_tables(at) else None
    return [name]


def _holds_tables(scope: Scope) -> bool:
    """Whether an unqualified name can mean a column here: without a table it belongs to the query around."""
    return any(meant is None for meant in scope.relations.values())


def _inside(derived: Derived, name: str, *, stars: bool = True) -> list[Meaning]:
    """What a column of a subquery means inside of it; the first SELECT of a union names its columns."""
    found: list[Meaning] = []
    place = -1
    for number, branch in enumerate(branches(derived)):
        inner = scope_of(branch, with_common(derived.query, derived.common), None)
        projections = list(branch.expressions)
        if not number:
            names = derived.columns or tuple("*" if one.is_star else key(one.alias_or_name) for one in projections)
            place = names.index(name) if name in names else -1
        starred = any(one.is_star for one in projections[: place + 1 or None])
        if place >= 0 and place < len(projections) and not starred:
            found.append((_unaliased(projections[place]), inner))
        elif starred and stars:
            found.extend(meanings(exp.column(name), inner))
    return found


def is_whole_row(column: Expression, scope: Scope) -> bool:
    """Whether a name means all columns of a table at once."""
    return not column.table and key(column) in scope.relations


def branches(derived: Derived) -> list[Expression]:
    """The SELECTs whose rows a subquery gives; of a recursive one, those that start it."""
    listed = list(_selects(derived.query))
    return listed[:1] if derived.recursive else listed


def _selects(query: Expression) -> Iterator[Expression]:
    if isinstance(query, exp.Subquery):
        yield from _selects(query.this)
    elif isinstance(query, (exp.Union, exp.Intersect, exp.Except)):
        yield from _selects(query.this)
        if not isinstance(query, exp.Except):
            yield from _selects(query.expression)
    elif isinstance(query, exp.Select):
        yield query


def _unaliased(projection: Expression) -> Expression:
    return projection.this if isinstance(projection, exp.Alias) else projection
