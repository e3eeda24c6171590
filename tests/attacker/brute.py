"""The adversary written from the definitions and nothing else: plain recursion with memory, exact fractions.

Nothing here is taken from the room but the numbers of its parameters.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

Exact = Fraction


@dataclass(frozen=True)
class Outcome:
    """What a plan comes to, undiscounted."""

    success: Exact
    exploits: Exact
    wrong: Exact
    penalties: Exact


class Brute:
    """One adversary and one known group."""

    def __init__(self, attack: Any, size: int, **changes: float) -> None:
        a = replace(attack, **changes) if changes else attack
        self.size, self.most = size, a.max_penalties
        names = ("prior", "gain", "access_cost", "link_cost", "exploit_cost", "penalty", "discount")
        self.prior, self.gain, self.access, self.link, self.exploit, self.fine, self.discount = (
            Fraction(float(getattr(a, name))) for name in names
        )
        steps = (a.detection_intercept + a.detection_slope * i for i in range(size))
        self.caught = [Fraction(1 / (1 + math.exp(-step))) for step in steps]
        self.right = [1 / (size / self.prior - i) for i in range(size)]
        self.worth = cache(self._worth)

    def charged(self, charges: int) -> bool:
        return self.most is None or charges < self.most

    def _worth(self, tried: int, charges: int) -> Exact:
        """Q: what the next exploit is worth; W is the larger of it and 0."""
        right, caught = self.right[tried], self.caught[tried]
        now = right * self.gain - caught * self.fine * self.charged(charges)
        later = Fraction(0)
        if tried + 1 < self.size:
            after = charges + 1 if self.most is not None and charges < self.most else charges
            clean, fined = (
                max(Fraction(0), self.worth(tried + 1, charges)),
                max(Fraction(0), self.worth(tried + 1, after)),
            )
            later = (1 - right) * ((1 - caught) * clean + caught * fined)
        return -self.exploit + self.discount * (now + later)

    @property
    def start(self) -> Exact:
        return max(Fraction(0), self.worth(0, 0)) if self.size else Fraction(0)

    @property
    def with_table(self) -> Exact:
        return max(Fraction(0), self.discount * self.start - self.link) if self.size else Fraction(0)

    @property
    def raw(self) -> Exact:
        return self.discount * self.with_table - self.access

    def closest(self) -> float:
        """How close he is to changing his mind anywhere."""
        worths = [self.worth(i, j) for i in range(self.size) for j in range((self.most or 0) + 1)]
        choices = [*worths, self.discount * self.start - self.link, self.raw]
        return min(abs(float(one)) for one in choices)

    def outcome(self) -> Outcome:
        """Run the plan on every place the target can have, and every series of detections."""
        if self.raw <= 0 or self.with_table <= 0:
            return Outcome(*[Fraction(0)] * 4)
        total = [Fraction(0)] * 4
        for place, chance in self.places():
            for coins in itertools.product((False, True), repeat=self.size):
                weight = chance
                for caught, coin in zip(self.caught, coins, strict=True):
                    weight *= caught if coin else 1 - caught
                for number, count in enumerate(self._run(place, coins)):
                    total[number] += weight * count
        return Outcome(*total)

    def places(self) -> Iterator[tuple[int | None, Exact]]:
        """Where the target is among the candidates, if he is there at all."""
        yield None, 1 - self.prior
        for place in range(self.size):
            yield place, self.prior / self.size

    def _run(self, place: int | None, coins: tuple[bool, ...]) -> tuple[int, int, int, int]:
        charges = exploits = penalties = 0
        for tried in range(self.size):
            if self.worth(tried, charges) <= 0:
                break
            exploits += 1
            if coins[tried] and self.charged(charges):
                penalties += 1
                charges += self.most is not None
            if place == tried:
                return 1, exploits, exploits - 1, penalties
        return 0, exploits, exploits, penalties

    def risk(self) -> float:
        return float(self.outcome().success)

    def chain(self) -> float:
        """The same by going through the plan step by step, for groups with too many series to list."""
        if self.raw <= 0 or self.with_table <= 0:
            return 0.0
        reach, success = {(0, 0): 1.0}, 0.0
        for tried in range(self.size):
            ahead: dict[tuple[int, int], float] = {}
            for (_, charges), chance in reach.items():
                if self.worth(tried, charges) > 0:
                    right, caught = float(self.right[tried]), float(self.caught[tried])
                    success += chance * right
                    fined = charges + (self.most is not None and self.charged(charges))
                    for level, odds in ((charges, 1 - caught), (fined, caught)):
                        ahead[tried + 1, level] = ahead.get((tried + 1, level), 0.0) + chance * (1 - right) * odds
            reach = ahead
        return success


def policies(size: int, levels: int) -> Iterator[dict[tuple[int, int], bool]]:
    """Every way to act or not at every point."""
    points = [(i, j) for i in range(size) for j in range(min(levels, i + 1))]
    for choice in itertools.product((False, True), repeat=len(points)):
        yield dict(zip(points, choice, strict=True))
