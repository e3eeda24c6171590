"""A case study of our own after Xia et al. (2015): five statements on other people.

The parameters are those of Xia et al., "Process-Driven Data Privacy" (CIKM 2015); people, registry and statements are
ours, so this is no reproduction of theirs: `discreet.reference.fmdp` is. In the paper the registry is a sample of the population; here it is all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from discreet.attacker.attack import Attack
from discreet.attacker.population import Attacked, Targets
from discreet.kernel import Classes
from discreet.kernel.serialise import json_of

PUBLISHED: Mapping[str, float] = MappingProxyType(
    {"prior": 0.63, "gain": 8000, "access_cost": 100, "link_cost": 0, "exploit_cost": 10, "penalty": 10000}
)
"""What the adversary of the paper's case study gains, pays and risks."""
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
