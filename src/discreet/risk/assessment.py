"""`discreet.assess`: every measure of one table, on its class histogram.

The only file of this room that opens files and databases (`opened`).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, SupportsIndex, cast, runtime_checkable

from discreet.errors import EmptySource, UsageError
from discreet.kernel import Classes, Countable
from discreet.kernel.serialise import card, json_of
from discreet.policy import Limits, Policy
from discreet.risk.inference import Inference, infer
from discreet.risk.population import PopulationUniqueness, estimate
from discreet.risk.records import Ordered, RecordRisks, Records
from discreet.risk.reidentification import (
    Band,
    Economics,
    Payoffs,
    Presence,
    Reidentification,
    bands,
    journalist,
    linked_sizes,
    marketer,
    presence,
    prosecutor,
)
from discreet.risk.survey import HouseholdRisk, MemberRisk, WeightedRisk, households, weighted
from discreet.wording import brief_percent, percent

PolicyLike = Policy | str | Path | Mapping[str, Any]
"""A policy, the path of its file, or a dictionary of the file's shape."""


def opened(source: Any, policy: PolicyLike | None = None) -> Countable | Classes:
    """The table to count: as it is, or opened by `discreet.read` with the policy.

    >>> opened(Classes.of(["sex"], [("F",)]))
    Classes(1 people in 1 classes by sex)
    """
    if policy is None:
        if isinstance(source, Classes) or (isinstance(source, Countable) and callable(source.classes)):
            return source
        raise UsageError(
            f"People are counted in a table or classes, not in a {type(source).__name__} without a policy.",
            remedy="Give policy=..., or read it first: discreet.read(source, policy=policy).",
        )
    if isinstance(source, Classes):
        raise UsageError(
            "Classes are counted already, and take no policy.",
            remedy="Leave out policy=, or give the table or frame that they were counted from.",
        )
    from discreet.sources import read

    return read(source, policy=policy)


# The seam to the room that plans attacks: measures on the histogram do not know how an adversary decides.
class UnderAttack(Protocol):
    """What an adversary would do to a table (`discreet.attacker.Attacked`)."""

    @property
    def known(self) -> Any:
        """When it is known beforehand how many people look like each target."""

    @property
    def unknown(self) -> Any:
        """When that is learnt only after buying the external table."""

    def to_dict(self, threshold: float) -> dict[str, Any]:
        """For JSON."""


class Adversary(Protocol):
    """An adversary who may attack a table (`discreet.attacker.Attack`)."""

    def on(
        self, sample: Classes, external: Classes, *, population: Classes | None = None, loss: float | str = 1.0
    ) -> UnderAttack:
        """What they would do to every class of people in the sample."""


@runtime_checkable
class Governed(Protocol):
    """A table that is seen through a policy."""

    @property
    def policy(self) -> Policy | None:
        """Its policy, if it has one."""


@runtime_checkable
class Surveyed(Protocol):
    """A table that may be a survey sample."""

    def surveyed(self, classes: Classes) -> Classes:
        """Its classes with the weights and households that its policy declares."""


@dataclass(frozen=True)
class Assessment:
    """What publishing a table would risk, before anything is done about it."""

    columns: tuple[str, ...]
    levels: Mapping[str, int]
    threshold: float
    records: Records
    """How many people there are; `records()` gives the risks of each row, for the custodian only."""
    classes: int
    uniques: int
    """People who are alone in a class; with several rows, in at least one."""
    k: int
    prosecutor: Reidentification
    journalist: Reidentification
    marketer: float
    bands: tuple[Band, ...]
    population_size: int | None
    population_uniqueness: PopulationUniqueness | None
    population_uniques: int | None
    """People in the data who are alone in the population, where the population was given as a table."""
    presence: Presence | None
    inference: Mapping[str, Inference]
    economics: Payoffs | None
    allowed_at_risk: float
    attack: UnderAttack | None = None
    """What a planning adversary would do, where one was given."""
    weighted: WeightedRisk | None = None
    """Risk by survey weights, where the policy names them."""
    household: HouseholdRisk | None = None
    """Risk of households, where the policy names their numbers."""
    rows: int | None = None
    """How many rows the people have, where the policy says whose row it is."""

    @property
    def average_risk(self) -> float:
        """The mean over people of one over the size of their class."""
        return self.prosecutor.success

    @property
    def binding(self) -> Reidentification:
        """The adversary that limits are held against: the journalist where a population is known."""
        return self.journalist if self.presence is not None else self.prosecutor

    @property
    def exceeded(self) -> bool:
        """Whether more people are at risk than the limits allow."""
        return self.binding.at_risk > self.allowed_at_risk

    to_dict = json_of(
        "records rows classes uniques k columns levels threshold prosecutor journalist",
        marketer=lambda self: {"success": self.marketer},
        average_risk=lambda self: self.average_risk,
        population_uniqueness=lambda self: (
            {"population": None, "reason": "The size of the population is not known."}
            if self.population_uniqueness is None
            else {**self.population_uniqueness.to_dict(), "known_uniques": self.population_uniques}
        ),
        presence=lambda self: self.presence,
        weighted=lambda self: self.weighted,
        household=lambda self: self.household,
        sensitive=lambda self: self.inference,
        economics=lambda self: self.economics,
        attack=lambda self: None if self.attack is None else self.attack.to_dict(self.threshold),
        class_sizes=lambda self: [
            {"from": band.smallest, "to": band.largest, "classes": band.classes, "records": band.records}
            for band in self.bands
        ],
        limit=lambda self: {"at_risk": self.allowed_at_risk, "exceeded": self.exceeded},
    )

    def __repr__(self) -> str:
        return f"Assessment({self.records} people, {self.uniques} unique, k={self.k}, average risk {self.average_risk:.4f})"

    def _repr_html_(self) -> str:
        verdict = "above" if self.exceeded else "within"
        words = f"Risk by {', '.join(self.columns)}: {percent(self.binding.at_risk)} of people are at risk, which is {verdict} the limit."
        rows = [
            ("People", f"{self.records:,}"),
            ("Classes of people who look alike", f"{self.classes:,}"),
            ("People who are unique", f"{self.uniques:,} ({brief_percent(self.uniques / self.records)})"),
            ("Smallest class (k)", f"{self.k:,}"),
            (f"At risk above {self.threshold:g}, prosecutor", brief_percent(self.prosecutor.at_risk)),
            (f"At risk above {self.threshold:g}, journalist", brief_percent(self.journalist.at_risk)),
            ("Average risk", f"{self.average_risk:.4f}"),
            ("Marketer success", f"{self.marketer:.4f}"),
        ]
        return card(words, rows)


def assess(
    table: Any,
    population: Countable | Classes | SupportsIndex | None = None,
    threshold: float | None = None,
    *,
    economics: Economics | None = None,
    attack: Adversary | None = None,
    external: Countable | Classes | None = None,
    loss: float | str = 1.0,
    policy: PolicyLike | None = None,
) -> Assessment:
    """Measure what publishing a table would risk.

    The table is what `discreet.read` returned, or classes; with `policy` also a frame or the path of a file.

    `population` is the table of people an adversary may know of, or just how many there are. `threshold` is the risk
    above which a person counts as at risk: the policy's, or 0.2. What is not given is taken from the policy.

    With `attack` a planning adversary is let loose on the table. `external` is the list of named people that they can
    buy: the population's table unless given, or else the people of the data themselves. `loss` is what a
    re-identification costs the publisher, or the name of a column that says so for each person.
    """
    table = opened(table, policy)
    if attack is not None and not callable(getattr(attack, "on", None)):
        raise UsageError(
            f"The adversary is an Attack, not a {type(attack).__name__}.", remedy="Use discreet.Attack.from_dict(...)."
        )
    policy = table.policy if isinstance(table, Governed) else None
    limits = policy.limits if policy else Limits()
    if population is None and policy is not None:
        population = policy.population.size
    if economics is None and policy is not None and policy.economics is not None:
        economics = Economics(**policy.economics)
    threshold = limits.threshold if threshold is None else threshold
    if not 0 < threshold <= 1:
        raise UsageError(
            f"The threshold is a probability above 0 and up to 1, not {threshold:g}.", remedy="0.2 means: one in five."
        )
    sample = table if isinstance(table, Classes) else table.classes(sensitive=policy.sensitive if policy else ())
    if not sample.records:
        raise EmptySource("There is nobody in the table.", remedy="Give a table with at least one row.")
    # The population as classes, or only its size.
    everybody: Classes | None = None
    size: int | None = None
    if isinstance(population, Classes | Countable):
        everybody = population if isinstance(population, Classes) else population.classes(sample.names)
        size = everybody.records
    elif isinstance(population, SupportsIndex) and not isinstance(population, bool):
        size = operator.index(population)
        if size < sample.records:
            raise UsageError(
                f"A population of {size:,} cannot hold the {sample.records:,} people in the data.",
                remedy="Give the number of people from whom the data were drawn.",
            )
    elif population is not None:
        raise UsageError(
            f"A population is a table, classes or a number of people, not a {type(population).__name__}.",
            remedy="Read a file first: population=discreet.read(path, policy=policy.for_population())",
        )
    struck = None
    if attack is not None:
        targets = sample
        if isinstance(loss, str) and loss not in sample.spreads and not isinstance(table, Classes):
            targets = table.classes(sensitive=[loss])
        struck = attack.on(targets, _external(external, everybody, sample), population=everybody, loss=loss)
    elif external is not None or loss != 1.0:
        raise UsageError(
            "An external table, and losses, matter with an adversary only.", remedy="Give attack= as well."
        )
    linked = sample.sizes if everybody is None else linked_sizes(sample, everybody)[0]
    if isinstance(table, Surveyed):
        sample = table.surveyed(sample)
    members = None if sample.survey is None else MemberRisk.of(sample, linked, known=everybody is not None)
    alike, crowded = sample.people_once(), sample.people_once(linked)
    several = None if sample.members is None else alike

    def listing() -> RecordRisks:
        rows = cast(Ordered, table).in_order(sample)
        individual = members or MemberRisk.of(sample, linked, known=everybody is not None)
        return RecordRisks.of(sample, rows, linked=None if everybody is None else linked, members=individual)

    return Assessment(
        columns=sample.names,
        levels=sample.levels,
        threshold=threshold,
        records=Records(sample.records, listing if isinstance(table, Ordered) else None),
        classes=len(sample),
        uniques=sample.people(sample.sizes == 1),
        k=int(sample.sizes.min()),
        prosecutor=prosecutor(alike, threshold=threshold, crowd=sample.sizes),
        journalist=journalist(crowded, linked, threshold=threshold),
        marketer=marketer(crowded, linked),
        bands=bands(alike, sample.sizes),
        population_size=size,
        population_uniqueness=None
        if size is None
        else estimate(sample.sizes, max(size, sample.records), people=several),
        population_uniques=None if everybody is None else sample.people(linked == 1),
        presence=None if everybody is None else presence(sample, everybody),
        inference={name: infer(spread) for name, spread in sample.spreads.items()},
        economics=None if economics is None else economics.play(crowded, linked),
        allowed_at_risk=limits.at_risk,
        attack=struck,
        weighted=None if members is None else weighted(sample, members, threshold=threshold),
        household=None if members is None else households(sample, members, threshold=threshold),
        rows=int(sample.rows.sum()) if sample.members is not None or (policy and policy.several_rows) else None,
    )


def _external(external: object, population: Classes | None, sample: Classes) -> Classes:
    """The table that the attacker can buy: as given, else the population's, else the data themselves."""
    if external is None:
        return sample if population is None else population
    if isinstance(external, Classes):
        return external
    if isinstance(external, Countable):
        return external.classes(sample.names)
    raise UsageError(
        f"The external table is a table or classes, not a {type(external).__name__}.",
        remedy="Read a file first: external=discreet.read(path, policy=policy.for_population())",
    )
