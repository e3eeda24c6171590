"""What the classes give away about a sensitive column: l-diversity, t-closeness, beta-likeness.

p is the share of a value within a class, q its share in the whole table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import EmptySource, UsageError
from discreet.kernel.arrays import Floats, Ints, group, total
from discreet.kernel.members import Members, Spread
from discreet.kernel.serialise import json_of


@dataclass(frozen=True)
class Inference:
    """The worst class on each measure."""

    distinct_l: int
    """Least number of distinct values in a class (Machanavajjhala et al. 2006); missing ones do not count."""
    certain: int
    """People all of whose look-alikes have the same value."""
    entropy_l: float
    """exp of the least entropy of a class."""
    recursive_l: int
    """Largest l for which every class is recursively (c, l)-diverse."""
    recursive_c: float
    """The c of that statement."""
    equal_t: float
    """Largest distance between a class and the table, all values equally far apart (Li et al. 2007)."""
    hierarchical_t: float | None
    """The same with distances along the hierarchy of the column; None without one."""
    ordered_t: float | None
    """The same with distances along the order of numbers or dates; None where values have no such order."""
    beta: float
    """Largest relative gain in the share of a value (Cao & Karras 2012)."""

    to_dict = json_of()


def infer(spread: Spread, *, c: float = 3.0) -> Inference:
    """Every measure of one sensitive column."""
    if not len(spread.owners):
        raise EmptySource("There is nobody in the table.", remedy="Give a table with at least one row.")
    tree = spread.hierarchy.height > 1
    values = distinct_l(spread)
    return Inference(
        distinct_l=int(values.min()),
        certain=spread.number(values == 1),
        entropy_l=float(entropy_l(spread).min()),
        recursive_l=int(recursive_l(spread, c).min()),
        recursive_c=c,
        equal_t=float(equal_t(spread).max()),
        hierarchical_t=float(hierarchical_t(spread).max()) if tree else None,
        ordered_t=None if spread.hierarchy.ranks is None else float(ordered_t(spread).max()),
        beta=float(beta(spread).max()),
    )


def people(spread: Spread) -> Ints:
    """People per class."""
    return total(spread.owners, spread.counts, int(spread.owners.max()) + 1)


def _added(member: Ints, terms: Floats, groups: int) -> Floats:
    return np.bincount(member, weights=terms, minlength=groups).astype(np.float64)


def _sums(spread: Spread, terms: Floats) -> Floats:
    return _added(spread.owners, terms, int(spread.owners.max()) + 1)


def _within(spread: Spread) -> Floats:
    """p for each pair of class and value that occurs."""
    return spread.counts / people(spread)[spread.owners]


def _overall(spread: Spread) -> Floats:
    """q for each such pair."""
    overall = spread.overall
    return np.asarray((overall / overall.sum())[spread.codes], dtype=np.float64)


def known(spread: Spread) -> tuple[Ints, Ints, Members | None]:
    """Pairs of class and value that hide something: class, people, and who they are.

    A missing value hides nothing from an attacker who sees what the others have, and spellings of one value are one.
    """
    meanings = spread.hierarchy.meanings
    if meanings is None:
        return spread.owners, spread.counts, spread.holders
    stays = meanings[spread.codes] >= 0
    owners, codes, width = spread.owners[stays], meanings[spread.codes[stays]], int(meanings.max(initial=0)) + 1
    first, pairs, number = group(owners * width + codes, (int(owners.max(initial=0)) + 1) * width)
    holders = None if spread.holders is None else spread.holders.only(stays).over(pairs)
    counts = total(pairs, spread.counts[stays], number) if holders is None else holders.sizes(number)
    return owners[first], counts, holders


def _of_known(spread: Spread, owners: Ints, measured: Any) -> Any:
    """A measure per class; where no value is known nothing is learned, as with every value of the column at once."""
    meanings = spread.hierarchy.meanings
    values = len(spread.values) if meanings is None else int(meanings.max(initial=0)) + 1
    return np.where(np.bincount(owners, minlength=len(measured)) == 0, values, measured)


def distinct_l(spread: Spread) -> Ints:
    """Distinct known values per class.

    Where a person may hold several values: the largest l so that no l - 1 values together are held by everybody. The
    holders of the l - 1 commonest values are added up, which never says too much.
    """
    classes = int(spread.owners.max()) + 1
    owners, counts, holders = known(spread)
    values = np.bincount(owners, minlength=classes).astype(np.int64)
    if holders is not None and len(owners):
        everybody = holders.over(owners).sizes(classes)
        order = np.lexsort((-counts, owners))
        owners, counts = owners[order], counts[order]
        start = np.flatnonzero(np.diff(owners, prepend=-1))
        upto = np.cumsum(counts)
        before = np.repeat((upto - counts)[start], np.diff(np.append(start, len(owners))))
        values = 1 + np.bincount(owners[upto - before < everybody[owners]], minlength=classes).astype(np.int64)
    return np.asarray(_of_known(spread, owners, values), dtype=np.int64)


def entropy_l(spread: Spread) -> Floats:
    """exp(entropy) per class: the number of equally common known values that would be as hard to guess."""
    classes = int(spread.owners.max()) + 1
    owners, counts, _ = known(spread)
    share = counts / np.maximum(total(owners, counts, classes), 1)[owners]
    entropy = np.exp(_added(owners, -share * np.log(share), classes))
    return np.asarray(_of_known(spread, owners, entropy), dtype=np.float64)


def recursive_l(spread: Spread, c: float) -> Ints:
    """Per class the largest l with r_1 < c (r_l + ... + r_m), r sorted from common to rare; 0 if none."""
    owners, counts, _ = known(spread)
    best = np.zeros(int(spread.owners.max()) + 1, dtype=np.int64)
    if not len(owners):
        return np.asarray(_of_known(spread, owners, best), dtype=np.int64)
    order = np.lexsort((-counts, owners))
    owners, counts = owners[order], counts[order]
    start = np.flatnonzero(np.r_[True, np.diff(owners) > 0])
    rank = np.arange(len(owners)) - np.repeat(start, np.diff(np.r_[start, len(owners)])) + 1
    upto = np.cumsum(counts)
    end = np.r_[start[1:], len(owners)] - 1
    place = np.repeat(np.arange(len(start)), np.diff(np.r_[start, len(owners)]))
    tail = upto[end][place] - upto + counts
    holds = counts[start][place] < c * tail
    np.maximum.at(best, owners, np.where(holds, rank, 0))
    return np.asarray(_of_known(spread, owners, best), dtype=np.int64)


def equal_t(spread: Spread) -> Floats:
    """Earth mover's distance with equal ground distance: half the sum of |p - q|, which is the sum of its gains."""
    return _sums(spread, np.maximum(_within(spread) - _overall(spread), 0))


def hierarchical_t(spread: Spread) -> Floats:
    """Earth mover's distance along the hierarchy (Li et al. 2007, section 5.2).

    What the children of a node cannot settle among themselves moves up: cost(N) = height(N)/H * min(gains, losses) of
    its children, with losses = gains - extra(N). A node without people of the class has no gains and costs nothing.
    """
    tree = spread.hierarchy
    # Maps from each level to the next, up to a single root.
    root = () if tree.rooted else (np.zeros(len(tree.labels[-1]), dtype=np.int64),)
    parents = (*tree.parents, *root)
    owners, nodes, share = spread.owners, spread.codes, _within(spread)
    overall = spread.overall / spread.overall.sum()
    distance = np.zeros(int(owners.max()) + 1)
    for height, parent in enumerate(parents, start=1):
        gains = np.maximum(share - overall[nodes], 0)
        upper, width = parent[nodes], int(parent.max()) + 1
        overall = _added(parent, overall, width)
        first, member, groups = group(owners * width + upper, len(distance) * width)
        owners, nodes = owners[first], upper[first]
        share = _added(member, share, groups)
        gains = _added(member, gains, groups)
        settled = np.minimum(gains, np.maximum(gains - (share - overall[nodes]), 0))
        distance += _added(owners, settled * (height / len(parents)), len(distance))
    return distance


def ordered_t(spread: Spread) -> Floats:
    """Earth mover's distance over ordered values, neighbours 1/(m-1) apart (Li et al. 2007, section 5.1).

    That is the mean of |P(i) - Q(i)| over all but the last of m values, with cumulative shares P in the class and Q in
    the table. P is constant between values of the class, and Q grows: sums over such a stretch come from sums of Q.
    """
    ranks = spread.hierarchy.ranks
    if ranks is None:
        raise no_order(spread.name)
    last = int(ranks.max())
    overall = total(ranks, spread.overall, last + 1)
    upto = np.cumsum(overall) / overall.sum()
    area = np.concatenate([[0.0], np.cumsum(upto)])
    order = np.lexsort((ranks[spread.codes], spread.owners))
    owners, places, counts = spread.owners[order], ranks[spread.codes][order], spread.counts[order]
    start = np.flatnonzero(np.diff(owners, prepend=-1))
    before = (np.cumsum(counts) - counts)[start]
    share = (np.cumsum(counts) - before[owners]) / people(spread)[owners]
    stop = np.append(places[1:], last + 1)
    stop[np.append(start[1:], len(owners)) - 1] = last + 1
    # Where Q overtakes P.
    cross = np.clip(np.searchsorted(upto, share, side="right"), places, stop)
    above = share * (cross - places) - (area[cross] - area[places])
    below = area[stop] - area[cross] - share * (stop - cross)
    return np.asarray((area[places[start]] + _added(owners, above + below, len(start))) / max(last, 1))


def no_order(column: str) -> UsageError:
    """What to say where values have no order."""
    return UsageError(
        f"Not all values of column '{column}' are numbers, or dates such as 2024-01-31 or 31.01.2024: they have no order.",
        remedy="Use the equal distance for this column, or the hierarchical one; missing values have no place in an order.",
    )


def beta(spread: Spread) -> Floats:
    """Per class the largest relative gain (p - q)/q of a value."""
    gain = _within(spread) / _overall(spread) - 1
    worst = np.zeros(int(spread.owners.max()) + 1)
    np.maximum.at(worst, spread.owners, gain)
    return worst
