"""Was it a release at all? Decoys among the claims, held against people picked at random from the population.

Nobody but the holder of a copy has a reason to prefer a decoy's class to another class of the population with as many
people. The null is that claims hit classes of the population at random among those of the same link count (up to 10 %,
as decoys are paired), in whatever proportion of link counts. One claim per class is drawn without replacement, so that
the decoys hit among the n claims of a link count follow a hypergeometric law, and all decoys hit the sum of these over
link counts. Claims of classes that are neither released nor marks have a link count that is not kept with a release: each
counts as a coin that shows a decoy as often as the link count richest in decoys does, which can only make the p-value
larger.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from discreet.kernel.arrays import Floats, Ints
from discreet.releases.claimed import Sorted
from discreet.releases.tracing.case import Traceable


@dataclass(frozen=True)
class Origin:
    """How many decoys were hit, and how many chance would have hit."""

    claims: int
    """Classes of the population that were claimed."""
    decoys: int
    expected: float
    """Decoys that were to be expected of claims at random."""
    p_value: float
    """Probability of so many decoys or more, had claims been at random."""
    own_copy: float | None
    """Probability of so few decoys among the marks that were hit, had a copy been used; small speaks for the original."""


def origin_of(traceable: Traceable, claims: Sorted) -> Origin:
    """Hold the claims against chance."""
    marks = traceable.codebook.marks
    hit = np.array(claims.marks, dtype=np.int64)
    decoys = int(marks.decoy[hit].sum())
    links = np.concatenate([marks.links[hit], traceable.links[list(claims.everywhere)]])
    drawn = Counter(bands(links).tolist())
    law, unsure = _law(traceable, drawn, claims.nowhere)
    pmf = np.convolve(law, unsure)
    return Origin(
        claims=len(claims.marks) + len(claims.everywhere) + claims.nowhere,
        decoys=decoys,
        expected=float(np.arange(len(pmf)) @ pmf),
        p_value=min(1.0, float(pmf[decoys:].sum())),
        own_copy=float(binomial(len(hit), 0.5)[: decoys + 1].sum()) if len(hit) else None,
    )


def _law(traceable: Traceable, drawn: Counter[int], nowhere: int) -> tuple[Floats, Floats]:
    """The law of decoys among claims whose link counts are known, and among the others."""
    marks = traceable.codebook.marks
    planted = Counter(bands(marks.links[marks.decoy]).tolist())
    classes: Counter[int] = Counter()
    links, numbers = traceable.population_links
    for band, number in zip(bands(links).tolist(), numbers.tolist(), strict=True):
        classes[band] += number
    law: Floats = np.ones(1)
    for band, number in sorted(drawn.items()):
        if planted[band]:
            whole = max(classes[band], planted[band], number)
            law = np.convolve(law, hypergeometric(whole, planted[band], number))
    richest = max((number / max(classes[band], number) for band, number in planted.items()), default=0.0)
    return law, binomial(nowhere, richest)


def bands(links: Ints) -> Ints:
    """Link counts that differ by less than 10 % or so as one number.

    >>> bands(np.array([0, 1, 100, 104, 120])).tolist()
    [0, 0, 48, 48, 50]
    """
    near: Ints = np.floor(np.log(np.maximum(links, 1)) / math.log(1.1)).astype(np.int64)
    return near


def hypergeometric(whole: int, good: int, drawn: int) -> Floats:
    """The probability of each number of good ones among `drawn` of `whole`.

    >>> hypergeometric(4, 2, 2).round(4).tolist()
    [0.1667, 0.6667, 0.1667]
    """
    pmf = np.zeros(min(good, drawn) + 1)
    every = _log_choose(whole, drawn)
    for number in range(max(0, drawn - (whole - good)), len(pmf)):
        pmf[number] = math.exp(_log_choose(good, number) + _log_choose(whole - good, drawn - number) - every)
    return pmf


def binomial(drawn: int, chance: float) -> Floats:
    """The probability of each number of successes.

    >>> binomial(2, 0.5).round(9).tolist()
    [0.25, 0.5, 0.25]
    """
    if chance in (0.0, 1.0):
        certain = np.zeros(drawn + 1)
        certain[drawn if chance else 0] = 1.0
        return certain
    numbers = range(drawn + 1)
    logs = [_log_choose(drawn, n) + n * math.log(chance) + (drawn - n) * math.log1p(-chance) for n in numbers]
    chances: Floats = np.exp(np.array(logs))
    return chances


def _log_choose(whole: int, part: int) -> float:
    return math.lgamma(whole + 1) - math.lgamma(part + 1) - math.lgamma(whole - part + 1)
