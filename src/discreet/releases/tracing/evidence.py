"""Evidence against a recipient: e-values of hits on marks, and claims' origin.

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
from typing import Any

import numpy as np

from discreet.kernel.arrays import Flags, Floats, Ints
from discreet.releases.tracing.case import ClaimsByPlace, Traceable

# How strongly hits on marks speak against a recipient: e-values, and why they are ones.
#
# A claim hits mark j, which a copy holds with the secret probability p_j. For a recipient with bit x (does its copy hold
# the mark?) and a coalition of c recipients the hit is weighed by
#
#     c = 1:     x = 1 -> 0.98 / p,            x = 0 -> 0.02 / (1 - p)
#     c = 2, 3:  x = 1 -> 1 + (1 - p)/(c p),   x = 0 -> 1 - 1/c
#
# and the e-value is the mean over c of the product over all hit marks.
#
# **Null.** The recipient is innocent: given the secret probabilities, its bits were drawn independently of everything
# that led to the claims (by any claimant, with any other copies, in any order, however they were chosen).
#
# **Why it is an e-value.** Under the null, and given the claims, each bit is 1 with probability p, so that a factor has
# expectation p (0.98/p) + (1 - p)(0.02/(1 - p)) = 1 for c = 1, and p + (1 - p)/c + (1 - p) - (1 - p)/c = 1 for c > 1.
# Bits of different marks are independent, so a product of factors has expectation 1, and so has the mean of three such
# products. As claims come in, the mean is a non-negative martingale: by Ville's inequality it ever reaches N/alpha with
# probability at most alpha/N, and over N innocent recipients anybody is accused with probability at most alpha, whenever
# one looks. Products over incidents that hit different marks are e-values for the same reason.
COALITIONS = (1, 2, 3)
TRUST = 0.98
"""How far the hit of a single leaker is trusted to come from their copy, and not from elsewhere."""


def factors(probability: Any, colluding: int, *, trust: Any = TRUST) -> tuple[Any, Any]:
    """What a hit weighs if the recipient's copy holds the mark, and if not. Works on floats, arrays and fractions.

    >>> from fractions import Fraction
    >>> factors(Fraction(1, 2), 2)
    (Fraction(3, 2), Fraction(1, 2))
    """
    absent = 1 - probability
    if colluding == 1:
        return trust / probability, (1 - trust) / absent
    return 1 + absent / (colluding * probability), 1 - absent / absent / colluding


def log_e_values(probabilities: Floats, present: Flags) -> Floats:
    """The natural logarithm of the e-value of each row of bits, over hit marks with these probabilities.

    >>> np.exp(log_e_values(np.array([0.5]), np.array([[True], [False]]))).round(6).tolist()
    [1.597778, 0.402222]
    """
    logs = []
    for colluding in COALITIONS:
        held, missed = (np.log(factor) for factor in factors(probabilities, colluding))
        logs.append(present @ (held - missed) + np.sum(missed))
    return log_mean(np.stack(logs, axis=-1))


def log_e_paths(probabilities: Floats, present: Flags) -> Floats:
    """The logarithm after each hit, in the order of the last axis: for a custodian who looks after every claim."""
    logs = []
    for colluding in COALITIONS:
        held, missed = factors(probabilities, colluding)
        logs.append(np.cumsum(np.where(present, np.log(held), np.log(missed)), axis=-1))
    return log_mean(np.stack(logs, axis=-1))


def log_mean(logs: Floats) -> Floats:
    """The logarithm of the mean over the last axis, of numbers that may be too large to be written out.

    >>> float(log_mean(np.array([1000.0, 1000.0])))
    1000.0
    """
    top = np.max(logs, axis=-1)
    mean: Floats = top + np.log(np.mean(np.exp(logs - top[..., None]), axis=-1))
    return mean


def threshold(recipients: int, alpha: float) -> float:
    """The logarithm of the e-value from which on a recipient is accused: N/alpha."""
    return math.log(recipients) - math.log(alpha)


def posterior(logs: Floats, prior: float) -> Floats:
    """The probability that each recipient is the source, if at most one is.

    `prior` is the probability that a recipient is, before the evidence, shared evenly among them.

    >>> posterior(np.log(np.array([98.0, 1.0])), 0.5).round(3).tolist()
    [0.97, 0.01]
    """
    weighed = logs + math.log(prior / len(logs))
    other = math.log1p(-prior)
    top = max(float(np.max(weighed)), other)
    shares = np.exp(weighed - top)
    chances: Floats = shares / (shares.sum() + math.exp(other - top))
    return chances


@dataclass(frozen=True)
class ClaimOrigin:
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


def origin_of(traceable: Traceable, claims: ClaimsByPlace) -> ClaimOrigin:
    """Hold the claims against chance."""
    marks = traceable.codebook.marks
    hit = np.array(claims.marks, dtype=np.int64)
    decoys = int(marks.decoy[hit].sum())
    links = np.concatenate([marks.links[hit], traceable.links[list(claims.everywhere)]])
    drawn, planted = Counter(bands(links).tolist()), Counter(bands(marks.links[marks.decoy]).tolist())
    classes: Counter[int] = Counter()
    population_links, numbers = traceable.population_links
    for band, number in zip(bands(population_links).tolist(), numbers.tolist(), strict=True):
        classes[band] += number
    # The law of decoys among claims whose link counts are known, and among the others.
    pmf: Floats = np.ones(1)
    for band, number in sorted(drawn.items()):
        if planted[band]:
            whole = max(classes[band], planted[band], number)
            pmf = np.convolve(pmf, hypergeometric(whole, planted[band], number))
    # Half of what a copy holds are decoys only where marks are pairs, as those of bait are not.
    paired = bool((marks.partners != np.arange(len(marks))).any())
    richest = max((number / max(classes[band], number) for band, number in planted.items()), default=0.0)
    pmf = np.convolve(pmf, binomial(claims.nowhere, richest))
    return ClaimOrigin(
        claims=len(claims.marks) + len(claims.everywhere) + claims.nowhere,
        decoys=decoys,
        expected=float(np.arange(len(pmf)) @ pmf),
        p_value=min(1.0, float(pmf[decoys:].sum())),
        own_copy=float(binomial(len(hit), 0.5)[: decoys + 1].sum()) if len(hit) and paired else None,
    )


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
