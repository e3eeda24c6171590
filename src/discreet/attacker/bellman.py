"""Bellman recursion for many group sizes at once, as far as it is needed.

V_start never grows with the group, so a table ends where nobody starts. An adversary with next to nothing to lose starts
in any group; for him only the sizes asked for are planned, and thresholds are found by halving. That is exact:

- V_start and V_access never grow, so "does not start" and "does not buy" hold from some size on;
- if detection does not fall with the attempts, "stops before the last candidate" does too. After i exploits in a group
  of g he has as many candidates left as after i + 1 in one of g + 1, each at least as likely to be the target and at
  most as likely to be detected. So what is worth trying there is worth trying here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache, cached_property

import numpy as np
from numpy.polynomial.legendre import leggauss

from discreet.attacker.parameters import PLANNED, Parameters
from discreet.errors import UsageError
from discreet.kernel.arrays import Flags, Floats, Ints
from discreet.kernel.serialise import card


# The plan for many group sizes at once: the reduced Bellman recursion as one table.
#
# With g candidates, i of them tried and j penalties charged (one due now included), the next exploit is worth
# Q_j(i) = -C_e + gamma [s_i G - d_i C_p 1{j<n_f} + (1-s_i)((1-d_i) W_j(i+1) + d_i W_min(j+1,n_f)(i+1))] with
# s_i = 1/(g/p - i), W = max(0, Q) and W_j(g) = 0. Columns of the table are group sizes; it is filled by candidates
# that remain, r = g - i, so that one step of numpy serves all sizes of at least r.
#
# Where every exploit risks the same fine, the recursion has a closed form (`_all_or_nothing`).
@dataclass(frozen=True, eq=False)
class PlanTable:
    """What the adversary does once he has linked, for each of some group sizes."""

    sizes: Ints
    start: Floats
    """V_start: what the first exploit is worth, 0 if he does not try."""
    access: Floats
    """V_access: what having the external table is worth, 0 for an empty group."""
    exploits: Ints
    """Exploits on the way on which he is never detected and never right; none if linking does not pay."""
    success: Floats
    """Probability that the plan, once begun, ends in success."""
    tries: Floats
    """Expected exploits."""
    penalties: Floats
    """Expected penalties."""

    @classmethod
    def of(cls, parameters: Parameters, sizes: Ints) -> PlanTable:
        """Plan for these sizes, which rise."""
        parameters = parameters.within(int(sizes.max(initial=0)))
        plan = _all_or_nothing if parameters.risks_the_same_at_every_exploit else _backwards
        start, path, success, tries, penalties = plan(parameters, sizes)
        access = np.maximum(0, -parameters.link_cost + parameters.discount * start) * (sizes > 0)
        return cls(sizes, start, access, (path * (access > 0)).astype(np.int64), success, tries, penalties)

    def at(self, places: Ints) -> PlanTable:
        """Some of its columns."""
        return PlanTable(*(getattr(self, field.name)[places] for field in fields(self)))


def _all_or_nothing(p: Parameters, sizes: Ints) -> tuple[Floats, ...]:
    """The plan where each exploit risks the same: he tries everybody or nobody.

    After i failures he is still there with probability 1 - i p/g, so that m exploits are worth
    sum_{i<m} gamma^i (1 - i p/g) [gamma (s_i G - d C_p) - C_e]. The bracket rises with i, so the best m is 0 or g.
    """
    plain, rising = discounted(p.discount, sizes)
    share = p.prior / np.maximum(sizes, 1)
    caught = float(p.detection(np.zeros(1, dtype=np.int64))[0])
    burden = p.exploit_cost + p.discount * caught * float(p.penalties[0])
    worth = p.discount * share * p.gain * plain - burden * (plain - share * rising)
    goes = worth > 0
    tries: Floats = goes * (sizes - share * (sizes * (sizes - 1.0) / 2))
    charged: Floats = caught * tries
    if p.detection_slope != 0:
        seen, later = detections(p, sizes)
        charged = np.where(goes, seen - share * later, 0.0)
    if p.max_penalties is not None:
        charged = np.zeros(len(sizes))
    path: Floats = np.where(goes, sizes, 0).astype(np.float64)
    success: Floats = np.where(goes, p.prior, 0.0)
    return np.maximum(worth, 0), path, success, tries, charged


def _backwards(p: Parameters, sizes: Ints) -> tuple[Floats, ...]:
    """The recursion from the last candidate on; the expectations follow the plan undiscounted (equation 5)."""
    most = int(sizes.max(initial=0))
    worth = np.zeros((p.levels, len(sizes)))
    ahead = np.zeros((4, p.levels, len(sizes)))  # path, success, tries, penalties
    detection, fine = p.detection(np.arange(most)), p.penalties[:, None]
    charged = p.chargeable[:, None]
    first = np.searchsorted(sizes, np.arange(most + 1))
    for left in range(1, most + 1):
        inside = slice(first[left], None)
        tried = sizes[inside] - left
        right, caught = 1 / (sizes[inside] / p.prior - tried), detection[tried]
        now = right * p.gain - caught * fine + _then(worth[:, inside], right, caught)
        now = p.discount * now - p.exploit_cost
        reached = _then(ahead[1:, :, inside], right, caught)
        reached[0] += right
        reached[1] += 1
        reached[2] += caught * charged
        acts = now > 0
        ahead[0, :, inside] = (ahead[0, :, inside] + 1) * acts
        ahead[1:, :, inside] = reached * acts
        worth[:, inside] = np.maximum(now, 0)
    return worth[0], *ahead[:, 0]


def _then(ahead: Floats, right: Floats, caught: Floats) -> Floats:
    """What is ahead after a failure: undetected, or detected with one more penalty charged."""
    if ahead.shape[-2] == 1:
        return np.asarray((1 - right) * ahead)
    after = np.concatenate([ahead[..., 1:, :], ahead[..., -1:, :]], axis=-2)
    return np.asarray((1 - right) * (ahead + caught * (after - ahead)))


FIRST = 64
"""Sizes in the first table; it is doubled until nobody starts."""
NEAR = 2**20
"""Entries (sizes times sizes times numbers of penalties) of a table that is worth having whole."""
MOST, MOST_BY_FORMULA = 2**13, 2**20
"""The largest size at which thresholds are looked for, and where there is a closed form."""
PROBES = 64
"""Sizes planned together when one is looked for."""

Marked = Callable[[PlanTable], Flags]


@dataclass(frozen=True)
class Thresholds:
    """Group sizes from which the adversary decides otherwise; None where that is not so up to 8,192 people.

    Where every exploit risks the same, there is a closed form, and it is 1,048,576 people.
    """

    stops_early: int | None
    """The smallest group in which they stop before the last candidate."""
    no_access: int | None
    """The smallest group for which they do not buy the external table."""
    no_exploit: int | None
    """The smallest group which they leave alone even with the table in hand."""

    def _repr_html_(self) -> str:
        sizes = (("Stops early from", self.stops_early), ("Does not buy the list from", self.no_access),
                 ("Does not start from", self.no_exploit))  # fmt: skip
        rows = [(words, "never" if size is None else f"{size:,}") for words, size in sizes]
        return card("How many people must look alike before the attacker decides otherwise:", rows)


@dataclass(frozen=True, eq=False)
class Horizon:
    """The plans of one adversary, as far as they are needed."""

    parameters: Parameters

    @property
    def farthest(self) -> int:
        """The largest group at which thresholds are looked for."""
        return MOST_BY_FORMULA if self.parameters.risks_the_same_at_every_exploit else MOST

    @cached_property
    def near(self) -> PlanTable:
        """All sizes up to where nobody starts, or up to as many as are cheap."""
        most = FIRST
        while True:
            table = self._table(np.arange(most + 1))
            if table.start[-1] <= 0 or most * most * self.parameters.within(most).levels >= NEAR:
                return table
            most *= 2

    @cached_property
    def nobody_starts_from(self) -> int | None:
        """The smallest group that he does not try even with the tables linked; None if he tries the largest planned."""
        return self._first(lambda table: table.start <= 0)

    def plans(self, sizes: Ints) -> PlanTable:
        """The plan for each of these sizes; groups too large to be attacked are not planned through."""
        largest = int(sizes.max(initial=0))
        if largest < FIRST and "near" not in self.__dict__:
            return self._table(np.arange(largest + 1)).at(sizes)
        near = self.near
        if self._ends(near) or largest < len(near.sizes):
            return near.at(np.minimum(sizes, len(near.sizes) - 1))
        distinct, place = np.unique(np.minimum(sizes, self._enough(largest)), return_inverse=True)
        return self._table(distinct).at(place)

    def clipped(self, sizes: Ints) -> Ints:
        """These sizes, but one that nobody attacks in place of larger ones that nobody attacks; to be gone through."""
        largest = int(sizes.max(initial=0))
        if largest < FIRST:
            return sizes
        enough = len(self.near.sizes) - 1 if self._ends(self.near) else self._enough(largest)
        if min(enough, largest) > PLANNED:
            raise too_large("take smaller groups")
        return np.minimum(sizes, enough)

    def thresholds(self) -> Thresholds:
        """The group sizes from which he stops early, does not buy, does not exploit with the table in hand."""
        p = self.parameters
        at_once = p.detection_slope >= 0 or not p.penalty
        return Thresholds(
            (self._first if at_once else self._first_of_all)(lambda table: table.exploits < table.sizes),
            self._first(lambda table: p.discount * table.access <= p.access_cost),
            self._first(lambda table: table.access <= 0),
        )

    def _enough(self, largest: int) -> int:
        """A size that stands for all larger ones, because nobody starts there; or the largest itself."""
        for rung in self._rungs(largest):
            if self._ends(self._rung(rung)):
                return rung
        if largest > PLANNED and not self.parameters.risks_the_same_at_every_exploit:
            raise too_large("set max_penalties to None or 0 with detection_slope 0")
        return largest

    def _first(self, marked: Marked) -> int | None:
        """The smallest size that is marked, where all larger ones are marked too."""
        places = np.flatnonzero(marked(self.near)[1:])
        if len(places):
            return 1 + int(places[0])
        low = len(self.near.sizes) - 1
        for high in self._rungs():
            if not marked(self._rung(high))[0]:
                low = high
                continue
            # Between `low`, which is not marked, and `high`, which is.
            while high - low > 1:
                probes = np.unique(np.linspace(low, high, PROBES + 1).astype(np.int64))[1:]
                place = int(np.argmax(marked(self._table(probes))))
                low, high = (low if place == 0 else int(probes[place - 1])), int(probes[place])
            return high
        return None

    def _first_of_all(self, marked: Marked) -> int | None:
        """The smallest size that is marked, whatever larger ones are."""
        step = len(self.near.sizes)
        for begin in range(0, 1 if self._ends(self.near) else MOST + 1, step):
            sizes = np.arange(max(begin, 1), min(begin + step, MOST + 1))
            places = np.flatnonzero(marked(self._table(sizes)))
            if len(places):
                return int(sizes[places[0]])
        return None

    def _rungs(self, largest: int | None = None) -> Iterator[int]:
        """Sizes beyond the near table, each twice the one before, up to one above `largest`."""
        rung = 2 * (len(self.near.sizes) - 1)
        while rung <= self.farthest and (largest is None or rung < largest):
            yield rung
            rung *= 2

    @cached_property
    def _rung(self) -> Callable[[int], PlanTable]:
        """The plan for one size, made once."""
        return cache(lambda size: self._table(np.array([size])))

    def _table(self, sizes: Ints) -> PlanTable:
        return PlanTable.of(self.parameters, sizes)

    @staticmethod
    def _ends(table: PlanTable) -> bool:
        return bool(table.start[-1] <= 0)


def too_large(otherwise: str) -> UsageError:
    """He attacks groups so large that planning through them would take too long."""
    return UsageError(
        f"This adversary attacks even groups of {MOST:,}, and one of more than {PLANNED:,} is too large to plan.",
        remedy=f"Give the attacker a cost per exploit, or {otherwise}.",
    )


# Sums over the exploits of a long way through all candidates: added up as far as that is cheap, by formula beyond.
#
# The first `ADDED` terms are added one by one. What comes after them is smooth: powers of the discount have closed forms, and
# a logistic curve is constant beyond some point and so slow before it that its integral stands for the sum.
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
            # Both sums over i < n, by their closed forms; where these would lose digits, by the series in log gamma.
            log = math.log(discount)
            n = float(sizes[place])
            if -log * n < 1e-4:
                i, squares, cubes = n * (n - 1) / 2, (n - 1) * n * (2 * n - 1) / 6, (n * (n - 1) / 2) ** 2
                plain[place] = n + log * i + log * log * squares / 2
                rising[place] = i + log * squares + log * log * cubes / 2
            else:
                left, gone = -math.expm1(log * n), -math.expm1(log)
                plain[place] = left / gone
                rising[place] = (math.exp(log) * left / gone - n * math.exp(log * n)) / gone
    return plain, rising


def detections(p: Parameters, sizes: Ints) -> tuple[Floats, Floats]:
    """The sums of d(i) and of i d(i) over i below each size, where d is the chance that exploit i is detected."""
    steps = np.arange(min(int(sizes.max(initial=0)), ADDED))
    caught = p.detection(steps)
    plain, rising = (_added(part, sizes) for part in (caught, steps * caught))
    for place in np.flatnonzero(sizes > ADDED):
        # Up to the bend the integrals of d(x) and x d(x) by quadrature, each term in the middle; a constant from there on.
        end = int(sizes[place])
        flat = (math.copysign(FLAT, p.detection_slope) - p.detection_intercept) / p.detection_slope
        bend = end if flat >= end else math.ceil(max(flat, ADDED))
        begin = ADDED - 0.5
        if bend - 0.5 > begin:
            panels = max(1, math.ceil(abs(p.detection_slope) * (bend - 0.5 - begin) / PANEL))
            half = (bend - 0.5 - begin) / panels / 2
            middles = begin + half * (2 * np.arange(panels) + 1)
            points = (middles[:, None] + half * NODES[None, :]).ravel()
            terms = half * np.tile(WEIGHTS, panels) * p.detection(points)
            integrals = float(terms.sum()), float((points * terms).sum())
        else:
            integrals = 0.0, 0.0
        level = float(p.detection(np.array([bend]))[0])
        plain[place] += integrals[0] + level * (end - bend)
        rising[place] += integrals[1] + level * (end - bend) * (end + bend - 1) / 2
    return plain, rising


def _added(terms: Floats, sizes: Ints) -> Floats:
    return np.asarray(np.concatenate([[0.0], np.cumsum(terms)])[np.minimum(sizes, len(terms))])
