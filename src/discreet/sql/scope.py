"""Scopes of a statement: which columns a name means, for what a request gives away by its conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from discreet.errors import RequestError

Node = Any


def folded(identifier: Node) -> str:
    """The name that the server takes an identifier for."""
    name = str(identifier.this if isinstance(identifier, exp.Identifier) else identifier.name)
    if isinstance(identifier, exp.Identifier) and identifier.args.get("quoted"):
        return name
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


# Which columns of tables a name in a query means, through aliases, subqueries and common table expressions.
Expression = Any


@dataclass(frozen=True, eq=False)
class Scope:
    """Tables that a query sees, by their names; None for one of the database."""

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
    """Subquery or common table expression under a name, with names given to its columns."""

    query: Expression
    columns: tuple[str, ...]
    common: Mapping[str, Derived]
    recursive: bool = False


Meaning = tuple[Expression, Scope] | str
"""An expression of an inner query, or the name of a column of a table."""


def key(identifier: Any) -> str:
    """Name without regard to case: PostgreSQL folds it, DuckDB ignores it."""
    return str(identifier.name if isinstance(identifier, exp.Expression) else identifier).casefold()


def part(query: Expression, name: str) -> Any:
    """Part of a query; newer versions of sqlglot end some names with an underscore."""
    return query.args.get(name) or query.args.get(f"{name}_")


def scope_of(query: Expression, common: Mapping[str, Derived], outer: Scope | None) -> Scope:
    """What a SELECT, UPDATE or DELETE sees."""
    common = with_common(query, common)
    relations: dict[str, Derived | None] = {}
    optional: set[str] = set()
    # The tables with the side of their join: empty for inner joins.
    start = part(query, "from")
    tables = [(start.this, ""), *_joined(start.this)] if start is not None else []
    if isinstance(query, (exp.Update, exp.Delete)):
        tables += [(query.this, ""), *((table, "") for table in query.args.get("using") or [])]
    tables += [*_joined(query), *((lateral, "") for lateral in query.args.get("laterals") or [])]
    for table, side in tables:
        meant: Derived | None
        inner, renamed = table.this if isinstance(table, exp.Lateral) else table, _column_names(table)
        if isinstance(inner, exp.Subquery):
            name, meant = key(table.alias) or f"#{id(table)}", Derived(inner.this, renamed, common)
        else:
            name = key(table.alias_or_name) if hasattr(table, "alias_or_name") else f"#{id(table)}"
            meant = common.get(key(table)) if isinstance(table, exp.Table) and not table.args.get("db") else None
            if renamed and meant is not None:
                meant = replace(meant, columns=renamed)
            elif renamed and isinstance(table.this, exp.Identifier):
                raise RequestError(
                    "The request renames the columns of a table by their position.",
                    remedy="Use the names of the columns; AS t (a, b) hides which ones are meant.",
                )
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


def _joined(holder: Expression) -> Iterator[tuple[Expression, str]]:
    for join in holder.args.get("joins") or []:
        yield join.this, join_side(join)
        yield from _joined(join.this)


def join_side(join: Expression) -> str:
    """LEFT, RIGHT, FULL, ANTI, or nothing for an inner join."""
    return "ANTI" if str(join.kind).upper() == "ANTI" else str(join.side).upper()


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
        # Whether an unqualified name can mean a column here: without a table it belongs to the query around.
        at = at.outer if table or not any(meant is None for meant in at.relations.values()) else None
    return [name]


def _inside(derived: Derived, name: str, *, stars: bool = True) -> list[Meaning]:
    """Meaning of a column inside its subquery; a union's first SELECT names columns."""
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
            found.append((projections[place].unalias(), inner))
        elif starred and stars:
            found.extend(meanings(exp.column(name), inner))
    return found


def is_whole_row(column: Expression, scope: Scope) -> bool:
    """Whether a name means all columns of a table at once."""
    return not column.table and key(column) in scope.relations


def branches(derived: Derived) -> list[Expression]:
    """SELECTs whose rows a subquery gives; of a recursive one, its start."""
    listed = list(_selects(derived.query))
    return listed[:1] if derived.recursive else listed


def _selects(query: Expression) -> Iterator[Expression]:
    if isinstance(query, exp.Subquery):
        yield from _selects(query.this)
    elif isinstance(query, exp.SetOperation):
        yield from _selects(query.this)
        if not isinstance(query, exp.Except):
            yield from _selects(query.expression)
    elif isinstance(query, exp.Select):
        yield query
