"""Plan as a piecewise-linear function of penalty or gain, with exact breakpoints.

Under a fixed plan everything is worth a line in the amount. So lines (constant and slope) go through the recursion of
`discreet.attacker.bellman` instead of numbers; a plan holds until the first line of an act that he would really come to
falls to 0. More penalty, or less gain, never makes him act where he did not: each act stops paying at one amount and
pays never again. Hence the risk is a step function, and hopping from end to end finds every step.

The amount runs in the direction in which he does less: it is the penalty itself, or minus the gain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from discreet.attacker.optimal_plan import Planner
from discreet.attacker.parameters import Parameters
from discreet.kernel.arrays import Flags, Floats, Ints

Along = Literal["penalty", "gain"]

SLACK = 1e-13
"""An end closer than this (relative) counts as reached, so that rounding cannot hold a hop in its place."""
AMOUNTS = tuple(field.name for field in fields(Parameters) if field.name != "max_penalties")
"""Parameters that can differ from adversary to adversary."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """What many adversaries do, one entry each."""

    constant: Floats
    slope: Floats
    """What buying the table is worth (V0_raw), as a line in the amount."""
    risk: Floats
    """Probability of a re-identification."""
    end: Floats
    """The amount at which he next does less than here; infinite if he never does."""

    @classmethod
    def of(
        cls,
        parameters: Parameters,
        sizes: Ints,
        *,
        along: Along = "penalty",
        at: Floats | None = None,
        slack: float = 0.0,
        varied: Mapping[str, Floats] | None = None,
    ) -> Pieces:
        """One adversary per size; `varied` are parameters which differ among them, `at` the amounts to look at."""
        most = int(sizes.max(initial=0))
        adversaries = _Adversaries.of(parameters.within(most), sizes, along, at, slack, varied or {})
        nothing = np.zeros((len(adversaries.fined), len(sizes)))
        ahead: _Ahead = (nothing, nothing, nothing, np.full(nothing.shape, np.inf))
        for left in range(1, most + 1):
            ahead = adversaries.exploit(ahead, left)
        return adversaries.buy(ahead)


_Ahead = tuple[Floats, Floats, Floats, Floats]
"""By penalties charged and adversary: constant and slope of a line, the chance of success, the end of the plan."""


@dataclass(frozen=True, eq=False)
class _Adversaries:
    """Their parameters as arrays."""

    sizes: Ints
    p: dict[str, Floats]
    fined: Floats
    """1 where a detection is charged, by penalties charged before."""
    gain: tuple[Any, Any]
    penalty: tuple[Any, Any]
    """Gain and penalty as lines in the amount: constant and slope."""
    at: Floats
    beyond: Floats
    """An act whose line falls to 0 before here is not taken any more."""

    @classmethod
    def of(
        cls, p: Parameters, sizes: Ints, along: Along, at: Floats | None, slack: float, varied: Mapping[str, Floats]
    ) -> _Adversaries:
        values = {name: np.broadcast_to(varied.get(name, getattr(p, name)), sizes.shape) for name in AMOUNTS}
        fined = p.chargeable.astype(np.float64)[:, None]
        gain: tuple[Any, Any] = (values["gain"], 0.0) if along == "penalty" else (0.0, -1.0)
        penalty: tuple[Any, Any] = (0.0, 1.0) if along == "penalty" else (values["penalty"], 0.0)
        place = values["penalty"] if along == "penalty" else -values["gain"]
        place = place if at is None else at
        beyond = np.where(np.isinf(place), place, place + slack * np.abs(np.where(np.isinf(place), 0.0, place)))
        return cls(sizes, values, fined, gain, penalty, place, beyond)

    def exploit(self, ahead: _Ahead, left: int) -> _Ahead:
        """One candidate earlier."""
        p, sizes = self.p, self.sizes
        tried = np.maximum(sizes - left, 0)
        right = 1 / np.maximum(sizes / p["prior"] - tried, 1.0)
        with np.errstate(over="ignore"):
            caught = 1 / (1 + np.exp(-(p["detection_intercept"] + p["detection_slope"] * tried)))

        def worth(part: int, later: Floats) -> Floats:
            now = right * self.gain[part] - caught * self.penalty[part] * self.fined
            return np.asarray(p["discount"] * (now + _then(later, right, caught)))

        constant, slope = worth(0, ahead[0]) - p["exploit_cost"], worth(1, ahead[1])
        acts, root = self._decide(constant, slope)
        success = right + _then(ahead[2], right, caught)
        end = np.where(acts, np.minimum(root, np.minimum(ahead[3], _one_more(ahead[3]))), np.inf)
        now = (acts * constant, acts * slope, acts * success, end)
        outside = sizes < left
        constant, slope, success, end = (np.where(outside, old, new) for old, new in zip(ahead, now, strict=True))
        return constant, slope, success, end

    def buy(self, ahead: _Ahead) -> Pieces:
        """The link, and before it the access."""
        discount, (constant, slope, success, plan_end) = self.p["discount"], (part[0] for part in ahead)
        constant, slope = discount * constant - self.p["link_cost"], discount * slope
        links, link_end = self._decide(constant, slope)
        constant, slope = discount * links * constant - self.p["access_cost"], discount * links * slope
        accesses, access_end = self._decide(constant, slope)
        end = np.minimum(np.minimum(access_end, link_end), plan_end)
        return Pieces(constant, slope, accesses * success, np.where(accesses, end, np.inf))

    def _decide(self, constant: Floats, slope: Floats) -> tuple[Flags, Floats]:
        """He acts only where it is worth strictly more than 0; and the amount at which it is no more."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            root = np.where(slope < 0, constant / -slope, np.where(constant > 0, np.inf, -np.inf))
            worth = np.where(slope < 0, constant + slope * self.at, constant)
        return np.asarray((worth > 0) & (root > self.beyond)), root


def _one_more(ahead: Floats) -> Floats:
    return np.concatenate([ahead[1:], ahead[-1:]])


def _then(ahead: Floats, right: Floats, caught: Floats) -> Floats:
    """What is ahead after a failure: undetected, or detected with one more penalty charged."""
    return np.asarray((1 - right) * ((1 - caught) * ahead + caught * _one_more(ahead)))


@dataclass(frozen=True, eq=False)
class Steps:
    """The risk of one group as a step function: `risks[k]` from amount `starts[k]` on, and falling."""

    starts: Floats
    risks: Floats

    def at(self, amounts: Floats) -> Floats:
        """The risk at some amounts, none before the first start."""
        return np.asarray(self.risks[np.searchsorted(self.starts, amounts, side="right") - 1])


def steps(parameters: Parameters, sizes: Sequence[int] | Ints, along: Along, *, start: float = 0.0) -> list[Steps]:
    """Every step for each size: from a penalty of `start` up, or from an infinite gain down."""
    groups = np.asarray(sizes, dtype=np.int64)
    amounts, waiting = np.full(len(groups), start if along == "penalty" else -np.inf), np.arange(len(groups))
    by_group: list[tuple[list[float], list[float]]] = [([], []) for _ in groups]
    while len(waiting):
        here = Pieces.of(parameters, groups[waiting], along=along, at=amounts[waiting], slack=SLACK)
        for place, risk in zip(waiting.tolist(), here.risk.tolist(), strict=True):
            starts, risks = by_group[place]
            if not risks or risk != risks[-1]:
                starts.append(float(amounts[place]))
                risks.append(risk)
        amounts[waiting] = here.end
        waiting = waiting[np.isfinite(here.end)]
    return [Steps(np.array(starts), np.array(risks)) for starts, risks in by_group]


# The densities at which an adversary who does not know the group buys the external table: one interval.
LOWEST, HIGHEST = 1e-4, 1e4
"""Numbers of people expected to look alike between which the interval is looked for."""
GRID = 400
CLOSE = 1e-9


def gamble_values(attack: Planner, expected: Floats, people: int) -> Floats:
    """What buying is worth where so many of so many people are expected to look alike."""
    return attack.unknown(expected / people, people, np.ones(len(expected), dtype=np.int64)).value_raw


def buying(attack: Planner, people: int) -> tuple[float, float] | None:
    """The fewest and the most people expected to look alike at which he still buys; None if he never does.

    >>> from discreet.attacker import Attack
    >>> his = Attack(prior=0.63, gain=8000, access_cost=100, link_cost=0, exploit_cost=10, penalty=10000, max_penalties=1)
    >>> [round(end, 2) for end in buying(his, 6_018_999)]
    [0.03, 49.13]
    """
    grid = np.geomspace(LOWEST, min(HIGHEST, people / 2), GRID)
    pays = gamble_values(attack, grid, people) > 0
    if not pays.any():
        return None
    first, last = int(np.argmax(pays)), GRID - 1 - int(np.argmax(pays[::-1]))

    def buys(expected: float) -> bool:
        return bool(gamble_values(attack, np.array([expected]), people)[0] > 0)

    low = grid[0] if first == 0 else _turn(buys, inside=grid[first], outside=grid[first - 1])
    high = grid[-1] if last == GRID - 1 else _turn(buys, inside=grid[last], outside=grid[last + 1])
    return float(low), float(high)


def _turn(buys: Callable[[float], bool], *, inside: float, outside: float) -> float:
    """The last place at which he buys, by halving."""
    while abs(outside - inside) > CLOSE * inside:
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if buys(middle) else (inside, middle)
    return inside
