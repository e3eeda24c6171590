"""What the published table must satisfy: requirements, and how many people may be left out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.anonymity.criteria import (
    AttackerRisk,
    AverageRisk,
    Closeness,
    Diversity,
    KMap,
    PresenceBounds,
    Requirement,
    Size,
    check_spread,
    closenesses,
    diversities,
    smallest_crowd,
)
from discreet.attacker import Attack
from discreet.errors import UsageError
from discreet.kernel import Classes


@dataclass(frozen=True, eq=False)
class Requirements:
    """What the published table must satisfy."""

    requirements: tuple[Requirement, ...]
    suppressible: int

    @property
    def k(self) -> int:
        """The least size of a class."""
        return max((one.k for one in self.requirements if isinstance(one, Size)), default=1)

    @property
    def plain(self) -> bool:
        """Whether size is all that matters."""
        return all(isinstance(one, Size) for one in self.requirements)

    def violated(self, classes: Classes, *, monotone: bool = False) -> Any:
        """Which classes may not be published, by all requirements or only by the monotone ones."""
        chosen = [one for one in self.requirements if one.monotone or not monotone]
        bad = np.zeros(len(classes), dtype=bool)
        for one in chosen:
            if not isinstance(one, AverageRisk):
                bad |= one.violated(classes)
        for one in chosen:
            if isinstance(one, AverageRisk):
                rest = np.flatnonzero(~bad)
                bad[rest] = one.violated(classes.keep(~bad))
        return bad


@dataclass(frozen=True, kw_only=True, eq=False)
class Demands:
    """What somebody asks of a table, as it was asked; a `population` is who else the people in it could be."""

    k: int | None
    suppression: float
    diversity: Any
    closeness: Any
    presence: tuple[float, float] | None
    k_map: int | None
    max_risk: float | None
    risk_model: str
    average_risk: float | None
    attack: Attack | None
    population: Classes | None

    def on(self, classes: Classes) -> Requirements:
        """The limits for these people, or a word on what is wrong with them."""
        requirements = (
            *_sizes(self, classes),
            *_inferences(self, classes),
            *_crowds(self),
            *_risks(self),
        )
        if not requirements:
            raise UsageError(
                "Nothing is required of the published table.", remedy="Give k, max_risk, or another limit."
            )
        # floor(s * N), with s read as it is written: 0.29 of 100 is 29.
        if not 0 <= self.suppression <= 1:
            raise UsageError("suppression is a share from 0 to 1.", remedy="0.05 means: at most 5 % of the people.")
        suppressible = math.floor(Fraction(str(self.suppression)) * classes.records)
        return Requirements(requirements, suppressible)


def _sizes(wanted: Demands, classes: Classes) -> Iterator[Requirement]:
    if wanted.k is not None:
        yield Size(_whole(wanted.k, "k", classes))


def _inferences(wanted: Demands, classes: Classes) -> Iterator[Requirement]:
    columns = tuple(classes.spreads)
    asked: list[Diversity | Closeness] = [
        *diversities(wanted.diversity, columns),
        *closenesses(wanted.closeness, columns),
    ]
    for one in asked:
        check_spread(one, classes.spreads[one.column])
        yield one


def _crowds(wanted: Demands) -> Iterator[Requirement]:
    if wanted.presence is not None:
        population = _needed(wanted.population, "presence")
        least, most = wanted.presence
        if not 0 <= least <= most <= 1:
            raise UsageError(
                "presence takes two probabilities, the smaller one first.", remedy="For example presence=(0, 0.5)."
            )
        yield PresenceBounds(population, least, most)
    if wanted.k_map is not None:
        yield KMap(_needed(wanted.population, "k_map"), _whole(wanted.k_map, "k_map", None))


def _risks(wanted: Demands) -> Iterator[Requirement]:
    if wanted.average_risk is not None:
        yield AverageRisk(_probability(wanted.average_risk, "average_risk"))
    if wanted.attack is not None:
        limit = wanted.max_risk
        if limit is None:
            raise UsageError(
                "An attack needs a limit.",
                remedy="Give max_risk (--max-risk), the largest probability of success you accept.",
            )
        if not 0 <= limit <= 1:
            raise UsageError("max_risk must be between 0 and 1.", remedy="0 means that nobody is re-identified at all.")
        yield AttackerRisk(wanted.attack, float(limit), wanted.population)
    elif wanted.max_risk is not None:
        yield _risk(wanted.max_risk, wanted.risk_model, wanted.population)


def _risk(limit: float, model: str, population: Classes | None) -> Requirement:
    match model:
        case "prosecutor":
            return Size(smallest_crowd(limit))
        case "journalist":
            return KMap(_needed(population, "the journalist's risk"), smallest_crowd(limit))
        case "marketer":
            return AverageRisk(_probability(limit, "max_risk"), _needed(population, "the marketer's risk"))
    raise UsageError(f"There is no risk model named '{model}'.", remedy="Choose prosecutor, journalist or marketer.")


def _needed(population: Classes | None, what: str) -> Classes:
    if population is None:
        raise UsageError(
            f"{what} needs a population.", remedy="Give population=discreet.read(..., policy=policy.for_population())."
        )
    return population


def _whole(value: Any, what: str, classes: Classes | None) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise UsageError(f"{what} is a whole number from 1 up.", remedy="k = 5 means: at least five people look alike.")
    if classes is not None and value > classes.records:
        raise UsageError(
            f"{what} = {value:,} is more than the {classes.records:,} people in the data.",
            remedy="Choose a smaller one.",
        )
    return int(value)


def _probability(value: float, what: str) -> float:
    if not 0 < value <= 1:
        raise UsageError(f"{what} must be above 0 and at most 1.", remedy="0.2 means: one in five.")
    return float(value)
