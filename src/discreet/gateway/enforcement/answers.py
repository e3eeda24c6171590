"""Answering: decides on plans without looking at secrets, then runs them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.gateway.analysis.block_parts import Resolved
from discreet.gateway.analysis.entities import Entities
from discreet.gateway.analysis.plan import Exact, Lister, Plan, RowList, StatisticPlan, placed
from discreet.gateway.analysis.row_order import hashed, in_keyed_order, order_key
from discreet.gateway.enforcement.amounts import amount, learned
from discreet.gateway.enforcement.cells import CellRunner
from discreet.gateway.enforcement.exposure_limits import ExposureLimit
from discreet.gateway.own_connection import OwnError, OwnRun
from discreet.gateway.protocol.messages import ResultColumn
from discreet.gateway.statistics import Answers
from discreet.misuse.exposure import Exposure
from discreet.misuse.sensitivity import Sensitivity
from discreet.sql.fragment import (
    Cast,
    ColumnName,
    DerivedTable,
    Elements,
    Literal,
    NotCovered,
    OrderBy,
    Output,
    Parameter,
    Select,
    ValuesList,
    conjunction,
    walk,
)
from discreet.sql.printer import printed

SPARE = 1_000
"""So many people more than could be allowed are looked for; a list of more is denied without knowing how many."""
MOST = 2_000_000
CONSTANTS = 20_000
"""So many rows a sub-select may have that is run once, and put into statements as constants."""
_FALSE = Literal("boolean", "false")


class Denied(Exception):
    """The limit would be exceeded: the amount, its columns and people."""

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
        self._numbered: tuple[list[tuple[str | None, ...]], Any] | None = None

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
        if isinstance(plan, Exact) and len(found.rows) > CONSTANTS:
            raise NotCovered(
                f"a sub-select of more than {CONSTANTS:,} rows with LIMIT, a window or the like beside sensitive columns",
                "use count, min, max and sums of whole numbers by columns, or fewer rows",
            )
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
        found, every = self._run.rows(sql, values, binary=binary)
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
        if width == found.nfields:
            return Served(columns, every), [()] * len(every) if visible is not None else []
        behind = [
            [None if (cell := row[place]) is None else cell.decode() for row in every]
            for place in range(width, found.nfields)
        ]
        return Served(columns, [row[:width] for row in every]), list(zip(*behind, strict=True))

    def _exact(self, plan: Exact, tables: Mapping[str, Any], *, binary: bool) -> Served:
        query = placed(in_keyed_order(plan.query, self._resolved), dict(tables))
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
            counted=placed_all(statistic.counted, tables),
        )
        runner = CellRunner(statistic, self._rules.answers, self._rules.seed, self._run)
        rows = runner.rows(self._asking.user, self._asking.roles)
        self._asking.columns.update(statistic.columns)
        table = self.constants(statistic.alias, statistic.names, runner.kinds, rows)
        outer = placed(statistic.outer, {**tables, statistic.alias: table})
        return self._send(outer, binary=binary)[0]

    # Rows of people ---------------------------------------------------------------------------------------------------

    def _listed(self, plan: RowList, tables: Mapping[str, Any], *, binary: bool) -> Served:
        select = placed(plan.select, dict(tables))
        public = conjunction(placed_all(plan.public, tables))
        hidden = conjunction(placed_all(plan.hidden, tables))
        asking = self._asking
        asking.columns.update(plan.columns)
        people, whole = self._asked(plan, select, public)
        before = asking.exposure
        worst = self._learn(before, plan, people, {})
        value, limit = amount(worst.knowledge), asking.limit
        over = value > limit.value + 1e-9 or not whole
        allowed: list[set[tuple[str | None, ...]]] | None = None
        if over and limit.action in ("subset", "mask") and asking.enforces and not plan.hidden and not plan.whole:
            allowed = self._allowed(plan, people, before, limit.value)
        if over and limit.action != "alert" and asking.enforces and not (allowed and any(allowed)):
            raise Denied(value, [name for charge in plan.charges for _, name in charge.attributes], len(people[0]))
        asking.learned = worst  # an error tells of all of them, also of those who would be left out
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
            for name, _, _ in charge.shown:
                cells = [row[lister.values[place, name]] for row in extra]
                weigh = self._rules.sensitivity.weights[name]
                weights = {cell: weigh(cell) for cell in set(cells)}
                known = shown.setdefault(f"{place}:{name}", {})
                known.update(zip(keys[place], map(weights.__getitem__, cells), strict=True))
        for place, its in enumerate(keys):
            if not {key for key in its if None not in key} <= {*people[place]}:
                # Both were asked in one snapshot: whatever made them differ, nobody is shown who was not decided on.
                raise OwnError("22000", "the rows are about other people than those who were asked about")
        settled = self._learn(before, plan, people, shown)
        if asking.enforces and not over and amount(settled.knowledge) > limit.value + 1e-9:
            # Values that were shown before weigh more by now: the decision was about those of then. Whose, an error
            # would tell, so it costs what they weigh now.
            asking.learned = settled
            raise OwnError("22000", "the values weigh more than those that were decided on")
        asking.exposure, asking.told = settled, True
        asking.over = asking.over or over
        asking.rows += len(served.rows)
        return served

    def _asked(self, plan: RowList, select: Select, public: Any) -> tuple[list[list[tuple[str | None, ...]]], bool]:
        """Per charge the keys of the people asked about; and whether these are all."""
        known = self._asking.exposure.knowledge
        weights = [min(1.0, sum(self._rules.worst(name) for _, name in charge.attributes)) for charge in plan.charges]
        least = min(weights, default=0.0)
        most = MOST
        if self._asking.enforces and self._asking.limit.action == "deny" and least > 0:
            fitting = int((self._asking.limit.value / least) ** 2) + len(known.entities())
            most = min(MOST, fitting + SPARE)
        found, whole = [], True
        for charge in plan.charges:  # each by themselves: pairs of people are more than people, and LIMIT counts rows
            items = tuple(Output(name, f"k{place}") for place, name in enumerate(charge.named))
            query = Select(items, select.source, public)
            if not plan.whole:
                order = (*select.order, OrderBy(hashed(order_key(select, self._resolved))))
                query = replace(query, order=order, limit=select.limit, offset=select.offset)
                names = tuple(one.name for one in items)
                outer = tuple(Output(ColumnName("who", name), name) for name in names)
                query = Select(outer, DerivedTable(query, "who", names))
            query = replace(query, distinct=True, limit=Literal("number", str(most + 1)))
            values = (str(self._rules.seed),) if any(isinstance(one, Parameter) for one in walk(query)) else ()
            rows = self._run.ask(printed(query), values)
            found.append([key for key in rows if None not in key])
            whole = whole and len(rows) <= most
        return found, whole

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
            numbers = self._numbers(charge.entity, people[place])
            plain = {name for name, _, _ in charge.shown}
            weights = {}
            for _, name in charge.attributes:
                worst = self._rules.worst(name)
                worst = 1.0 if charge.several and worst > 0 else worst
                known = shown.get(f"{place}:{name}")
                if known is not None:
                    cells = [known.get(key, worst) for key in people[place]]
                elif name in plain and len(numbers) <= SPARE:
                    # A value that was shown already tells nothing new; what it weighs is known.
                    before = [exposure.knowledge.cell(name, int(number)) for number in numbers]
                    cells = [worst if level < 0 else level for level in before]
                else:
                    cells = [worst] * len(numbers)
                weights[name] = np.array(cells, dtype=np.float64)
            exposure = exposure.learn(learned(numbers, weights), at=self._asking.at)
        return exposure

    def _numbers(self, entity: str, keys: list[tuple[str | None, ...]]) -> Any:
        """Numbers of people; those of the same list are worked out once."""
        if self._numbered is None or self._numbered[0] is not keys:
            texts = [tuple(map(str, key)) for key in keys]
            self._numbered = keys, self._rules.entities.numbers(entity, texts)
        return self._numbered[1]

    def _allowed(
        self, plan: RowList, people: list[list[tuple[str | None, ...]]], before: Exposure, limit: float
    ) -> list[set[tuple[str | None, ...]]] | None:
        """The most people, by a keyed hash, that fit into the limit at the worst."""
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


def placed_all(nodes: tuple[Any, ...], tables: Mapping[str, Any]) -> tuple[Any, ...]:
    """Several trees with tables of constants in them."""
    return tuple(placed(one, dict(tables)) for one in nodes) if tables else nodes
