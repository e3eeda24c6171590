"""`discreet.score`: the misuse score of a result (M-score, Harel et al. 2012)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel import Coded
from discreet.kernel.arrays import Floats, Label
from discreet.misuse.columns import Columns
from discreet.misuse.measured import Score, Weighed, power
from discreet.misuse.sensitivity import Sensitivity
from discreet.misuse.source.prepared import KEPT, Plan, Prepared, make_room, prepare
from discreet.misuse.source.reading import columns_of
from discreet.misuse.weighing import weigh
from discreet.risk.assessment import Governed

FEW = 32
"""Up to so many dictionaries are scored one by one: arrays would cost more than they save."""


@dataclass(frozen=True)
class Known:
    """What is known of every row besides the result: by the conditions of the request that asked for it."""

    weights: Mapping[str, float] = field(default_factory=dict)
    """Per sensitive column what its value weighs, at worst."""
    values: Mapping[str, Label] = field(default_factory=dict)
    """Per quasi-identifier its value."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return (*self.weights, *self.values)


NOTHING = Known()


def score(
    result: Any,
    *,
    source: Any,
    quasi: Sequence[str] | None = None,
    sensitivity: Sensitivity | None = None,
    x: float = 2.0,
    entity: str | None = None,
    request: str | None = None,
    dialect: str = "postgres",
    parameters: Sequence[Any] | Mapping[str, Any] | None = None,
) -> Score:
    """How much damage a result could do in the wrong hands.

    `result` is a list of dictionaries, a frame, Arrow, decoded columns, a path or a table; `source` the table it was
    taken from: any of these, or `prepare(source, quasi)`. `x` from 1 to infinity says how little the number of rows
    matters. With `entity`, the column that says whom a row is about, the rows of one entity count as one. With
    `request`, the SQL text that asked for the result, what its conditions give away counts as known.

    >>> f = Sensitivity.from_dict({"account": {"values": {"Gold": 1.0}, "otherwise": 0.1}})
    >>> people = [{"job": "Lawyer", "account": "Gold"}, {"job": "Lawyer", "account": "White"}]
    >>> score(people[:1], source=people, quasi=["job"], sensitivity=f)
    Score(0.5, 1 rows, record score 0.5, x=2)
    """
    scorer = scorer_for(source, quasi, sensitivity, x, entity=entity)
    if entity is None and request is None and _are_few(result):
        return scorer.few(result)
    columns = columns_of(result)
    measure = scorer.columns if entity is None else partial(_by_entity, scorer, entity)
    plain = measure(columns)
    if request is None:
        return plain
    from discreet.misuse.request import known_by

    known = known_by(request, scorer, columns.names, dialect=dialect, parameters=parameters)
    return max(plain, measure(columns, known), key=lambda one: one.value) if known.names else plain


def scorer_for(
    source: Any, quasi: Sequence[str] | None, sensitivity: Sensitivity | None, x: float, *, entity: str | None = None
) -> Scorer:
    """The scorer of a call: a source is prepared, what is not given comes from its policy, and all is checked."""
    prepared = source if type(source) is Prepared else prepare(source, quasi, entity=entity)
    chosen = None if quasi is None else tuple(quasi)
    scorer: Scorer | None = prepared.scorers.get((chosen, sensitivity, x))
    if scorer is None:
        if not x >= 1:
            raise UsageError(
                f"x is a number from 1 to infinity, not {x}.", remedy="2 is usual; math.inf ignores the number of rows."
            )
        scorer = Scorer(prepared, sensitivity or _from_policy(prepared), chosen, x)
        make_room(prepared.scorers, KEPT)
        prepared.scorers[chosen, sensitivity, x] = scorer
    return scorer


def _from_policy(prepared: Prepared) -> Sensitivity:
    policy = prepared.source.policy if isinstance(prepared.source, Governed) else None
    if policy is None:
        raise UsageError(
            "Say how sensitive values are.", remedy="sensitivity=Sensitivity.from_dict({...}), or read with a policy."
        )
    return Sensitivity.from_policy(policy)


def _are_few(result: Any) -> bool:
    return type(result) is list and len(result) <= FEW and all(type(row) is dict for row in result)


def _by_entity(scorer: Scorer, entity: str, columns: Columns, known: Known = NOTHING) -> Score:
    from discreet.misuse.relations import score_entities

    return score_entities(scorer, entity, columns, known)


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores results against one source."""

    source: Prepared
    sensitivity: Sensitivity
    quasi: tuple[str, ...] | None
    """The quasi-identifiers to look at; None means all that the source was prepared for."""
    x: float
    _plans: dict[tuple[str, ...], Plan] = field(default_factory=dict, repr=False)

    def plan(self, names: tuple[str, ...]) -> Plan:
        """How to score a result with these columns."""
        found = self._plans.get(names)
        if found is None:
            found = self.source.plan(names, self.sensitivity, self.source.quasi if self.quasi is None else self.quasi)
            make_room(self._plans, KEPT)
            self._plans[names] = found
        return found

    def few(self, rows: list[dict[str, Any]]) -> Score:
        """Score a few dictionaries, row by row."""
        names = tuple(rows[0]) if rows else ()
        if len(rows) > 1 and any(tuple(row) != names for row in rows):
            return self.columns(Columns.of_rows(rows))
        plan, number = self.plan(names), len(rows)
        source = plan.crowds
        weights, crowds, scores = [], [], []
        for row in rows:
            cells, total = [its.of_cell(row[name]) for name, its in plan.weighing], 0.0
            for cell in cells:  # one after the other, as arrays are added up; sum() rounds otherwise in newer Pythons
                total += cell
            crowd = number if source is None else source.one([row[name] for name in plan.quasi])
            weights.append(cells)
            crowds.append(crowd)
            scores.append(min(1.0, total) / crowd)
        by_column = tuple(zip(*weights, strict=True))
        return self.score(plan, Weighed(by_column, crowds, scores), max(scores, default=0.0), number)

    def columns(self, columns: Columns, known: Known = NOTHING) -> Score:
        """Score decoded columns, all rows at once."""
        plan = self.plan((*columns.names, *known.names))
        weights = [
            np.full(columns.rows, known.weights[name]) if name in known.weights else weigh(columns.cells(name), its)
            for name, its in plan.weighing
        ]
        sums = added(weights, columns.rows)
        crowds = crowds_of(plan, columns, known)
        scores = np.minimum(sums, 1.0) / crowds
        record_score = float(scores.max(initial=0.0))
        return self.score(plan, Weighed(weights, crowds, scores), record_score, columns.rows, known)

    def score(self, plan: Plan, weighed: Weighed, record_score: float, rows: int, known: Known = NOTHING) -> Score:
        """M = r^(1/x) * RS."""
        value = power(rows, self.x) * record_score
        whole = partial(self.source.whole, plan, self.sensitivity)
        return Score(value, record_score, rows, self.x, weighed, plan, self.sensitivity, whole, known.names)


def added(weights: Sequence[Floats], rows: int) -> Floats:
    """The weights of each row, added up in the order of the columns, so that the same cells give the same sum."""
    sums = np.zeros(rows)
    for its in weights:
        sums += its
    return sums


def crowds_of(plan: Plan, columns: Columns, known: Known = NOTHING) -> Any:
    """D of each row: from the source, or the size of the result where it has no quasi-identifier."""
    source = plan.crowds
    if source is None:
        return np.full(columns.rows, columns.rows, dtype=np.int64)
    constant = np.zeros(columns.rows, dtype=np.int64)
    cells = [
        Coded((known.values[name],), constant) if name in known.values else columns.cells(name) for name in plan.quasi
    ]
    return source.many(cells, columns.rows)
