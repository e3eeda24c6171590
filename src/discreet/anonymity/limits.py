"""Limits of a published table: requirements on its classes, and how many people may be suppressed.

Every requirement says which classes violate it. Those that can only get better when classes merge are monotone; the
search may rule out whole regions by them. The others are looked at node by node.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal, Protocol, get_args

import numpy as np

from discreet.attacker import Attack
from discreet.errors import Unsatisfiable, UsageError
from discreet.kernel import Classes
from discreet.kernel.arrays import Flags, Floats, Ints, whole
from discreet.risk.inference import distinct_l, entropy_l, equal_t, hierarchical_t, no_order, ordered_t, recursive_l

TINY = 1e-12


class Requirement(Protocol):
    """Which classes may not be published."""

    @property
    def monotone(self) -> bool:
        """Whether a class that satisfies it still does after merging with any other."""

    def violated(self, classes: Classes) -> Flags:
        """One mark per class."""

    def words(self) -> str:
        """The requirement, for people."""


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
Distance = Literal["equal", "hierarchical", "ordered"]
DISTANCES = {"equal": equal_t, "hierarchical": hierarchical_t, "ordered": ordered_t}


@dataclass(frozen=True)
class Diversity:
    """At least l well-represented values of a sensitive column (Machanavajjhala et al. 2006)."""

    column: str
    l: float  # noqa: E741 - the name it has in the papers
    kind: Kind = "distinct"
    c: float = 3.0
    simple: bool = True
    """Whether everybody has one known value."""

    @property
    def monotone(self) -> bool:
        """Only the number of distinct values can never fall, where nobody has several values or none."""
        return self.kind == "distinct" and self.simple

    def violated(self, classes: Classes) -> Flags:
        """Classes that are not diverse enough."""
        spread = classes.spreads[self.column]
        # Entropy and recursion look at shares of values; that no value is held by everybody, they leave to this.
        few = distinct_l(spread) < self.l
        if self.kind == "entropy":
            few |= entropy_l(spread) < self.l * (1 - TINY)
        elif self.kind == "recursive":
            few |= recursive_l(spread, self.c) < self.l
        return np.asarray(few)

    def beyond(self, classes: Classes) -> bool:
        """Whether the column has fewer known values than any class shall have."""
        return sum(value is not None for value in classes.spreads[self.column].values) < self.l

    def words(self) -> str:
        """The requirement, for people."""
        how = f"({self.c:g}, {self.l:g})" if self.kind == "recursive" else f"{self.l:g}"
        return f"{self.column} is {self.kind} {how}-diverse in every class"


@dataclass(frozen=True)
class Closeness:
    """A distribution of a sensitive column within t of that in the whole table (Li et al. 2007)."""

    column: str
    t: float
    distance: Distance = "equal"
    monotone = False

    def violated(self, classes: Classes) -> Flags:
        """Classes that are too far away."""
        return np.asarray(DISTANCES[self.distance](classes.spreads[self.column]) > self.t + TINY)

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
        share = classes.sizes / people_alike(classes, self.population)
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
        return np.asarray(people_alike(classes, self.population) < self.k)

    def words(self) -> str:
        """The requirement, for people."""
        return f"every class has at least {self.k} people in the population"


@dataclass(frozen=True, eq=False)
class AverageRisk:
    """A mean risk over the published people; the riskiest classes are left out first until it is met.

    The risk of a person is 1/f, or 1/F with a population.
    """

    most: float
    population: Classes | None = None
    monotone = False

    def violated(self, classes: Classes) -> Flags:
        """The fewest of the riskiest classes, all of one risk or none."""
        alike = people_alike(classes, self.population)
        order = np.argsort(-alike, kind="stable")
        added, people = _added_risk(classes, alike, order)
        mean = np.cumsum(added) / np.cumsum(people)
        last = np.concatenate([alike[order][1:] != alike[order][:-1], [True]])
        fine = np.flatnonzero((mean <= self.most + TINY) & last)
        least = alike[order][fine[-1]] if len(fine) else math.inf
        return np.asarray(alike < least)

    def words(self) -> str:
        """The requirement, for people."""
        return f"the average risk is at most {self.most:g}"


@dataclass(frozen=True, eq=False)
class AttackerRisk:
    """A planning adversary who re-identifies nobody in a class with more than a given probability.

    They look for the target among the people of the population, or of the data where there is none.
    """

    attack: Attack
    most: float
    population: Classes | None = None
    monotone = False

    def violated(self, classes: Classes) -> Flags:
        """Classes in which the attacker would be too successful."""
        alike = people_alike(classes, self.population)
        return np.asarray(self.attack.known(alike).reidentification > self.most + TINY)

    def words(self) -> str:
        """The requirement, for people."""
        return f"the planning adversary re-identifies nobody with a probability above {self.most:g}"


def _added_risk(classes: Classes, alike: Ints, order: Ints) -> tuple[Floats, Ints]:
    """What each class adds to the sum of risks and to the people, when classes are published in this order.

    The risk of a person is that of the riskiest of their rows, which is in the last class that they are in.
    """
    if classes.members is None:
        return classes.sizes[order] / alike[order], classes.sizes[order]
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    at, person = place[classes.members.owners], classes.members.people
    by_person = np.lexsort((at, person))
    at, person = at[by_person], person[by_person]
    risk, new = 1 / alike[order][at], np.concatenate([[True], person[1:] != person[:-1]])
    before = np.where(new, 0.0, np.concatenate([[0.0], risk[:-1]]))
    added = np.bincount(at, weights=risk - before, minlength=len(order)).astype(np.float64)
    return added, np.bincount(at[new], minlength=len(order)).astype(np.int64)


def people_alike(classes: Classes, population: Classes | None) -> Ints:
    """People of the population per class, never fewer than in the data; those of the data without one."""
    return classes.sizes if population is None else np.maximum(classes.link(population), classes.sizes)


@dataclass(frozen=True, eq=False)
class Requirements:
    """What the published table must satisfy."""

    requirements: tuple[Requirement, ...]
    suppressible: int

    @classmethod
    def of(
        cls,
        classes: Classes,
        *,
        k: int | None = None,
        suppression: float = 0.0,
        diversity: Any = None,
        closeness: Any = None,
        presence: tuple[float, float] | None = None,
        k_map: int | None = None,
        max_risk: float | None = None,
        risk_model: str = "prosecutor",
        average_risk: float | None = None,
        attack: Attack | None = None,
        population: Classes | None = None,
        distances: Mapping[str, str] = MappingProxyType({}),
    ) -> Requirements:
        """The limits that the arguments of `anonymise` mean for these people.

        `distances` are those of t-closeness by column, where `closeness` does not name one.
        """
        remedy = "k = 5 means: at least five people look alike."
        requirements: list[Requirement] = []
        if k is not None:
            if whole(k, "k", remedy=remedy) > classes.records:
                raise Unsatisfiable(
                    f"k = {k:,} is more than the {classes.records:,} people in the data.",
                    remedy="Choose a smaller one.",
                )
            requirements.append(Size(int(k)))
        requirements += _inference_limits(classes, diversity, closeness, distances)
        if presence is not None:
            linked = _needed(population, "presence")
            least, most = presence
            if not 0 <= least <= most <= 1:
                raise UsageError(
                    "presence takes two probabilities, the smaller one first.", remedy="For example presence=(0, 0.5)."
                )
            requirements.append(PresenceBounds(linked, least, most))
        if k_map is not None:
            requirements.append(KMap(_needed(population, "k_map"), whole(k_map, "k_map", remedy=remedy)))
        if average_risk is not None:
            requirements.append(AverageRisk(_probability(average_risk, "average_risk")))
        if attack is not None:
            if max_risk is None:
                raise UsageError(
                    "An attack needs a limit.",
                    remedy="Give max_risk (--max-risk), the largest probability of success you accept.",
                )
            if not 0 <= max_risk <= 1:
                raise UsageError(
                    "max_risk must be between 0 and 1.", remedy="0 means that nobody is re-identified at all."
                )
            requirements.append(AttackerRisk(attack, float(max_risk), population))
        elif max_risk is not None:
            match risk_model:
                case "prosecutor":
                    requirements.append(Size(smallest_crowd(max_risk)))
                case "journalist":
                    linked = _needed(population, "the journalist's risk")
                    requirements.append(KMap(linked, smallest_crowd(max_risk)))
                case "marketer":
                    limit = _probability(max_risk, "max_risk")
                    requirements.append(AverageRisk(limit, _needed(population, "the marketer's risk")))
                case _:
                    raise UsageError(
                        f"There is no risk model named '{risk_model}'.",
                        remedy="Choose prosecutor, journalist or marketer.",
                    )
        if not requirements:
            raise UsageError(
                "Nothing is required of the published table.", remedy="Give k, max_risk, or another limit."
            )
        if not 0 <= suppression <= 1:
            raise UsageError("suppression is a share from 0 to 1.", remedy="0.05 means: at most 5 % of the people.")
        # floor(s * N) of N rows, with s read as it is written: 0.29 of 100 is 29.
        return cls(tuple(requirements), math.floor(Fraction(str(suppression)) * int(classes.rows.sum())))

    @property
    def words(self) -> tuple[str, ...]:
        """What is required, for people."""
        return tuple(limit.words() for limit in self.requirements)

    @property
    def k(self) -> int:
        """The least size of a class."""
        return max((limit.k for limit in self.requirements if isinstance(limit, Size)), default=1)

    @property
    def plain(self) -> bool:
        """Whether size is all that matters."""
        return all(isinstance(limit, Size) for limit in self.requirements)

    def violated(self, classes: Classes, *, monotone: bool = False, hidden: Flags | None = None) -> Any:
        """Which classes may not be published, by all requirements or only by the monotone ones.

        `hidden` classes are suppressed already, but belong to the table to which others are compared.
        """
        chosen = [limit for limit in self.requirements if limit.monotone or not monotone]
        bad = np.zeros(len(classes), dtype=bool) if hidden is None else hidden.copy()
        for limit in chosen:
            if not isinstance(limit, AverageRisk):
                bad |= limit.violated(classes)
        # An average is over what the other requirements leave.
        for limit in chosen:
            if isinstance(limit, AverageRisk):
                rest = np.flatnonzero(~bad)
                bad[rest] = limit.violated(classes.keep(~bad))
        return bad


def _needed(population: Classes | None, what: str) -> Classes:
    if population is None:
        raise UsageError(
            f"{what} needs a population.", remedy="Give population=discreet.read(..., policy=policy.for_population())."
        )
    return population


def _probability(value: float, what: str) -> float:
    if not 0 < value <= 1:
        raise UsageError(f"{what} must be above 0 and at most 1.", remedy="0.2 means: one in five.")
    return float(value)


def smallest_crowd(risk: float) -> int:
    """The least size of a class in which a guess is right with at most this probability.

    >>> smallest_crowd(0.2), smallest_crowd(0.3)
    (5, 4)
    """
    if not 0 < risk <= 1:
        raise UsageError(f"A risk limit must be above 0 and at most 1, not {risk:g}.", remedy="0.2 means: one in five.")
    return math.ceil(1 / Fraction(str(risk)))


def _inference_limits(
    classes: Classes, diversity: Any, closeness: Any, distances: Mapping[str, str]
) -> Iterator[Diversity | Closeness]:
    """Requirements on sensitive columns: each from a number, a mapping by column, or keywords."""
    for column, words in _by_column("diversity", diversity, classes, "l kind c"):
        spread = classes.spreads[column]
        yield Diversity(column, **words, simple=spread.holders is None and spread.hierarchy.meanings is None)
    for column, words in _by_column("closeness", closeness, classes, "t distance"):
        limit = Closeness(column, **{"distance": distances.get(column, "equal"), **words})
        hierarchy = classes.spreads[column].hierarchy
        if limit.distance == "hierarchical" and hierarchy.height < 2:
            raise UsageError(
                f"Column '{column}' has no hierarchy to measure distances along.",
                remedy="Give it one in the policy, or use the equal distance.",
            )
        if limit.distance == "ordered" and hierarchy.ranks is None:
            raise no_order(column)
        yield limit


RANGES = {"l": (1, math.inf), "c": (math.ulp(0.0), math.inf), "t": (0, 1)}
EXAMPLES = {"diversity": '{"l": 3, "kind": "entropy"}', "closeness": '{"t": 0.2, "distance": "ordered"}'}


def _by_column(what: str, given: Any, classes: Classes, names: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The keywords of a requirement for each column it is about; the first of their names is the number."""
    if given is None:
        return
    sensitive, known = tuple(classes.spreads), names.split()
    if not sensitive:
        raise UsageError(
            f"{what} needs a sensitive column.", remedy='Give a column the role "sensitive" in the policy.'
        )
    by_column = isinstance(given, Mapping) and not set(given) <= set(known)
    columns: Mapping[str, Any] = given if by_column else dict.fromkeys(sensitive, given)
    if unknown := [column for column in columns if column not in sensitive]:
        raise UsageError(
            f"{what}: '{unknown[0]}' is no sensitive column.", remedy=f"Sensitive: {', '.join(sensitive)}."
        )
    main, choices = known[0], {"kind": get_args(Kind), "distance": get_args(Distance)}
    for column, value in columns.items():
        keywords = dict(value) if isinstance(value, Mapping) else {main: value}
        if main not in keywords or set(keywords) - set(known):
            raise UsageError(f"{what} takes {', '.join(known)}.", remedy=f"For example {what}={EXAMPLES[what]}.")
        for key, (least, most) in RANGES.items():
            number = keywords.get(key, least)
            if isinstance(number, bool) or not isinstance(number, int | float) or not least <= number <= most:
                upto = "up" if most == math.inf else f"to {most:g}"
                raise UsageError(
                    f"{what}: {key} must be a number from {least:g} {upto}.",
                    remedy=f"For example {what}={EXAMPLES[what]}.",
                )
        for key, allowed in choices.items():
            if keywords.get(key, allowed[0]) not in allowed:
                raise UsageError(
                    f"{what}: {key} must be one of {', '.join(allowed)}.",
                    remedy=f"For example {what}={EXAMPLES[what]}.",
                )
        yield column, keywords
