"""Unusual days: misuse scores of a user far above what is usual for the user and for peers.

A day weighs M_day = (Σ M^x)^(1/x) over its results, as if they were one table; y = log(1 + M_day). Every day is judged
by the user's *other* days and by the *other* users of the role:

    m, s     median and 1.4826 MAD of the n other days
    m_g      median of the P peers' medians
    s_g      1.4826 median |y − own median| over all days of the peers
    τ²       variance between peers' usual days: (P·max(0, (1.4826 MAD of medians)² − π/2·s_g²/n̄) + 3·s_g²) / (P + 3)
    s²       the user's spread, shrunk: (n·s² + 10·s_g²) / (n + 10)
    b        weight of the user's own median: τ² / (τ² + π/2·s²/n)        (π/2·s²/n is the variance of a median of n days)
    centre   b·m + (1 − b)·m_g
    z        (y − centre) / sqrt(s² + (1 − b)·τ²)

This is the empirical Bayes forecast of the user's next day: a newcomer (n = 0) is held against the peers alone, a user
with months of days against those. Where all days of a user are equal (MAD = 0) the spread of the peers steps in; no spread
counts as smaller than 0.05. Days without a result are no observations: they neither alarm nor calm. Only more than
usual is unusual: a small day has a negative z.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.arrays import Floats
from discreet.kernel.serialise import json_of
from discreet.misuse.log import Scored, one_exponent

Who = tuple[str, str]
"""A user in a role."""

THRESHOLD = 3.5
"""From which z on a day is unusual (Iglewicz & Hoaglin 1993)."""
NORMAL = 1.4826
"""Makes a median absolute deviation comparable with a standard deviation."""
SPREAD_DAYS, SPREAD_PEERS = 10, 3
"""How many days, and how many peers, the group's spread counts for."""
SMALLEST = 0.05
CELLS = 1_000_000
"""Numbers that are looked at together."""


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

    to_dict = json_of()


@dataclass(frozen=True)
class Standing:
    """How a user's usual day compares with that of the peers."""

    user: str
    role: str
    days: int
    usual: float
    peers: int
    peers_usual: float
    z: float

    to_dict = json_of()


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

    to_dict = json_of(
        "threshold x sensitivity=versions unusual high",
        days=lambda self: len(self.days),
        users=lambda self: len({one.user for one in self.standings}),
    )


def find_anomalies(results: Iterable[Scored], *, threshold: float = THRESHOLD) -> Anomalies:
    """Anomalies of a log, day by day; what was denied counts, too."""
    log = list(results)
    x = one_exponent(log)
    users: dict[Who, dict[datetime.date, list[Scored]]] = {}
    for result in log:
        users.setdefault((result.user, result.role), {}).setdefault(result.time.date(), []).append(result)
    users = {who: dict(sorted(days.items())) for who, days in sorted(users.items())}
    scores = {who: [day_score(listed, x) for listed in days.values()] for who, days in users.items()}
    levels = {who: np.log1p(np.array(its)) for who, its in scores.items()}
    judged: list[Day] = []
    standings: list[Standing] = []
    peers = Peers.of(levels)
    for who, days in users.items():
        group = peers.group(who)
        centres, z = judge(levels[who], group)
        for place, (day, listed) in enumerate(days.items()):
            rows = sum(result.rows for result in listed)
            usual = math.expm1(max(0.0, float(centres[place])))
            judged.append(Day(*who, day, len(listed), rows, scores[who][place], usual, float(z[place])))
        number, median = len(days), float(np.median(levels[who]))
        if group is None:
            standings.append(Standing(*who, number, math.expm1(median), 0, math.expm1(median), 0.0))
            continue
        own = (NORMAL * _mad(levels[who])) ** 2
        spread = (number * own + SPREAD_DAYS * group.within) / (number + SPREAD_DAYS)
        above = (median - group.centre) / math.sqrt(group.between + math.pi / 2 * spread / number)
        usual, peers_usual = math.expm1(median), math.expm1(group.centre)
        standings.append(Standing(*who, number, usual, group.peers, peers_usual, above))
    return Anomalies(
        tuple(sorted(judged, key=lambda day: (-day.z, day.day, day.user, day.role))),
        tuple(sorted(standings, key=lambda one: (-one.z, one.user, one.role))),
        threshold,
        x,
        tuple(sorted({result.sensitivity for result in log})),
    )


def day_score(results: Sequence[Scored], x: float) -> float:
    """(Σ M^x)^(1/x): the score of results as one table, about different people.

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
    """What is usual for the peers of a user."""

    peers: int
    centre: float
    between: float
    """τ²"""
    within: float
    """s_g²"""


@dataclass(frozen=True, eq=False)
class Pool:
    """Users who may be peers of each other, with what is usual for each."""

    users: NDArray[np.int64]
    """A number per user, one for each role of the user."""
    days: NDArray[np.int64]
    medians: Floats
    residuals: Floats
    """How far each day is from its user's median."""
    owners: NDArray[np.int64]
    """Whose day it is."""

    @classmethod
    def of(cls, levels: Sequence[tuple[int, Floats]]) -> Pool:
        """Those with these numbers and days."""
        users = np.array([user for user, _ in levels], dtype=np.int64)
        days = np.array([len(level) for _, level in levels], dtype=np.int64)
        medians = np.array([np.median(level) for _, level in levels])
        residuals = [np.abs(level - median) for (_, level), median in zip(levels, medians, strict=True)]
        return cls(users, days, medians, np.concatenate(residuals), np.repeat(users, days))

    def without(self, user: int) -> Group | None:
        """What is usual for all but one; None if there is no other user."""
        others = self.users != user
        if not others.any():
            return None
        medians, number = self.medians[others], int(others.sum())
        within = max(SMALLEST, NORMAL * float(np.median(self.residuals[self.owners != user]))) ** 2
        days = float(np.median(self.days[others]))
        seen = (NORMAL * _mad(medians)) ** 2
        between = (number * max(0.0, seen - math.pi / 2 * within / days) + SPREAD_PEERS * within) / (
            number + SPREAD_PEERS
        )
        return Group(number, float(np.median(medians)), between, within)


@dataclass(frozen=True, eq=False)
class Peers:
    """Everybody, and those of each role."""

    numbers: Mapping[str, int]
    everybody: Pool
    roles: Mapping[str, Pool]

    @classmethod
    def of(cls, levels: Mapping[Who, Floats]) -> Peers:
        """Of the levels of all days."""
        numbers = {user: place for place, user in enumerate(dict.fromkeys(user for user, _ in levels))}
        listed = [(role, numbers[user], level) for (user, role), level in levels.items()]
        roles = dict.fromkeys(role for role, _, _ in listed)
        pools = {role: Pool.of([(user, level) for its, user, level in listed if its == role]) for role in roles}
        return cls(numbers, Pool.of([(user, level) for _, user, level in listed]), pools)

    def group(self, who: Who) -> Group | None:
        """The other users of the role; where there are none, all other users."""
        number = self.numbers[who[0]]
        return self.roles[who[1]].without(number) or self.everybody.without(number)


def _mad(numbers: Floats) -> float:
    return float(np.median(np.abs(numbers - np.median(numbers))))


def judge(levels: Floats, group: Group | None) -> tuple[Floats, Floats]:
    """For each day the centre it is held against, and z."""
    if len(levels) == 1 and group is None:
        return levels, np.zeros_like(levels)  # where there is nothing to go by, a day is as it is
    centres, spreads = [], []
    step, others = max(1, CELLS // len(levels)), np.arange(len(levels) - 1)
    for start in range(0, len(levels), step):
        # For each day all other days, as a row each: where the next day is expected, and how far days spread around that.
        days = np.arange(start, min(start + step, len(levels)))
        own = levels[others + (others >= days[:, None])]
        if not own.size and group is not None:
            centres.append(np.array([group.centre]))
            spreads.append(np.array([math.sqrt(max(SMALLEST**2, group.within) + group.between)]))
            continue
        medians = np.median(own, axis=1)
        spread = (NORMAL * np.median(np.abs(own - medians[:, None]), axis=1)) ** 2
        if group is None:
            centres.append(medians)
            spreads.append(np.sqrt(np.maximum(spread, SMALLEST**2) * (1 + math.pi / 2 / len(others))))
            continue
        shrunk = (len(others) * spread + SPREAD_DAYS * group.within) / (len(others) + SPREAD_DAYS)
        spread = np.maximum(SMALLEST**2, shrunk)
        own_weight = group.between / (group.between + math.pi / 2 * spread / len(others))
        centres.append(own_weight * medians + (1 - own_weight) * group.centre)
        spreads.append(np.sqrt(spread + (1 - own_weight) * group.between))
    centre = np.concatenate(centres)
    return centre, (levels - centre) / np.concatenate(spreads)
