"""Deterrence: which penalty, price of the external table or group size stops the attacker?

Each answer is the least one and exact. An act is taken only if it is worth strictly more than 0, so at the amount where
it is worth 0 there is no act any more: the least amount is attained. Rounding goes up, to a number at which the plan
itself (`Attack.known`, `Attack.unknown`) says that the risk is within the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discreet.attacker.optimal_plan import Planner
from discreet.attacker.parameters import group_sizes, probability
from discreet.attacker.piecewise import SLACK, Pieces
from discreet.errors import UsageError
from discreet.kernel.arrays import Floats, Ints

TINY = 1e-12
"""A risk that is above a limit by no more than this is so by rounding; nothing is let through where the limit is 0."""
LARGEST = 2**15
"""The largest group that `least_size` looks at."""
BLOCK = 64
"""Sizes that it looks at in one go."""


def deterring_penalties(attack: Planner, sizes: Sequence[int] | Ints, max_risk: float = 0.0) -> Floats:
    """For each group size the least penalty at which the risk is at most `max_risk`; infinite where none does.

    None does if he is never detected or never charged.
    """
    asked, limit = group_sizes(sizes), _limit(max_risk)
    unpunished = replace(attack, penalty=0.0).horizon
    groups, place = np.unique(unpunished.clipped(asked), return_inverse=True)
    least = np.zeros(len(groups))
    bad = np.flatnonzero(Pieces.of(replace(attack, penalty=0.0), groups).risk > limit)
    # Where V0_raw, convex and falling in the penalty, reaches 0: Newton, which ends after finitely many lines.
    penalty, waiting = np.zeros(len(bad)), np.arange(len(bad))
    while len(waiting):
        here = Pieces.of(attack, groups[bad][waiting], at=penalty[waiting])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            root = np.where(here.slope < 0, here.constant / -here.slope, np.inf)
        goes_on = (here.risk > 0) & (root > penalty[waiting] * (1 + SLACK))
        penalty[waiting] = np.where(goes_on, root, penalty[waiting])
        waiting = waiting[goes_on & np.isfinite(root)]
    least[bad] = penalty if limit == 0 else _bracketed(attack, groups[bad], limit, penalty)
    # These amounts, or the next numbers above them at which rounding does not hide that they deter.
    for group in np.flatnonzero(np.isfinite(least)).tolist():
        exact, last, size = least[group], 2.0**-53, [int(groups[group])]
        while not replace(attack, penalty=float(least[group])).known(size).reidentification[0] <= limit:
            last *= 2
            least[group] = exact + last * np.maximum(exact, 1e-9 * attack.gain)
    return np.asarray(least[place])


def _bracketed(attack: Planner, groups: Ints, limit: float, high: Floats) -> Floats:
    """Halve the bracket, and hop from its lower side to where that plan ends, until a hop lands within the limit."""
    low, high, answer = np.zeros(len(groups)), high.copy(), np.full(len(groups), np.nan)
    while (waiting := np.flatnonzero(np.isnan(answer))).size:
        sizes, lower, upper = groups[waiting], low[waiting], high[waiting]
        middle = np.where(np.isfinite(upper), lower + (np.where(np.isfinite(upper), upper, 0.0) - lower) / 2, lower)
        too_much = Pieces.of(attack, sizes, at=middle, slack=SLACK).risk > limit
        lower, upper = np.where(too_much, middle, lower), np.where(too_much, upper, middle)
        end = Pieces.of(attack, sizes, at=lower, slack=SLACK).end
        there = np.where(np.isfinite(end), end, lower)
        lands = (Pieces.of(attack, sizes, at=there, slack=SLACK).risk <= limit) | np.isinf(end)
        answer[waiting] = np.where(lands, end, np.nan)
        low[waiting], high[waiting] = np.where(lands, lower, there), upper
    return answer


def deterring_prices(
    attack: Planner,
    sizes: Sequence[int] | Ints | None = None,
    max_risk: float = 0.0,
    *,
    density: Sequence[float] | Floats | None = None,
    external_size: int | None = None,
    belief: Sequence[Sequence[float]] | Floats | None = None,
) -> Floats:
    """For each target the least price of the external table, gamma E[V_access], at which the risk is within the limit.

    With a belief, `sizes` are the real ones; only a limit above 0 needs them.
    """
    limit, free = _limit(max_risk), replace(attack, access_cost=0.0)
    rows = belief if density is None else density
    if sizes is None and rows is not None and limit == 0:
        sizes = np.ones(len(rows), dtype=np.int64)
    if sizes is None:
        raise UsageError(
            "The group size is needed.", remedy="Give it, or a belief about it and no risk above 0 (max_risk=0)."
        )
    asked = group_sizes(sizes)
    if rows is None:
        once = free.known(asked)
        return np.where(once.reidentification <= limit, 0.0, once.value_raw)
    gamble = free.unknown(density, external_size, asked, belief=belief)
    harmless = free.known(asked).reidentification <= limit if limit else np.zeros(len(asked), dtype=bool)
    return np.where(harmless, 0.0, gamble.value_raw)


def least_size(attack: Planner, max_risk: float = 0.0) -> int | None:
    """The least group size from which on, for it and all larger ones, the risk is at most `max_risk`.

    He never buys for a group larger than one for which he does not (V_start does not grow), so above the first such
    size there is no risk at all. Below it the risk need not fall with the size, so sizes are looked at from above.
    None if he still buys for a group of `LARGEST` people: then nothing is said about larger ones.
    """
    limit = _limit(max_risk)
    if limit >= attack.prior:
        return 1
    # The smallest group for which the table is not bought: by the plan's thresholds, or looked for beyond them.
    unbought = attack.thresholds().no_access
    sizes, low = np.array([BLOCK * 2**power for power in range(20) if BLOCK * 2**power <= LARGEST]), 1
    while unbought is None:
        places = np.flatnonzero(~attack.known(sizes).accesses)
        if not len(places):
            return None
        high = int(sizes[places[0]])
        low = int(sizes[places[0] - 1]) if places[0] else low
        unbought = high if high - low <= 1 else None
        sizes = np.unique(np.linspace(low, high, BLOCK).astype(np.int64))
    for above in range(unbought, 1, -BLOCK):
        sizes = np.arange(max(1, above - BLOCK), above)
        risky = np.flatnonzero(attack.known(sizes).reidentification > limit)
        if len(risky):
            return int(sizes[risky[-1]]) + 1
    return 1


def _limit(max_risk: float) -> float:
    """The largest computed risk that is let through."""
    limit = probability(max_risk, "max_risk", remedy="0 means that nobody is re-identified at all.")
    return limit + TINY if limit > 0 else 0.0
