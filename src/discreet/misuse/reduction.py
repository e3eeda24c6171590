"""Reduction of a result to a limit: fewer rows, fewer cells, or coarser quasi-identifiers."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.errors import OutsideHierarchy, Refused, UsageError
from discreet.kernel import Classes, Coded, Column, Flat, Rule
from discreet.kernel.arrays import Floats, Ints, Label
from discreet.kernel.hierarchy import Hierarchy
from discreet.kernel.rules import bind
from discreet.misuse import result_formats
from discreet.misuse.input_tables import columns_of
from discreet.misuse.prepared_source import Crowds, Prepared, columns_of_source
from discreet.misuse.result_formats import Columns, coded
from discreet.misuse.scorer import Scorer, power, score, scorer_for, within
from discreet.misuse.sensitivity import Sensitivity, added
from discreet.risk.assessment import Governed


# Reduce a result until its misuse score is within a limit: fewer rows, or fewer cells. Both are exact.
def reduce_rows(
    result: Any,
    *,
    source: Any,
    limit: float,
    quasi: Sequence[str] | None = None,
    sensitivity: Sensitivity | None = None,
    x: float = 2.0,
) -> Any:
    """Largest part of a result, in its own shape, whose score is within the limit.

    >>> f = Sensitivity.from_dict({"account": {"values": {"Gold": 1.0}, "otherwise": 0.1}})
    >>> people = [{"job": "Lawyer", "account": "Gold"}, {"job": "Teacher", "account": "White"}]
    >>> reduce_rows(people, source=people, quasi=["job"], sensitivity=f, limit=0.5)
    [{'job': 'Teacher', 'account': 'White'}]
    """
    check_limit(limit)
    scorer = _confirmed_scorer(source, quasi, sensitivity, x)
    columns = columns_of(result)
    found = scorer.columns(columns)
    # The k rows of least score, for the largest k within the limit. Without quasi-identifiers D is the number of rows that
    # stay, so more rows hide each other: M = k^(1/x) * t / k.
    sizes = np.arange(1, columns.rows + 1)
    powers = np.array([power(size, scorer.x) for size in sizes.tolist()])
    scores, crowds = np.asarray(found.weighed.record_scores), np.ones_like(sizes)
    if found.plan.crowds is None:
        scores, crowds = np.minimum(added(found.weighed.weights, columns.rows), 1.0), sizes
    order = np.argsort(scores, kind="stable")
    allowed = np.flatnonzero(within(powers * (scores[order] / crowds), limit))
    largest = int(allowed[-1]) + 1 if len(allowed) else 0
    return result_formats.take(result, columns, np.sort(order[:largest]))


def _confirmed_scorer(source: Any, quasi: Sequence[str] | None, sensitivity: Sensitivity | None, x: float) -> Scorer:
    """Scorer of a result that is handed out: the policy of the source has no guessed roles."""
    scorer = scorer_for(source, quasi, sensitivity, x)
    policy = scorer.source.source.policy if isinstance(scorer.source.source, Governed) else None
    if policy is not None:
        policy.refuse_unconfirmed()
    return scorer


def reduce_cells(
    result: Any,
    *,
    source: Any,
    limit: float,
    quasi: Sequence[str] | None = None,
    sensitivity: Sensitivity | None = None,
    x: float = 2.0,
) -> Any:
    """Whole result with the fewest sensitive cells emptied to meet the limit.

    Rows do not disturb each other: each loses its heaviest cells until what is left weighs little enough.

    >>> f = Sensitivity.from_dict({"account": {"values": {"Gold": 1.0}, "otherwise": 0.1}})
    >>> people = [{"job": "Lawyer", "account": "Gold"}, {"job": "Teacher", "account": "White"}]
    >>> reduce_cells(people, source=people, quasi=["job"], sensitivity=f, limit=0.5)
    [{'job': 'Lawyer', 'account': None}, {'job': 'Teacher', 'account': 'White'}]
    """
    check_limit(limit)
    scorer = _confirmed_scorer(source, quasi, sensitivity, x)
    columns = columns_of(result)
    found = scorer.columns(columns)
    plan, rows = found.plan, columns.rows
    left = np.array(found.weighed.weights, dtype=np.float64).reshape(len(plan.sensitive), rows)
    empty = np.zeros(left.shape, dtype=bool)
    factor, crowds = power(rows, x), np.asarray(found.weighed.crowds)
    heavy = np.arange(rows)
    while len(heavy):
        sums = added(list(left[:, heavy]), len(heavy))
        heavy = heavy[~within(factor * (np.minimum(sums, 1.0) / crowds[heavy]), limit)]
        worst = left[:, heavy].argmax(axis=0) if len(heavy) else heavy
        left[worst, heavy], empty[worst, heavy] = 0.0, True
    return result_formats.blank(result, columns, dict(zip(plan.sensitive, empty, strict=True)))


WAYS = {
    "rows": "leave out rows: the largest part within the limit",
    "cells": "keep all rows and empty the fewest sensitive cells",
    "generalise": "keep all rows and write quasi-identifiers coarser",
}
"""How a result is reduced."""


@dataclass(frozen=True)
class ReducedResult:
    """A result within a limit, and what it took."""

    way: str
    limit: float
    before: float
    after: float
    rows: list[dict[str, Any]]
    given: int
    """Rows before."""
    empty_cells: int
    """Sensitive cells that were emptied; those that had no value are not among them."""

    def words(self) -> str:
        """What was done, for people."""
        return {
            "rows": f"{len(self.rows):,} of {self.given:,} rows are left.",
            "cells": f"All {len(self.rows):,} rows are left; {self.empty_cells:,} sensitive cells were emptied.",
            "generalise": f"All {len(self.rows):,} rows are left, with coarser quasi-identifiers.",
        }[self.way]


def reduced(
    result: Any, way: str, *, source: Any, limit: float, rules: Mapping[str, Rule] | None = None, **settings: Any
) -> ReducedResult:
    """A table reduced in one of the `WAYS`, with its score before and after; it may be written coarsely already."""
    as_given = as_written(source, result, rules, settings["sensitivity"]) if rules else source
    before = score(result, source=as_given, **settings)
    if way == "generalise":
        rows, after = generalised(result, source=source, limit=limit, rules=rules, **settings)
    else:
        rows = {"rows": reduce_rows, "cells": reduce_cells}[way](result, source=as_given, limit=limit, **settings)
        after = score(rows, source=as_given, **settings).value if rows else 0.0
    empty = 0
    if way == "cells":
        columns = columns_of(result)
        missing = sum(result_formats.labels(columns.cells(name)).count(None) for name in before.plan.sensitive)
        empty = sum(row.get(name) is None for row in rows for name in before.plan.sensitive) - missing
    # Sums of floats may come out the least bit above a limit that they are at.
    after = min(after, limit) if within(after, limit) else after
    return ReducedResult(way, limit, before.value, after, rows, before.rows, empty)


def as_written(source: Prepared, result: Any, rules: Mapping[str, Rule], sensitivity: Sensitivity) -> Prepared:
    """Source at the levels in which a result writes its quasi-identifiers.

    So D of a coarse value is its crowd. Per column the level is the finest that has all values of the result. Where none has, the column stays as it is in
    the source, and a value that nobody there has is a crowd of one.

    >>> from discreet.kernel import AnyValue
    >>> from discreet.misuse import prepare
    >>> f = Sensitivity.from_dict({"account": {"values": {"Gold": 1.0}}})
    >>> people = [{"job": "Lawyer", "account": "Gold"}, {"job": "Teacher", "account": "Gold"}]
    >>> source, coarse = prepare(people, ["job"]), [{"job": "*", "account": "Gold"}]
    >>> score(coarse, source=source, sensitivity=f).value
    1.0
    >>> score(coarse, source=as_written(source, coarse, {"job": AnyValue()}, f), sensitivity=f).value
    0.5
    """
    columns, levels = columns_of(result), {}
    for column in source.counted.columns:
        if column.name not in columns.names or column.name not in rules:
            continue
        hierarchy, _ = bind(rules[column.name], column.labels)
        values = set(coded(columns.cells(column.name)).values)
        known = (
            [] if hierarchy is None else [level for level, index in enumerate(hierarchy.index) if values <= set(index)]
        )
        if known and known[0] > 0:
            levels[column.name] = known[0]
    if not levels:
        return source
    counted, everything = source.counted, source.source
    if source.entity is None:
        names = columns_of_source(everything)
        weighed = [name for name in sensitivity.columns if name in names and name not in source.quasi]
        every = [*source.quasi, *weighed]
        everything = everything.project(every) if isinstance(everything, Classes) else everything.classes(every)
    else:
        everything = counted
    counted, everything = (_at_levels(classes, levels, rules) for classes in (counted, everything))
    return Prepared(source.quasi, counted, everything, source.entity, source.factor)


def _at_levels(classes: Classes, levels: Mapping[str, int], rules: Mapping[str, Rule]) -> Classes:
    bound = [
        replace(column, hierarchy=bind(rules[column.name], column.labels)[0] or column.hierarchy)
        if column.name in levels
        else column
        for column in classes.columns
    ]
    return replace(classes, columns=tuple(bound)).at(levels)


def check_limit(limit: float) -> None:
    """A limit is a number from 0 up."""
    if math.isnan(limit) or limit < 0:
        raise UsageError(f"The limit is a score from 0 up, not {limit}.", remedy="1.0, for example.")


Node = tuple[int, ...]


def reduce_by_generalising(
    result: Any,
    *,
    source: Any,
    limit: float,
    quasi: Sequence[str] | None = None,
    sensitivity: Sensitivity | None = None,
    x: float = 2.0,
    rules: Mapping[str, Rule] | None = None,
) -> Any:
    """Result with its quasi-identifiers as fine as the limit allows, by `rules` or policy.

    Of all combinations of one level per column whose score is within the limit the one that loses least is taken,
    where a value loses the share of all values that it no longer tells apart. Refused if even the coarsest is above
    the limit.

    >>> from discreet.kernel import AnyValue
    >>> f = Sensitivity.from_dict({"account": {"values": {"Gold": 1.0}, "otherwise": 0.1}})
    >>> people = [{"job": "Lawyer", "account": "Gold"}, {"job": "Teacher", "account": "White"}]
    >>> reduce_by_generalising(people[:1], source=people, quasi=["job"], sensitivity=f, limit=0.5,
    ...                        rules={"job": AnyValue()})
    [{'job': '*', 'account': 'Gold'}]
    """
    return generalised(result, source=source, limit=limit, quasi=quasi, sensitivity=sensitivity, x=x, rules=rules)[0]


def generalised(
    result: Any,
    *,
    source: Any,
    limit: float,
    quasi: Sequence[str] | None = None,
    sensitivity: Sensitivity | None = None,
    x: float = 2.0,
    rules: Mapping[str, Rule] | None = None,
) -> tuple[Any, float]:
    """Result generalised to the limit, and its score then: crowds of the source written at the same levels."""
    check_limit(limit)
    scorer = _confirmed_scorer(source, quasi, sensitivity, x)
    if scorer.source.factor != "k":
        raise UsageError(
            "Generalising is done for the distinguishing factor k only.", remedy="Leave out rows or cells, or use k."
        )
    columns = columns_of(result)
    coarsening = Coarsening.of(scorer, columns, rules)
    if columns.rows == 0 or not coarsening.hierarchies:
        as_given = scorer.columns(columns).value
        if not within(as_given, limit):
            raise _refusal(limit)
        return result_formats.take(result, columns, np.arange(columns.rows)), as_given
    node = coarsening.finest_within(limit)
    return result_formats.exchange(result, columns, coarsening.written(node)), coarsening.score(node)


def _refusal(limit: float) -> Refused:
    return Refused(
        f"Even with the coarsest quasi-identifiers the score is above {limit:g}.",
        remedy="Leave out rows or empty cells instead, or add levels to the hierarchies.",
    )


@dataclass(frozen=True, eq=False)
class Coarsening:
    """A result whose quasi-identifiers can be written at coarser levels."""

    names: tuple[str, ...]
    hierarchies: tuple[Hierarchy, ...]
    """Over the values of the source and of the result."""
    codes: tuple[Ints, ...]
    """Per column the value of each row of the result."""
    classes: Classes
    """The source by these columns, with the same hierarchies."""
    weights: Floats
    """What each row weighs."""
    x: float

    @classmethod
    def of(cls, scorer: Scorer, columns: Columns, rules: Mapping[str, Rule] | None) -> Coarsening:
        """Coarsening of a result, by these rules or those of the policy."""
        plan = scorer.plan(columns.names)
        if rules is None:
            policy = scorer.source.source.policy if isinstance(scorer.source.source, Governed) else None
            if policy is None:
                raise UsageError(
                    "Say how quasi-identifiers become coarser.",
                    remedy='rules={"zip": Mask(5)}, or read the source with a policy.',
                )
            rules = policy.rules
        source = scorer.source.counted.project(plan.quasi)
        hierarchies: list[Hierarchy] = []
        codes: list[Ints] = []
        for column in source.columns:
            cells = coded(columns.cells(column.name))
            rule = rules.get(column.name, Flat())
            # The values of the source come first, so its codes stay as they are.
            hierarchy, strangers = bind(rule, tuple(dict.fromkeys([*column.labels, *cells.values])))
            if hierarchy is None:
                raise OutsideHierarchy(
                    f"Column '{column.name}': {len(strangers)} values of the source or the result are outside its "
                    f"hierarchy, which expects {rule.expects}.",
                    remedy="Correct those values or add them to the hierarchy; nothing is generalised by guesswork.",
                )
            hierarchies.append(hierarchy)
            codes.append(np.array([hierarchy.index[0][value] for value in cells.values], dtype=np.int64)[cells.codes])
        bound = tuple(Column(name, hierarchy) for name, hierarchy in zip(plan.quasi, hierarchies, strict=True))
        weights = np.minimum(added(scorer.columns(columns).weighed.weights, columns.rows), 1.0)
        classes = replace(source, columns=bound)
        return cls(plan.quasi, tuple(hierarchies), tuple(codes), classes, weights, scorer.x)

    def finest_within(self, limit: float) -> Node:
        """The node that loses least among those within the limit.

        Nodes are met in the order of their losses; loss only grows, and the score only falls, as values get coarser.
        """
        top = tuple(hierarchy.height - 1 for hierarchy in self.hierarchies)
        if not within(self.score(top), limit):
            raise _refusal(limit)
        bottom = (0,) * len(top)
        queue, met = [(self.loss(bottom), bottom)], {bottom}
        while True:
            _, node = heapq.heappop(queue)
            if within(self.score(node), limit):
                return node
            for place, level in enumerate(node):
                above = (*node[:place], level + 1, *node[place + 1 :])
                if level < top[place] and above not in met:
                    met.add(above)
                    heapq.heappush(queue, (self.loss(above), above))

    def score(self, node: Node) -> float:
        """M of the result written at these levels."""
        crowds = Crowds.of(self.classes.at(node))
        sizes = crowds.many([Coded(labels, codes) for labels, codes in self._cells(node)], len(self.weights))
        return power(len(self.weights), self.x) * float((self.weights / sizes).max())

    def loss(self, node: Node) -> float:
        """Mean share of values that a cell no longer differs from."""
        lost = [
            float(((hierarchy.leaves[level] - 1) / max(hierarchy.size - 1, 1))[hierarchy.map(0, level)[codes]].mean())
            for hierarchy, level, codes in zip(self.hierarchies, node, self.codes, strict=True)
        ]
        return sum(lost) / len(lost)

    def written(self, node: Node) -> dict[str, list[Label]]:
        """Columns at these levels, without those that stay as they are."""
        cells = zip(self.names, node, self._cells(node), strict=True)
        return {name: [labels[code] for code in codes.tolist()] for name, level, (labels, codes) in cells if level}

    def _cells(self, node: Node) -> Iterator[tuple[tuple[Label, ...], Ints]]:
        for hierarchy, level, codes in zip(self.hierarchies, node, self.codes, strict=True):
            yield hierarchy.labels[level], hierarchy.map(0, level)[codes]
