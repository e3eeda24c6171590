"""Mondrian: people cut into boxes along the widest column while parts hold k.

K. LeFevre, D. J. DeWitt, R. Ramakrishnan: Mondrian multidimensional k-anonymity (ICDE 2006). All boxes of a round are
cut at once, so the cost is that of sorting the classes a few dozen times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.anonymity.local.acceptance import Allowed, looks
from discreet.anonymity.local.forest import SCALE, Forest, compact, ends, numbered, parts, spread_out, without
from discreet.errors import ColumnError, UsageError
from discreet.kernel.arrays import Flags, Floats, Ints, Label, total
from discreet.kernel.classes import Classes, Column, Recoding

HOPELESS = 2**62
"""A cut that may not be made."""


def mondrian(
    classes: Classes,
    *,
    k: int,
    relaxed: bool = False,
    ordered: Sequence[str] | None = None,
    allowed: Allowed | None = None,
    suppressible: int = 0,
    start: Ints | None = None,
) -> Recoding:
    """Publish people in boxes of at least k: intervals of ordered columns, common ancestors of the others.

    Columns of numbers are ordered unless `ordered` names others. Strict boxes share no value of the column they were
    cut along; relaxed ones may, which balances them better. `allowed` says which boxes may be published besides. At
    most `suppressible` people or rows are left out, where their boxes lose more by them than they lose. `start` is the
    group of each class in groups that are known to be allowed, where all people together may not be.

    >>> from discreet.kernel import AnyValue
    >>> people = Classes.of(["sex", "age"], [("F", "30"), ("F", "31"), ("F", "50"), ("M", "58")],
    ...                     rules={"sex": AnyValue()})
    >>> list(mondrian(people, k=2).published.tuples())
    [('F', '[30, 31]'), ('*', '[50, 58]')]
    """
    forest = Forest.of(classes)
    for name in ordered or ():
        if name not in classes.names:
            raise ColumnError(f"There is no column '{name}' among {', '.join(classes.names)}.")
    if ordered is None:
        ordered = [column.name for column in classes.columns if column.hierarchy.numbers(column.level) is not None]
    heaviest = max(column.weight for column in classes.columns)
    axes: list[_Axis] = [
        _Scale.of(column, codes, heaviest) if column.name in ordered else _Branches(leaves, forest)
        for column, codes, leaves in zip(classes.columns, classes.codes, forest.leaves, strict=True)
    ]
    loose = [place for place, axis in enumerate(axes) if not axis.ordered]
    part, kept = start, np.ones(len(classes), dtype=bool)
    if part is None:
        part, kept = parts(forest, k, loose, allowed=allowed, suppressible=suppressible)
    if not kept.all():
        options: dict[str, Any] = {"k": k, "relaxed": relaxed, "ordered": ordered}
        return without(classes, kept, mondrian, suppressible=suppressible, asked={"allowed": allowed}, **options)
    for torn in dict.fromkeys([relaxed, False]):
        member = boxes(axes, classes.sizes, part, k, relaxed=torn, allowed=allowed)
        if suppressible:
            kept = _trimmed(axes, classes.sizes, member, k, allowed=allowed, suppressible=suppressible)
        found = _shown(classes, axes, member, kept)
        # Boxes that were torn apart may look alike, and then count as one.
        if allowed is None or allowed(*looks(found)).all():
            return found
    return _shown(classes, axes, part, np.ones(len(part), dtype=bool))


def _shown(classes: Classes, axes: Sequence[_Axis], member: Ints, kept: Flags) -> Recoding:
    """What is published when everybody who is kept shows the extent of their box."""
    columns, member = [], compact(member[kept])
    for axis in axes:
        low, high = ends(axis.points[None, kept], member)
        columns.append(numbered(axis.labels(low[0], high[0])))
    return spread_out(classes, columns, member, kept)


def branches(forest: Forest) -> list[_Axis]:
    """Every column as an axis along its hierarchy."""
    return [_Branches(leaves, forest) for leaves in forest.leaves]


# Columns as axes.


@dataclass(frozen=True, eq=False)
class _Scale:
    """A column with an order of its own: places are ranks."""

    points: Ints
    values: Floats
    """The number at each rank."""
    texts: tuple[Label, ...]
    weight: float
    """What its detail is worth beside that of the heaviest column."""
    ordered = True

    @classmethod
    def of(cls, column: Column, codes: Ints, heaviest: float) -> _Scale:
        if None in column.labels:
            raise UsageError(f"Column '{column.name}' has missing values, which have no order.")
        numbers = column.hierarchy.numbers(column.level)
        values = np.arange(len(column.labels), dtype=np.float64) if numbers is None else numbers
        order = np.argsort(values, kind="stable")
        rank = np.argsort(order, kind="stable")
        texts = tuple(column.labels[code] for code in order.tolist())
        return cls(rank[codes], values[order], texts, column.weight / heaviest)

    def width(self, low: Ints, high: Ints) -> Floats:
        """How much of the column is between two places, at most 1, by its weight."""
        return self.weight * np.asarray(
            (self.values[high] - self.values[low]) / max(self.values[-1] - self.values[0], math.ulp(0.0))
        )

    def lost(self, low: Ints, high: Ints) -> Floats:
        """The share of the values that is between two places: what a box loses."""
        return np.asarray((high - low) / max(len(self.values) - 1, 1))

    def keys(self, points: Ints, low: Ints, high: Ints) -> Ints:
        """What must not be torn apart when the box from `low` to `high` around each point is cut."""
        return points

    def labels(self, low: Ints, high: Ints) -> list[Label]:
        """What boxes between two places are published as."""
        between = "; " if any("," in label for label in self.texts if label) else ", "
        ends = zip(low.tolist(), high.tolist(), strict=True)
        return [self.texts[a] if a == b else f"[{self.texts[a]}{between}{self.texts[b]}]" for a, b in ends]


@dataclass(frozen=True, eq=False)
class _Branches:
    """A column with a hierarchy: places are leaves in the order of their ancestors."""

    points: Ints
    forest: Forest
    ordered = False

    def width(self, low: Ints, high: Ints) -> Floats:
        return self.forest.cost[self.forest.join(low, high)] / SCALE

    lost = width

    def keys(self, points: Ints, low: Ints, high: Ints) -> Ints:
        """The child of the lowest common ancestor above each point."""
        differ = (self.forest.above[:, low] != self.forest.above[:, high]).sum(axis=0)
        return np.asarray(self.forest.above[np.maximum(differ - 1, 0), points])

    def labels(self, low: Ints, high: Ints) -> list[Label]:
        return [self.forest.labels[node] for node in self.forest.join(low, high).tolist()]


_Axis = _Scale | _Branches
"""A column along which boxes are cut."""


# Rounds of cuts.


@dataclass(frozen=True, eq=False)
class _Round:
    """Boxes that may still be cut, their classes in a row."""

    rows: Ints
    box: Ints
    """The box of each row, ascending."""
    spent: Flags
    """Per column and box, whether no cut is possible there."""

    def only(self, stays: Flags) -> _Round:
        """The boxes marked true."""
        inside = stays[self.box]
        return _Round(self.rows[inside], (np.cumsum(stays) - 1)[self.box[inside]], self.spent[:, stays])


def boxes(
    axes: Sequence[_Axis], sizes: Ints, start: Ints, k: int, *, relaxed: bool = False, allowed: Allowed | None = None
) -> Ints:
    """The box of each class when no box can be cut any more."""
    member, number = np.empty(len(sizes), dtype=np.int64), 0
    points = np.array([axis.points for axis in axes])
    ordered = np.array([axis.ordered for axis in axes])
    order = np.argsort(start, kind="stable")
    current = _Round(order, start[order], np.zeros((len(axes), int(start.max()) + 1), dtype=bool))
    while len(current.rows):
        starts = np.flatnonzero(np.diff(current.box, prepend=-1))
        low, high = (bound.reduceat(points[:, current.rows], starts, axis=1) for bound in (np.minimum, np.maximum))
        width = np.array([axis.width(a, b) for axis, a, b in zip(axes, low, high, strict=True)])
        width[current.spent | (np.add.reduceat(sizes[current.rows], starts) < 2 * k)] = 0
        wide = width.max(axis=0) > 0
        done = ~wide[current.box]
        member[current.rows[done]] = number + current.box[done]
        number += len(wide)
        current = current.only(wide)
        if len(current.rows):
            # Each box along its widest column; what must stay together there has one key.
            choice, low, high = width[:, wide].argmax(axis=0), low[:, wide], high[:, wide]
            keys, column = np.empty(len(current.rows), dtype=np.int64), choice[current.box]
            for place, axis in enumerate(axes):
                chosen = np.flatnonzero(column == place)
                box = current.box[chosen]
                keys[chosen] = axis.keys(points[place, current.rows[chosen]], low[place, box], high[place, box])
            order = np.lexsort((keys, current.box))
            rows, box, keys = current.rows[order], current.box[order], keys[order]
            people = sizes[rows]
            halves = _halves(box, keys, people, k, torn=relaxed)
            side = np.where(ordered[choice][box], halves, _children(box, keys, people, k))
            if allowed is not None:
                side = _allowed_sides(allowed, rows, box, side, people, ordered[choice])
            most = int(side.max()) + 1
            numbers, part = np.unique(box * most + side, return_inverse=True)
            part, parent = part.reshape(-1), numbers // most
            cut = np.bincount(parent) > 1
            spent = current.spent.copy()
            spent[choice, np.arange(len(choice))] |= ~cut
            # A cut can open a way along a hierarchy that was closed before, but one along an order only where more
            # than sizes matters.
            spent[np.ix_(~ordered | (allowed is not None), cut)] = False
            order = np.argsort(part, kind="stable")
            current = _Round(rows[order], part[order], spent[:, parent])
    return compact(member)


def _halves(box: Ints, keys: Ints, people: Ints, k: int, *, torn: bool) -> Ints:
    """Per row, 1 after the cut nearest to the median that leaves k on both sides and, unless torn, keys whole."""
    starts = np.flatnonzero(np.diff(box, prepend=-1))
    before = np.cumsum(people)
    left = before - (before[starts] - people[starts])[box]
    right = np.add.reduceat(people, starts)[box] - left
    whole = np.append(keys[1:] != keys[:-1], True) | torn
    score = np.where((left >= k) & (right >= k) & whole, np.abs(left - right), HOPELESS)
    best = np.minimum.reduceat(score, starts)
    places = np.flatnonzero(score == best[box])
    first = places[np.unique(box[places], return_index=True)[1]]
    first[best == HOPELESS] = len(box)
    return (np.arange(len(box)) > first[box]).astype(np.int64)


def _children(box: Ints, keys: Ints, people: Ints, k: int) -> Ints:
    """Per row, the number of its child; 0 for the children that are too small and stay together, if need be with one."""
    starts = np.flatnonzero((np.diff(box, prepend=-1) != 0) | (np.diff(keys, prepend=-1) != 0))
    run = np.cumsum(np.isin(np.arange(len(box)), starts, assume_unique=True)) - 1
    owner, size = box[starts], np.add.reduceat(people, starts)
    side = np.where(size >= k, np.arange(1, len(size) + 1), 0)
    pooled = np.bincount(owner, np.where(size < k, size, 0))
    order = np.lexsort((size, side == 0, owner))
    smallest = order[np.flatnonzero(np.diff(owner[order], prepend=-1))]
    side[smallest[(pooled > 0) & (pooled < k)]] = 0
    return np.asarray(side[run])


def _allowed_sides(allowed: Allowed, rows: Ints, box: Ints, side: Ints, people: Ints, ordered: Flags) -> Ints:
    """The same cuts without parts that are not allowed: halves stay whole, children stay together.

    A rest of children that is not allowed takes the smallest child along.
    """
    while True:
        most = int(side.max()) + 1
        numbers, part = np.unique(box * most + side, return_inverse=True)
        part, owner = part.reshape(-1), numbers // most
        several = np.bincount(owner)[owner] > 1
        bad = several & ~allowed(rows, part, len(numbers))
        if not bad.any():
            return side
        rest = numbers % most == 0
        taken = (bad & ~rest) | (several & ordered[owner] & np.isin(owner, owner[bad]))
        order = np.lexsort((np.bincount(part, people), rest, owner))
        smallest = order[np.flatnonzero(np.diff(owner[order], prepend=-1))]
        taken[smallest[np.isin(owner[smallest], owner[bad & rest])]] = True
        side = np.where(taken[part], 0, side)


# Suppression: the outermost people of a box whose leaving saves the others more than they lose.


def _trimmed(
    axes: Sequence[_Axis], sizes: Ints, member: Ints, k: int, *, allowed: Allowed | None, suppressible: int
) -> Flags:
    """Which classes stay in their boxes."""
    kept, fixed = np.ones(len(sizes), dtype=bool), np.zeros(len(sizes), dtype=bool)
    columns = sum(float(axis.lost(axis.points.min(), axis.points.max())) > 0 for axis in axes)
    left = suppressible
    while True:
        rows = np.flatnonzero(kept)
        box = compact(member[rows])
        people, size = total(box, sizes[rows], int(box.max()) + 1), sizes[rows]
        gain = _gain(axes, rows, box, people, size) - columns * size
        gain[fixed[rows] | (people[box] - size < k) | (size > left)] = 0
        order = np.lexsort((-gain, box))
        best = order[np.flatnonzero(np.diff(box[order], prepend=-1))]
        best = best[gain[best] > 0]
        # Those that gain most a head, as far as the allowance goes.
        best = best[np.argsort(-gain[best] / size[best], kind="stable")]
        best = best[np.cumsum(size[best]) <= left]
        if not len(best):
            return kept
        stays = np.ones(len(rows), dtype=bool)
        stays[best] = False
        fine = np.ones(len(people), dtype=bool) if allowed is None else allowed(rows[stays], box[stays], len(people))
        fixed[rows[best[~fine[box[best]]]]] = True
        gone = best[fine[box[best]]]
        kept[rows[gone]] = False
        left -= int(size[gone].sum())


def _gain(axes: Sequence[_Axis], rows: Ints, box: Ints, people: Ints, size: Ints) -> Floats:
    """What each class would save the others of its box by leaving, with what it loses itself there."""
    now, then = np.zeros(len(rows)), np.zeros(len(rows))
    starts = np.flatnonzero(np.diff(np.sort(box), prepend=-1))
    stops = np.append(starts[1:], len(rows)) - 1
    for axis in axes:
        points = axis.points[rows]
        order = np.lexsort((points, box))
        ordered = points[order]
        low, high = ordered[starts], ordered[stops]
        second, last = ordered[np.minimum(starts + 1, stops)], ordered[np.maximum(stops - 1, starts)]
        least = np.where(np.isin(np.arange(len(rows)), order[starts]), second[box], low[box])
        most = np.where(np.isin(np.arange(len(rows)), order[stops]), last[box], high[box])
        now += axis.lost(low, high)[box]
        then += axis.lost(least, most)
    return np.asarray(now * people[box] - then * (people[box] - size))
