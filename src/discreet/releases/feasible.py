"""`feasibility`: can decoys be put into a table so that whoever re-identifies somebody is likely to hit one?

After AnonTokens (Antonatos, Braghin, Holohan, MacAonghusa), Section 5 and Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.anonymity import anonymise
from discreet.errors import UsageError
from discreet.kernel import Classes, Countable
from discreet.kernel.arrays import Floats
from discreet.kernel.notebook import card
from discreet.releases.population_link import Linked


@dataclass(frozen=True, eq=False)
class Feasibility:
    """What the least lossy table within the limits leaves room for."""

    k: int
    suppression: float
    """The largest share of people left out."""
    loss_name: str
    levels: Mapping[str, int]
    """The level of each column."""
    loss: float
    records: int
    """People in the data."""
    suppressed: int
    """People who are left out."""
    classes: int
    """Classes that are released."""
    close_to_k: int
    """Of these, classes of k to 1.1 k people."""
    population: int
    """People in the population."""
    min_link: int
    """The least number of people of the population in a released class; 0 where nothing is released."""
    candidate_classes: int
    """Classes of the population that are not released, of at least k and fewer than `min_link` people."""
    candidate_records: int
    """People of the population in them."""
    candidates_without_subjects: int
    """Candidates in which nobody of the data was left out."""
    factors: Floats
    """Per candidate, how many times riskier it is than the riskiest released class; the largest first."""
    uncovered: int
    """Released classes that the population does not show; left out of `min_link`."""
    uncovered_records: int
    """Released people in them."""

    @classmethod
    def of(cls, linked: Linked, *, suppression: float, loss: float, loss_name: str) -> Feasibility:
        """From the data beside the population at the node that was chosen."""
        found = linked.candidates
        factors = found.factors.copy()
        factors[::-1].sort()
        factors.flags.writeable = False
        return cls(
            k=linked.k,
            suppression=suppression,
            loss_name=loss_name,
            levels=linked.levels,
            loss=loss,
            records=linked.records,
            suppressed=linked.suppressed.records,
            classes=len(linked.released),
            close_to_k=linked.close_to_k,
            population=linked.population.records,
            min_link=linked.min_link,
            candidate_classes=len(found),
            candidate_records=int(found.links.sum()),
            candidates_without_subjects=int((found.subjects == 0).sum()),
            factors=factors,
            uncovered=int(linked.uncovered.sum()),
            uncovered_records=linked.uncovered_records,
        )

    @property
    def max_factor(self) -> float:
        """The largest risk multiplication factor; 0 where there is no candidate."""
        return float(self.factors[0]) if len(self.factors) else 0.0

    @property
    def quartiles(self) -> tuple[float, ...]:
        """The factors summed up: the least, the quartiles and the largest; nothing where there is no candidate."""
        return tuple(np.quantile(self.factors, [0, 0.25, 0.5, 0.75, 1]).tolist()) if len(self.factors) else ()

    @property
    def sampling(self) -> float:
        """The share of the population that is in the data."""
        return self.records / self.population

    def words(self) -> str:
        """What was found, for people."""
        if not self.classes:
            return "Nobody would be released, so there is nothing to put decoys into."
        crowd = (
            f"Every released person has at least {self.min_link:,} look-alikes in the population of {self.population:,}"
        )
        if not self.candidate_classes:
            return f"{crowd}, and no class of {self.k:,} or more people in it is smaller: there is no room for decoys."
        return (
            f"{crowd}; {self.candidate_classes:,} classes that are not released have fewer, but at least {self.k:,}. "
            f"A decoy there is up to {self.max_factor:.2f} times as risky as the riskiest real person. "
            f"{self.candidates_without_subjects:,} of them hold nobody who was left out of the data."
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON; the keys are stable."""
        return {
            "k": self.k,
            "suppression": self.suppression,
            "levels": dict(self.levels),
            "loss": self.loss,
            "loss_name": self.loss_name,
            "records": self.records,
            "suppressed": self.suppressed,
            "classes": self.classes,
            "close_to_k": self.close_to_k,
            "population": self.population,
            "sampling": self.sampling,
            "min_link": self.min_link,
            "candidate_classes": self.candidate_classes,
            "candidate_records": self.candidate_records,
            "candidates_without_subjects": self.candidates_without_subjects,
            "max_factor": self.max_factor,
            "quartiles": list(self.quartiles),
            "factors": self.factors.tolist(),
            "uncovered": self.uncovered,
            "uncovered_records": self.uncovered_records,
        }

    def __repr__(self) -> str:
        return (
            f"Feasibility(k={self.k}, {self.candidate_classes} candidates, least link count {self.min_link}, "
            f"largest factor {self.max_factor:.3g})"
        )

    def _repr_html_(self) -> str:
        return card(self.words(), self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("People left out", f"{self.suppressed:,} of {self.records:,}"),
            ("Classes released", f"{self.classes:,}"),
            ("Classes of k to 1.1 k people", f"{self.close_to_k:,}"),
            ("Least link count", f"{self.min_link:,}"),
            ("Candidates for decoys", f"{self.candidate_classes:,}"),
            ("People of the population in them", f"{self.candidate_records:,}"),
            ("Candidates without people of the data", f"{self.candidates_without_subjects:,}"),
            ("Largest risk factor", f"{self.max_factor:.4g}"),
            ("Released classes the population does not show", f"{self.uncovered:,}"),
        ]


def feasibility(
    data: Countable | Classes,
    population: Countable | Classes,
    k: int = 5,
    suppression: float = 0.1,
    loss: str = "dm_star",
) -> Feasibility:
    """Anonymise the data and count in which classes of the population decoys could be put.

    `data` and `population` are tables or classes, one row per person or counts. A population that was read without a
    policy is read by the data's.

    >>> people = Classes.of(["zip"], [("1",), ("2",), ("3",)], [6, 5, 1])
    >>> everybody = Classes.of(["zip"], [("1",), ("2",), ("3",), ("4",)], [60, 40, 9, 3])
    >>> feasibility(people, everybody, k=3)
    Feasibility(k=3, 2 candidates, least link count 40, largest factor 13.3)
    """
    crowd = crowd_of(data, population)
    found = anonymise(data, k=k, suppression=suppression, loss=loss)
    linked = Linked.of(found, crowd)
    return Feasibility.of(linked, suppression=float(suppression), loss=found.loss, loss_name=loss)


def crowd_of(data: Countable | Classes, population: Countable | Classes) -> Classes:
    """The population counted by the columns of the data."""
    for given, what in ((data, "data"), (population, "population")):
        if not isinstance(given, Classes | Countable):
            raise UsageError(
                f"The {what} is a table or classes, not a {type(given).__name__}.",
                remedy="Read it first: discreet.read(source, policy=policy).",
            )
    if isinstance(population, Classes):
        return population
    names = data.names if isinstance(data, Classes) else data.classes().names
    return _by_the_same_policy(data, population).classes(names)


def _by_the_same_policy(data: object, population: Countable) -> Countable:
    """A population that was read without a policy generalises as the data do."""
    from discreet.sources import Table

    policy = data.policy if isinstance(data, Table) else None
    if policy is not None and isinstance(population, Table) and population.policy is None:
        return Table(population.engine, policy.for_population())
    return population
