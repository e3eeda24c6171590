"""Sums over the exploits of a long way through all candidates: added up as far as that is cheap, by formula beyond.

The first `ADDED` terms are added one by one. What comes after them is smooth: powers of the discount have closed forms, and
a logistic curve is constant beyond some point and so slow before it that its integral stands for the sum.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial.legendre import leggauss

from discreet.attacker.parameters import Parameters
from discreet.kernel.arrays import Floats, Ints

ADDED = 2**20
"""Terms that are added one by one."""
NOTHING = -746.0
"""Natural logarithm of what a double takes for zero."""
FLAT = 700.0
"""Log-odds beyond which the chance of detection is taken for constant."""
PANEL = 1.0
"""Widest change of the log-odds over which one rule of quadrature is used."""
NODES, WEIGHTS = leggauss(12)


def discounted(discount: float, sizes: Ints) -> tuple[Floats, Floats]:
    """The sums of gamma^i and of i gamma^i over i below each size."""
    if discount == 1:
        return sizes.astype(np.float64), sizes * (sizes - 1.0) / 2
    lost = math.ceil(NOTHING / math.log(discount))
    steps = np.arange(min(int(sizes.max(initial=0)), lost, ADDED))
    weights = discount ** steps.astype(np.float64)
    plain, rising = (_added(part, sizes) for part in (weights, steps * weights))
    if lost > ADDED:
        for place in np.flatnonzero(sizes > ADDED):
            plain[place], rising[place] = _of_powers(math.log(discount), float(sizes[place]))
    return plain, rising


def detections(p: Parameters, sizes: Ints) -> tuple[Floats, Floats]:
    """The sums of d(i) and of i d(i) over i below each size, where d is the chance that exploit i is detected."""
    steps = np.arange(min(int(sizes.max(initial=0)), ADDED))
    caught = p.detection(steps)
    plain, rising = (_added(part, sizes) for part in (caught, steps * caught))
    for place in np.flatnonzero(sizes > ADDED):
        more = _of_detections(p, ADDED, int(sizes[place]))
        plain[place] += more[0]
        rising[place] += more[1]
    return plain, rising


def _added(terms: Floats, sizes: Ints) -> Floats:
    found: Floats = np.concatenate([[0.0], np.cumsum(terms)])[np.minimum(sizes, len(terms))]
    return found


def _of_powers(log: float, n: float) -> tuple[float, float]:
    """Both sums over i < n, by their closed forms; where these would lose digits, by the series in log gamma."""
    if -log * n < 1e-4:
        i, squares, cubes = n * (n - 1) / 2, (n - 1) * n * (2 * n - 1) / 6, (n * (n - 1) / 2) ** 2
        return n + log * i + log * log * squares / 2, i + log * squares + log * log * cubes / 2
    left, gone = -math.expm1(log * n), -math.expm1(log)
    return left / gone, (math.exp(log) * left / gone - n * math.exp(log * n)) / gone


def _of_detections(p: Parameters, begin: int, end: int) -> tuple[float, float]:
    """The sums of d(i) and of i d(i) over begin <= i < end, of a slope that is not zero."""
    flat = (math.copysign(FLAT, p.detection_slope) - p.detection_intercept) / p.detection_slope
    bend = end if flat >= end else math.ceil(max(flat, begin))
    plain, rising = _integral(p, begin - 0.5, bend - 0.5)
    level = float(p.detection(np.array([bend]))[0])
    return plain + level * (end - bend), rising + level * (end - bend) * (end + bend - 1) / 2


def _integral(p: Parameters, begin: float, end: float) -> tuple[float, float]:
    """The integrals of d(x) and x d(x): what the sums over the whole numbers between come to, each in its middle."""
    if end <= begin:
        return 0.0, 0.0
    panels = max(1, math.ceil(abs(p.detection_slope) * (end - begin) / PANEL))
    half = (end - begin) / panels / 2
    middles = begin + half * (2 * np.arange(panels) + 1)
    places = (middles[:, None] + half * NODES[None, :]).ravel()
    terms = half * np.tile(WEIGHTS, panels) * p.detection(places)
    return float(terms.sum()), float((places * terms).sum())
