"""How strongly hits on marks speak against a recipient: e-values, and why they are ones.

A claim hits mark j, which a copy holds with the secret probability p_j. For a recipient with bit x (does its copy hold
the mark?) and a coalition of c recipients the hit is weighed by

    c = 1:     x = 1 -> 0.98 / p,            x = 0 -> 0.02 / (1 - p)
    c = 2, 3:  x = 1 -> 1 + (1 - p)/(c p),   x = 0 -> 1 - 1/c

and the e-value is the mean over c of the product over all hit marks.

**Null.** The recipient is innocent: given the secret probabilities, its bits were drawn independently of everything
that led to the claims (whoever made them, whatever other copies he had, in whatever order, however he chose).

**Why it is an e-value.** Under the null, and given the claims, each bit is 1 with probability p, so that a factor has
expectation p (0.98/p) + (1 - p)(0.02/(1 - p)) = 1 for c = 1, and p + (1 - p)/c + (1 - p) - (1 - p)/c = 1 for c > 1.
Bits of different marks are independent, so a product of factors has expectation 1, and so has the mean of three such
products. As claims come in, the mean is a non-negative martingale: by Ville's inequality it ever reaches N/alpha with
probability at most alpha/N, and over N innocent recipients anybody is accused with probability at most alpha, whenever
one looks. Products over incidents that hit different marks are e-values for the same reason.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.kernel.arrays import Flags, Floats

COALITIONS = (1, 2, 3)
TRUST = 0.98
"""How far the hit of a single leaker is trusted to come from his copy; the rest: he had the person from elsewhere."""


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
    logs = [_products(probabilities, present, colluding) for colluding in COALITIONS]
    return log_mean(np.stack(logs, axis=-1))


def log_e_paths(probabilities: Floats, present: Flags) -> Floats:
    """The same after each hit, in the order of the last axis: what somebody sees who looks after every claim."""
    logs = [np.cumsum(_logs(probabilities, present, colluding), axis=-1) for colluding in COALITIONS]
    return log_mean(np.stack(logs, axis=-1))


def _products(probabilities: Floats, present: Flags, colluding: int) -> Floats:
    held, missed = (np.log(factor) for factor in factors(probabilities, colluding))
    summed: Floats = present @ (held - missed) + np.sum(missed)
    return summed


def _logs(probabilities: Floats, present: Flags, colluding: int) -> Floats:
    held, missed = factors(probabilities, colluding)
    logs: Floats = np.where(present, np.log(held), np.log(missed))
    return logs


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

    `prior` is the probability that a recipient is, before the evidence, shared evenly among them; the rest is that
    somebody else is, or nobody.

    >>> posterior(np.log(np.array([98.0, 1.0])), 0.5).round(3).tolist()
    [0.97, 0.01]
    """
    weighed = logs + math.log(prior / len(logs))
    other = math.log1p(-prior)
    top = max(float(np.max(weighed)), other)
    shares = np.exp(weighed - top)
    found: Floats = shares / (shares.sum() + math.exp(other - top))
    return found
