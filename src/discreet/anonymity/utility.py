"""Utility before and after: marginals, moments, associations, and the accuracy of a classifier.

Computed on rows: all of them, or a random sample where there are many. Of a generalised number the middle of its
interval is taken, or, where a published value names no interval, the middle of the numbers that it covers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from discreet.errors import ColumnError, UsageError
from discreet.kernel import AnyValue, Coded, Flat, Recoding, Rule
from discreet.kernel.arrays import Floats, Ints, Label
from discreet.kernel.number_rules import number
from discreet.kernel.serialise import json_of
from discreet.risk.giveaways import Sampled

MOST_ROWS = 100_000
"""Rows beyond which a random sample is looked at."""
MOST_COLUMNS, MOST_VALUES = 20, 1_000
"""Columns that are compared, and values of a column without order beyond which it is left out."""
GROUPS, TARGET_GROUPS, MOST_TARGETS = 10, 4, 50
"""Groups of equal size that numbers are cut into beside categories and as a target; values of a target."""
FOLDS = 5
ORDER = ("quasi", "sensitive", "other")
INTERVAL = re.compile(r"\[(.+?)[,;] (.+?)\)")


@dataclass(frozen=True)
class BeforeAfter:
    """A number before and after; None where it is not defined."""

    before: float | None
    after: float | None

    @property
    def difference(self) -> float | None:
        """After less before."""
        return None if self.before is None or self.after is None else self.after - self.before

    to_dict = json_of("before after difference")


@dataclass(frozen=True)
class ColumnUtility:
    """One column: how far its distribution moved, and its moments where it holds numbers."""

    kind: str
    """number or category."""
    distance: float
    """Total variation distance between the values before and after, published values shared out evenly."""
    mean: BeforeAfter | None = None
    variance: BeforeAfter | None = None

    to_dict = json_of()


@dataclass(frozen=True)
class Association:
    """How strongly two columns go together: Spearman's rho of numbers, else Cramer's V."""

    columns: tuple[str, str]
    measure: str
    change: BeforeAfter

    to_dict = json_of(
        "columns measure",
        before=lambda self: self.change.before,
        after=lambda self: self.change.after,
        difference=lambda self: self.change.difference,
    )


@dataclass(frozen=True)
class Accuracy:
    """How often naive Bayes predicts a column from the others, cross-validated."""

    target: str
    accuracy: BeforeAfter
    baseline: BeforeAfter
    """How often the most frequent value is right."""

    to_dict = json_of(
        "target",
        before=lambda self: self.accuracy.before,
        after=lambda self: self.accuracy.after,
        difference=lambda self: self.accuracy.difference,
        baseline=lambda self: self.baseline,
    )


@dataclass(frozen=True)
class UtilityMeasures:
    """What analyses find in the published table, beside what they find in the data."""

    rows: int
    """Rows that were looked at,"""
    published: int
    """and how many of them are published."""
    sampled: bool
    columns: Mapping[str, ColumnUtility]
    associations: tuple[Association, ...]
    classifier: Accuracy | None
    left_out: tuple[str, ...]
    """Columns that were not compared: too many different values, or too many columns."""

    to_dict = json_of()


@dataclass(frozen=True, eq=False)
class ComparedColumn:
    """One column of the sample as codes, before and as it is published."""

    name: str
    labels: tuple[Label, ...]
    before: Ints
    published: tuple[Label, ...]
    after: Ints
    covered: tuple[Ints, ...] | None
    """Per published value the values that it covers, as codes; None where values stay as they are."""
    numbers: Floats | None
    """Per value its number, missing ones as nan; None for categories."""
    decimal: str = "."

    @cached_property
    def middles(self) -> Floats:
        """Per published value its number."""
        if self.numbers is None or self.covered is None:
            return self.numbers if self.numbers is not None else np.empty(0)
        return np.array([self._middle(label, codes) for label, codes in zip(self.published, self.covered, strict=True)])

    def _middle(self, label: Label, codes: Ints) -> float:
        ends = INTERVAL.fullmatch(label or "")
        found = [number(end, self.decimal) for end in (ends.groups() if ends else [label or ""])]
        if all(end is not None for end in found):
            return float(sum(float(end) for end in found if end is not None) / len(found))
        values = np.array([])
        if self.numbers is not None and label is not None:
            values = self.numbers[codes]
            values = values[~np.isnan(values)]
        return float((values.min() + values.max()) / 2) if len(values) else float("nan")

    def cells(self, *, after: bool) -> Floats:
        """Numbers row by row."""
        assert self.numbers is not None  # noqa: S101 - asked of numbers only
        return self.middles[self.after] if after else self.numbers[self.before]

    @cached_property
    def edges(self) -> Floats:
        """Where numbers are cut into groups of equal size."""
        values = self.cells(after=False)
        return self._cut(values[~np.isnan(values)], GROUPS)

    @staticmethod
    def _cut(values: Floats, groups: int) -> Floats:
        if not len(values):
            return np.empty(0)
        return np.unique(np.quantile(values, np.arange(1, groups) / groups))

    def grouped(self, *, after: bool, groups: int = GROUPS) -> Ints:
        """Row by row the category, or the group of a number; missing numbers are a group of their own."""
        if self.numbers is None:
            return self.after if after else self.before
        values, known = self.cells(after=after), self.cells(after=False)
        edges = self.edges if groups == GROUPS else self._cut(known[~np.isnan(known)], groups)
        return np.where(np.isnan(values), len(edges) + 1, np.searchsorted(edges, values, side="right"))

    def utility(self) -> ColumnUtility:
        """How far the distribution moved."""
        then = np.bincount(self.before, minlength=len(self.labels)) / max(len(self.before), 1)
        mass = np.bincount(self.after, minlength=len(self.published)) / max(len(self.after), 1)
        now = mass
        if self.covered is not None:
            now = np.zeros(len(self.labels))
            for share, codes in zip(mass.tolist(), self.covered, strict=True):
                if share:
                    now[codes] += share / len(codes)
        distance = float(np.abs(then - now).sum() / 2)
        if self.numbers is None:
            return ColumnUtility("category", distance)
        first, last = (self.cells(after=after) for after in (False, True))
        known = [values[~np.isnan(values)] for values in (first, last)]
        mean = BeforeAfter(*(float(values.mean()) if len(values) else None for values in known))
        variance = BeforeAfter(*(float(values.var(ddof=1)) if len(values) > 1 else None for values in known))
        return ColumnUtility("number", distance, mean, variance)


def utility_measures(
    table: Sampled,
    recoding: Recoding,
    *,
    rules: Mapping[str, Rule],
    count: str | None = None,
    target: str | None = None,
    most: int = MOST_ROWS,
) -> UtilityMeasures:
    """Measure what a recoding leaves to analyses; `target` is the column that a classifier predicts."""
    roles = {name: role for name, role in table.published.items() if name != count}
    if target is not None and target not in roles:
        raise ColumnError(f"'{target}' is no column that is published.", remedy=f"Choose one of: {', '.join(roles)}.")
    names = sorted(roles, key=lambda name: (name != target, ORDER.index(roles[name]) if roles[name] in ORDER else 9))
    chosen = dict.fromkeys([*recoding.names, *names[:MOST_COLUMNS]])
    cells = table.sample([*chosen, *([count] if count else [])], most=most)
    rows = len(next(iter(cells.values())).codes) if cells else 0
    if not rows:
        raise UsageError("There are no rows to compare.", remedy="Give a table with at least one row.")
    weights = None
    if count is not None:
        spelt = np.array([int(float(value or 0)) for value in cells[count].values], dtype=np.int64)
        weights = spelt[cells[count].codes]
    columns = compared(cells, recoding, names[:MOST_COLUMNS], rules, weights)
    shown = {column.name: column for column in columns}
    asked = None
    if target is not None:
        if target not in shown:
            raise ColumnError(
                f"Column '{target}' has more than {MOST_VALUES:,} different values.",
                remedy="Choose a target with fewer values.",
            )
        asked = classified(shown[target], [column for column in columns if column.name != target])
    ordered = [shown[name] for name in roles if name in shown]
    return UtilityMeasures(
        rows=len(columns[0].before) if columns else rows,
        published=len(columns[0].after) if columns else 0,
        sampled=rows >= most,
        columns={column.name: column.utility() for column in ordered},
        associations=tuple(association(first, second) for first, second in combinations(ordered, 2)),
        classifier=asked,
        left_out=tuple(name for name in roles if name not in shown),
    )


def compared(
    cells: Mapping[str, Coded],
    recoding: Recoding,
    names: Sequence[str],
    rules: Mapping[str, Rule],
    weights: Ints | None,
) -> list[ComparedColumn]:
    """The columns of a sample before and after, without those that have too many values to compare."""
    places = recoding.classes.places(cells, len(next(iter(cells.values())).codes))
    # A row that stands for several people is there several times; evenly spaced ones where that would be too many.
    rows = np.arange(len(places))
    if weights is not None:
        total = int(weights.sum())
        rows = (
            np.repeat(rows, weights)
            if total <= MOST_ROWS
            else np.searchsorted(
                np.cumsum(weights), np.linspace(0, total - 1, MOST_ROWS).astype(np.int64), side="right"
            )
        )
    places = places[rows]
    stays = (places >= 0) & recoding.kept[places]
    columns = []
    for name in names:
        coded, rule = cells[name], rules.get(name, Flat())
        numbers, decimal = numbers_of(coded.values, rule), getattr(rule, "decimal", ".")
        if numbers is None and len(coded.values) > MOST_VALUES:
            continue
        before = coded.codes[rows]
        if name not in recoding.names:
            columns.append(
                ComparedColumn(name, coded.values, before, coded.values, before[stays], None, numbers, decimal)
            )
            continue
        place = recoding.names.index(name)
        base = recoding.classes.columns[place]
        known = {label: code for code, label in enumerate(coded.values)}
        codes = np.array([known.get(label, -1) for label in base.labels], dtype=np.int64)
        pairs = np.unique(np.stack([recoding.codes[place], codes[recoding.classes.codes[place]]]), axis=1)
        pairs = pairs[:, pairs[1] >= 0]
        covered = tuple(pairs[1][pairs[0] == label] for label in range(len(recoding.labels[place])))
        after = recoding.codes[place][places[stays]]
        columns.append(
            ComparedColumn(name, coded.values, before, recoding.labels[place], after, covered, numbers, decimal)
        )
    return columns


def numbers_of(labels: Sequence[Label], rule: Rule) -> Floats | None:
    """Values as numbers; None for categories, also where these are written with digits.

    A column holds numbers if its hierarchy is one of numbers, or if it has none and holds many different numbers,
    none of which begins with a zero as codes do.

    >>> numbers_of(["1", "2"], Flat()) is None, numbers_of([str(n) for n in range(12)], Flat()).sum()
    (True, np.float64(66.0))
    """
    named = rule.expects.startswith("numbers")
    if not named and not isinstance(rule, Flat | AnyValue):
        return None
    decimal = getattr(rule, "decimal", ".")
    found = [number(label, decimal) if label else None for label in labels]
    real = [label for label in labels if label]
    if any(value is None for value, label in zip(found, labels, strict=True) if label):
        return None
    if not named and (len(real) <= GROUPS or any(re.match(r"0\d", label) for label in real)):
        return None
    return np.array([float("nan") if value is None else float(value) for value in found])


# Associations between two columns.
def association(first: ComparedColumn, second: ComparedColumn) -> Association:
    """Spearman's rho of two numbers; else Cramer's V, of numbers by groups of equal size."""
    names = (first.name, second.name)
    if first.numbers is not None and second.numbers is not None:
        rhos = [spearman(first.cells(after=after), second.cells(after=after)) for after in (False, True)]
        return Association(names, "spearman", BeforeAfter(*rhos))
    values = [cramer(first.grouped(after=after), second.grouped(after=after)) for after in (False, True)]
    return Association(names, "cramers_v", BeforeAfter(*values))


def spearman(first: Floats, second: Floats) -> float | None:
    """Rank correlation, ties by average ranks; None where a column has one value.

    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0]))
    -1.0
    """
    both = ~(np.isnan(first) | np.isnan(second))
    ranks = [_ranks(values[both]) for values in (first, second)]
    centred = [rank - rank.mean() if len(rank) else rank for rank in ranks]
    scale = float(np.sqrt((centred[0] @ centred[0]) * (centred[1] @ centred[1])))
    return round(float(centred[0] @ centred[1]) / scale, 12) if scale else None


def _ranks(values: Floats) -> Floats:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[places.reshape(-1)])


def cramer(first: Ints, second: Ints) -> float | None:
    """Cramer's V; None where a column has one value.

    >>> cramer(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))
    1.0
    """
    if not len(first):
        return None
    (rows, one), (columns, two) = (np.unique(codes, return_inverse=True) for codes in (first, second))
    fewest = min(len(rows), len(columns)) - 1
    if fewest < 1:
        return None
    cells, counts = np.unique(one.reshape(-1) * len(columns) + two.reshape(-1), return_counts=True)
    sums = np.bincount(one.reshape(-1)), np.bincount(two.reshape(-1))
    # chi-squared over n, from the cells that occur: sum of n_ij^2 / (n_i n_j), less one.
    expected = sums[0][cells // len(columns)].astype(np.float64) * sums[1][cells % len(columns)]
    phi = float((counts.astype(np.float64) ** 2 / expected).sum()) - 1
    return round(float(np.sqrt(max(phi, 0.0) / fewest)), 12)


# A classifier: naive Bayes on categories with Laplace's rule, cross-validated.
def classified(target: ComparedColumn, features: Sequence[ComparedColumn]) -> Accuracy:
    """How well a column is predicted from the others, before and after."""
    scores, baselines = [], []
    for after in (False, True):
        wanted = target.grouped(after=after, groups=TARGET_GROUPS)
        known = [column.grouped(after=after) for column in features]
        scores.append(accuracy(wanted, known))
        baselines.append(float(np.bincount(wanted).max() / len(wanted)) if len(wanted) else None)
    return Accuracy(target.name, BeforeAfter(*scores), BeforeAfter(*baselines))


def accuracy(target: Ints, features: Sequence[Ints]) -> float | None:
    """Share of rows that naive Bayes predicts when it has not seen their fold; None of too few rows.

    Every `FOLDS`-th row is in a fold. Rare values of the target are one value.

    >>> accuracy(np.array([0, 1] * 10), [np.array([0, 1] * 10)])
    1.0
    """
    if len(target) < 2 * FOLDS:
        return None
    frequent = np.sort(np.argsort(-np.bincount(target), kind="stable")[: MOST_TARGETS - 1])
    places = np.full(int(target.max()) + 1, len(frequent))
    places[frequent] = np.arange(len(frequent))
    wanted = np.unique(places[target], return_inverse=True)[1].reshape(-1)
    known = [np.unique(codes, return_inverse=True)[1].reshape(-1) for codes in features]
    values, right = int(wanted.max()) + 1, 0
    for fold in range(FOLDS):
        held = np.arange(len(wanted)) % FOLDS == fold
        train = wanted[~held]
        sizes = np.bincount(train, minlength=values)
        with np.errstate(divide="ignore"):
            likelihood = np.tile(np.log(sizes / len(train)), (int(held.sum()), 1))
        for codes in known:
            width = int(codes.max()) + 1
            table = np.bincount(codes[~held] * values + train, minlength=width * values).reshape(width, values)
            likelihood += np.log((table + 1) / (sizes + width))[codes[held]]
        right += int((likelihood.argmax(axis=1) == wanted[held]).sum())
    return right / len(wanted)
