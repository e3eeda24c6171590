"""What Splink has estimated, made consistent: pure functions on its settings.

Three things are mended. The random pairs behind u hold true pairs too, which matters where true pairs are as frequent
as chance agreement: their share is taken off. A level that was never seen among true or random pairs has no weight of
its own. And being less alike never speaks more for a pair: neighbouring levels for which it would are pooled, which
keeps the sums of m and u (pool adjacent violators, on the ratio).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from discreet.linkage.comparisons import SWAPPED_DAY, SWAPPED_NAMES

LEAST = 1e-6
"""No level is impossible among strangers."""
HALF, RARE = 0.5, 0.01
"""A level that no true pair showed counts as half a pair of them (Jeffreys' rule), and at most so often."""
MOST_OFF = 0.1
"""So much of u is left at least: the share of true pairs is only estimated."""


def settled(
    settings: dict[str, Any], *, prior: float, possible: int, among_random: float | None = None
) -> dict[str, Any]:
    """The settings with mended m and u, and the prior that goes with them, for so many possible pairs.

    `among_random` is the share of true pairs among the pairs behind u, the prior unless said; 0 once it was taken off.
    """
    share = prior if among_random is None else among_random
    unseen = min(RARE, HALF / (prior * possible + 1))
    mended = copy.deepcopy(settings)
    mended["probability_two_random_records_match"] = prior
    for comparison in mended["comparisons"]:
        levels = [level for level in comparison["comparison_levels"] if not level.get("is_null_level")]
        ms, us = _filled(levels, share, unseen)
        for level, m, u in zip(levels, *_falling(levels, ms, us), strict=True):
            level["m_probability"], level["u_probability"] = m, u
    return mended


def _filled(levels: Sequence[dict[str, Any]], share: float, unseen: float) -> tuple[list[float], list[float]]:
    ms = [max(_number(level.get("m_probability")), unseen) for level in levels]
    us = [max(_number(level.get("u_probability")), LEAST) for level in levels]
    ms = [m / sum(ms) for m in ms]
    us = [u / sum(us) for u in us]
    off = [max((u - share * m) / (1 - share), u * MOST_OFF) for m, u in zip(ms, us, strict=True)]
    return ms, [u / sum(off) for u in off]


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _falling(
    levels: Sequence[dict[str, Any]], ms: Sequence[float], us: Sequence[float]
) -> tuple[list[float], list[float]]:
    """The ratio m/u falls from level to level; swaps are no steps of likeness and stay as they are."""
    steps = [
        place for place, level in enumerate(levels) if level.get("label_for_charts") not in (SWAPPED_NAMES, SWAPPED_DAY)
    ]
    blocks: list[tuple[float, float, list[int]]] = []
    for place in steps:
        m, u, held = ms[place], us[place], [place]
        while blocks and blocks[-1][0] * u <= m * blocks[-1][1]:
            before = blocks.pop()
            m, u, held = before[0] + m, before[1] + u, [*before[2], *held]
        blocks.append((m, u, held))
    found = list(ms)
    for m, u, held in blocks:
        for place in held:
            found[place] = m / u * us[place]
    return found, list(us)
