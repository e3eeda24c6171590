"""Which few columns already single people out: an apriori search over class counts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import EmptySource, UsageError
from discreet.kernel import Classes
from discreet.kernel.arrays import Ints, group, total
from discreet.kernel.serialise import json_of

WORK = 400_000_000
"""Cells that may be grouped before the search stops at a smaller size of combination, above pairs;"""
MOST = 200_000
"""combinations that may be grouped before it does: each costs time however few people there are."""


@dataclass(frozen=True)
class Combination:
    """Some columns, and how many people they single out."""

    columns: tuple[str, ...]
    unique: int
    """People who are alone with their values on these columns."""
    share: float

    to_dict = json_of()


@dataclass(frozen=True)
class SinglingOut:
    """What a search over combinations found."""

    largest: int
    """Combinations of up to this many columns were looked at."""
    minimal_unique: tuple[tuple[str, ...], ...]
    """Combinations on which everybody is alone, while on no part of them everybody is."""
    combinations: tuple[Combination, ...]
    """Every combination looked at, those that single out most people first."""


def singling_out(classes: Classes, *, largest: int = 4) -> SinglingOut:
    """Search all combinations of up to `largest` columns, leaving out what contains a unique one.

    >>> people = Classes.of(["a", "b", "c"], [("1", "1", "x"), ("1", "2", "x"), ("2", "1", "x")])
    >>> singling_out(people).minimal_unique
    (('a', 'b'),)
    """
    if largest < 1:
        raise UsageError("Combinations have at least one column.", remedy="Give a largest size of 1 or more.")
    if not classes.records:
        raise EmptySource("There is nobody in the table.", remedy="Give a table with at least one row.")
    # The largest size of combination whose search stays within bounds, at least 1.
    number, reach = 0, 0
    for size in range(1, min(largest, len(classes.columns)) + 1):
        number += math.comb(len(classes.columns), size)
        if (size > 1 and number > MOST) or (size > 2 and number * len(classes) > WORK):
            break
        reach = size
    # Depth first, each combination grouped from the one it extends.
    combinations: list[Combination] = []
    stack: list[tuple[tuple[int, ...], Ints | None, int]] = [((), None, 1)]
    while stack:
        places, member, groups = stack.pop()
        for place in range(places[-1] + 1 if places else 0, len(classes.columns)):
            values = len(classes.columns[place].labels)
            keys = classes.codes[place] if member is None else member * values + classes.codes[place]
            _, finer, distinct = group(keys, groups * values)
            unique = int((total(finer, classes.sizes, distinct) == 1).sum())
            columns = (*places, place)
            names = tuple(classes.names[i] for i in columns)
            combinations.append(Combination(names, unique, unique / classes.records))
            if len(columns) < reach and unique < classes.records:
                stack.append((columns, finer, distinct))
    return ranked(combinations, classes.records, reach=reach)


def ranked(combinations: Sequence[Combination], records: int, *, reach: int) -> SinglingOut:
    """Combinations in order, without those that contain one on which everybody is alone."""
    unique = {combination.columns for combination in combinations if combination.unique == records}

    def contains_unique(columns: tuple[str, ...]) -> bool:
        parts = (itertools.combinations(columns, size) for size in range(1, len(columns)))
        return any(part in unique for part in itertools.chain.from_iterable(parts))

    fair = [combination for combination in combinations if not contains_unique(combination.columns)]
    minimal = tuple(combination.columns for combination in fair if combination.columns in unique)
    order = sorted(fair, key=lambda combination: (-combination.unique, len(combination.columns), combination.columns))
    return SinglingOut(reach, minimal, tuple(order))


def pairs_affordable(columns: int) -> bool:
    """Whether all pairs of so many columns may be looked at."""
    return columns + math.comb(columns, 2) <= MOST
