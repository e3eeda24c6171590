"""Sensitivity learnt from what a person is worth to the organisation: monotone regression on a column of values.

The paper proposes it where the value of customers is known or predicted: what is sensitive is then objective. A category
weighs the mean value of its people; of numbers, the mean value rises or falls with the number (isotonic regression, by
pooling adjacent violators). Weights are shares of the largest mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel import Coded
from discreet.kernel.arrays import Floats
from discreet.misuse.elicitation.items import FEWEST

STEPS = 8
"""Ranges of a column of numbers before they are pooled."""
DIGITS = 4


def isotonic(values: Floats, weights: Floats) -> Floats:
    """The rising sequence nearest to some values, by weighted squares (pool adjacent violators).

    >>> isotonic(np.array([1.0, 3.0, 2.0]), np.ones(3)).tolist()
    [1.0, 2.5, 2.5]
    """
    pools: list[list[float]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        pools.append([value, weight, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            last, weight_last, count_last = pools.pop()
            first, weight_first, count_first = pools[-1]
            whole = weight_first + weight_last
            pools[-1] = [(first * weight_first + last * weight_last) / whole, whole, count_first + count_last]
    return np.concatenate([np.full(int(count), value) for value, _, count in pools] or [np.zeros(0)])


def fit_to_value(column: str, cells: Coded, values: Sequence[float]) -> dict[str, Any]:
    """The table of a sensitivity function for one column, from the value of each person.

    A column whose values are all numbers gets ranges, any other one weight for each value. Values that fewer than five
    people have are pooled as `otherwise`, so that no weight shows what a single person is worth.

    >>> fit_to_value("account", Coded.of(["Gold"] * 5 + ["White"] * 5), [100.0] * 5 + [25.0] * 5)
    {'values': {'Gold': 1.0, 'White': 0.25}, 'otherwise': 0.25}
    """
    worth = np.asarray(values, dtype=np.float64)
    known = np.isfinite(worth) & np.array([cells.values[code] is not None for code in cells.codes.tolist()], dtype=bool)
    worth, codes = np.maximum(worth[known], 0.0), cells.codes[known]
    if len(worth) < 2 * FEWEST or worth.max() <= 0:
        raise UsageError(
            f"Too few people have a value in column '{column}' and are worth anything.",
            remedy=f"Give a table with at least {2 * FEWEST} such people.",
        )
    numbers = [_number(value) for value in cells.values]
    if all(number is not None for number, value in zip(numbers, cells.values, strict=True) if value is not None):
        each = np.array([math.nan if number is None else number for number in numbers])[codes]
        return _ranges(each, worth)
    totals = np.bincount(codes, weights=worth, minlength=len(cells.values))
    people = np.bincount(codes, minlength=len(cells.values))
    shown = people >= FEWEST
    rest = ~shown & (people > 0)
    means = np.divide(totals, people, out=np.zeros_like(totals), where=people > 0)
    # Too few for a weight of their own: they weigh as the average person does, or as the heaviest if that is not known.
    otherwise = float(totals[rest].sum() / people[rest].sum()) if rest.any() and people[rest].sum() >= FEWEST else None
    if not shown.any():
        raise UsageError(
            f"No value of column '{column}' is that of {FEWEST} people.", remedy="Generalise the column first."
        )
    lowest = float(means[shown].min())
    top = max(float(means[shown].max()), otherwise or 0.0) or 1.0
    weights = {
        str(cells.values[place]): round(float(means[place]) / top, DIGITS) for place in np.flatnonzero(shown).tolist()
    }
    return {"values": weights, "otherwise": round((lowest if otherwise is None else otherwise) / top, DIGITS)}


def _ranges(numbers: Floats, worth: Floats) -> dict[str, Any]:
    """Ranges of equal numbers of people, their means made monotone, equal neighbours joined."""
    bounds = np.unique(np.quantile(numbers, np.linspace(0, 1, STEPS + 1)[1:], method="inverted_cdf"))
    place = np.searchsorted(bounds, numbers)
    people = np.bincount(place, minlength=len(bounds)).astype(np.float64)
    while len(bounds) > 1 and people.min() < FEWEST:  # too few for a weight of their own: with the next range
        least = int(np.argmin(people))
        bounds = np.delete(bounds, least if least < len(bounds) - 1 else least - 1)
        place = np.searchsorted(bounds, numbers)
        people = np.bincount(place, minlength=len(bounds)).astype(np.float64)
    means = np.bincount(place, weights=worth, minlength=len(bounds)) / people
    rising, falling = isotonic(means, people), -isotonic(-means, people)
    fitted = min((rising, falling), key=lambda one: float(people @ (one - means) ** 2))
    weights = np.round(fitted / (fitted.max() or 1.0), DIGITS)
    ends = [index for index in range(len(bounds)) if index == len(bounds) - 1 or weights[index] != weights[index + 1]]
    bins = [[float(bounds[index]), float(weights[index])] for index in ends[:-1]]
    return {"bins": bins, "otherwise": float(weights[-1])} if bins else {"otherwise": float(weights[-1])}


def _number(label: str | None) -> float | None:
    try:
        number = float(label or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None
