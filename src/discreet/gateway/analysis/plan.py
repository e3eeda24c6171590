"""Plans: what the gateway runs in place of a statement, and of whom it would learn something.

A block is released first where its outer block cannot be one with it: statistics and lists of rows become tables of
constants, over which everything else is ordinary SQL that tells nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from discreet.gateway.analysis.block_parts import Resolved, Source, has_aggregates, names_of
from discreet.gateway.analysis.people import nullable_of, parts_of, single, with_joins
from discreet.gateway.analysis.relations import DATES
from discreet.gateway.analysis.row_order import hashed, is_determined, order_key
from discreet.gateway.analysis.statistic import Statistic, StatisticSettings, statistic_of
from discreet.sql.fragment import (
    Case,
    Cast,
    ColumnName,
    DerivedTable,
    FunctionCall,
    Join,
    Literal,
    Nested,
    NotCovered,
    Operator,
    OrderBy,
    Output,
    Select,
    SetQuery,
    Table,
    Test,
    ValuesList,
    When,
    Window,
    conjunction,
    conjuncts,
    rebuilt,
    same_block,
    transformed,
    walk,
)


@dataclass(frozen=True, eq=False)
class Exact:
    """A query that touches nothing sensitive of any person: run as it is."""

    query: Any
    before: tuple[tuple[str, Plan], ...] = ()
    """What is released first, by the name of its table."""


@dataclass(frozen=True)
class PersonCharge:
    """An occurrence of a governed table: rows of it are charged to the people of its own key."""

    alias: str
    entity: str
    key: tuple[ColumnName, ...]
    attributes: tuple[tuple[str, str], ...]
    """Sensitive columns that are touched, and what accounts call them."""
    shown: tuple[tuple[str, ColumnName, str], ...]
    """Those of which nothing but the value itself is told, with their types."""
    several: bool
    """Whether a person may have several rows, whose values add up."""

    @property
    def named(self) -> tuple[Any, ...]:
        """What names the person of a row, as text: the key, or the row itself where the key is NULL.

        Everything is NULL where an outer join found no row.
        """
        place = FunctionCall("concat", tuple(Cast(ColumnName(self.alias, one), "text") for one in ("tableoid", "ctid")))
        row = Case((When(Test(ColumnName(self.alias, "ctid"), "not null"), place),))
        return tuple(FunctionCall("coalesce", (Cast(column, "text"), row)) for column in self.key)


@dataclass(frozen=True, eq=False)
class RowList:
    """Rows with sensitive columns, charged to their people before anything runs."""

    select: Select
    public: tuple[Any, ...]
    hidden: tuple[Any, ...]
    """Conditions that touch sensitive columns."""
    charges: tuple[PersonCharge, ...]
    whole: bool
    """Whether the people asked about are all of FROM and the public conditions, and not only those shown."""
    columns: tuple[str, ...]
    before: tuple[tuple[str, Plan], ...] = ()


@dataclass(frozen=True, eq=False)
class StatisticPlan:
    """A statistic, and the client's block over its cells."""

    statistic: Statistic
    before: tuple[tuple[str, Plan], ...] = ()


Plan = Exact | RowList | StatisticPlan


@dataclass
class StatementPlanner:
    """Plans one resolved statement."""

    resolved: Resolved
    settings: StatisticSettings
    _before: list[tuple[str, Plan]] = field(default_factory=list)

    def plan(self, query: Any) -> Plan:
        """The plan of a query."""
        if not self.resolved.sensitive(query):
            return Exact(query)
        if isinstance(query, SetQuery):
            return self._combined(query)
        if isinstance(query, ValuesList):
            raise NotCovered("VALUES with sensitive columns")
        outer, self._before = self._before, []
        flat = _flat(query, self.resolved)
        select = self._released_inside(with_joins(flat, self.resolved) if has_aggregates(flat) else flat)
        before, self._before = tuple(self._before), outer
        if not self.resolved.sensitive(select):
            return Exact(select, before)
        if has_aggregates(select) or select.distinct:
            return StatisticPlan(statistic_of(select, self.resolved, self.settings), before)
        return self._rows(select, before)

    def _combined(self, query: SetQuery) -> Exact:
        if query.kind != "union":
            raise NotCovered(f"{query.kind.upper()} of queries with sensitive columns", "ask for them one by one")
        before = []
        sides = []
        for side in (query.left, query.right):
            alias = f"b{len(self.resolved.sources) + 1}_{self.resolved.salt}"
            names = [f"c{place}" for place in range(len(names_of(side)))]
            before.append((alias, self.plan(side)))
            self.resolved.sources[alias] = Source(alias, dict.fromkeys(names, ""))
            items = tuple(
                Output(ColumnName(alias, name), shown) for name, shown in zip(names, names_of(side), strict=True)
            )
            sides.append(Select(items, Table("", alias, alias)))
        return Exact(replace(query, left=sides[0], right=sides[1]), tuple(before))

    def _released_inside(self, select: Select) -> Select:
        """Sub-selects that cannot be one with the block are released first, and what could differ from time to time."""

        def apart(query: Any) -> bool:
            return bool(self.resolved.sensitive(query)) or not is_determined(query, self.resolved)

        def source(node: Any) -> Any:
            if isinstance(node, Join):
                on = nested(node.on) if node.on is not None else None
                return replace(node, left=source(node.left), right=source(node.right), on=on)
            if isinstance(node, DerivedTable) and apart(node.query):
                return self._release(node.alias, node.query, list(self.resolved.sources[node.alias].columns))
            return node

        def nested(node: Any) -> Any:
            if isinstance(node, Nested) and node.kind == "exists":
                node = replace(node, query=_any_row(node.query))
            if isinstance(node, Nested) and apart(node.query):
                self._refuse_correlated(node.query)
                alias = f"b{len(self.resolved.sources) + 1}_{self.resolved.salt}"
                names = [f"c{place}" for place in range(len(names_of(node.query)))]
                table = self._release(alias, node.query, names)
                items = tuple(Output(ColumnName(alias, name), name) for name in names)
                return replace(node, query=Select(items, table), inner=nested(node.inner) if node.inner else None)
            return node if isinstance(node, (DerivedTable, Select, SetQuery, ValuesList)) else rebuilt(node, nested)

        fresh = replace(select, source=source(select.source))
        return replace(
            fresh,
            items=tuple(nested(one) for one in fresh.items),
            where=nested(fresh.where) if fresh.where is not None else None,
            having=nested(fresh.having) if fresh.having is not None else None,
            groups=None if fresh.groups is None else tuple(tuple(nested(one) for one in some) for some in fresh.groups),
            order=tuple(nested(one) for one in fresh.order),
        )

    def _release(self, alias: str, query: Any, names: list[str]) -> Table:
        self._before.append((alias, self.plan(query)))
        self.resolved.sources[alias] = Source(alias, dict.fromkeys(names, ""))
        return Table("", alias, alias)

    def _refuse_correlated(self, query: Any) -> None:
        inside = {part.alias for one in walk(query) if isinstance(one, Select) for part in parts_of(one.source)}
        if any(isinstance(one, ColumnName) and one.table not in inside for one in walk(query)):
            what = "about sensitive columns" if self.resolved.sensitive(query) else "with LIMIT, a window or the like"
            raise NotCovered(f"a sub-select {what} that depends on the row around it", "join the tables instead")

    # Lists of rows -------------------------------------------------------------------------------------------------------------

    def _rows(self, select: Select, before: tuple[tuple[str, Plan], ...]) -> RowList:
        resolved = self.resolved
        source, moved = self._without_hidden_joins(select.source)
        conditions = (*conjuncts(select.where), *moved)
        public = tuple(one for one in conditions if not resolved.sensitive(one))
        hidden = tuple(one for one in conditions if resolved.sensitive(one))
        select = replace(select, source=source, where=None)
        leaves = resolved.sensitive((select.items, tuple(one.inner for one in select.order), hidden))
        windows = any(isinstance(one, Window) for one in walk((select.items, select.order), into=same_block))
        ordered = bool(resolved.sensitive(tuple(one.inner for one in select.order)))
        tops = {part.alias for part in parts_of(select.source)}
        if any(alias not in tops for alias, _ in leaves) or resolved.sensitive((select, public)) - leaves:
            raise NotCovered("sensitive columns of a sub-select in this form", "write it as one SELECT")
        # Only a value that stands by itself in the list, with no question about anybody beside it, is settled as shown.
        bare = {(one.inner.table, one.inner.name) for one in select.items if isinstance(one.inner, ColumnName)}
        inside = [one.inner for one in select.items if not isinstance(one.inner, ColumnName)]
        asked = resolved.sensitive((tuple(inside), hidden))
        charges = []
        for alias in sorted({alias for alias, _ in leaves}):
            table = resolved.sources[alias].table
            if table is None or not table.key:
                name = table.name if table is not None else alias
                raise NotCovered(
                    f"rows with sensitive columns of {name}, whose policy names no key", "ask for statistics"
                )
            names = sorted(name for its, name in leaves if its == alias)
            # Values of several rows add up, also over statements: what a part of them weighs says nothing.
            plain = bare - asked if single(resolved.sources[alias]) and not hidden and not windows else set()
            kinds = resolved.sources[alias].columns
            shown = [name for name in names if (alias, name) in plain and kinds[name] in WEIGHED]
            charges.append(
                PersonCharge(
                    alias,
                    table.entity,
                    tuple(ColumnName(alias, name) for name in table.key),
                    tuple((name, f"{table.name}.{name}") for name in names),
                    tuple((f"{table.name}.{name}", ColumnName(alias, name), kinds[name]) for name in shown),
                    not single(resolved.sources[alias]),
                )
            )
        columns = tuple(sorted({full for charge in charges for _, full in charge.attributes}))
        # Expressions are worked out for rows that LIMIT and OFFSET leave out as well, and an error would tell of those.
        skipped = select.limit is not None or select.offset is not None
        whole = bool(hidden) or windows or ordered or (skipped and bool(asked))
        return RowList(select, public, hidden, tuple(charges), whole, columns, before)

    def _without_hidden_joins(self, source: Any) -> tuple[Any, list[Any]]:
        """FROM without conditions on sensitive columns in ON, which stand in WHERE of inner joins as well."""
        moved: list[Any] = []
        nullable = nullable_of(source)

        def change(node: Any) -> Any:
            if not isinstance(node, Join):
                return node
            hidden = [one for one in conjuncts(node.on) if self.resolved.sensitive(one)]
            if hidden and (node.kind != "inner" or any(nullable[part.alias] for part in parts_of(node))):
                raise NotCovered(
                    "a sensitive column in the ON of an outer join",
                    "put the condition into WHERE, or use an inner join",
                )
            moved.extend(hidden)
            kept = conjunction(one for one in conjuncts(node.on) if one not in hidden)
            kind = "cross" if hidden and kept is None else node.kind
            return replace(node, kind=kind, left=change(node.left), right=change(node.right), on=kept)

        return change(source), moved


def _flat(query: Select, resolved: Resolved) -> Select:
    """Sub-selects that only choose rows and columns become one with their outer block."""
    changed = True
    while changed:
        changed = False
        nullable = nullable_of(query.source)
        for part in parts_of(query.source):
            if isinstance(part, DerivedTable) and resolved.sensitive(part.query):
                inner = _flat(part.query, resolved) if isinstance(part.query, Select) else part.query
                if _mergeable(inner, nullable[part.alias]):
                    query = _merged(query, part, inner, resolved)
                    changed = True
                    break
    return query


def _any_row(query: Any) -> Any:
    """A query that only matters by whether it has rows."""
    some = isinstance(query, Select) and isinstance(query.limit, Literal) and query.limit.text not in ("", "0")
    return replace(query, limit=None, order=()) if some and query.offset is None else query


def _mergeable(inner: Any, nullable: bool) -> bool:
    if not isinstance(inner, Select) or inner.source is None or has_aggregates(inner) or inner.distinct:
        return False
    if inner.limit is not None or inner.offset is not None:
        return False
    if any(isinstance(one, Window) for one in walk(inner.items, into=same_block)):
        return False
    plain = inner.where is None and all(isinstance(one.inner, ColumnName) for one in inner.items)
    return not nullable or (plain and isinstance(inner.source, Table))


def _merged(query: Select, part: DerivedTable, inner: Select, resolved: Resolved) -> Select:
    names = list(resolved.sources[part.alias].columns)
    given = {name: one.inner for name, one in zip(names, inner.items, strict=True)}

    def put(node: Any) -> Any:
        if isinstance(node, ColumnName) and node.table == part.alias:
            return given[node.name]
        if node is part or (isinstance(node, DerivedTable) and node.alias == part.alias):
            return inner.source
        return node

    found: Select = transformed(query, put)
    whole = conjunction([*conjuncts(found.where), *conjuncts(inner.where)])
    return replace(found, where=whole)


def placed(plan_node: Any, tables: dict[str, Any]) -> Any:
    """A tree with tables of constants in place of what was released."""
    if not tables:
        return plan_node
    return transformed(
        plan_node,
        lambda one: tables[one.name] if isinstance(one, Table) and not one.schema and one.name in tables else one,
    )


def asks_for_nothing(query: Any) -> bool:
    """LIMIT 0: only the columns are wanted."""
    return isinstance(query.limit, Literal) and query.limit.text == "0"


# Lists of rows as they are run ---------------------------------------------------------------------------------------


class Lister:
    """SQL of a list of rows: public parts within, conditions, order and limit around."""

    def __init__(self, plan: RowList, select: Select, public: Any, hidden: Any, resolved: Resolved) -> None:
        self._plan, self._select, self._resolved = plan, select, resolved
        tops = {part.alias for part in parts_of(select.source)}
        order = order_key(select, resolved)
        spoken: tuple[Any, ...] = (
            select.items,
            tuple(select.order),
            hidden,
            order,
            tuple(one.named for one in plan.charges),
        )
        spoken += (tuple(column for one in plan.charges for _, column, _ in one.shown),)
        columns = list(dict.fromkeys(one for one in walk(spoken) if isinstance(one, ColumnName) and one.table in tops))
        names = {column: f"c{place}" for place, column in enumerate(columns)}
        alias = f"rows_{resolved.salt}"

        def put(node: Any) -> Any:
            return transformed(node, lambda one: ColumnName(alias, names[one]) if one in names else one)

        items = tuple(Output(column, name) for column, name in names.items()) or (Output(Literal("number", "1"), "c0"),)
        inner = Select(items, select.source, public, offset=Literal("number", "0"))
        outputs: list[Output] = []
        self.keys: list[range] = []
        """Places of the columns that name the person of each charge; they come before those of the client."""
        self.values: dict[tuple[int, str], int] = {}
        for place, charge in enumerate(plan.charges):
            self.keys.append(range(len(outputs), len(outputs) + len(charge.key)))
            outputs += [Output(put(name), f"h{len(outputs)}") for name in charge.named]
            for name, column, kind in charge.shown:
                self.values[place, name] = len(outputs)
                outputs.append(Output(_as_weighed(put(column), kind), f"h{len(outputs)}"))
        self.hidden = len(outputs)
        outputs += [put(one) for one in select.items]
        ordered = (*(put(one) for one in select.order), OrderBy(put(hashed(order))))
        self.query = Select(
            tuple(outputs),
            DerivedTable(inner, alias, tuple(one.name for one in items)),
            put(hidden) if hidden is not None else None,
            None,
            None,
            False,
            ordered,
            select.limit,
            select.offset,
        )


WEIGHED = frozenset(
    ("bool", "int2", "int4", "int8", "numeric", "text", "varchar", "bpchar", "uuid", *DATES, "float4", "float8")
)
"""Types of which the text can be written without the settings of a session."""


def _as_weighed(column: Any, kind: str) -> Any:
    """A value as text, as weights of the policy name it: whatever the client's DateStyle and the like are."""
    if kind in ("float4", "float8"):
        return Cast(Cast(column, "numeric"), "text")
    if kind not in DATES:
        return Cast(column, "text")
    if kind == "timestamptz":
        column = FunctionCall("timezone", (Literal("string", "UTC"), column))
    pattern = "YYYY-MM-DD" + " HH24:MI:SS.US" * (kind != "date")
    text: Any = FunctionCall("to_char", (column, Literal("string", pattern)))
    if kind != "date":
        zeros = FunctionCall("rtrim", (text, Literal("string", "0")))
        text = FunctionCall("rtrim", (zeros, Literal("string", ".")))
    if kind == "timestamptz":
        text = Operator("||", (text, Literal("string", "+00")))
    return FunctionCall("coalesce", (text, Cast(column, "text")))  # of infinity there is no pattern
