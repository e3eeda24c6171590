"""Answering: runs plans on the gateway's own connection, after deciding on each part without looking at secrets."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.gateway.analysis.entities import Entities
from discreet.gateway.analysis.people import parts_of
from discreet.gateway.analysis.plan import Exact, Plan, RowList, StatisticPlan, placed
from discreet.gateway.analysis.resolve import Resolved
from discreet.gateway.enforcement.amounts import amount, learned
from discreet.gateway.enforcement.cells import CellRunner
from discreet.gateway.enforcement.exposure_limits import ExposureLimit
from discreet.gateway.own_connection import OwnRun
from discreet.gateway.protocol.messages import ResultColumn
from discreet.gateway.statistics import Answers
from discreet.misuse.exposure import Exposure
from discreet.misuse.sensitivity import Sensitivity
from discreet.sql.fragment import (
    Cast,
    ColumnName,
    DerivedTable,
    Elements,
    FunctionCall,
    Literal,
    OrderBy,
    Output,
    Parameter,
    Select,
    ValuesList,
    conjunction,
    transformed,
    walk,
)
from discreet.sql.printer import printed

SEED = Cast(Parameter(1), "int8")
SPARE = 1_000
"""So many people more than could be allowed are looked for; a list of more is denied without knowing how many."""
MOST = 2_000_000
_FALSE = Literal("boolean", "false")


class Denied(Exception):
    """The limit would be exceeded: the amount, and the columns and people that it is about."""

    def __init__(self, value: float, columns: Sequence[str], rows: int) -> None:
        super().__init__("denied")
        self.value, self.columns, self.rows = value, tuple(columns), rows


@dataclass(frozen=True, eq=False)
class Served:
    """A result as it goes to the client."""

    columns: tuple[ResultColumn, ...]
    rows: list[tuple[bytes | None, ...]]
    notice: str = ""


@dataclass(frozen=True, eq=False)
class AnsweringRules:
    """What all sessions of a gateway share."""

    sensitivity: Sensitivity
    entities: Entities
    answers: Answers
    seed: int
    """Of hashes in SQL: order of rows, and who is in a cell."""

    def worst(self, name: str) -> float:
        """The most that a value of a column weighs."""
        return self.sensitivity.worst(name)


@dataclass
class Asking:
    """One statement of one user."""

    user: str
    roles: frozenset[str]
    limit: ExposureLimit
    exposure: Exposure
    """What the user knows, with what this statement has told so far."""
    at: float
    enforces: bool = True
    told: bool = False
    """Whether anything was charged to people."""
    rows: int = 0
    columns: set[str] = field(default_factory=set)
    over: bool = False
    """Whether the amount is above the limit and the action lets it through."""
    decision: str = ""
    """subset or mask, where only a part was given out."""
    learned: Exposure | None = None
    """What the user would know at the worst, once the decision has been made."""

    @property
    def amount(self) -> float:
        """What decides."""
        return amount(self.exposure.knowledge)


class Answering:
    """Runs the plan of one statement in one snapshot."""

    def __init__(self, rules: AnsweringRules, resolved: Resolved, run: OwnRun, asking: Asking) -> None:
        self._rules, self._resolved, self._run, self._asking = rules, resolved, run, asking
        self._names: dict[tuple[int, int], str] = {}

    def serve(self, plan: Plan, formats: Sequence[int]) -> Served:
        """The result, in the formats that the client wants: none for text, one for all, or one per column."""
        binary = len(set(formats)) == 1 and formats[0] == 1
        found = self._result(plan, binary=binary)
        if len(set(formats)) > 1:
            other = self._result(plan, binary=True)
            rows = [
                tuple(b if code else a for code, a, b in zip(formats, one, two, strict=True))
                for one, two in zip(found.rows, other.rows, strict=True)
            ]
            columns = tuple(replace(one, format=code) for one, code in zip(found.columns, formats, strict=True))
            return replace(found, columns=columns, rows=rows)
        return found

    def _result(self, plan: Plan, *, binary: bool) -> Served:
        tables = {alias: self._table(alias, inner) for alias, inner in plan.before}
        if isinstance(plan, Exact):
            return self._exact(plan, tables, binary=binary)
        if isinstance(plan, StatisticPlan):
            return self._cells(plan, tables, binary=binary)
        return self._listed(plan, tables, binary=binary)

    # Tables of constants ----------------------------------------------------------------------------------------------

    def _table(self, alias: str, plan: Plan) -> DerivedTable:
        """What is released first, as a table of constants."""
        found = self._result(plan, binary=False)
        names = tuple(self._resolved.sources[alias].columns)
        kinds = [(column.type, column.modifier) for column in found.columns]
        texts = [[None if cell is None else cell.decode() for cell in row] for row in found.rows]
        return self.constants(alias, names, kinds, texts)

    def constants(
        self, alias: str, names: Sequence[str], kinds: Sequence[tuple[int, int]], rows: Sequence[Sequence[str | None]]
    ) -> DerivedTable:
        """Texts as a part of FROM with columns of these types."""
        types = self._types(kinds)
        cells = [
            Elements(
                tuple(
                    Cast(Literal("null") if cell is None else Literal("string", cell), kind)
                    for cell, kind in zip(row, types, strict=True)
                )
            )
            for row in rows
        ]
        if not cells:
            items = tuple(Output(Cast(Literal("null"), kind), name) for kind, name in zip(types, names, strict=True))
            return DerivedTable(Select(items, where=_FALSE), alias, tuple(names))
        return DerivedTable(ValuesList(tuple(cells)), alias, tuple(names))

    def _types(self, kinds: Sequence[tuple[int, int]]) -> list[str]:
        new = [kind for kind in dict.fromkeys(kinds) if kind not in self._names]
        if new:
            listed = ", ".join(f"pg_catalog.format_type({oid}, {modifier})" for oid, modifier in new)
            self._names |= dict(zip(new, self._run.ask(f"SELECT {listed}")[0], strict=True))
        return [self._names[kind] if self._names[kind] != "unknown" else "text" for kind in kinds]

    # Results ----------------------------------------------------------------------------------------------------------

    def _send(
        self, query: Any, *, binary: bool, visible: int | None = None
    ) -> tuple[Served, list[tuple[str | None, ...]]]:
        """Run SQL; the columns behind the visible ones stay here."""
        sql = printed(query)
        values = (str(self._rules.seed).encode(),) if any(isinstance(one, Parameter) for one in walk(query)) else ()
        found = self._run.result(sql, values, binary=binary)
        width = found.nfields if visible is None else visible
        columns = tuple(
            ResultColumn(
                (found.fname(place) or b"").decode("utf-8", "replace"),
                0,
                0,
                found.ftype(place),
                found.fsize(place),
                found.fmod(place),
                int(binary),
            )
            for place in range(width)
        )
        value = found.get_value
        rows = [tuple(value(row, place) for place in range(width)) for row in range(found.ntuples)]
        hidden = [
            tuple(
                None if (cell := value(row, place)) is None else cell.decode() for place in range(width, found.nfields)
            )
            for row in range(found.ntuples)
        ]
        return Served(columns, rows), hidden

    def _exact(self, plan: Exact, tables: Mapping[str, Any], *, binary: bool) -> Served:
        query = placed(plan.query, dict(tables))
        if plan.key:
            query = replace(query, order=(*query.order, OrderBy(hashed(plan.key))))
        return self._send(query, binary=binary)[0]

    def _cells(self, plan: StatisticPlan, tables: Mapping[str, Any], *, binary: bool) -> Served:
        statistic = plan.statistic
        statistic = replace(
            statistic,
            select=placed(statistic.select, dict(tables)),
            parts=tuple(
                replace(
                    part, questions=tuple(replace(one, where=placed_all(one.where, tables)) for one in part.questions)
                )
                for part in statistic.parts
            ),
            groups=placed_all(statistic.groups, tables),
        )
        runner = CellRunner(statistic, self._rules.answers, self._rules.seed, self._run)
        rows = runner.rows(self._asking.user, self._asking.roles)
        self._asking.columns.update(statistic.columns)
        table = self.constants(statistic.alias, statistic.names, runner.kinds, rows)
        outer = placed(statistic.outer, {**tables, statistic.alias: table})
        return self._send(outer, binary=binary)[0]

    # ValuesList of people ---------------------------------------------------------------------------------------------------

    def _listed(self, plan: RowList, tables: Mapping[str, Any], *, binary: bool) -> Served:
        select = placed(plan.select, dict(tables))
        public = conjunction(placed_all(plan.public, tables))
        hidden = conjunction(placed_all(plan.hidden, tables))
        asking = self._asking
        asking.columns.update(plan.columns)
        people = self._asked(plan, select, public)
        before = asking.exposure
        worst = self._learn(before, plan, people, {})
        value, limit = amount(worst.knowledge), asking.limit
        over = value > limit.value + 1e-9
        allowed: list[set[tuple[str | None, ...]]] | None = None
        if over and limit.action in ("subset", "mask") and asking.enforces and not plan.hidden and not plan.whole:
            allowed = self._allowed(plan, people, before, limit.value)
        if over and limit.action != "alert" and asking.enforces and not (allowed and any(allowed)):
            raise Denied(value, [name for charge in plan.charges for _, name in charge.attributes], len(people[0]))
        asking.learned = worst if allowed is None else None
        lister = Lister(plan, select, public, hidden, self._resolved)
        served, extra = self._send(lister.query, binary=binary, visible=len(select.items))
        keys = [[row[lister.keys[place]] for row in extra] for place in range(len(plan.charges))]
        if allowed is not None:
            served, extra, people = self._reduced(
                plan, lister, served, extra, people, allowed, mask=limit.action == "mask"
            )
            keys = [[row[lister.keys[place]] for row in extra] for place in range(len(plan.charges))]
        shown: dict[str, dict[tuple[str | None, ...], float]] = {}
        for place, charge in enumerate(plan.charges):
            for name, _ in charge.shown:
                weigh = self._rules.sensitivity.weights[name]
                known = shown.setdefault(f"{place}:{name}", {})
                cells = [row[lister.values[place, name]] for row in extra]
                for key, cell in dict.fromkeys(zip(keys[place], cells, strict=True)):  # different values add up
                    known[key] = min(known.get(key, 0.0) + weigh(cell), 1.0)
        asking.exposure = self._learn(before, plan, people, shown)
        asking.told = True
        asking.over = asking.over or over
        asking.rows += len(served.rows)
        return served

    def _asked(self, plan: RowList, select: Select, public: Any) -> list[list[tuple[str | None, ...]]]:
        """Per charge the people about whom the rows tell, by their keys as text; found without sensitive columns."""
        keys = [name for charge in plan.charges for name in charge.named]
        items = tuple(Output(name, f"k{place}") for place, name in enumerate(keys))
        known = self._asking.exposure.knowledge
        weights = [min(1.0, sum(self._rules.worst(name) for _, name in charge.attributes)) for charge in plan.charges]
        least = min((weight for weight in weights if weight > 0), default=0.0)
        most = MOST
        if self._asking.enforces and self._asking.limit.action == "deny" and least:
            fitting = int((self._asking.limit.value / least) ** 2) + len(known.entities())
            most = min(MOST, fitting + SPARE)
        if plan.whole:
            query = Select(items, select.source, public, distinct=True, limit=Literal("number", str(most + 1)))
        else:
            order = (*select.order, OrderBy(hashed(order_key(select, self._resolved))))
            inner = Select(items, select.source, public, None, None, False, order, select.limit, select.offset)
            names = tuple(one.name for one in items)
            outer = tuple(Output(ColumnName("who", name), name) for name in names)
            query = Select(
                outer, DerivedTable(inner, "who", names), distinct=True, limit=Literal("number", str(most + 1))
            )
        sql = printed(query)
        values = (str(self._rules.seed),) if any(isinstance(one, Parameter) for one in walk(query)) else ()
        rows = self._run.ask(sql, values)
        found, at = [], 0
        for charge in plan.charges:
            end = at + len(charge.key)
            found.append([key for key in dict.fromkeys(tuple(row[at:end]) for row in rows) if None not in key])
            at = end
        return found

    def _learn(
        self,
        exposure: Exposure,
        plan: RowList,
        people: list[list[tuple[str | None, ...]]],
        shown: Mapping[str, Mapping[tuple[str | None, ...], float]],
    ) -> Exposure:
        """The exposure with all that these people's rows tell: what is shown at its weight, all else at the worst."""
        for place, charge in enumerate(plan.charges):
            if not people[place]:
                continue
            numbers = self._rules.entities.numbers(charge.entity, [tuple(map(str, key)) for key in people[place]])
            plain = {name for name, _ in charge.shown}
            weights = {}
            for _, name in charge.attributes:
                worst = self._rules.worst(name)
                worst = 1.0 if charge.several and worst > 0 else worst
                known = shown.get(f"{place}:{name}")
                if known is not None:
                    cells = [known.get(key, worst) for key in people[place]]
                elif name in plain and len(numbers) <= SPARE and not charge.several:
                    # A value that was shown already tells nothing new; what it weighs is known.
                    before = [exposure.knowledge.cell(name, int(number)) for number in numbers]
                    cells = [worst if level < 0 else level for level in before]
                else:
                    cells = [worst] * len(numbers)
                weights[name] = np.array(cells, dtype=np.float64)
            exposure = exposure.learn(learned(numbers, weights), at=self._asking.at)
        return exposure

    def _allowed(
        self, plan: RowList, people: list[list[tuple[str | None, ...]]], before: Exposure, limit: float
    ) -> list[set[tuple[str | None, ...]]] | None:
        """The most people, in the order of a keyed hash, that fit into the limit at the worst; of one charge only."""
        if len(plan.charges) != 1:
            return None
        ordered = sorted(people[0], key=lambda key: hashlib.sha256(repr((self._rules.seed, key)).encode()).digest())
        low, high = 0, len(ordered)
        while low < high:
            middle = (low + high + 1) // 2
            fits = amount(self._learn(before, plan, [ordered[:middle]], {}).knowledge) <= limit + 1e-9
            low, high = (middle, high) if fits else (low, middle - 1)
        return [set(ordered[:low])]

    def _reduced(
        self,
        plan: RowList,
        lister: Lister,
        served: Served,
        extra: list[tuple[str | None, ...]],
        people: list[list[tuple[str | None, ...]]],
        allowed: list[set[tuple[str | None, ...]]],
        *,
        mask: bool,
    ) -> tuple[Served, list[tuple[str | None, ...]], list[list[tuple[str | None, ...]]]]:
        """Only the rows of some people, or the others without their sensitive cells."""
        keep = [row[lister.keys[0]] in allowed[0] for row in extra]
        kept = [[key for key in people[0] if key in allowed[0]]]
        number = len(served.rows) - sum(keep)
        self._asking.decision = "mask" if mask else "subset"
        if not mask:
            rows = [row for row, kept_one in zip(served.rows, keep, strict=True) if kept_one]
            notice = f"{len(rows):,} of {len(served.rows):,} rows are shown; the others would bring your exposure above your limit."
            fewer = [row for row, kept_one in zip(extra, keep, strict=True) if kept_one]
            return Served(served.columns, rows, notice), fewer, kept
        places = {place for place, one in enumerate(plan.select.items) if self._resolved.sensitive(one.inner)}
        rows = [
            row if kept_one else tuple(None if place in places else cell for place, cell in enumerate(row))
            for row, kept_one in zip(served.rows, keep, strict=True)
        ]
        notice = (
            f"Values in {number:,} of {len(rows):,} rows are withheld; they would bring your exposure above your limit."
        )
        hidden = [row if kept_one else tuple(None for _ in row) for row, kept_one in zip(extra, keep, strict=True)]
        return Served(served.columns, rows, notice), hidden, kept


class Lister:
    """SQL of a list of rows: everything without a sensitive condition within, conditions, order and limit around it."""

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
        spoken += (tuple(column for one in plan.charges for _, column in one.shown),)
        columns = list(dict.fromkeys(one for one in walk(spoken) if isinstance(one, ColumnName) and one.table in tops))
        names = {column: f"c{place}" for place, column in enumerate(columns)}
        alias = f"rows_{resolved.salt}"

        def put(node: Any) -> Any:
            return transformed(node, lambda one: ColumnName(alias, names[one]) if one in names else one)

        items = tuple(Output(column, name) for column, name in names.items()) or (Output(Literal("number", "1"), "c0"),)
        inner = Select(items, select.source, public, offset=Literal("number", "0"))
        outputs, at = [put(one) for one in select.items], 0
        self.keys: list[slice] = []
        self.values: dict[tuple[int, str], int] = {}
        for place, charge in enumerate(plan.charges):
            outputs += [Output(put(name), f"h{len(outputs)}") for name in charge.named]
            self.keys.append(slice(at, at + len(charge.key)))
            at += len(charge.key)
            for name, column in charge.shown:
                outputs.append(Output(Cast(put(column), "text"), f"h{len(outputs)}"))
                self.values[place, name] = at
                at += 1
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


def order_key(select: Select, resolved: Resolved) -> tuple[ColumnName, ...]:
    """The keys of all governed tables in FROM."""
    tables = [(part.alias, resolved.sources[part.alias].table) for part in parts_of(select.source)]
    return tuple(ColumnName(alias, name) for alias, table in tables if table is not None for name in table.key)


def hashed(columns: Sequence[Any]) -> Any:
    """A keyed hash of some columns, in which nobody can read an order."""
    found: Any = SEED
    for column in columns:
        found = FunctionCall(
            "hashtextextended", (FunctionCall("coalesce", (Cast(column, "text"), Literal("string", "-"))), found)
        )
    return found


def placed_all(nodes: tuple[Any, ...], tables: Mapping[str, Any]) -> tuple[Any, ...]:
    """Several trees with tables of constants in them."""
    return tuple(placed(one, dict(tables)) for one in nodes) if tables else nodes
