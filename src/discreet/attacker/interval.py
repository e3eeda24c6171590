"""The densities at which an adversary who does not know the group buys the external table: one interval."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.attacker.attack import Attack
from discreet.kernel.arrays import Floats

LOWEST, HIGHEST = 1e-4, 1e4
"""Numbers of people expected to look alike between which the interval is looked for."""
GRID = 400
CLOSE = 1e-9


def gamble_values(attack: Attack, expected: Floats, people: int) -> Floats:
    """What buying is worth where so many of so many people are expected to look alike."""
    found = attack.unknown(expected / people, people, np.ones(len(expected), dtype=np.int64))
    return found.value_raw


def buying(attack: Attack, people: int) -> tuple[float, float] | None:
    """The fewest and the most people expected to look alike at which he still buys; None if he never does.

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
