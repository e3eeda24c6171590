"""Resolver: names of a statement to relations of the catalog, as the user's own session finds them.

Every part of FROM gets a name that nothing else has, every column is written with it, stars are written out, USING
becomes ON, and GROUP BY and ORDER BY say expressions instead of numbers and names of outputs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from discreet.gateway.analysis.block_parts import Resolved, Source, names_of, output_of
from discreet.gateway.analysis.relations import Named, Relation, Relations, Setting
from discreet.sql.fragment import (
    QUERIES,
    Aggregate,
    Cast,
    ColumnName,
    DerivedTable,
    Elements,
    FunctionCall,
    Join,
    Literal,
    Nested,
    NotCovered,
    Operator,
    Output,
    Parameter,
    Select,
    Series,
    Star,
    Table,
    ValuesList,
    Window,
    conjunction,
    rebuilt,
    same_block,
    walk,
)
from discreet.sql.lexer import Unreadable, lexed
from discreet.sql.parser import parse_query

SOURCES = 300
"""So many parts all FROMs may have together."""
COLUMNS = 1_600
"""So many columns a list may have, as in PostgreSQL."""
VIEWS = 20
"""So deep views may be made of views."""
SPECIAL_DATES = frozenset(("now", "today", "tomorrow", "yesterday"))


def _fixed(node: Any) -> bool:
    """Whether an expression is the same for every row. As text it may be the number of an output, which is another thing."""
    return not any(isinstance(one, ColumnName | Aggregate | Window | Parameter) for one in walk(node))


def _spelled(group: Any) -> Any:
    """A group as an expression, whatever it is."""
    return Nested("scalar", Select((Output(group, "value"),))) if _fixed(group) else group


@dataclass
class _Scope:
    """What names mean in one query block; `merged` are the columns of USING."""

    sources: list[tuple[str, Source]]
    merged: dict[str, Any]
    hidden: set[tuple[str, str]]
    outer: _Scope | None


class Resolver:
    """Resolves one statement."""

    def __init__(self, relations: Relations, setting: Setting, salt: str) -> None:
        self._relations, self._setting, self._salt = relations, setting, salt
        self._sources: dict[str, Source] = {}
        self._depth = 0

    def resolve(self, query: Any) -> Resolved:
        """The whole statement."""
        found = self._query(query, None)
        return Resolved(found, self._sources, self._salt, self._setting.settings.get("TimeZone", ""))

    def _alias(self) -> str:
        if len(self._sources) >= SOURCES:
            raise NotCovered(f"more than {SOURCES} tables, views and sub-selects")
        return f"t{len(self._sources) + 1}_{self._salt}"

    # Queries ----------------------------------------------------------------------------------------------------------

    def _query(self, query: Any, outer: _Scope | None) -> Any:
        if isinstance(query, Select):
            return self._select(query, outer)
        if isinstance(query, ValuesList):
            scope = _Scope([], {}, set(), outer)
            width = len(query.rows[0].values)
            if any(len(row.values) != width for row in query.rows):
                raise NotCovered("VALUES lists of different lengths")
            rows = tuple(Elements(tuple(self._expression(one, scope) for one in row.values)) for row in query.rows)
            return replace(query, rows=rows, **self._tail(query, scope, names_of(query)))
        left, right = self._query(query.left, outer), self._query(query.right, outer)
        if len(names_of(left)) != len(names_of(right)):
            raise NotCovered(f"{query.kind.upper()} of different numbers of columns")
        whole = replace(query, left=left, right=right)
        if not query.order:
            return replace(whole, **self._tail(query, _Scope([], {}, set(), None), names_of(left)))
        # Only outputs can be ordered by.
        order = tuple(replace(one, inner=self._place(one.inner, names_of(left))) for one in query.order)
        return replace(whole, order=order, limit=self._number(query.limit), offset=self._number(query.offset))

    @staticmethod
    def _place(inner: Any, names: list[str]) -> Any:
        if isinstance(inner, Literal) and inner.kind == "number":
            return inner
        if isinstance(inner, ColumnName) and not inner.table and names.count(inner.name) == 1:
            return Literal("number", str(names.index(inner.name) + 1))
        raise NotCovered("ORDER BY an expression behind UNION", "order by the name of a column")

    def _tail(self, query: Any, scope: _Scope, names: list[str]) -> dict[str, Any]:
        order = tuple(replace(one, inner=self._place(one.inner, names)) for one in query.order)
        return {"order": order, "limit": self._number(query.limit), "offset": self._number(query.offset)}

    def _number(self, node: Any) -> Any:
        if node is None or (isinstance(node, Literal) and node.kind == "null"):
            return None
        return self._constant(node, "LIMIT or OFFSET")

    def _constant(self, node: Any, place: str) -> Any:
        """An expression without columns and sub-selects: how many rows come tells nothing then."""
        if any(isinstance(one, Nested) for one in walk(node)):
            raise NotCovered(f"a sub-select in {place}", "write the number itself")
        return self._expression(node, _Scope([], {}, set(), None))

    def _select(self, query: Select, outer: _Scope | None) -> Select:
        scope = _Scope([], {}, set(), outer)
        source = self._from(query.source, scope) if query.source is not None else None
        items: list[Output] = []
        for one in query.items:
            if isinstance(one, Star):
                items += self._star(one, scope)
            else:
                items.append(Output(self._expression(one.inner, scope), one.name))
        if len(items) > COLUMNS:
            raise NotCovered(f"a list of more than {COLUMNS:,} columns")
        if any(isinstance(one, Aggregate) for one in walk(query.where, into=same_block)):
            raise NotCovered("an aggregate in WHERE", "use HAVING")
        where = self._expression(query.where, scope)
        groups = None
        if query.groups is not None:
            groups = tuple(tuple(_spelled(self._group(one, items, scope)) for one in some) for some in query.groups)
        having = self._expression(query.having, scope)
        ordered = (replace(one, inner=self._ordered(one.inner, items, scope)) for one in query.order)
        order = tuple(one for one in ordered if not _fixed(one.inner))
        limit, offset = self._number(query.limit), self._number(query.offset)
        return Select(tuple(items), source, where, groups, having, query.distinct, order, limit, offset)

    def _group(self, node: Any, items: list[Output], scope: _Scope) -> Any:
        if isinstance(node, Literal) and node.kind == "number":
            return self._output(node, items)
        if isinstance(node, ColumnName) and not node.table:
            try:
                return self._expression(node, scope)
            except NotCovered:
                found = [one for one in items if one.name == node.name]
                if len(found) != 1:
                    raise
                return found[0].inner
        return self._expression(node, scope)

    def _ordered(self, node: Any, items: list[Output], scope: _Scope) -> Any:
        if isinstance(node, Literal) and node.kind == "number":
            return self._output(node, items)
        if isinstance(node, ColumnName) and not node.table:
            found = list(dict.fromkeys(one.inner for one in items if one.name == node.name))
            if len(found) == 1:
                return found[0]
            if len(found) > 1:
                raise NotCovered(f"ORDER BY {node.name}, which several outputs are called")
        return self._expression(node, scope)

    @staticmethod
    def _output(node: Literal, items: list[Output]) -> Any:
        if not node.text.isdigit() or not 1 <= int(node.text) <= len(items):
            raise NotCovered(f"the output number {node.text}, which there is not")
        return items[int(node.text) - 1].inner

    def _star(self, star: Star, scope: _Scope) -> list[Output]:
        found: list[Output] = []
        if not star.table:
            found += [Output(inner, name) for name, inner in scope.merged.items()]
        for shown, source in scope.sources:
            if star.table in ("", shown):
                skipped = scope.hidden if not star.table else set()
                found += [
                    Output(ColumnName(source.alias, name), name)
                    for name in source.columns
                    if (source.alias, name) not in skipped
                ]
        if not found:
            raise NotCovered(f"{star.table or 'everything'}.* without a table of this name")
        return found

    # FROM -------------------------------------------------------------------------------------------------------------

    def _from(self, node: Any, scope: _Scope) -> Any:
        if isinstance(node, Join):
            return self._join(node, scope)
        if isinstance(node, Table):
            shown, found, source = self._table(node)
        elif isinstance(node, Series):
            alias = self._alias()
            args = tuple(self._constant(one, "generate_series()") for one in node.args)
            found, source, shown = Series(args, alias, node.column), Source(alias, {node.column: ""}), node.alias
            self._sources[alias] = source
        else:
            shown, (found, source) = node.alias, self._given(self._query(node.query, None), node.columns)
        if any(name == shown for name, _ in scope.sources):
            raise NotCovered(f"two parts of FROM called {shown}", "give one of them another alias")
        scope.sources.append((shown, source))
        return found

    def _table(self, node: Table) -> tuple[str, Any, Source]:
        named = self._setting.names.get((node.schema, node.name))
        if named is None:
            place = f"{node.schema}.{node.name}" if node.schema else node.name
            raise NotCovered(f"the relation {place} (there is none of this name)")
        relation = self._relations.by_oid.get(named.oid)
        if relation is None:
            raise NotCovered(f"the temporary, new or system table {node.name}", "ask for it in a statement of its own")
        if relation.kind == "v" and relation.leads:
            if relation.loose:
                raise NotCovered(
                    f"the view {node.name}, which belongs to a user of the gateway", "ask for the tables that it shows"
                )
            self._depth += 1
            if self._depth > VIEWS:
                raise NotCovered("views that are made of too many views")
            try:
                query = parse_query(lexed(relation.definition.rstrip().rstrip(";")))
            except Unreadable:
                raise NotCovered(f"the view {node.name}") from None
            except NotCovered as problem:
                raise NotCovered(f"the view {node.name}, which uses {problem.construct}") from None
            within = Resolver(self._relations, self._by_definition(relation), self._salt)
            within._sources, within._depth = self._sources, self._depth
            resolved = within._query(query, None)
            found = self._given(resolved, tuple(node.columns) or tuple(relation.columns))
            self._depth -= 1
            return node.alias, *found
        if relation.leads and relation.governed is None:
            raise NotCovered(f"{node.name}, which is no table of the policy", "ask for the table that it is made of")
        if relation.loose and not relation.leads:
            raise NotCovered(
                f"the table {node.name}, which belongs to a user of the gateway",
                "an administrator can make it a table of a role of its own",
            )
        if relation.secured:
            raise NotCovered(f"the table {node.name}, whose rows are chosen by row level security")
        if not relation.leads and not named.may_read:
            raise NotCovered(f"the table {node.name}, which you may not read")
        if not relation.leads and relation.kind not in "rpm":
            raise NotCovered(
                f"the view or foreign table {node.name} beside a governed table", "use the tables it shows"
            )
        alias = self._alias()
        names = dict(relation.columns)
        if node.columns:
            kept = list(node.columns) + list(names)[len(node.columns) :]
            if len(node.columns) > len(names):
                raise NotCovered(f"more names of columns than {node.name} has")
            items = tuple(Output(ColumnName(alias, old), new) for old, new in zip(names, kept, strict=True))
            self._sources[alias] = Source(alias, names, relation, named.may_write)
            inner = Select(items, Table(relation.schema, relation.name, alias))
            return node.alias, *self._given(inner, ())
        source = Source(alias, names, relation, named.may_write)
        self._sources[alias] = source
        return node.alias, Table(relation.schema, relation.name, alias), source

    def _by_definition(self, view: Relation) -> Setting:
        """The definition of a view names every relation with its schema, and reads it with the rights of its owner."""
        known = self._relations.by_oid
        every = {
            (known[oid].schema, known[oid].name): Named(oid, readable, writable)
            for oid, (readable, writable) in view.defined.items()
            if oid in known
        }
        return replace(self._setting, names=every)

    def _given(self, query: Any, columns: tuple[str, ...]) -> tuple[DerivedTable, Source]:
        """A resolved query as a part of FROM."""
        names = names_of(query)
        if len(columns) > len(names):
            raise NotCovered("more names of columns than the sub-select has")
        names = list(columns) + names[len(columns) :]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise NotCovered(f"two columns called {twice} in a sub-select", "name one of them otherwise")
        alias = self._alias()
        source = Source(alias, {name: self._type(query, place) for place, name in enumerate(names)}, query=query)
        self._sources[alias] = source
        return DerivedTable(query, alias, tuple(names)), source

    def _type(self, query: Any, place: int) -> str:
        inner = output_of(query, place)
        if isinstance(inner, ColumnName):
            return self._sources[inner.table].columns.get(inner.name, "")
        return ""

    def _join(self, node: Join, scope: _Scope) -> Join:
        begin = len(scope.sources)
        left = self._from(node.left, scope)
        middle = len(scope.sources)
        right = self._from(node.right, scope)
        here = _Scope(scope.sources[begin:], dict(scope.merged), set(scope.hidden), None)
        if node.natural or node.using:
            return self._using(node, left, right, scope, begin, middle)
        on = self._expression(node.on, here)
        return Join(node.kind, left, right, on)

    def _using(self, node: Join, left: Any, right: Any, scope: _Scope, begin: int, middle: int) -> Join:
        def only(name: str, sources: list[tuple[str, Source]]) -> Any:
            if sources is first and name in scope.merged:
                return scope.merged[name]
            found = [ColumnName(one.alias, name) for _, one in sources if name in one.columns]
            if len(found) != 1:
                raise NotCovered(f"USING ({name}), which is not one column on each side")
            return found[0]

        first, second = scope.sources[begin:middle], scope.sources[middle:]
        names = node.using
        if node.natural:
            seconds = {name for _, one in second for name in one.columns}
            names = tuple(dict.fromkeys(name for _, one in first for name in one.columns if name in seconds))
        conditions = []
        for name in names:
            mine, theirs = only(name, first), only(name, second)
            conditions.append(Operator("=", (mine, theirs)))
            merged = {"right": theirs, "full": FunctionCall("coalesce", (mine, theirs))}.get(node.kind, mine)
            scope.merged[name] = merged
            scope.hidden |= {(one.alias, name) for _, one in (*first, *second) if name in one.columns}
        if not conditions:
            return Join("cross" if node.kind == "inner" else node.kind, left, right, None)
        return Join(node.kind, left, right, conjunction(conditions))

    # Expressions ------------------------------------------------------------------------------------------------------

    def _expression(self, node: Any, scope: _Scope) -> Any:
        if node is None:
            return None
        if isinstance(node, ColumnName):
            return self._column(node, scope)
        if isinstance(node, Nested):
            inner = self._expression(node.inner, scope)
            return Nested(node.kind, self._query(node.query, scope), inner, node.negated)
        if isinstance(node, QUERIES):
            raise NotCovered("a sub-select at this place")
        if isinstance(node, FunctionCall) and not node.args:
            return self._clock(node)
        if isinstance(node, Literal) and node.kind == "string":
            word = node.text.strip().casefold()
            first = word.split(" ")[0]
            if first in SPECIAL_DATES and len(word) < 30:  # the server may read it as a date: then it would be a clock
                raise NotCovered(f"the constant '{first}', which may be a clock", "use current_date")
        return rebuilt(node, lambda inner: self._expression(inner, scope))

    def _clock(self, node: FunctionCall) -> Any:
        if node.name == "current_date":
            return Cast(Literal("string", self._setting.today), "date")
        if node.name in ("now", "current_timestamp", "transaction_timestamp"):
            return Cast(Literal("string", self._setting.now), "timestamptz")
        if node.name == "localtimestamp":
            return Cast(Cast(Literal("string", self._setting.now), "timestamptz"), "timestamp")
        return node

    def _column(self, node: ColumnName, scope: _Scope) -> Any:
        here: _Scope | None = scope
        while here is not None:
            found = self._here(node, here)
            if found is not None:
                return found
            here = here.outer
        place = f"{node.table}.{node.name}" if node.table else node.name
        raise NotCovered(f"the column {place} (there is none of this name)")

    @staticmethod
    def _here(node: ColumnName, scope: _Scope) -> Any:
        if not node.table and node.name in scope.merged:
            return scope.merged[node.name]
        found = []
        for shown, source in scope.sources:
            relation = source.relation
            full = f"{relation.schema}.{relation.name}" if relation is not None else ""
            if node.name in source.columns and node.table in ("", shown, full or shown):
                found.append(ColumnName(source.alias, node.name))
        if len(found) > 1:
            raise NotCovered(f"the column {node.name}, which several tables have", "write table.column")
        return found[0] if found else None
