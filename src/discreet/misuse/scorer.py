"""M-score of a query result (Harel et al. 2012), of its conditions, and what contributes to it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from discreet.errors import ColumnError, DataError, MissingExtra, RequestError, UsageError
from discreet.kernel import Coded
from discreet.kernel.arrays import Ints, Label, group
from discreet.kernel.serialise import card, json_of
from discreet.misuse.input_tables import columns_of
from discreet.misuse.prepared_source import KEPT, Prepared, ScoringPlan, make_room, prepare
from discreet.misuse.result_formats import Columns, coded
from discreet.misuse.sensitivity import Sensitivity, record_scores, weigh
from discreet.policy import Policy
from discreet.risk.assessment import Governed
from discreet.sql.row_constraints import EVERYTHING, Values
from discreet.wording import percent


@dataclass(frozen=True)
class KnownRows:
    """Knowledge about every row from the conditions of the request."""

    weights: Mapping[str, float] = field(default_factory=dict)
    """Per sensitive column what its value weighs, at worst."""
    values: Mapping[str, Label] = field(default_factory=dict)
    """Per quasi-identifier its value."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return (*self.weights, *self.values)


NOTHING = KnownRows()
FEW = 32
"""Up to so many dictionaries are scored one by one: arrays would cost more than they save."""


def scorer_for(
    source: Any, quasi: Sequence[str] | None, sensitivity: Sensitivity | None, x: float, *, entity: str | None = None
) -> Scorer:
    """Scorer of a call; what is not given comes from the policy."""
    prepared = source if type(source) is Prepared else prepare(source, quasi, entity=entity)
    chosen = None if quasi is None else tuple(quasi)
    scorer: Scorer | None = prepared.scorers.get((chosen, sensitivity, x))
    if scorer is None:
        if not x >= 1:
            raise UsageError(
                f"x is a number from 1 to infinity, not {x}.", remedy="2 is usual; infinity ignores the number of rows."
            )
        given = sensitivity
        if given is None:
            policy = prepared.source.policy if isinstance(prepared.source, Governed) else None
            if policy is None:
                raise UsageError(
                    "Say how sensitive values are.",
                    remedy="sensitivity=Sensitivity.from_dict({...}), or read with a policy.",
                )
            given = Sensitivity.from_policy(policy)
        scorer = Scorer(prepared, given, chosen, x)
        make_room(prepared.scorers, KEPT)
        prepared.scorers[chosen, sensitivity, x] = scorer
    return scorer


def settings_by_policy(
    people: Any,
    policy: Policy,
    *,
    x: float | None = None,
    context: str | None = None,
    factor: str = "k",
    entity: str | None = None,
) -> dict[str, Any]:
    """The arguments with which a policy scores results taken from these people."""
    sensitivity = Sensitivity.from_policy(policy, context)
    # A sensitive column that is not confirmed counts as known, unless it has weights.
    quasi = [name for name in policy.quasi if name not in sensitivity.weights]
    source = prepare(people, quasi, entity=entity, factor=factor)
    return {"source": source, "quasi": quasi, "sensitivity": sensitivity, "x": policy.misuse.x if x is None else x}


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
        plan = self._plans.get(names)
        if plan is None:
            plan = self.source.plan(names, self.sensitivity, self.source.quasi if self.quasi is None else self.quasi)
            make_room(self._plans, KEPT)
            self._plans[names] = plan
        return plan

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

    def columns(self, columns: Columns, known: KnownRows = NOTHING, *, entity: str | None = None) -> Score:
        """Score of decoded columns; with `entity`, rows of one entity count as one."""
        plan = self.plan((*columns.names, *known.names))
        rows, first, owners = columns.rows, None, None
        if entity is not None and (columns.names or rows):  # an empty list of dictionaries names no columns
            first, owners, rows = _entities(columns, entity)
        weights = []
        for name, table in plan.weighing:
            if name in known.weights:
                weights.append(np.full(rows, known.weights[name]))
            elif owners is None:
                weights.append(weigh(columns.cells(name), table))
            else:
                # Per entity the weights of its distinct values, added up.
                cells = coded(columns.cells(name))
                size = max(len(cells.values), 1)
                whose, which = np.divmod(np.unique(owners * size + cells.codes), size)
                weight_of = np.array([table(value) for value in cells.values] or [0.0])
                weights.append(np.bincount(whose, weights=weight_of[which], minlength=rows).astype(np.float64))
        # D comes from the source; without quasi-identifiers it is the size of the result.
        source, crowds = plan.crowds, np.full(rows, rows, dtype=np.int64)
        if source is not None:
            constant = np.zeros(columns.rows, dtype=np.int64)
            tuples = [
                Coded((known.values[name],), constant) if name in known.values else columns.cells(name)
                for name in plan.quasi
            ]
            crowds = source.many(tuples, columns.rows)
            if owners is not None:
                of_rows, crowds = crowds, np.full(rows, np.iinfo(np.int64).max)
                np.minimum.at(crowds, owners, of_rows)
        scores = record_scores(weights, crowds)
        record_score = float(scores.max(initial=0.0))
        score = self.score(plan, Weighed(weights, crowds, scores, first), record_score, rows, known)
        return score if entity is None else replace(score, whole=partial(self.whole, entity, plan))

    def whole(self, entity: str, plan: ScoringPlan) -> tuple[int, float] | None:
        """Entities and largest record score of the whole source, if in memory."""
        source, wanted = self.source.source, {entity, *plan.quasi, *plan.sensitive}
        if not isinstance(source, Columns) or not wanted <= set(source.names):
            return None
        everything = Columns(tuple(name for name in source.names if name in wanted), source.rows, source.cells)
        score = self.columns(everything, entity=entity)
        return score.rows, score.record_score

    def score(
        self, plan: ScoringPlan, weighed: Weighed, record_score: float, rows: int, known: KnownRows = NOTHING
    ) -> Score:
        """M = r^(1/x) * RS."""
        value = power(rows, self.x) * record_score
        whole = partial(self.source.whole, plan, self.sensitivity)
        return Score(value, record_score, rows, self.x, weighed, plan, self.sensitivity, whole, known.names)


def _entities(columns: Columns, entity: str) -> tuple[Ints, Ints, int]:
    """First row of each entity, entity of each row, and number of entities."""
    if entity not in columns.names:
        raise ColumnError(
            f"The result has no column '{entity}'.", remedy="Name the column that says whom a row is about."
        )
    its = coded(columns.cells(entity))
    missing = sum(int((its.codes == code).sum()) for code, value in enumerate(its.values) if value is None)
    if missing:
        raise DataError(
            f"{missing} rows do not say whom they are about: column '{entity}' is empty there.",
            remedy="Leave these rows out, or score rows instead of entities.",
        )
    return group(its.codes, max(len(its.values), 1))


# `Score`: what a result could do in the wrong hands, and what makes it so.
TOLERANCE, SHARE = 1e-9, 1e-6
"""Scores are sums of floats: what is exactly at a limit on paper may come out the least bit above it. No more than so much,
and than this share of the limit, so that a limit of 0 stays one."""
SHOWN = 10
"""How many of the rows that weigh most are named."""


def within(score: Any, limit: float) -> Any:
    """Whether a score, or each of several, is at most the limit.

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
    crowd: float
    """D: how many people of the source look like this row, or another distinguishing factor."""

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
    """Misuse score M of a result: the damage it could do in wrong hands."""

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
        """M in relation to the whole source, at most 1; None where unknown."""
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
        """Heaviest rows and their heaviest columns: positions and names, never values."""
        scores = np.asarray(self.weighed.record_scores)
        heavy = []
        for row in np.argsort(-scores, kind="stable")[:SHOWN].tolist():
            if scores[row] <= 0:
                break
            pairs = zip(self.plan.sensitive, self.weighed.weights, strict=True)
            weights = {name: float(its[row]) for name, its in pairs if its[row] > 0}
            place = row if self.weighed.rows is None else int(self.weighed.rows[row])
            columns = sorted(weights.items(), key=lambda pair: -pair[1])
            heavy.append(
                Heavy(
                    place,
                    tuple(name for name, _ in columns),
                    float(scores[row]),
                    _whole_number(self.weighed.crowds[row]),
                )
            )
        return tuple(heavy)

    to_dict = json_of(
        "value normalised record_score rows x quasi=plan.quasi sensitive=plan.sensitive factor=plan.source.factor added top "
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


def _whole_number(factor: Any) -> float:
    return int(factor) if float(factor).is_integer() else float(factor)


def power(rows: int, x: float) -> float:
    """How much the number of rows counts: r^(1/x); 1 for x = infinity."""
    return float(rows ** (1 / x)) if rows else 0.0


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
    if (
        entity is None
        and request is None
        and type(result) is list
        and len(result) <= FEW
        and all(type(row) is dict for row in result)
    ):
        return scorer.few(result)
    columns = columns_of(result)
    plain = scorer.columns(columns, entity=entity)
    if request is None:
        return plain
    # What a request says of every row beyond the columns of its result: a sensitive column that is fixed weighs as much as
    # the worst value it may have; a quasi-identifier counts as known where its value is certain.
    fixed = conditions(request, dialect=dialect, parameters=parameters)
    weights: dict[str, float] = {}
    for name, its in scorer.sensitivity.weights.items():
        if name not in columns.names and (name.casefold() in fixed or EVERYTHING in fixed):
            values = fixed.get(name.casefold())
            weights[name] = its.worst if values is None else max(map(its, values), default=0.0)
    certain = {
        name: next(iter(values))
        for name in (scorer.source.quasi if scorer.quasi is None else scorer.quasi)
        if name not in columns.names and (values := fixed.get(name.casefold())) is not None and len(values) == 1
    }
    known = KnownRows(weights, certain)
    if not known.names:
        return plain
    return max(plain, scorer.columns(columns, known, entity=entity), key=lambda score: score.value)


# What a request gives away by its conditions: `select name ... where account = 'Gold'` reveals the account.
DIALECTS = {"postgres": "postgres", "postgresql": "postgres", "duckdb": "duckdb"}


def conditions(
    request: str, *, dialect: str = "postgres", parameters: Sequence[Any] | Mapping[str, Any] | None = None
) -> dict[str, Values]:
    """Columns that a request fixes for every row, with their possible values.

    None means one value that the request does not say, such as that of a parameter which is not given, or where
    a function of the column is compared. Names are in lower case, without their tables; "*" means all columns,
    where a whole row is compared.

    >>> conditions("select name from customers where account = 'Gold' and (job = 'Lawyer' or city = 'NY')")
    {'account': frozenset({'Gold'})}
    """
    if dialect not in DIALECTS:
        raise UsageError(f"The dialect '{dialect}' is not known.", remedy="Use postgres or duckdb.")
    try:
        import sqlglot
    except ImportError:
        raise MissingExtra("misuse", needed_for="Reading what a request gives away") from None
    from discreet.sql.predicates import PredicateReader

    kinds = sqlglot.exp
    known = (kinds.Query, kinds.Values, kinds.Insert, kinds.Update, kinds.Delete, kinds.Create, kinds.Copy)
    # The parser logs what it does not understand, with the values in it; its errors quote the request.
    logger = logging.getLogger("sqlglot")
    silenced, logger.disabled = logger.disabled, True
    try:
        statements = [one for one in sqlglot.parse(request, dialect=DIALECTS[dialect]) if one is not None]
        if len(statements) != 1:
            raise _unreadable(f"holds {len(statements)} statements instead of one")
        if not isinstance(statements[0], known):
            raise _unreadable("is a statement that cannot be looked into")
        return dict(PredicateReader(parameters).of_query(statements[0], {}).fixed)
    except sqlglot.errors.SqlglotError:
        raise _unreadable(f"is not {dialect}") from None
    except RecursionError:
        raise _unreadable("is nested too deeply") from None
    finally:
        logger.disabled = silenced


def _unreadable(why: str) -> RequestError:
    return RequestError(f"The request {why}.", remedy="Send one plain statement; what is not understood is refused.")
