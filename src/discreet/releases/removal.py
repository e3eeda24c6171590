"""Real classes that one copy keeps alone, so that a class which no other copy has need not be a decoy (AnonTokens).

For each recipient some classes are chosen and taken out of the copies of all the others (Section 3 of the paper).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.arrays import Ints
from discreet.releases.population_link import Linked

Pool = Callable[[Linked, np.random.Generator], Ints]


def _any(linked: Linked, rng: np.random.Generator) -> Ints:
    """Any released classes."""
    return rng.permutation(len(linked.released))


def _small(linked: Linked, rng: np.random.Generator) -> Ints:
    """Released classes hardly larger than k, as decoys are."""
    return rng.permutation(np.flatnonzero(10 * linked.released.sizes <= 11 * linked.k))


def _risky(linked: Linked, rng: np.random.Generator) -> Ints:
    """Released classes of the fewest people in the population first, ties in any order."""
    shuffled = rng.permutation(np.flatnonzero(linked.links > 0))
    return shuffled[np.argsort(linked.links[shuffled], kind="stable")]


REMOVALS: dict[str, Pool] = {"random": _any, "size": _small, "risk": _risky}
"""How the classes that one copy keeps alone are chosen."""


def classes_per_recipient(budget: float, classes: int, recipients: int) -> int:
    """Real classes that each copy keeps alone: n_e = floor(b * E_d / N_r).

    Each copy then lacks those of all others, (N_r - 1) * n_e, which is less than the share b of the classes.

    >>> classes_per_recipient(0.05, 1000, 7)
    7
    """
    if not 0 <= budget <= 1:
        raise UsageError("The removal budget is a share from 0 to 1.", remedy="0.05 means: 5 % of the classes.")
    return math.floor(Fraction(str(budget)) * classes / _positive(recipients, "recipients"))


def recipients_without_removal(candidates: int, decoys: int) -> int:
    """Recipients who can be given so many decoys each, none in two copies: floor(N_d / n_d).

    >>> recipients_without_removal(50, 8)
    6
    """
    return candidates // _positive(decoys, "decoys")


def recipients_by_size(close_to_k: int, removed: int) -> int:
    """Recipients who can keep so many classes close to k alone, none of them two: floor(K / d).

    >>> recipients_by_size(21, 5)
    4
    """
    return close_to_k // _positive(removed, "removed classes")


def classes_kept_alone(linked: Linked, how: str, per_copy: int, copies: int, rng: np.random.Generator) -> list[Ints]:
    """Places of the released classes that each copy keeps and all others lose."""
    if how not in REMOVALS:
        raise UsageError(f"There is no removal named '{how}'.", remedy=f"Choose one of: {', '.join(REMOVALS)}.")
    pool = REMOVALS[how](linked, rng)
    if per_copy * copies > len(pool):
        raise UsageError(
            f"Removal by {how} finds {len(pool):,} classes, enough for {len(pool) // per_copy:,} copies that keep "
            f"{per_copy:,} each alone, not for {copies:,}.",
            remedy="Lower the budget, serve fewer recipients, or remove at random.",
        )
    return deal(pool, per_copy, copies, rng)


def deal(ranked: Ints, per_copy: int, copies: int, rng: np.random.Generator) -> list[Ints]:
    """The first of a ranking dealt out in rounds, so that no copy gets all of the best; the order changes each round.

    >>> hands = deal(np.arange(6), 2, 3, np.random.default_rng(1))
    >>> [sorted(hand // 3) for hand in hands] == [[0, 1]] * 3
    True
    """
    rounds = ranked[: per_copy * copies].reshape(per_copy, copies)
    dealt = rng.permuted(rounds, axis=1)
    return [np.sort(dealt[:, copy]) for copy in range(copies)]


def _positive(number: int, what: str) -> int:
    if number < 1:
        raise UsageError(f"The number of {what} is at least 1.", remedy="Give a whole number from 1 up.")
    return number
