"""Feasibility by plain counting over rows, written from the definitions and nothing else."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from discreet.kernel import Classes
from tests.anonymity.brute import Data, Node, Person

Key = tuple[str, ...]


@dataclass(frozen=True)
class Town:
    """Data, and a population whose values generalise by the same hierarchies."""

    data: Data
    population: Data

    def classes(self) -> tuple[Classes, Classes]:
        """Both as the kernel counts them."""
        return self.data.classes(), self.population.classes()


def key(person: Person, node: Node) -> Key:
    """What a person looks like at a node."""
    return tuple(path[level] for path, level in zip(person.paths, node, strict=True))


def counted(data: Data, node: Node) -> Counter[Key]:
    """People who look alike."""
    return Counter(key(person, node) for person in data.people)


@dataclass(frozen=True)
class Expected:
    """What feasibility has to say at a node."""

    suppressed: int
    classes: int
    close_to_k: int
    min_link: int
    candidate_classes: int
    candidate_records: int
    candidates_without_subjects: int
    factors: list[float]
    uncovered: int
    uncovered_records: int

    @property
    def max_factor(self) -> float:
        """The largest factor, or 0."""
        return max(self.factors, default=0.0)

    @property
    def refused(self) -> bool:
        """Whether more than one per cent of the released people are in classes that the population does not have."""
        return self.uncovered_records > 0 and Fraction(self.uncovered_records, self._released) > Fraction(1, 100)

    _released: int = 0


def expected(town: Town, node: Node, k: int) -> Expected:
    """Every figure at a node."""
    people, everybody = counted(town.data, node), counted(town.population, node)
    released = {look: size for look, size in people.items() if size >= k}
    left_out = {look for look, size in people.items() if size < k}
    links = {look: everybody[look] for look in released}
    least = min((link for link in links.values() if link), default=0)
    candidates = {look: many for look, many in everybody.items() if look not in released and k <= many < least}
    uncovered = [look for look, link in links.items() if not link]
    return Expected(
        suppressed=sum(people[look] for look in left_out),
        classes=len(released),
        close_to_k=sum(k <= size and Fraction(size) <= Fraction(11, 10) * k for size in released.values()),
        min_link=least,
        candidate_classes=len(candidates),
        candidate_records=sum(candidates.values()),
        candidates_without_subjects=sum(look not in left_out for look in candidates),
        factors=sorted((least / many for many in candidates.values()), reverse=True),
        uncovered=len(uncovered),
        uncovered_records=sum(released[look] for look in uncovered),
        _released=sum(released.values()),
    )


def limit(data: Data, suppression: float) -> int:
    """How many people may be left out."""
    return math.floor(Fraction(str(suppression)) * len(data.people))
