"""Scorer: the M-score of rows or entities (Harel et al. 2012), and what contributes to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from discreet.errors import ColumnError, DataError, UsageError
from discreet.kernel import Coded
from discreet.kernel.arrays import Floats, Ints, Label, group
from discreet.kernel.notebook import card
from discreet.kernel.serialise import json_of
from discreet.misuse.sensitivity import Sensitivity, weigh
from discreet.misuse.source.columns import Columns, coded
from discreet.misuse.source.prepared import KEPT, Prepared, ScoringPlan, make_room, prepare
from discreet.risk.assessment import Governed
from discreet.wording import percent


@dataclass(frozen=True)
class KnownRows:
    """What is known of every row besides the result: by the conditions of the request that asked for it."""

    weights: Mapping[str, float] = field(default_factory=dict)
    """Per sensitive column what its value weighs, at worst."""
    values: Mapping[str, Label] = field(default_factory=dict)
    """Per quasi-identifier its value."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return (*self.weights, *self.values)


NOTHING = KnownRows()


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


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores results against one source."""

    source: Prepared
    sensitivity: Sensitivity
    quasi: tuple[str, ...] | None
    """The quasi-identifiers to look at; None means all that the source was prepared for."""
    x: float
    _plans: dict[tuple[str, ...], ScoringPlan] = field(default_factory=dict, repr=False)

    def plan(self, names: tuple[str, ...]) -> ScoringPlan:
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

    def columns(self, columns: Columns, known: KnownRows = NOTHING) -> Score:
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

    def score(
        self, plan: ScoringPlan, weighed: Weighed, record_score: float, rows: int, known: KnownRows = NOTHING
    ) -> Score:
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


def crowds_of(plan: ScoringPlan, columns: Columns, known: KnownRows = NOTHING) -> Any:
    """D of each row: from the source, or the size of the result where it has no quasi-identifier."""
    source = plan.crowds
    if source is None:
        return np.full(columns.rows, columns.rows, dtype=np.int64)
    constant = np.zeros(columns.rows, dtype=np.int64)
    cells = [
        Coded((known.values[name],), constant) if name in known.values else columns.cells(name) for name in plan.quasi
    ]
    return source.many(cells, columns.rows)


def score_entities(scorer: Scorer, entity: str, columns: Columns, known: KnownRows = NOTHING) -> Score:
    """The score of a table in which an entity may have several rows."""
    plan = scorer.plan((*columns.names, *known.names))
    owners, first = _entities(columns, entity)
    weights = [
        np.full(len(first), known.weights[name])
        if name in known.weights
        else _distinct(columns, name, its, owners, len(first))
        for name, its in plan.weighing
    ]
    crowds = np.full(len(first), len(first), dtype=np.int64)
    if plan.crowds is not None:
        crowds[:] = np.iinfo(np.int64).max
        np.minimum.at(crowds, owners, crowds_of(plan, columns, known))
    scores = np.minimum(added(weights, len(first)), 1.0) / crowds
    found = scorer.score(
        plan, Weighed(weights, crowds, scores, first), float(scores.max(initial=0.0)), len(first), known
    )
    # The same score, normalised by the entities of the source where its rows are at hand.
    return replace(found, whole=partial(_whole, found, scorer, entity))


def _entities(columns: Columns, entity: str) -> tuple[Ints, Ints]:
    """The entity of each row, numbered, and the first row of each."""
    if entity not in columns.names:
        raise ColumnError(f"The result has no column '{entity}'.", remedy="entity= names the column of the entities.")
    its = coded(columns.cells(entity))
    missing = sum(int((its.codes == code).sum()) for code, value in enumerate(its.values) if value is None)
    if missing:
        raise DataError(
            f"{missing} rows do not say whom they are about: column '{entity}' is empty there.",
            remedy="Leave these rows out, or score rows instead of entities.",
        )
    first, owners, _ = group(its.codes, max(len(its.values), 1))
    return owners, first


def _distinct(columns: Columns, name: str, weights: Any, owners: Ints, entities: int) -> Floats:
    """Per entity the weights of its distinct values in a column, added up."""
    its = coded(columns.cells(name))
    pairs = np.unique(owners * max(len(its.values), 1) + its.codes)
    table = np.array([weights(value) for value in its.values] or [0.0])
    whose, which = np.divmod(pairs, max(len(its.values), 1))
    return np.bincount(whose, weights=table[which], minlength=entities).astype(np.float64)


def _whole(found: Score, scorer: Scorer, entity: str) -> tuple[int, float] | None:
    source = scorer.source.source
    wanted = {entity, *found.plan.quasi, *found.plan.sensitive}
    if not isinstance(source, Columns) or not wanted <= set(source.names):
        return None
    everything = Columns(tuple(name for name in source.names if name in wanted), source.rows, source.cells)
    whole = score_entities(scorer, entity, everything, NOTHING)
    return whole.rows, whole.record_score


# `Score`: what a result could do in the wrong hands, and what makes it so.
TOLERANCE, SHARE = 1e-9, 1e-6
"""Scores are sums of floats: what is exactly at a limit on paper may come out the least bit above it. No more than so much,
and than this share of the limit, so that a limit of 0 stays one."""
SHOWN = 10
"""How many of the rows that weigh most are named."""


def within(score: Any, limit: float) -> Any:
    """Whether a score, or each of an array of scores, is at most the limit. One that is exactly there is within it.

    >>> within(0.1 + 0.2, 0.3), within(0.300001, 0.3), within(1e-12, 0.0)
    (True, False, False)
    """
    return score <= limit + min(TOLERANCE, limit * SHARE)


@dataclass(frozen=True)
class Heavy:
    """A row that weighs much, by its position; its values are nobody's business."""

    row: int
    columns: tuple[str, ...]
    """Its sensitive columns that weigh something, the heaviest first."""
    record_score: float
    crowd: int
    """How many people of the source look like this row."""

    to_dict = json_of("row columns record_score crowd")


@dataclass(frozen=True, eq=False)
class Weighed:
    """Every row of a result, weighed: arrays, or lists where there are few rows."""

    weights: Sequence[Any]
    """Per sensitive column the weight of each row."""
    crowds: Any
    """D of each row."""
    record_scores: Any
    """RS of each row: its weights added up to at most 1, divided by D."""
    rows: Any = None
    """The position of each row in the result, where entities were weighed: that of its first row."""


@dataclass(frozen=True, eq=False, repr=False)
class Score:
    """The misuse score M of a result: how much damage it could do in the wrong hands."""

    value: float
    """M = rows ** (1 / x) * record_score."""
    record_score: float
    """The largest score of any row."""
    rows: int
    """Rows, or entities where an entity may have several rows."""
    x: float
    weighed: Weighed
    plan: ScoringPlan
    sensitivity: Sensitivity
    whole: Callable[[], tuple[int, float] | None]
    """Rows and largest record score of the same columns of the whole source, if they can be had."""
    added: tuple[str, ...] = ()
    """Columns that are not in the result but that its request gave away, where that made the score larger."""

    @cached_property
    def normalised(self) -> float | None:
        """M in relation to that of the whole source with the same columns, at most 1; None where that is not known."""
        found = self.whole()
        if found is None:
            return None
        rows, record_score = found
        largest = power(rows, self.x) * record_score
        if self.value >= largest:
            return 1.0 if self.value > 0 else 0.0
        return self.value / largest

    @cached_property
    def top(self) -> tuple[Heavy, ...]:
        """The rows that weigh most, and in each the columns that weigh most: positions and names, never values."""
        scores = np.asarray(self.weighed.record_scores)
        order = np.argsort(-scores, kind="stable")[:SHOWN].tolist()
        return tuple(self._heavy(row) for row in order if scores[row] > 0)

    def _heavy(self, row: int) -> Heavy:
        weights = {name: float(its[row]) for name, its in zip(self.plan.sensitive, self.weighed.weights, strict=True)}
        columns = tuple(sorted((name for name in weights if weights[name] > 0), key=lambda name: -weights[name]))
        place = row if self.weighed.rows is None else int(self.weighed.rows[row])
        return Heavy(place, columns, float(self.weighed.record_scores[row]), int(self.weighed.crowds[row]))

    to_dict = json_of(
        "value normalised record_score rows x quasi=plan.quasi sensitive=plan.sensitive added top "
        "sensitivity=sensitivity.version"
    )

    def __repr__(self) -> str:
        return f"Score({self.value:.6g}, {self.rows} rows, record score {self.record_score:.6g}, x={self.x:g})"

    def _repr_html_(self) -> str:
        rows = [
            (heavy.row, f"{heavy.record_score:.4g}", f"{heavy.crowd:,}", ", ".join(heavy.columns)) for heavy in self.top
        ]
        share = "" if self.normalised is None else f", {percent(self.normalised)} of what the whole source would score"
        words = (
            f"A misuse score of {self.value:.4g} for {self.rows:,} rows{share}. The rows that weigh most, by position:"
        )
        return card(words, rows, head=("row", "score", "people alike", "columns"))


def power(rows: int, x: float) -> float:
    """How much the number of rows counts: r^(1/x); 1 for x = infinity."""
    return float(rows ** (1 / x)) if rows else 0.0
