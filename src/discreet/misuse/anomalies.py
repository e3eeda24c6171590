"""Unusual days: how far a user's misuse score on a day is above what is usual for her and for her peers.

A day weighs M_day = (Σ M^x)^(1/x) over its results, as if they were one table; y = log(1 + M_day). Every day is judged
by the user's *other* days and by the *other* users of her role:

    m, s     median and 1.4826 MAD of her n other days
    m_g      median of her P peers' medians
    s_g      1.4826 median |y − own median| over all days of her peers
    τ²       variance between peers' usual days: (P·max(0, (1.4826 MAD of medians)² − π/2·s_g²/n̄) + 3·s_g²) / (P + 3)
    s²       her spread, shrunk: (n·s² + 10·s_g²) / (n + 10)
    b        weight of her own median: τ² / (τ² + π/2·s²/n)        (π/2·s²/n is the variance of a median of n days)
    centre   b·m + (1 − b)·m_g
    z        (y − centre) / sqrt(s² + (1 − b)·τ²)

This is the empirical Bayes forecast of her next day: a newcomer (n = 0) is held against her peers alone, somebody with
months of days against herself. Where all her days are equal (MAD = 0) the spread of her peers steps in; no spread
counts as smaller than 0.05. Days without a result are no observations: they neither alarm nor calm. Only more than
usual is unusual: a small day has a negative z.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.misuse.log import Scored, one_exponent

Floats = NDArray[np.float64]
Who = tuple[str, str]
"""A user in a role."""

THRESHOLD = 3.5
"""From which z on a day is unusual (Iglewicz & Hoaglin 1993)."""
NORMAL = 1.4826
"""Makes a median absolute deviation comparable with a standard deviation."""
SPREAD_DAYS, SPREAD_PEERS = 10, 3
"""How many days, and how many peers, the group's spread counts for."""
SMALLEST = 0.05


@dataclass(frozen=True)
class Day:
    """One user's day in one role."""

    user: str
    role: str
    day: datetime.date
    results: int
    rows: int
    score: float
    usual: float
    """The score that was to be expected."""
    z: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {**vars(self), "day": self.day.isoformat()}


@dataclass(frozen=True)
class Standing:
    """How a user's usual day compares with that of her peers."""

    user: str
    role: str
    days: int
    usual: float
    peers: int
    peers_usual: float
    z: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class Anomalies:
    """Every day of a log, the most unusual first."""

    days: tuple[Day, ...]
    standings: tuple[Standing, ...]
    threshold: float
    x: float
    versions: tuple[str, ...]
    """The versions of f that scores were made with: with more than one they compare badly."""

    @property
    def unusual(self) -> tuple[Day, ...]:
        """Days above the threshold."""
        return tuple(day for day in self.days if day.z > self.threshold)

    @property
    def high(self) -> tuple[Standing, ...]:
        """Users whose usual day is far above that of their peers."""
        return tuple(one for one in self.standings if one.z > self.threshold)

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "days": len(self.days),
            "users": len({one.user for one in self.standings}),
            "threshold": self.threshold,
            "x": "inf" if math.isinf(self.x) else self.x,
            "sensitivity": list(self.versions),
            "unusual": [day.to_dict() for day in self.unusual],
            "high": [one.to_dict() for one in self.high],
        }


def find_anomalies(results: Iterable[Scored], *, threshold: float = THRESHOLD) -> Anomalies:
    """Judge every day of a log. What was denied counts too: it was asked for."""
    found = list(results)
    x = one_exponent(found)
    together = _by_day(found)
    scores = {who: {day: day_score(listed, x) for day, listed in days.items()} for who, days in together.items()}
    levels = {who: np.log1p(np.array(list(days.values()))) for who, days in scores.items()}
    judged: list[Day] = []
    standings: list[Standing] = []
    for who, days in together.items():
        group = peers_of(who, levels)
        centres, z = judge(levels[who], group)
        for place, (day, listed) in enumerate(days.items()):
            rows = sum(one.rows for one in listed)
            usual = math.expm1(max(0.0, float(centres[place])))
            judged.append(Day(*who, day, len(listed), rows, scores[who][day], usual, float(z[place])))
        standings.append(_standing(who, levels[who], group))
    return Anomalies(
        tuple(sorted(judged, key=lambda day: (-day.z, day.day, day.user, day.role))),
        tuple(sorted(standings, key=lambda one: (-one.z, one.user, one.role))),
        threshold,
        x,
        tuple(sorted({one.sensitivity for one in found})),
    )


def _by_day(results: Sequence[Scored]) -> dict[Who, dict[datetime.date, list[Scored]]]:
    together: dict[Who, dict[datetime.date, list[Scored]]] = {}
    for one in results:
        together.setdefault((one.user, one.role), {}).setdefault(one.time.date(), []).append(one)
    return {who: dict(sorted(days.items())) for who, days in sorted(together.items())}


def day_score(results: Sequence[Scored], x: float) -> float:
    """(Σ M^x)^(1/x): what the results weigh as one table, if they are about different people.

    >>> from discreet.misuse.generated import sample
    >>> round(day_score([sample(score=3.0), sample(score=4.0)], 2.0), 6)
    5.0
    """
    scores = np.array([one.score for one in results])
    largest = float(scores.max())
    if math.isinf(x) or largest == 0:
        return largest
    return float(largest * np.sum((scores / largest) ** x) ** (1 / x))


@dataclass(frozen=True)
class Group:
    """What is usual for the peers of somebody."""

    peers: int
    centre: float
    between: float
    """τ²"""
    within: float
    """s_g²"""


def peers_of(who: Who, levels: Mapping[Who, Floats]) -> Group | None:
    """The other users of the role; where there are none, all other users."""
    others = [level for other, level in levels.items() if other[0] != who[0] and other[1] == who[1]]
    others = others or [level for other, level in levels.items() if other[0] != who[0]]
    if not others:
        return None
    medians = np.array([np.median(level) for level in others])
    residuals = np.concatenate([np.abs(level - median) for level, median in zip(others, medians, strict=True)])
    within = max(SMALLEST, NORMAL * float(np.median(residuals))) ** 2
    days = float(np.median([len(level) for level in others]))
    seen = (NORMAL * _mad(medians)) ** 2
    between = (len(others) * max(0.0, seen - math.pi / 2 * within / days) + SPREAD_PEERS * within) / (
        len(others) + SPREAD_PEERS
    )
    return Group(len(others), float(np.median(medians)), between, within)


def _mad(numbers: Floats) -> float:
    return float(np.median(np.abs(numbers - np.median(numbers))))


def judge(levels: Floats, group: Group | None) -> tuple[Floats, Floats]:
    """For each day the centre it is held against, and z."""
    found = [_forecast(np.delete(levels, place), group) for place in range(len(levels))]
    centres = np.array([level if one is None else one[0] for one, level in zip(found, levels, strict=True)])
    spreads = np.array([1.0 if one is None else one[1] for one in found])
    return centres, (levels - centres) / spreads


def _forecast(own: Floats, group: Group | None) -> tuple[float, float] | None:
    """Where the next day lies, and how far days spread around that; None where there is nothing to go by."""
    days = len(own)
    if group is None and not days:
        return None
    spread = (NORMAL * _mad(own)) ** 2 if days else 0.0
    if group is None:
        return float(np.median(own)), math.sqrt(max(spread, SMALLEST**2) * (1 + math.pi / 2 / days))
    spread = max(SMALLEST**2, (days * spread + SPREAD_DAYS * group.within) / (days + SPREAD_DAYS))
    if not days:
        return group.centre, math.sqrt(spread + group.between)
    own_weight = group.between / (group.between + math.pi / 2 * spread / days)
    centre = own_weight * float(np.median(own)) + (1 - own_weight) * group.centre
    return centre, math.sqrt(spread + (1 - own_weight) * group.between)


def _standing(who: Who, levels: Floats, group: Group | None) -> Standing:
    median = float(np.median(levels))
    if group is None:
        return Standing(*who, len(levels), math.expm1(median), 0, math.expm1(median), 0.0)
    spread = (len(levels) * (NORMAL * _mad(levels)) ** 2 + SPREAD_DAYS * group.within) / (len(levels) + SPREAD_DAYS)
    z = (median - group.centre) / math.sqrt(group.between + math.pi / 2 * spread / len(levels))
    return Standing(*who, len(levels), math.expm1(median), group.peers, math.expm1(group.centre), z)
