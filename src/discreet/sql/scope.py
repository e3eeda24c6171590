"""Scopes of a statement: which columns a name means.

Names are followed through aliases, subqueries and common table expressions without regard to where they hold: a name
that means a governed column anywhere means it everywhere. That can only find too much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
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

    @classmethod
    def of(cls, tree: Node, text: str, catalog: Catalog) -> Names:
        """Those of a tree, and of the text that it was made of."""
        found = cls(tree, text, catalog)
        found._tables()
        found._aliases()
        return found

    def relations(self, table: Node) -> list[Relation]:
        """The relations that a table of the statement may be."""
        if not isinstance(table.this, exp.Identifier):
            return []
        name = folded(table.this)
        named = self.catalog.named(name)
        schema = table.args.get("db")
        return [one for one in named if schema is None or one.schema == folded(schema)]

    def mistaken(self) -> bool:
        """Whether the name of a governed relation stands where the server may read it otherwise than sqlglot does.

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
        """Whether a sensitive column that the text names is none to sqlglot, which takes @income for a parameter."""
        parameters = list(self.tree.find_all(exp.Parameter, exp.Placeholder, exp.SessionParameter))
        if any(not str(one.name).isdigit() for one in parameters):
            return True
        meant = {name for name, leaves in self.names.items() if any(map(self.is_sensitive, leaves))}
        written = Counter(token.name for token in lexed(self.text) if token.name in meant)
        read = Counter(map(folded, self.tree.find_all(exp.Identifier)))
        return any(times > read[name] for name, times in written.items())

    def _tables(self) -> None:
        common = {folded(cte.args["alias"].this) for cte in self.tree.find_all(exp.CTE) if cte.args.get("alias")}
        for table in self.tree.find_all(exp.Table):
            alias = alias_of(table) or (folded(table.this) if isinstance(table.this, exp.Identifier) else "")
            relations = self.relations(table)
            for relation in relations:
                for name, origin in relation.columns.values():
                    self.names.setdefault(name, set()).update(origin.leaves)
                    self.columns.setdefault(name, set()).update(origin.leaves)
                self.plain |= relation.others
                held = {leaf for _, origin in relation.columns.values() for leaf in origin.leaves}
                for its in {alias, relation.name}:
                    self.rows.setdefault(its, set()).update(held)
                for name in SYSTEM:
                    self.names.setdefault(name, set()).update((root, ROW) for root in relation.roots)
            if not isinstance(table.this, exp.Identifier) and table.find(exp.Column, exp.Query):
                self.opaque = True
            if not relations and not (isinstance(table.this, exp.Identifier) and folded(table.this) in common):
                self.others.add(alias)
                if isinstance(table.this, exp.Identifier):
                    self.strangers.add(alias)
        everything = self.everything()
        for alias, query in self._derived():
            if not _is_listed(query):
                self.rows.setdefault(alias, set()).update(everything)
        for named in self.tree.find_all(exp.TableAlias):
            for column in named.args.get("columns") or ():
                self.names.setdefault(folded(column), set()).update(everything)

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

    def _derived(self) -> Iterator[tuple[str, Node]]:
        for node in self.tree.find_all(exp.CTE, exp.Subquery, exp.Lateral):
            if alias := alias_of(node):
                yield alias, node.this

    def everything(self) -> set[Leaf]:
        """Every governed column that any name means."""
        return {leaf for leaves in self.names.values() for leaf in leaves}

    def _aliases(self) -> None:
        """Names given to what is made of governed columns mean them as well; until no more are found."""
        named = [(folded(alias.args["alias"]), alias.this) for alias in self.tree.find_all(exp.Alias)]
        rows = [(alias, query) for alias, query in self._derived() if _is_listed(query)]
        for alias, _ in rows:
            self.rows.setdefault(alias, set())
        self._unnamed()
        changed = True
        while changed:
            changed = False
            for name, inner in named:
                new = self.leaves(inner) - self.names.get(name, set())
                if new:
                    self.names.setdefault(name, set()).update(new)
                    changed = True
            for alias, query in rows:
                new = set().union(*map(self.leaves, query.expressions)) - self.rows[alias]
                if new:
                    self.rows[alias].update(new)
                    changed = True

    def _unnamed(self) -> None:
        """What an inner query gives out without a name gets one from the server: then any name may be it."""
        for select in self.tree.find_all(exp.Select):
            inner = select.parent is not None and not isinstance(select.parent, exp.Insert)
            if inner and any(not isinstance(one, (exp.Column, exp.Alias, exp.Star)) for one in select.expressions):
                self.opaque = True
        if self.opaque:
            self.plain.clear()
            self.others.clear()

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
        """The governed columns that an expression names as they are called in their relations, not in conditions."""
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


def _is_listed(query: Node) -> bool:
    """Whether it says column by column what it gives out."""
    return isinstance(query, exp.Select) and not any(
        one.is_star or isinstance(one, exp.Columns) for one in query.expressions
    )


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
            "The request renames the columns of a table by their position.",
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
        # Whether an unqualified name can mean a column here: without a table it belongs to the query around.
        at = at.outer if table or not any(meant is None for meant in at.relations.values()) else None
    return [name]


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
