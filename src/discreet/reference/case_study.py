"""A case study of our own after Xia et al. (2015): five statements, and thresholds not reproduced.

The parameters are those of Xia et al., "Process-Driven Data Privacy" (CIKM 2015); people, registry and statements are
ours, so this is no reproduction of theirs: `discreet.reference.fmdp` is. In the paper the registry is a sample of the population; here it is all of it.
Printed thresholds that do not come out are below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from discreet.attacker.attack import Attack
from discreet.attacker.bellman import Thresholds
from discreet.attacker.population import Attacked, Targets
from discreet.kernel import Classes
from discreet.kernel.serialise import json_of

PUBLISHED: Mapping[str, float] = MappingProxyType(
    {"prior": 0.63, "gain": 8000, "access_cost": 100, "link_cost": 0, "exploit_cost": 10, "penalty": 10000}
)
"""What the adversary of the paper's case study gains, pays and risks."""
VARIED: Mapping[str, float] = MappingProxyType(
    {"prior": 1.0, "gain": 1000, "access_cost": 100, "link_cost": 0, "exploit_cost": 10, "penalty": 20000}
)
"""Gain, costs and penalty in the paper's sensitivity analysis (its Figure 10), which varies one amount at a time."""
REGISTRY = 6_018_999
"""People in the registry of the paper."""
CONSTANT, ONCE, RISING = "constant", "once", "rising"
HIS = Attack.from_dict(PUBLISHED)


def in_settings(attack: Attack) -> Mapping[str, Attack]:
    """Constant detection and unlimited penalties; one penalty only; detection that rises with every exploit."""
    return MappingProxyType(
        {CONSTANT: attack, ONCE: replace(attack, max_penalties=1), RISING: replace(attack, detection_slope=0.18)}
    )


SETTINGS = in_settings(HIS)
VARIED_SETTINGS = in_settings(Attack.from_dict(VARIED))
LARGEST = 200
"""Group sizes that are looked at one by one."""


@dataclass(frozen=True)
class Claim:
    """A statement about the adversaries, held against numbers."""

    key: str
    holds: bool
    numbers: Mapping[str, Any]

    to_dict = json_of("claim=key holds numbers")


@dataclass(frozen=True, eq=False)
class CaseStudy:
    """The three adversaries on one table."""

    struck: Mapping[str, Attacked]

    @classmethod
    def of(cls, sample: Classes, registry: Classes) -> CaseStudy:
        """The three adversaries attack the people of a table."""
        return cls({key: attack.on(sample, registry) for key, attack in SETTINGS.items()})

    @property
    def attacked(self) -> Attacked:
        """The table under the first adversary; groups and densities are the same under all."""
        return self.struck[CONSTANT]

    @property
    def people(self) -> int:
        """People in the data."""
        return int(self.attacked.people.sum())

    @cached_property
    def targets(self) -> Targets:
        """The people by what the adversary sees of them."""
        return Targets.of(self.attacked)

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """The five statements, in order."""
        return tuple(check(self) for check in CHECKS)

    def to_dict(self, threshold: float = 0.2) -> dict[str, Any]:
        """For JSON."""
        return {
            "records": self.people,
            "columns": list(self.attacked.sample.names),
            "external_size": self.attacked.external_size,
            "settings": {key: struck.to_dict(threshold) for key, struck in self.struck.items()},
            "findings": [claim.to_dict() for claim in self.claims],
        }


def one_guess_is_wrong(study: CaseStudy) -> Claim:
    """None, one, several or all are exploited; so exactly one guess is wrong in both directions."""
    sizes = np.arange(1, LARGEST + 1)
    plan = SETTINGS[RISING].known(sizes)
    having = {number: sizes[(plan.exploits == number) & (sizes > 1)].tolist() for number in (0, 1)}
    several = sizes[(plan.exploits > 1) & (plan.exploits < sizes)].tolist()
    everyone = sizes[(plan.exploits == sizes) & (sizes > 1)].tolist()
    struck = study.attacked
    guess = np.where(struck.groups > 0, struck.attack.prior / np.maximum(struck.groups, 1), 0.0)
    # Whom planning endangers more than one guess, and whom less.
    planned = struck.known.reidentification
    compared = (planned > guess + 1e-12, planned < guess - 1e-12)
    more, less = (int(struck.people[marked].sum()) for marked in compared)
    return Claim(
        "one_guess_is_wrong",
        all((having[0], having[1], several, everyone, more, less)),
        {
            "all_up_to": max(everyone, default=None),
            "several": _ends(several),
            "one": _ends(having[1]),
            "none_from": min(having[0], default=None),
            "people_underestimated": more,
            "people_overestimated": less,
            "reidentified": struck.known.reidentified,
            "one_guess": float(struck.people @ guess),
        },
    )


def _ends(sizes: list[int]) -> tuple[int, int] | None:
    return (min(sizes), max(sizes)) if sizes else None


def all_or_nothing(study: CaseStudy) -> Claim:
    """With constant detection and unlimited penalties all candidates are exploited or none."""
    sizes = np.arange(1, LARGEST + 1)
    varied = [
        replace(SETTINGS[CONSTANT], gain=gain, penalty=penalty)
        for gain in (1000.0, 8000.0, 50_000.0)
        for penalty in (0.0, 1000.0, 10_000.0, 50_000.0)
    ]
    exploits = np.array([attack.known(sizes).exploits for attack in varied])
    partly = int(((exploits > 0) & (exploits < sizes)).sum())
    outcome = study.struck[CONSTANT].known
    return Claim(
        "all_or_nothing",
        partly == 0 and outcome.in_part == 0,
        {
            "adversaries": len(varied),
            "sizes": LARGEST,
            "attacks_in_part": partly,
            "people_in_full": outcome.in_full,
            "people_in_part": outcome.in_part,
        },
    )


def stops_part_way(study: CaseStudy) -> Claim:
    """With rising detection some groups are begun and not finished."""
    found, outcome = SETTINGS[RISING].thresholds(), study.struck[RISING].known
    early, unbought, alone = found.stops_early, found.no_access, found.no_exploit
    holds = early is not None and unbought is not None and alone is not None and early < unbought < alone
    return Claim(
        "stops_part_way",
        holds,
        {**asdict(found), "people_in_full": outcome.in_full, "people_in_part": outcome.in_part},
    )


def limits_embolden(study: CaseStudy) -> Claim:
    """A limit to the number of penalties makes larger groups worth an attack."""
    without, once = (SETTINGS[key].thresholds().no_access for key in (CONSTANT, ONCE))
    before, after = (study.struck[key].known for key in (CONSTANT, ONCE))
    return Claim(
        "limits_embolden",
        without is not None and once is not None and once > without and after.attacked >= before.attacked,
        {
            "unlimited": without,
            "once": once,
            "attacked_unlimited": before.attacked,
            "attacked_once": after.attacked,
        },
    )


def deterrence_works(study: CaseStudy) -> Claim:
    """As penalty or price rises, fewer people are re-identified, in steps, and in the end nobody."""
    attack, targets = SETTINGS[CONSTANT], study.targets
    smallest = targets.smallest or 1
    penalty, price = attack.deterring_penalty(smallest), attack.deterring_price(smallest)
    rising = np.geomspace(attack.penalty / 10, max(penalty, attack.penalty), 40)
    people = [expected.known for expected in targets.by_penalty(attack, rising.tolist())]
    stairs, _ = targets.by_price(attack)
    last = targets.expected(replace(attack, penalty=penalty)).known
    return Claim(
        "deterrence_works",
        bool((np.diff(people) <= 1e-9).all()) and last == 0 and stairs.at(price) == 0 and people[0] > 0,
        {
            "smallest_group": smallest,
            "penalty": penalty,
            "price": price,
            "size": attack.least_size(),
            "reidentified": targets.expected(attack).known,
            "steps_of_price": len(stairs.prices),
        },
    )


CHECKS: tuple[Callable[[CaseStudy], Claim], ...] = (
    one_guess_is_wrong,
    all_or_nothing,
    stops_part_way,
    limits_embolden,
    deterrence_works,
)


# Thresholds that Xia et al. (2015) print and that do not come out, by computation.
#
# Three things: a threshold of the adversary who is fined once; a pair of group sizes of the sensitivity analysis (Figure
# 10), whose adversary is another than that of the case study; and the discount, which the paper does not print at all.
PRINTED_SUNK = 51
"""Printed for one penalty: from so many candidates on nobody starts, even with the list in hand."""
PRINTED_PAIR = ((10_000.0, 9), (50_000.0, 2))
"""Printed for the penalty in Figure 10: a fine, and the number of people who look alike that deters.

The text has "smaller than 9" at the first, and an attack only "if there is one individual in the group" at the second.
"""
PRINTED = {(ONCE, "no_access"): 48, (RISING, "stops_early"): 14, (RISING, "no_access"): 29}
"""Thresholds that the paper prints and that do come out."""
DISCOUNTS = tuple(step / 20 for step in range(10, 21))

Reading = Callable[[Thresholds], int | None]
READINGS: dict[str, Reading] = {
    "smallest group for which the list is not bought": lambda found: found.no_access,
    "largest group for which the list is bought": lambda found: _before(found.no_access),
    "smallest group that is left alone with the list in hand": lambda found: found.no_exploit,
    "largest group that is tried with the list in hand": lambda found: _before(found.no_exploit),
}
"""What the pair might count."""
FINEST = 1e-7


def _before(size: int | None) -> int | None:
    return None if size is None else size - 1


@dataclass(frozen=True)
class PrintedPair:
    """The printed pair, read in one way."""

    reading: str
    computed: tuple[int | None, ...]
    """What the printed detection gives, constant and with unlimited penalties."""
    ranges: tuple[tuple[float, float] | None, ...]
    """The constant detection probabilities that would give each printed number."""

    @property
    def common(self) -> tuple[float, float] | None:
        """Those that would give both."""
        ranges = [ends for ends in self.ranges if ends is not None]
        if len(ranges) < len(self.ranges):
            return None
        low, high = max(ends[0] for ends in ranges), min(ends[1] for ends in ranges)
        return (low, high) if low <= high else None


def sunk() -> tuple[int | None, int]:
    """The threshold of one penalty as computed, and as printed."""
    return SETTINGS[ONCE].thresholds().no_exploit, PRINTED_SUNK


def detection() -> float:
    """The printed chance that the first exploit is detected."""
    return 1 / (1 + math.exp(-SETTINGS[CONSTANT].detection_intercept))


def by_setting() -> dict[str, tuple[int | None, ...]]:
    """Per setting the smallest groups not worth the list, at both printed penalties."""
    return {
        key: tuple(replace(attack, penalty=penalty).thresholds().no_access for penalty, _ in PRINTED_PAIR)
        for key, attack in VARIED_SETTINGS.items()
    }


def pairs() -> tuple[PrintedPair, ...]:
    """The printed pair in every reading."""
    return tuple(
        PrintedPair(
            name,
            tuple(reading(_at(penalty, detection()).thresholds()) for penalty, _ in PRINTED_PAIR),
            tuple(_range(reading, penalty, number) for penalty, number in PRINTED_PAIR),
        )
        for name, reading in READINGS.items()
    )


def _range(reading: Reading, penalty: float, number: int) -> tuple[float, float] | None:
    """The detection probabilities at which a reading is exactly this number: it falls as detection rises."""

    def counts(chance: float) -> float:
        size = reading(_at(penalty, chance).thresholds())
        return math.inf if size is None else size

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
