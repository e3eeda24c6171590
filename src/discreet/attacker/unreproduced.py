"""Thresholds that Xia et al. (2015) print and that do not come out, by computation.

Three things: a threshold of the adversary who is fined once; a pair of group sizes of the sensitivity analysis (Figure
10), whose adversary is another than that of the case study; and the discount, which the paper does not print at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from discreet.attacker.attack import Attack
from discreet.attacker.plan import Thresholds
from discreet.reference.case_study import CONSTANT, ONCE, RISING, SETTINGS, VARIED_SETTINGS

PRINTED_SUNK = 51
"""Printed for one penalty: from so many candidates on he does not start even if he has the list."""
PRINTED_PAIR = ((10_000.0, 9), (50_000.0, 2))
"""Printed for the penalty in Figure 10: a fine, and the number of people who look alike from which on he walks away.

The text has "smaller than 9" at the first, and an attack only "if there is one individual in the group" at the second.
"""
PRINTED = {(ONCE, "no_access"): 48, (RISING, "stops_early"): 14, (RISING, "no_access"): 29}
"""Thresholds that the paper prints and that do come out."""
DISCOUNTS = tuple(step / 20 for step in range(10, 21))

Reading = Callable[[Thresholds], int | None]
READINGS: dict[str, Reading] = {
    "smallest group he does not buy the list for": lambda found: found.no_access,
    "largest group he buys the list for": lambda found: _before(found.no_access),
    "smallest group he leaves alone with the list in hand": lambda found: found.no_exploit,
    "largest group he tries with the list in hand": lambda found: _before(found.no_exploit),
}
"""What the pair might count."""
FINEST = 1e-7


def _before(size: int | None) -> int | None:
    return None if size is None else size - 1


@dataclass(frozen=True)
class Pair:
    """The printed pair, read in one way."""

    reading: str
    computed: tuple[int | None, ...]
    """What the printed detection gives, constant and with unlimited penalties."""
    ranges: tuple[tuple[float, float] | None, ...]
    """The constant detection probabilities that would give each printed number."""

    @property
    def common(self) -> tuple[float, float] | None:
        """Those that would give both."""
        if any(one is None for one in self.ranges):
            return None
        low, high = (max(one[0] for one in self.ranges if one), min(one[1] for one in self.ranges if one))
        return (low, high) if low <= high else None


def sunk() -> tuple[int | None, int]:
    """The threshold of one penalty as computed, and as printed."""
    return SETTINGS[ONCE].thresholds().no_exploit, PRINTED_SUNK


def detection() -> float:
    """The printed chance that the first exploit is detected."""
    return _probability(SETTINGS[CONSTANT].detection_intercept)


def by_setting() -> dict[str, tuple[int | None, ...]]:
    """Per setting the smallest groups that are not worth the list, at the two penalties of the printed pair."""
    return {
        key: tuple(replace(attack, penalty=penalty).thresholds().no_access for penalty, _ in PRINTED_PAIR)
        for key, attack in VARIED_SETTINGS.items()
    }


def pairs() -> tuple[Pair, ...]:
    """The printed pair in every reading."""
    return tuple(_pair(name, reading) for name, reading in READINGS.items())


def _pair(name: str, reading: Reading) -> Pair:
    computed = tuple(reading(_at(penalty, detection()).thresholds()) for penalty, _ in PRINTED_PAIR)
    return Pair(name, computed, tuple(_range(reading, penalty, number) for penalty, number in PRINTED_PAIR))


def _range(reading: Reading, penalty: float, number: int) -> tuple[float, float] | None:
    """The detection probabilities at which a reading is exactly this number: it falls as detection rises."""

    def counts(chance: float) -> float:
        found = reading(_at(penalty, chance).thresholds())
        return math.inf if found is None else found

    low = _first(lambda chance: counts(chance) <= number)
    high = _first(lambda chance: counts(chance) < number)
    return (low, high) if low < high and counts((low + high) / 2) == number else None


def _first(reached: Callable[[float], bool]) -> float:
    """The least probability from which on something is reached, by halving."""
    low, high = 1e-4, 1 - 1e-4
    while high - low > FINEST:
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _at(penalty: float, chance: float) -> Attack:
    return replace(VARIED_SETTINGS[CONSTANT], penalty=penalty, detection_intercept=math.log(chance / (1 - chance)))


def _probability(intercept: float) -> float:
    return 1 / (1 + math.exp(-intercept))


@dataclass(frozen=True)
class Discounted:
    """The thresholds at one discount."""

    discount: float
    thresholds: dict[str, Thresholds]

    @property
    def agrees(self) -> bool:
        """Whether every printed threshold comes out."""
        return all(getattr(self.thresholds[key], name) == number for (key, name), number in PRINTED.items())


def discounts() -> tuple[Discounted, ...]:
    """The thresholds at discounts from 0.5 to 1."""
    return tuple(
        Discounted(discount, {key: replace(attack, discount=discount).thresholds() for key, attack in SETTINGS.items()})
        for discount in DISCOUNTS
    )


def to_dict() -> dict[str, Any]:
    """For JSON."""
    computed, printed = sunk()
    return {
        "sunk": {"computed": computed, "printed": printed},
        "pair": [{**asdict(pair), "common": pair.common} for pair in pairs()],
        "pair_by_setting": by_setting(),
        "discount": [{"discount": one.discount, "agrees": one.agrees} for one in discounts()],
    }
