"""What a class must satisfy to be published, beyond its size.

Every requirement says which classes violate it. Those that can only get better when classes merge are monotone; the
search may rule out whole regions by them. The others are looked at node by node.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol

import numpy as np

from discreet.attacker import Attack
from discreet.errors import ColumnError, UsageError
from discreet.kernel import Classes
from discreet.kernel.arrays import Flags, Ints
from discreet.kernel.classes import Spread
from discreet.risk.inference import distinct_l, entropy_l, equal_t, hierarchical_t, recursive_l

TINY = 1e-12


class Requirement(Protocol):
    """Which classes may not be published."""

    @property
    def monotone(self) -> bool:
        """Whether a class that satisfies it still does after merging with any other."""
        ...

    def violated(self, classes: Classes) -> Flags:
        """One mark per class."""
        ...

    def words(self) -> str:
        """The requirement, for people."""
        ...


@dataclass(frozen=True)
class Size:
    """At least k people (Samarati & Sweeney 1998)."""

    k: int
    monotone = True

    def violated(self, classes: Classes) -> Flags:
        """Smaller classes."""
        return np.asarray(classes.sizes < self.k)

    def words(self) -> str:
        """The requirement, for people."""
        return f"every class has at least {self.k} people"


Kind = Literal["distinct", "entropy", "recursive"]


@dataclass(frozen=True)
class Diversity:
    """At least l well-represented values of a sensitive column (Machanavajjhala et al. 2006)."""

    column: str
    l: float  # noqa: E741 - the name it has in the papers
    kind: Kind = "distinct"
    c: float = 3.0

    @property
    def monotone(self) -> bool:
        """Only the number of distinct values can never fall."""
        return self.kind == "distinct"

    def violated(self, classes: Classes) -> Flags:
        """Classes that are not diverse enough."""
        spread = classes.spreads[self.column]
        if self.kind == "distinct":
            return np.asarray(distinct_l(spread) < self.l)
        if self.kind == "entropy":
            return np.asarray(entropy_l(spread) < self.l * (1 - TINY))
        return np.asarray(recursive_l(spread, self.c) < self.l)

    def words(self) -> str:
        """The requirement, for people."""
        how = f"({self.c:g}, {self.l:g})" if self.kind == "recursive" else f"{self.l:g}"
        return f"{self.column} is {self.kind} {how}-diverse in every class"


@dataclass(frozen=True)
class Closeness:
    """A distribution of a sensitive column within t of that in the whole table (Li et al. 2007)."""

    column: str
    t: float
    distance: Literal["equal", "hierarchical"] = "equal"
    monotone = False

    def violated(self, classes: Classes) -> Flags:
        """Classes that are too far away."""
        spread = classes.spreads[self.column]
        far = equal_t(spread) if self.distance == "equal" else hierarchical_t(spread)
        return np.asarray(far > self.t + TINY)

    def words(self) -> str:
        """The requirement, for people."""
        return f"{self.column} is within {self.t:g} ({self.distance} distance) of the whole table in every class"


@dataclass(frozen=True, eq=False)
class PresenceBounds:
    """A share of the population's people between two bounds (Nergiz et al. 2007)."""

    population: Classes
    least: float
    most: float
    monotone = False

    def violated(self, classes: Classes) -> Flags:
        """Classes whose members would be too surely in, or out."""
        share = classes.sizes / _crowd(classes, self.population)
        return np.asarray((share < self.least - TINY) | (share > self.most + TINY))

    def words(self) -> str:
        """The requirement, for people."""
        return f"nobody's presence is more likely than {self.most:g} or less likely than {self.least:g}"


@dataclass(frozen=True, eq=False)
class KMap:
    """At least k people of the population in every class (k-map, Sweeney 2002)."""

    population: Classes
    k: int
    monotone = True

    def violated(self, classes: Classes) -> Flags:
        """Classes with too few people in the population."""
        return np.asarray(_crowd(classes, self.population) < self.k)

    def words(self) -> str:
        """The requirement, for people."""
        return f"every class has at least {self.k} people in the population"


@dataclass(frozen=True, eq=False)
class AverageRisk:
    """A mean risk over the published people; the riskiest classes are left out first until it is kept.

    The risk of a person is 1/f, or 1/F with a population.
    """

    most: float
    population: Classes | None = None
    monotone = False

    def violated(self, classes: Classes) -> Flags:
        """The fewest of the riskiest classes, all of one risk or none."""
        crowd = classes.sizes if self.population is None else _crowd(classes, self.population)
        return _riskiest(classes.sizes, crowd, self.most)

    def words(self) -> str:
        """The requirement, for people."""
        return f"the average risk is at most {self.most:g}"


@dataclass(frozen=True, eq=False)
class AttackerRisk:
    """A planning adversary who re-identifies nobody in a class with more than a given probability.

    He looks for his target among the people of the population, or of the data where there is none.
    """

    attack: Attack
    most: float
    population: Classes | None = None
    monotone = False

    def violated(self, classes: Classes) -> Flags:
        """Classes in which he would be too successful."""
        crowd = classes.sizes if self.population is None else _crowd(classes, self.population)
        return np.asarray(self.attack.known(crowd).reidentification > self.most + TINY)

    def words(self) -> str:
        """The requirement, for people."""
        return f"the planning adversary re-identifies nobody with a probability above {self.most:g}"


def _riskiest(sizes: Ints, crowd: Ints, most: float) -> Flags:
    """Classes below the smallest crowd at which the mean risk of the rest is low enough."""
    order = np.argsort(-crowd, kind="stable")
    people = np.cumsum(sizes[order])
    mean = np.cumsum(sizes[order] / crowd[order]) / people
    last = np.concatenate([crowd[order][1:] != crowd[order][:-1], [True]])
    fine = np.flatnonzero((mean <= most + TINY) & last)
    least = crowd[order][fine[-1]] if len(fine) else math.inf
    return np.asarray(crowd < least)


def _crowd(classes: Classes, population: Classes) -> Ints:
    """People of the population per class, never fewer than in the data."""
    return np.maximum(classes.link(population), classes.sizes)


def smallest_crowd(risk: float) -> int:
    """The least size of a class in which a guess is right with at most this probability.

    >>> smallest_crowd(0.2), smallest_crowd(0.3)
    (5, 4)
    """
    if not 0 < risk <= 1:
        raise UsageError(f"A risk limit must be above 0 and at most 1, not {risk:g}.", remedy="0.2 means: one in five.")
    return math.ceil(1 / Fraction(str(risk)))


def diversities(given: Any, sensitive: tuple[str, ...]) -> list[Diversity]:
    """Requirements from a number (distinct l), a mapping by column, or the keywords of `Diversity`."""
    return [
        Diversity(column, **_keywords(value, "l", ("l", "kind", "c"), "diversity"))
        for column, value in _by_column(given, sensitive, "diversity", ("l", "kind", "c"))
    ]


def closenesses(given: Any, sensitive: tuple[str, ...]) -> list[Closeness]:
    """Requirements from a number (t, equal distance), a mapping by column, or the keywords of `Closeness`."""
    return [
        Closeness(column, **_keywords(value, "t", ("t", "distance"), "closeness"))
        for column, value in _by_column(given, sensitive, "closeness", ("t", "distance"))
    ]


def _by_column(given: Any, sensitive: tuple[str, ...], what: str, keys: tuple[str, ...]) -> list[tuple[str, Any]]:
    if given is None:
        return []
    if not sensitive:
        raise UsageError(
            f"{what} needs a sensitive column.", remedy='Give a column the role "sensitive" in the policy.'
        )
    if not isinstance(given, Mapping) or set(given) <= set(keys):
        return [(column, given) for column in sensitive]
    unknown = [column for column in given if column not in sensitive]
    if unknown:
        raise ColumnError(
            f"{what}: '{unknown[0]}' is no sensitive column.", remedy=f"Sensitive: {', '.join(sensitive)}."
        )
    return list(given.items())


def _keywords(value: Any, main: str, known: tuple[str, ...], what: str) -> dict[str, Any]:
    keywords = dict(value) if isinstance(value, Mapping) else {main: value}
    if main not in keywords or set(keywords) - set(known):
        raise UsageError(f"{what} takes {', '.join(known)}.", remedy=f"For example {what}={{'{main}': 2}}.")
    number = keywords[main]
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < math.inf:
        raise UsageError(f"{what}: {main} must be a number from 0 up.")
    choices = {"kind": ("distinct", "entropy", "recursive"), "distance": ("equal", "hierarchical")}
    for key, allowed in choices.items():
        if keywords.get(key, allowed[0]) not in allowed:
            raise UsageError(f"{what}: {key} must be one of {', '.join(allowed)}.")
    return keywords


def check_spread(requirement: Closeness | Diversity, spread: Spread) -> None:
    """Stop where a hierarchical distance is asked for and there is no hierarchy."""
    if isinstance(requirement, Closeness) and requirement.distance == "hierarchical" and spread.hierarchy.height < 2:
        raise UsageError(
            f"Column '{requirement.column}' has no hierarchy to measure distances along.",
            remedy="Give it one in the policy, or use the equal distance.",
        )
