"""Scopes of a statement: which columns a name means.

Names are followed through aliases, subqueries and common table expressions without regard to where they hold: a name
that means a governed column anywhere means it everywhere. That can only find too much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from discreet.errors import RequestError
from discreet.sql.catalog import Catalog, Leaf, Relation
from discreet.sql.lexer import Statement, lexed

ROW = "(row)"
"""Stands for what names a row by its place: ctid and its like."""
SYSTEM = frozenset(("ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "oid"))
Node = Any


@dataclass
class Names:
    """The names of one statement."""

    tree: Node
    text: str
    catalog: Catalog
    names: dict[str, set[Leaf]] = field(default_factory=dict)
    columns: dict[str, set[Leaf]] = field(default_factory=dict)
    """The same for names of columns of relations only, not for those given in the statement."""
    rows: dict[str, set[Leaf]] = field(default_factory=dict)
    """Per name of a table in the statement the columns that its whole row holds."""
    plain: set[str] = field(default_factory=set)
    """Names of columns that are known and not governed."""
    others: set[str] = field(default_factory=set)
    """Names of tables in the statement that are not governed."""
    strangers: set[str] = field(default_factory=set)
    """Names of relations that are not governed, and no common table expressions."""
    opaque: bool = False
    """Whether what comes out of a function or an inner query may have any name."""

    def __post_init__(self) -> None:
        common = {folded(cte.args["alias"].this) for cte in self.tree.find_all(exp.CTE) if cte.args.get("alias")}
        for table in self.tree.find_all(exp.Table):
            is_named = isinstance(table.this, exp.Identifier)
            alias = alias_of(table) or (folded(table.this) if is_named else "")
            relations = self.relations(table)
            for relation in relations:
                for name, origin in relation.columns.values():
                    self.names.setdefault(name, set()).update(origin.leaves)
                    self.columns.setdefault(name, set()).update(origin.leaves)
                self.plain |= relation.others
                leaves = {leaf for _, origin in relation.columns.values() for leaf in origin.leaves}
                for its in {alias, relation.name}:
                    self.rows.setdefault(its, set()).update(leaves)
                for name in SYSTEM:
                    self.names.setdefault(name, set()).update((root, ROW) for root in relation.roots)
            if not is_named and table.find(exp.Column, exp.Query):
                self.opaque = True
            if not relations and not (is_named and folded(table.this) in common):
                self.others.add(alias)
                if is_named:
                    self.strangers.add(alias)
        # What an inner query gives out without a name gets one from the server: then any name may be it.
        for select in self.tree.find_all(exp.Select):
            inner = select.parent is not None and not isinstance(select.parent, exp.Insert)
            if inner and any(not isinstance(one, (exp.Column, exp.Alias, exp.Star)) for one in select.expressions):
                self.opaque = True
        if self.opaque:
            self.plain.clear()
            self.others.clear()
        self._follow_aliases()

    def _follow_aliases(self) -> None:
        """Names given to expressions of governed columns mean these columns as well."""
        everything, listed = self.everything(), []
        for node in self.tree.find_all(exp.CTE, exp.Subquery, exp.Lateral):
            alias, query = alias_of(node), node.this
            if (
                alias
                and isinstance(query, exp.Select)
                and not any(one.is_star or isinstance(one, exp.Columns) for one in query.expressions)
            ):
                listed.append((self.rows.setdefault(alias, set()), query.expressions))
            elif alias:  # it does not say column by column what it gives out
                self.rows.setdefault(alias, set()).update(everything)
        for alias in self.tree.find_all(exp.TableAlias):
            for column in alias.args.get("columns") or ():
                self.names.setdefault(folded(column), set()).update(everything)
        aliases = [(folded(alias.args["alias"]), alias.this) for alias in self.tree.find_all(exp.Alias)]
        changed = True
        while changed:
            changed = False
            for name, inner in aliases:
                new = self.leaves(inner) - self.names.get(name, set())
                if new:  # a name that means nothing governed stays unknown
                    self.names.setdefault(name, set()).update(new)
                    changed = True
            for meant, expressions in listed:
                new = set().union(*map(self.leaves, expressions)) - meant
                meant |= new
                changed = changed or bool(new)

    def relations(self, table: Node) -> list[Relation]:
        """The relations that a table of the statement may be."""
        if not isinstance(table.this, exp.Identifier):
            return []
        name = folded(table.this)
        named = self.catalog.named(name)
        schema = table.args.get("db")
        return [one for one in named if schema is None or one.schema == folded(schema)]

    def mistaken(self) -> bool:
        """Whether the server may read the name of a governed relation otherwise than sqlglot.

        As the name given to something else (`FROM BINARY patients`), or in a schema of which nothing is known.
        """
        for table in self.tree.find_all(exp.Table, exp.Subquery, exp.Lateral):
            its = folded(table.this) if isinstance(table.this, exp.Identifier) else ""
            alias = alias_of(table)
            if alias and alias != its and self.catalog.named(alias):
                return True
            schema = table.args.get("db")
            if schema is not None and self.catalog.named(its) and folded(schema) not in self.catalog.schemas[its]:
                return True
        return False

    def missed(self) -> bool:
        """Whether sqlglot misses a sensitive column: it takes @income for a parameter."""
        parameters = list(self.tree.find_all(exp.Parameter, exp.Placeholder, exp.SessionParameter))
        if any(not str(one.name).isdigit() for one in parameters):
            return True
        meant = {name for name, leaves in self.names.items() if any(map(self.is_sensitive, leaves))}
        written = Counter(token.name for token in lexed(self.text) if token.name in meant)
        read = Counter(map(folded, self.tree.find_all(exp.Identifier)))
        return any(times > read[name] for name, times in written.items())

    def multiplies(self) -> bool:
        """Whether a function in it may give several rows for one."""
        return bool(Statement(tuple(lexed(self.text))).calls & self.catalog.sets)

    def renamed(self) -> dict[str, str]:
        """Columns of views that show a governed column as it is, under another name."""
        found = {}
        for table in self.tree.find_all(exp.Table):
            for relation in self.relations(table):
                for name, origin in relation.columns.values():
                    (leaf,) = origin.leaves if origin.direct else (("", name),)
                    if leaf[1] != name:
                        found[name.casefold()] = leaf[1].casefold()
        return found

    def misnamed(self) -> frozenset[str]:
        """Columns of views that are called like something else than what they show."""
        found = set()
        for table in self.tree.find_all(exp.Table):
            for relation in self.relations(table):
                shown = {
                    name
                    for name, origin in relation.columns.values()
                    if (origin.direct and {leaf[1] for leaf in origin.leaves} == {name})
                }
                if relation.kind not in ("r", "p"):
                    found |= {name.casefold() for name in {*relation.others, *relation.by_name} - shown}
        return frozenset(found)

    def everything(self) -> set[Leaf]:
        """Every governed column that any name means."""
        return {leaf for leaves in self.names.values() for leaf in leaves}

    def leaves(self, node: Node) -> set[Leaf]:
        """The governed columns that an expression is made of."""
        found: set[Leaf] = set()
        for column in node.find_all(exp.Column):
            found |= self.of_column(column)
        if any(not isinstance(star.parent, (exp.Column, exp.Count)) for star in node.find_all(exp.Star)):
            found |= self.everything()
        if any(not isinstance(table.this, exp.Identifier) for table in node.find_all(exp.Table)):
            found |= self.everything()
        return found

    def literally(self, node: Node) -> frozenset[Leaf]:
        """Governed columns that an expression names by their own names, outside of conditions."""
        found: set[Leaf] = set()
        for column in node.find_all(exp.Column):
            table = folded(column.args["table"]) if column.args.get("table") else ""
            given = column.find_ancestor(exp.Where, exp.Exists) is None
            if given and (table not in self.others or table in self.rows):
                found |= self.columns.get(folded(column.this), set())
        return frozenset(found)

    def of_column(self, column: Node) -> set[Leaf]:
        """The governed columns that one name may mean."""
        table = folded(column.args["table"]) if column.args.get("table") else ""
        if isinstance(column.this, exp.Star):
            return set(self.rows.get(table, self.everything() if table not in self.others else ()))
        name = folded(column.this)
        if table in self.others and table not in self.rows:
            return set()
        found = set(self.names.get(name, ()))
        if not table:
            found |= self.rows.get(name, set())
        if name in self.names or name in self.plain or (not table and name in self.rows):
            return found
        if table and table in self.rows:
            return found | self.rows[table]  # no column of it: a function of the whole row, as t.to_json
        return found if self.others and not table else found | self.everything()

    def is_sensitive(self, leaf: Leaf) -> bool:
        """Whether this is what would be learned, rather than about whom."""
        return leaf[1] in self.catalog.governed[leaf[0]].sensitive

    def is_key(self, leaf: Leaf) -> bool:
        """Whether this is the whole key of its table."""
        return (leaf[1],) == self.catalog.governed[leaf[0]].key


def alias_of(node: Node) -> str:
    """The name that something is given in the statement; empty without one."""
    named = node.args.get("alias")
    if isinstance(named, exp.TableAlias):
        return folded(named.this) if named.this is not None else ""
    return folded(named) if named is not None else ""


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
