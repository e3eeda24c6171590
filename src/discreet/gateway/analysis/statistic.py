"""Statistics about sensitive columns: one query block as cells that are counted once, noised, and worked on again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from discreet.gateway.analysis.aggregate_forms import fractions_apart
from discreet.gateway.analysis.block_parts import Resolved, aggregates_of
from discreet.gateway.analysis.condition_grid import ConditionGrid
from discreet.gateway.analysis.conditions import brief, canonical, steps_of, total
from discreet.gateway.analysis.people import Person, nullable_of, parts_of, person_of, refuse_choice
from discreet.gateway.analysis.terms import CellQuestion, Term, Terms
from discreet.sql.fragment import (
    Aggregate,
    Case,
    ColumnName,
    DerivedTable,
    FunctionCall,
    Join,
    Literal,
    Nested,
    NotCovered,
    Operator,
    Output,
    Select,
    Table,
    Test,
    When,
    Window,
    conjunction,
    conjuncts,
    rebuilt,
    transformed,
    walk,
)

WORK = 500
"""So many steps of work on sensitive values a statement may have: each takes a moment longer for some values."""


class StatisticSettings(Protocol):
    """What the policy says about statistics."""

    @property
    def rows(self) -> int:
        """Most rows of a person in a cell that count."""

    @property
    def bins(self) -> int:
        """Bins of a histogram from which percentiles are read."""

    def bounds(self, column: str) -> tuple[float, float] | None:
        """Bounds of a column."""

    def step(self, column: str) -> float | None:
        """ConditionGrid of a column."""


@dataclass(frozen=True, eq=False)
class CellPart:
    """Grouping sets of which the same is noised: those with a sensitive group, or those without."""

    sets: tuple[int, ...]
    terms: tuple[Term, ...]
    questions: tuple[CellQuestion, ...]
    sensitive: bool
    by: tuple[str, ...] = ()
    """Sensitive columns that it groups by, as accounts call them."""


@dataclass(frozen=True, eq=False)
class Statistic:
    """A block of aggregates that touches sensitive columns."""

    select: Select
    resolved: Resolved
    person: Person
    groups: tuple[Any, ...]
    hidden: tuple[int, ...]
    """Which of the groups are sensitive."""
    sets: tuple[tuple[int, ...], ...]
    parts: tuple[CellPart, ...]
    aggregates: tuple[Aggregate, ...]
    outer: Select
    """The client's block over the cells."""
    alias: str
    columns: tuple[str, ...]
    """Names of sensitive columns in it, as accounts call them."""
    spelt: Mapping[int, str]
    """The sensitive groups in the one spelling that noise depends on."""
    counted: tuple[Any, ...]
    """The groups as the server is asked for them: those that are sensitive as expressions that never fail."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of a cell: its set, its groups, its aggregates."""
        groups = tuple(f"g{place}" for place in range(len(self.groups)))
        return ("s", *groups, *(f"a{place}" for place in range(len(self.aggregates))))

    @property
    def described(self) -> Select:
        """A query of the same types as the cells; it is prepared and never run."""
        items = [Output(one, f"g{place}") for place, one in enumerate(self.groups)]
        items += [Output(one, f"a{place}") for place, one in enumerate(self.aggregates)]
        groups = (self.groups,) if self.groups else None
        return Select((Output(Literal("number", "1"), "s"), *items), self.select.source, self.select.where, groups)


def statistic_of(select: Select, resolved: Resolved, settings: StatisticSettings) -> Statistic:
    """The statistic that a block is; NotCovered where there is none that may be given out."""
    select = fractions_apart(_grouped(_looked_up(select, resolved)))
    grid = ConditionGrid(resolved, settings.step)
    groups = tuple(dict.fromkeys(one for some in select.groups or () for one in some))
    hidden = tuple(place for place, one in enumerate(groups) if resolved.sensitive(one))
    spelt = {place: canonical(groups[place], grid) for place in hidden}
    counted = tuple(total(one, grid) if place in hidden else one for place, one in enumerate(groups))
    if len(groups) > 20:
        raise NotCovered("more than 20 groups")
    where = conjuncts(select.where)
    spoken = (select.items, select.where, select.groups or (), select.having, tuple(one.inner for one in select.order))
    leaves = resolved.sensitive(spoken)
    for join in walk(select.source, into=lambda one: not isinstance(one, DerivedTable)) if select.source else ():
        on = getattr(join, "on", None)
        if on is not None and resolved.sensitive(on):
            raise NotCovered("a sensitive column in the ON of a statistic", "put the condition into WHERE or FILTER")
    if resolved.sensitive((select.source, select.limit, select.offset)):
        raise NotCovered("a statistic over a part of FROM that depends on sensitive columns", "write it as one SELECT")
    aliases = frozenset(alias for alias, _ in leaves)
    if any(resolved.sources[alias].query is not None for alias in aliases):
        raise NotCovered("a statistic over a sub-select that shows sensitive columns", "write it as one SELECT")
    person = person_of(select, resolved, aliases)
    aggregates = tuple(
        dict.fromkeys(aggregates_of((select.items, select.having, tuple(one.inner for one in select.order))))
    )
    sets = tuple(tuple(groups.index(one) for one in some) for some in select.groups) if select.groups else ((),)
    parts = []
    public: tuple[Any, ...] = ()
    for sensitive in (False, True):
        chosen = tuple(place for place, one in enumerate(sets) if bool(set(one) & set(hidden)) == sensitive)
        if not chosen:
            continue
        within = tuple(dict.fromkeys(groups[one] for place in chosen for one in sets[place] if one in hidden))
        terms = Terms(grid, where, within, settings.bins, nullable_of(select.source))
        found = tuple(terms.of(one) for one in aggregates)
        if sensitive:
            terms.count_groups()
        for question in terms.questions:
            public += question.where
            _refuse_unbounded(question, settings)
        parts.append(CellPart(chosen, found, tuple(terms.questions), sensitive, terms.by))
    worked = {one.where for part in parts for question in part.questions for one in question.quantities}
    if sum(map(steps_of, worked)) + sum(steps_of(counted[place]) for place in hidden) > WORK:
        raise NotCovered(f"more than {WORK:,} steps of work on sensitive columns", "use several statements")
    brief((*worked, *(counted[place] for place in hidden)))
    plain = tuple(one for place, one in enumerate(groups) if place not in hidden)
    refuse_choice(select, tuple(dict.fromkeys(public)), plain, resolved)
    alias = f"cells_{resolved.salt}"
    outer = _Outer(select, groups, aggregates, sets, alias).block()
    columns = tuple(sorted({grid.name(leaf) for leaf in leaves}))
    return Statistic(
        select, resolved, person, groups, hidden, sets, tuple(parts), aggregates, outer, alias, columns, spelt, counted
    )


def _looked_up(select: Select, resolved: Resolved) -> Select:
    """Look-up tables joined on a sensitive code, as sub-selects of the code: what they say of it is a value of it.

    A code has one row there, so that nobody comes twice; who has none is left out by a condition, where the join does it.
    """
    rows: dict[str, tuple[Table, str, ColumnName]] = {}
    conditions: list[Any] = []

    def column(alias: str, name: str) -> Nested:
        table, code, leaf = rows[alias]
        same = Operator("=", (ColumnName(alias, code), leaf))
        return Nested("scalar", Select((Output(ColumnName(alias, name), name),), table, same))

    def entry(part: Any, on: Any) -> bool:
        """Whether a part of FROM is such a table, by this condition."""
        source = resolved.sources.get(part.alias) if isinstance(part, Table) else None
        if source is None or source.relation is None or source.table is not None or source.writable:
            return False
        for pair in (on.args, on.args[::-1]) if isinstance(on, Operator) and on.sign == "=" else ():
            code, leaf = pair
            if not (isinstance(code, ColumnName) and isinstance(leaf, ColumnName) and code.table == part.alias):
                continue
            owner = resolved.sources[leaf.table]
            text = {owner.columns.get(leaf.name), source.columns[code.name]} <= {"text", "varchar"}
            if text and owner.table and resolved.sensitive(leaf) and frozenset([code.name]) in source.relation.unique:
                rows[part.alias] = part, code.name, leaf
                return True
        return False

    def without(node: Any) -> Any:
        if not isinstance(node, Join) or node.kind not in ("inner", "left", "cross"):
            return node
        for part, rest in ((node.right, node.left), (node.left, node.right)):
            if (part is node.right or node.kind == "inner") and entry(part, node.on):
                if node.kind == "inner":
                    conditions.append(Test(column(part.alias, rows[part.alias][1]), "not null"))
                return without(rest)
        return replace(node, left=without(node.left))

    source = without(select.source)
    if not rows:
        return select
    resolved.lookups |= set(rows)
    if any(isinstance(one, ColumnName) and one.table in rows for one in walk(source)):
        raise NotCovered("a look-up of a sensitive code that other tables are joined on", "join them on other columns")

    def put(node: Any) -> Any:
        return column(node.table, node.name) if isinstance(node, ColumnName) and node.table in rows else node

    inner = {
        column(alias, name)
        for alias, (_, code, _) in rows.items()
        if Test(column(alias, code), "not null") in conditions
        for name in resolved.sources[alias].relation.filled  # type: ignore[union-attr]
    }
    changed: Select = transformed(replace(select, source=None), put)
    where = conjunction([*conjuncts(changed.where), *conditions])
    having = conjuncts(changed.having)
    if changed.groups is not None and len(changed.groups) == 1 and conditions:
        having = (*having, *(Test(one, "not null") for one in changed.groups[0] if one in inner))
    return replace(changed, source=source, where=where, having=conjunction(having))


def _grouped(select: Select) -> Select:
    """DISTINCT as GROUP BY where nothing else groups."""
    if not select.distinct or select.groups is not None or any(True for _ in aggregates_of(select.items)):
        return select
    if any(isinstance(one, Window) for one in walk(select.items)):
        raise NotCovered("DISTINCT over windows of sensitive values")
    inner = tuple(dict.fromkeys(one.inner for one in select.items))
    return replace(select, distinct=False, groups=(inner,))


def _refuse_unbounded(question: CellQuestion, settings: StatisticSettings) -> None:
    for quantity in question.quantities:
        for measure in quantity.measures:
            if measure.sensitive and settings.bounds(measure.name) is None:
                column = measure.name.rpartition(".")[2]
                raise NotCovered(
                    f"a sum or average of `{column}`, for which the policy has no bounds",
                    f"count(*) works; the policy needs `bounds = [low, high]` for {column} in [gateway.aggregates]",
                )


class _Outer:
    """Puts columns of the cells in place of groups and aggregates."""

    def __init__(
        self,
        select: Select,
        groups: tuple[Any, ...],
        aggregates: tuple[Aggregate, ...],
        sets: tuple[tuple[int, ...], ...],
        alias: str,
    ) -> None:
        self._select, self._groups, self._aggregates, self._sets, self._alias = select, groups, aggregates, sets, alias

    def block(self) -> Select:
        """SELECT list, HAVING as WHERE, windows, order and limit over the cells."""
        select = self._select
        return Select(
            tuple(Output(self._put(one.inner), one.name) for one in select.items),
            Table("", self._alias, self._alias),
            self._put(select.having),
            None,
            None,
            select.distinct,
            tuple(replace(one, inner=self._put(one.inner)) for one in select.order),
            select.limit,
            select.offset,
        )

    def _put(self, node: Any) -> Any:
        if node is None:
            return None
        if node in self._groups:
            return ColumnName(self._alias, f"g{self._groups.index(node)}")
        if isinstance(node, Aggregate):
            return ColumnName(self._alias, f"a{self._aggregates.index(node)}")
        if isinstance(node, Nested):  # exact, or released before: a number like any other
            inside = {
                part.alias for one in walk(node.query) if isinstance(one, Select) for part in parts_of(one.source)
            }
            if any(isinstance(one, ColumnName) and one.table not in inside for one in walk(node.query)):
                raise NotCovered("a sub-select that depends on the row around it, beside aggregates", "join the tables")
            return replace(node, inner=self._put(node.inner))
        if isinstance(node, Window) and isinstance(node.inner, Aggregate):
            inner = replace(node.inner, args=tuple(map(self._put, node.inner.args)), where=self._put(node.inner.where))
            order = tuple(replace(one, inner=self._put(one.inner)) for one in node.order)
            return Window(inner, tuple(map(self._put, node.partition)), order, node.frame)
        if isinstance(node, FunctionCall) and node.name == "grouping":
            return self._grouping(node)
        if isinstance(node, ColumnName):
            raise NotCovered(f"the column `{node.name}` outside of GROUP BY and aggregates", "add it to GROUP BY")
        return rebuilt(node, self._put)

    def _grouping(self, node: FunctionCall) -> Any:
        places = [self._groups.index(one) if one in self._groups else -1 for one in node.args]
        if -1 in places:
            raise NotCovered("GROUPING() of what is not grouped by")
        whens = []
        for number, some in enumerate(self._sets):
            value = sum((place not in some) << (len(places) - 1 - at) for at, place in enumerate(places))
            same = Operator("=", (ColumnName(self._alias, "s"), Literal("number", str(number))))
            whens.append(When(same, Literal("number", str(value))))
        return Case(tuple(whens), Literal("number", "0"))


Bounds = Mapping[str, tuple[float, float]]
