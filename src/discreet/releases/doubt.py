"""How far marks can reach before link counts tell decoys: beyond, nearly every class of the same risk is real.

Where a class is likely to be released there are few unreleased ones to make decoys of, and most real ones stay without a
partner. An adversary then does well to suspect classes of small link counts, and those that an accomplice lacks. So only
as many pairs, the riskiest first, become marks as keep both attacks near guessing, reckoned against every real class that
is as risky as a decoy.
"""

from __future__ import annotations

import numpy as np

from discreet.kernel.arrays import Flags, Floats, Ints

LIMIT = 0.58
"""What the attacks may reach on average; 0.60 is the target, and one copy is not the average."""
GRID = 64
"""Numbers of pairs that are tried."""


def undecided(real: Ints, decoys: Ints, chance: Floats, released: Ints, *, fewest: int, limit: float = LIMIT) -> int:
    """The largest number of pairs, the riskiest first, at which neither attack beats the limit.

    `real` and `decoys` are the link counts of the pairs, `chance` the probabilities of presence of all real marks and
    then of all decoys, `released` the link counts of all released classes. At least `fewest` pairs are kept.
    """
    half = len(real)
    tried = np.unique(np.linspace(min(fewest, half), half, GRID).round().astype(np.int64))[::-1]
    for count in tried.tolist():
        if count and max(expected_aucs(real, decoys, chance, released, count)) <= limit:
            return int(count)
    return min(fewest, half)


def expected_aucs(real: Ints, decoys: Ints, chance: Floats, released: Ints, count: int) -> tuple[float, float]:
    """What the attacks by link count and by intersection of two copies are expected to reach with the first pairs."""
    half = len(real)
    marks, made, here, there = real[:count], decoys[:count], chance[:count], chance[half : half + count]
    low, high = int(made.min()), int(made.max())
    inside = (marks >= low) & (marks <= high)
    marks, here = marks[inside], here[inside]
    around = np.sort(released[(released >= low) & (released <= high)])
    unmarked = max(len(around) - len(marks), 0)
    links = np.concatenate([made, marks, _without(around, marks)])
    weights = np.concatenate([there, here, np.ones(unmarked)])
    by_links = _auc(-links.astype(np.float64), weights, np.arange(len(links)) < count)
    alone = float(np.dot(there, 1 - there) / there.sum())
    alone_real = float(np.dot(here, 1 - here) / max(here.sum() + unmarked, 1e-12))
    same = alone * alone_real + (1 - alone) * (1 - alone_real)
    return by_links, alone * (1 - alone_real) + same * by_links


def _without(values: Ints, gone: Ints) -> Ints:
    """Sorted values, each taken out as often as it is among those gone."""
    distinct, counts = np.unique(values, return_counts=True)
    taken = np.bincount(np.searchsorted(distinct, gone), minlength=len(distinct)) if len(gone) else 0
    return np.repeat(distinct, np.maximum(counts - taken, 0))


def _auc(scores: Floats, weights: Floats, truth: Flags) -> float:
    """The chance that one marked true scores above one that is not, each drawn by its weight."""
    distinct, places = np.unique(scores, return_inverse=True)
    places = places.reshape(-1)
    wanted = np.bincount(places, weights=weights * truth, minlength=len(distinct))
    others = np.bincount(places, weights=weights * ~truth, minlength=len(distinct))
    if not others.sum():
        return 0.5
    below = np.cumsum(others) - others
    return float(np.dot(wanted, below + others / 2) / (wanted.sum() * others.sum()))
