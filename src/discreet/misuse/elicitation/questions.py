"""Which question to ask next: always the one whose answer is least known.

Comparisons first. Until all values are connected, the next one is held against the middle of those connected (a star
around the middle: short paths and ratios inside Saaty's scale). From then on the pair with the largest variance of its
difference, which is the D-optimal choice. Then records, made up from values of different columns: the one whose rating
would tell most, weighed down by the chance that it only hits the clamp.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.arrays import Floats
from discreet.misuse.elicitation.comparisons import MOST, Pair, laplacian, log_least_squares, parts
from discreet.misuse.elicitation.joint_fit import Fit
from discreet.misuse.elicitation.ratings import CLAMP, incidence

POOL = 400
"""Made-up records that are looked at for each question."""


@dataclass(frozen=True)
class Compare:
    """Which of two would harm a person more, and how much?"""

    first: int
    second: int


@dataclass(frozen=True)
class Rate:
    """How much would it harm a person if all of this became known?"""

    items: tuple[int, ...]


Question = Compare | Rate


def next_pair(pairs: Sequence[Pair], asked: set[frozenset[int]], order: Sequence[int]) -> Compare | None:
    """The comparison to ask; `order` is the order in which values come up."""
    part = parts(pairs, len(order))
    theta = log_least_squares(pairs, len(order))
    if len(set(part)) > 1 and (found := _connecting(part, theta, asked, order)) is not None:
        return found
    return _least_known(pairs, theta, asked, order)


def _connecting(part: Sequence[int], theta: Floats, asked: set[frozenset[int]], order: Sequence[int]) -> Compare | None:
    """The next value outside the largest connected part, against the middle of that part."""
    home = max(order, key=lambda item: (part.count(part[item]), -order.index(item)))
    inside = sorted((item for item in order if part[item] == part[home]), key=lambda item: (theta[item], item))
    middle = (len(inside) - 1) / 2
    nearest = sorted(range(len(inside)), key=lambda rank: abs(rank - middle))
    for item in order:
        if part[item] != part[home]:
            for rank in nearest:
                if frozenset((item, inside[rank])) not in asked:
                    return Compare(inside[rank], item)
    return None


def _least_known(
    pairs: Sequence[Pair], theta: Floats, asked: set[frozenset[int]], order: Sequence[int]
) -> Compare | None:
    inverse = np.linalg.pinv(laplacian(pairs, len(order))[0], hermitian=True)
    spread = np.add.outer(np.diag(inverse), np.diag(inverse)) - 2 * inverse
    # Ratios beyond the scale are cut off and tell little.
    spread = np.where(np.abs(np.subtract.outer(theta, theta)) <= math.log(MOST), spread, spread - len(order))
    open_pairs = [pair for pair in itertools.combinations(order, 2) if frozenset(pair) not in asked]
    if not open_pairs:
        return None
    return Compare(*max(open_pairs, key=lambda pair: round(float(spread[pair]), 9)))


def next_record(
    fit: Fit, columns: Sequence[Sequence[int]], asked: set[frozenset[int]], rng: np.random.Generator
) -> Rate | None:
    """The record to rate: at most one value of each column."""
    pool = [record for record in _pool(columns, rng) if frozenset(record) not in asked]
    if not pool:
        return None
    return Rate(pool[int(np.argmax(_worth(fit, incidence(pool, len(fit.theta)))))])


def _worth(fit: Fit, matrix: Floats) -> Floats:
    slopes = matrix * fit.harm
    variance = np.einsum("ri,ij,rj->r", slopes, fit.covariance, slopes)
    noise = fit.evidence.rating**2
    room = (CLAMP - matrix @ fit.harm) / np.sqrt(variance + noise)
    unclamped = np.array([0.5 * math.erfc(-one / math.sqrt(2)) for one in room])
    worth: Floats = unclamped * np.log1p(variance / noise)
    return worth


def _pool(columns: Sequence[Sequence[int]], rng: np.random.Generator) -> list[tuple[int, ...]]:
    """All records where they are few, else some of every length."""
    possible = math.prod(len(items) + 1 for items in columns) - 1
    if possible <= POOL:
        choices = itertools.product(*([None, *items] for items in columns))
        every = [tuple(item for item in choice if item is not None) for choice in choices]
        return [record for record in every if record]
    return sorted({_draw(columns, rng) for _ in range(POOL)})


def _draw(columns: Sequence[Sequence[int]], rng: np.random.Generator) -> tuple[int, ...]:
    length = int(rng.integers(1, len(columns) + 1))
    chosen: NDArray[np.int64] = np.sort(rng.permutation(len(columns))[:length])
    return tuple(int(rng.choice(columns[place])) for place in chosen)
