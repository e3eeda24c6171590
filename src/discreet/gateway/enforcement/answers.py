"""Answering: decides on plans without looking at secrets, then runs them."""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.gateway.analysis.block_parts import Resolved
from discreet.gateway.analysis.entities import Entities
from discreet.gateway.analysis.plan import Exact, Lister, Plan, RowList, StatisticPlan, placed
from discreet.gateway.analysis.row_order import hashed, in_keyed_order, order_key
from discreet.gateway.enforcement.cells import CellRunner
from discreet.gateway.enforcement.exposure_accounts import amount, learned
from discreet.gateway.enforcement.exposure_limits import ExposureLimit
from discreet.gateway.own_connection import OwnError, OwnRun
from discreet.gateway.protocol.data_rows import DataRows
from discreet.gateway.protocol.messages import ResultColumn
from discreet.gateway.statistics import Answers
from discreet.kernel.arrays import Flags, Floats, Ints
from discreet.misuse.exposure import Exposure
from discreet.misuse.sensitivity import Sensitivity, weigh
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
DELAY = (4.0, 0.001)
"""Shape and scale in seconds of how long a statistic waits: it blurs microseconds that values make, also in the quickest of many."""
_CHANCE = random.SystemRandom()
_FALSE = Literal("boolean", "false")


class Denied(Exception):
    """The limit would be exceeded: the amount, its columns and people."""

    def __init__(self, value: float, columns: Sequence[str], rows: int) -> None:
        super().__init__("denied")
        self.value, self.columns, self.rows = value, tuple(columns), rows
        self.inside = False
        """Whether the rows are those of a sub-select."""


@dataclass(frozen=True, eq=False)
class Served:
    """A result as it goes to the client."""

    columns: tuple[ResultColumn, ...]
    rows: DataRows
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
        """The most that a value of a column weighs; 1 where nobody said it."""
        return self.sensitivity.worst(name) if name in self.sensitivity.weights else 1.0


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
        tables = {alias: self._table(alias, inner) for alias, inner in plan.before}
        if isinstance(plan, Exact):
            return self._exact(plan, tables, formats)
        if isinstance(plan, StatisticPlan):
            return self._cells(plan, tables, formats)
        return self._listed(plan, tables, formats)

    # Tables of constants ----------------------------------------------------------------------------------------------

    def _table(self, alias: str, plan: Plan) -> DerivedTable:
        """What is released first, as a table of constants."""
        try:
            found = self.serve(plan, ())
        except Denied as denied:
            denied.inside = True
            raise
        if isinstance(plan, Exact) and len(found.rows) > CONSTANTS:
            raise NotCovered(
                f"a sub-select of more than {CONSTANTS:,} rows with LIMIT, a window or the like beside sensitive columns",
                "use count, min, max and sums of whole numbers by columns, or fewer rows",
            )
        names = tuple(self._resolved.sources[alias].columns)
        kinds = [(column.type, column.modifier) for column in found.columns]
        texts = [[None if cell is None else cell.decode() for cell in row] for row in found.rows.cells()]
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

    def _send(self, query: Any, formats: Sequence[int], *, hidden: int = 0) -> tuple[Any, DataRows]:
        """Run SQL."""
        seeded = any(isinstance(one, Parameter) for one in walk(query))
        values = (str(self._rules.seed).encode(),) if seeded else ()
        return self._run.rows(printed(query), values, formats, hidden=hidden)

    def _exact(self, plan: Exact, tables: Mapping[str, Any], formats: Sequence[int]) -> Served:
        query = placed(in_keyed_order(plan.query, self._resolved), dict(tables))
        return Served(*self._send(query, formats))

    def _cells(self, plan: StatisticPlan, tables: Mapping[str, Any], formats: Sequence[int]) -> Served:
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
        time.sleep(_CHANCE.gammavariate(*DELAY))
        table = self.constants(statistic.alias, statistic.names, runner.kinds, rows)
        outer = placed(statistic.outer, {**tables, statistic.alias: table})
        return Served(*self._send(outer, formats))

    # Rows of people ---------------------------------------------------------------------------------------------------

    def _listed(self, plan: RowList, tables: Mapping[str, Any], formats: Sequence[int]) -> Served:
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
        allowed: Ints | None = None
        if over and limit.action in ("subset", "mask") and asking.enforces and not plan.hidden and not plan.whole:
            allowed = self._allowed(plan, people, before, limit.value)
        if over and limit.action != "alert" and asking.enforces and (allowed is None or not len(allowed)):
            raise Denied(value, [name for charge in plan.charges for _, name in charge.attributes], len(people[0]))
        asking.learned = worst  # an error tells of all of them, also of those who would be left out
        lister = Lister(plan, select, public, hidden, self._resolved)
        wanted = tuple(formats) * len(select.items) if len(formats) == 1 else formats
        columns, rows = self._send(lister.query, wanted, hidden=lister.hidden)
        named = [
            self._rules.entities.numbers(charge.entity, rows, places)
            for charge, places in zip(plan.charges, lister.keys, strict=True)
        ]
        for its, asked in zip(named, people, strict=True):
            if not np.isin(its[its >= 0], asked).all():
                # Both were asked in one snapshot: whatever made them differ, nobody is shown who was not decided on.
                raise OwnError("22000", "the rows are about other people than those who were asked about")
        weights = {(place, name): self._weights(name, rows, column) for (place, name), column in lister.values.items()}
        served = Served(columns[lister.hidden :], rows.without_first(lister.hidden))
        if allowed is not None:
            keep = np.isin(named[0], allowed)
            served = self._reduced(plan, served, keep, mask=limit.action == "mask")
            named, weights = [named[0][keep]], {key: its[keep] for key, its in weights.items()}
            people = [allowed]
        shown = {
            key: _most(people[key[0]], named[key[0]], its, self._rules.worst(key[1])) for key, its in weights.items()
        }
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

    def _asked(self, plan: RowList, select: Select, public: Any) -> tuple[list[Ints], bool]:
        """Per charge the people asked about, in order; and whether these are all."""
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
            if not plan.whole and (select.limit is not None or select.offset is not None):
                order = (*select.order, OrderBy(hashed(order_key(select, self._resolved))))
                query = replace(query, order=order, limit=select.limit, offset=select.offset)
                names = tuple(one.name for one in items)
                outer = tuple(Output(ColumnName("who", name), name) for name in names)
                query = Select(outer, DerivedTable(query, "who", names))
            query = replace(query, distinct=True, limit=Literal("number", str(most + 1)))
            _, rows = self._send(query, ())
            numbers = np.unique(self._rules.entities.numbers(charge.entity, rows, range(len(items))))
            found.append(numbers[numbers >= 0])
            whole = whole and len(rows) <= most
        return found, whole

    def _learn(
        self, exposure: Exposure, plan: RowList, people: list[Ints], shown: Mapping[tuple[int, str], Floats]
    ) -> Exposure:
        """The exposure with all that these people's rows tell: what is shown at its weight, all else at the worst."""
        for place, charge in enumerate(plan.charges):
            numbers = people[place]
            if not len(numbers):
                continue
            plain = {name for name, _, _ in charge.shown}
            weights = {}
            for _, name in charge.attributes:
                worst = self._rules.worst(name)
                worst = 1.0 if charge.several and worst > 0 else worst
                its = shown.get((place, name), np.full(len(numbers), worst))
                if (place, name) not in shown and name in plain and len(numbers) <= SPARE:
                    # A value that was shown already tells nothing new; what it weighs is known.
                    before = np.array([exposure.knowledge.cell(name, int(number)) for number in numbers])
                    its = np.where(before < 0, worst, before)
                weights[name] = its
            exposure = exposure.learn(learned(numbers, weights), at=self._asking.at)
        return exposure

    def _weights(self, name: str, rows: DataRows, column: int) -> Floats:
        """What each cell of a column weighs."""
        table, numbers = self._rules.sensitivity.weights[name], rows.numbers(column)
        if numbers is not None:
            return np.where(numbers < 0, 0.0, weigh(numbers, table))
        cells = rows.column(column)
        known = {cell: table(None if cell is None else cell.decode()) for cell in set(cells)}
        return np.fromiter(map(known.__getitem__, cells), dtype=np.float64, count=len(cells))

    def _allowed(self, plan: RowList, people: list[Ints], before: Exposure, limit: float) -> Ints | None:
        """The most people, by a keyed hash, that fit into the limit at the worst."""
        if len(plan.charges) != 1:
            return None
        key = str(self._rules.seed).encode()
        marks = [hashlib.blake2b(b"%d" % one, key=key, digest_size=8).digest() for one in people[0].tolist()]
        ordered = people[0][np.argsort(np.array(marks), kind="stable")]
        low, high = 0, len(ordered)
        while low < high:
            middle = (low + high + 1) // 2
            fits = amount(self._learn(before, plan, [np.sort(ordered[:middle])], {}).knowledge) <= limit + 1e-9
            low, high = (middle, high) if fits else (low, middle - 1)
        return np.sort(ordered[:low])

    def _reduced(self, plan: RowList, served: Served, keep: Flags, *, mask: bool) -> Served:
        """Only the rows of some people, or the others without their sensitive cells."""
        self._asking.decision = "mask" if mask else "subset"
        number, every = int(keep.sum()), len(keep)
        if not mask:
            notice = f"{number:,} of {every:,} rows are shown; the others would bring your exposure above your limit."
            return Served(served.columns, served.rows.kept(keep), notice)
        places = {place for place, one in enumerate(plan.select.items) if self._resolved.sensitive(one.inner)}
        rows = [
            row if kept else tuple(None if place in places else cell for place, cell in enumerate(row))
            for row, kept in zip(served.rows.cells(), keep.tolist(), strict=True)
        ]
        notice = f"Values in {every - number:,} of {every:,} rows are withheld; they would bring your exposure above your limit."
        return Served(served.columns, DataRows.of(rows), notice)


def _most(people: Ints, named: Ints, weights: Floats, otherwise: float) -> Floats:
    """The most that each of some people weighs in rows that name them; of those who are in none, something else."""
    found = np.full(len(people), -1.0)
    np.maximum.at(found, np.searchsorted(people, named[named >= 0]), weights[named >= 0])
    return np.where(found < 0, otherwise, found)


def placed_all(nodes: tuple[Any, ...], tables: Mapping[str, Any]) -> tuple[Any, ...]:
    """Several trees with tables of constants in them."""
    return tuple(placed(one, dict(tables)) for one in nodes) if tables else nodes
