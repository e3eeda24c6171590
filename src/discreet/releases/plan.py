"""Plan of a release: one node for all recipients, its marks, and the preflight check."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.anonymity import anonymise
from discreet.anonymity.result import AS_IT_IS, treatment
from discreet.errors import Refused, UsageError
from discreet.kernel import Classes, Countable
from discreet.kernel.classes import Levels
from discreet.kernel.serialise import card
from discreet.releases.decoys.detectability import REFUSE, WARN, either_way
from discreet.releases.manifest import ReleaseSettings
from discreet.releases.marks.codebook import Law
from discreet.releases.marks.pairing import FEWEST_MARKS
from discreet.releases.marks.selection import Marking, mark
from discreet.releases.population_link import Linked
from discreet.releases.power import ALPHA, POWER, claims_until_traced, coalition_supported, marks_needed
from discreet.sources import Table
from discreet.wording import fine_percent, percent

# What a release would carry, before it is made: in words for the custodian, and as numbers.
ESCAPES = (
    "Other leaks escape: in trials a leaker who left out, filled up or relabelled the classes of doubtful size, about a tenth of "
    "the rows, was never named, and of three who showed what only a minority of them holds one was named in 46 % of cases."
)
"""What attacks on marked copies found that the figures of a plan do not cover."""
RECOGNISED = (
    "Other attacks find more: where columns follow from each other, have many decimals or round values, made-up rows were "
    "recognised with an AUC of up to 1.00 in trials."
)
"""The same about decoys."""


@dataclass(frozen=True)
class Preflight:
    """Marks, what they cost, and what they can prove, for a number of recipients."""

    recipients: int
    law: str
    pairs: int
    """Pairs of a real and an unreleased class that look alike."""
    marks: int
    needed: tuple[int | None, ...]
    """Marks it takes to name one leaker, one of two who collude, one of three; None if more than can be."""
    coalition: int
    """How many may collude by one of the strategies that are played, and still be traced from a leaked copy."""
    rows_lost: float
    most_lost: float
    largest_shift: float
    claims: float
    """Claims, the riskiest first, until one leaker is named in half of all cases."""
    claims_of_two: float
    """The same for two who claim only what both have."""
    auc: float
    floor: float

    @classmethod
    def of(cls, marking: Marking, *, recipients: int, law: Law) -> Preflight:
        """From the marks that were chosen."""
        marks, linked = marking.marks, marking.linked
        real = {label for label, decoy in zip(marks.labels, marks.decoy.tolist(), strict=True) if not decoy}
        unmarked = np.array([label not in real for label in linked.released.tuples()], dtype=bool)
        claims = [
            claims_until_traced(marks, marking.probabilities, linked.links[unmarked], recipients, colluding=colluding)
            for colluding in (1, 2)
        ]
        return cls(
            recipients=recipients,
            law=law.name,
            pairs=marking.pairs,
            marks=len(marks),
            needed=tuple(marks_needed(law, recipients, colluding) for colluding in (1, 2, 3)),
            coalition=coalition_supported(len(marks), law, recipients),
            rows_lost=marking.rows_lost,
            most_lost=marking.most_lost,
            largest_shift=max(marking.shifts.values(), default=0.0),
            claims=claims[0],
            claims_of_two=claims[1],
            auc=marking.gate.auc,
            floor=marking.gate.floor,
        )

    def words(self) -> tuple[str, ...]:
        """One sentence per thing that a custodian decides on."""
        return tuple(_sentences(self))

    def to_dict(self) -> dict[str, Any]:
        """For JSON; numbers that are never reached are null."""
        return {name: _finite(value) for name, value in self.__dict__.items()} | {"needed": list(self.needed)}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and math.isinf(value) else value


def _sentences(flight: Preflight) -> Iterator[str]:
    yield (
        f"{flight.pairs:,} pairs of a real and an unreleased class have about the same link count and size; "
        f"{flight.marks:,} classes become marks, half of them made up."
    )
    if flight.marks < FEWEST_MARKS:
        yield f"That is fewer than {FEWEST_MARKS}: a leak can hardly be traced."
    yield _coalition(flight)
    yield ESCAPES
    yield (
        f"Every copy lacks {fine_percent(flight.rows_lost)} of the released rows on average, and in fewer than one case in a million "
        f"more than {fine_percent(flight.most_lost)}, however many recipients there are. No value of any column changes its share by "
        f"more than {fine_percent(flight.largest_shift)} of all rows; a rare value may still lose most of its people."
    )
    yield (
        f"A leaker who re-identifies people, the riskiest first, is named after {_claims(flight.claims)}; two who claim only "
        f"what both have, after {_claims(flight.claims_of_two)}."
    )
    yield _gate(flight)
    yield RECOGNISED


def _coalition(flight: Preflight) -> str:
    sure = f"with at most {ALPHA:g} for all innocents together, and in {percent(POWER)} of cases"
    one, *_ = flight.needed
    if not flight.coalition:
        return f"From an unaltered copy nobody of {flight.recipients:,} can be named {sure}: that takes {one or 'more'} marks."
    who = (
        "a single leaker" if flight.coalition == 1 else f"up to {flight.coalition} who collude in a way that was played"
    )
    takes = ", ".join(_takes(number, needed) for number, needed in enumerate(flight.needed, start=1))
    return f"From an unaltered copy {who} of {flight.recipients:,} recipients can be traced, {sure} (marks needed: {takes})."


def _takes(colluding: int, needed: int | None) -> str:
    return f"{'more than there can be' if needed is None else f'{needed:,}'} for {colluding}"


def _claims(claims: float) -> str:
    return "more claims than there are classes" if math.isinf(claims) else f"{claims:.0f} claims in half of all cases"


def _gate(flight: Preflight) -> str:
    found = either_way(flight.auc)
    told = f"A classifier tells made-up classes from real ones with an AUC of {found:.2f}"
    scale = f"0.5 is guessing, up to {flight.floor:.2f} may be luck"
    if found > max(REFUSE, flight.floor):
        return f"{told} ({scale}): too well to be released."
    if found > max(WARN, flight.floor):
        return f"{told} ({scale}): better than it should."
    if found > WARN:
        return f"{told} ({scale}): there are too few marks to say whether it can."
    return f"{told} ({scale}): this one hardly can."


NO_SECRET = hashlib.sha256(b"discreet: a plan has no secret").digest()
"""A plan draws its marks with this key; the marks of a release are others."""


@dataclass(frozen=True, eq=False)
class Node:
    """The levels at which everybody's copy is published, and the population at the same levels."""

    linked: Linked
    classes: Classes
    """The data as they came."""
    requirements: tuple[str, ...]
    """What every released class satisfies, in words."""

    @property
    def levels(self) -> dict[str, int]:
        """The level of each quasi-identifier."""
        return self.linked.levels

    @property
    def suppressed(self) -> int:
        """People who are left out."""
        return self.linked.suppressed.records


def require_releasable(table: Table) -> None:
    """Stop unless every column has a role and every row is a person."""
    if not isinstance(table, Table):
        raise UsageError(
            f"A release is made of a table, not of a {type(table).__name__}.",
            remedy="Read it first: discreet.read(source, policy=policy).",
        )
    table.refuse_undeclared()
    table.refuse_several_rows_a_person()


def find_node(
    table: Table,
    population: Countable | Classes,
    settings: ReleaseSettings,
    *,
    levels: Levels | None = None,
    diversity: Any = None,
    closeness: Any = None,
) -> Node:
    """The least lossy node within the limits, or the given one if it is within them."""
    require_releasable(table)
    if isinstance(population, Table):
        population.refuse_several_rows_a_person()
    if levels is None:
        found = anonymise(
            table,
            k=settings.k,
            suppression=settings.suppression,
            loss=settings.loss,
            diversity=diversity,
            closeness=closeness,
        )
        linked = Linked.of(found, _counted(population, found.recoding.names))
        return Node(linked, table.classes(), found.requirements)
    if diversity is not None or closeness is not None:
        raise UsageError(
            "Levels that are given are held to k only.", remedy="Leave out the levels, or diversity and closeness."
        )
    classes = table.classes()
    linked = Linked.at_node(classes, _counted(population, classes.names), levels, k=settings.k)
    suppressed = linked.suppressed.records
    if suppressed > settings.suppression * classes.records:
        raise Refused(
            f"At these levels {suppressed:,} of {classes.records:,} people ({percent(suppressed / classes.records)}) are in "
            f"classes of fewer than {settings.k}, and at most {fine_percent(settings.suppression)} may be left out.",
            remedy="Allow more suppression, or start a release of another name, which finds levels of its own.",
        )
    return Node(linked, classes, (f"at least {settings.k} people in every class",))


def _counted(population: Countable | Classes, names: tuple[str, ...]) -> Classes:
    if isinstance(population, Classes):
        return population
    if not callable(getattr(population, "classes", None)):
        raise UsageError(
            f"The population is a table or classes, not a {type(population).__name__}.",
            remedy="Read it first: discreet.read(source, policy=policy.for_population()).",
        )
    return population.classes(names)


@dataclass(frozen=True, eq=False)
class Plan:
    """What a release would look like; made without a store and without a secret."""

    node: Node
    marking: Marking
    preflight: Preflight
    settings: ReleaseSettings
    published: Mapping[str, str]
    """Every column that copies would have, with its role."""

    @property
    def levels(self) -> Mapping[str, int]:
        """The level of each quasi-identifier."""
        return self.node.levels

    def words(self) -> tuple[str, ...]:
        """One sentence per thing that a custodian decides on."""
        linked = self.node.linked
        levels = ", ".join(f"{name} {level}" for name, level in self.levels.items())
        first = (
            f"{linked.released.records:,} of {linked.records:,} people can be released in {len(linked.released):,} classes "
            f"at levels {levels}; {self.node.suppressed:,} are left out. {'; '.join(self.node.requirements).capitalize()}."
        )
        return first, f"Every copy has {columns_by_role(self.published)}.", *self.preflight.words()

    def to_dict(self) -> dict[str, Any]:
        """For JSON; the keys are stable."""
        linked = self.node.linked
        return {
            "levels": dict(self.levels),
            "k": self.settings.k,
            "requirements": list(self.node.requirements),
            "published": published_columns(self.published, linked.released),
            "records": linked.records,
            "released": linked.released.records,
            "suppressed": self.node.suppressed,
            "classes": len(linked.released),
            "population": linked.population.records,
            "preflight": self.preflight.to_dict(),
            "marking": self.marking.to_dict(),
        }

    def __repr__(self) -> str:
        return f"Plan({len(self.marking.marks)} marks for {self.preflight.recipients} recipients)"

    def _repr_html_(self) -> str:
        return card(
            "What this release would be:", [(number, said) for number, said in enumerate(self.words(), start=1)]
        )


def plan(
    table: Table,
    population: Countable | Classes,
    recipients: int = 20,
    *,
    k: int = 5,
    suppression: float = 0.1,
    loss: str = "dm_star",
    levels: Levels | None = None,
    law: str = "0.2/0.5",
    diversity: Any = None,
    closeness: Any = None,
    force: bool = False,
) -> Plan:
    """What a release to so many recipients would look like, and whom it could trace."""
    if recipients < 1:
        raise UsageError("A release has at least one recipient.", remedy="Say how many.")
    chosen = Law.parse(law)
    settings = ReleaseSettings(k=k, suppression=suppression, loss=loss, law=chosen.name)
    node = find_node(table, population, settings, levels=levels, diversity=diversity, closeness=closeness)
    marking = mark(node.linked, table, key=NO_SECRET, release="plan", law=chosen, force=force)
    flight = Preflight.of(marking, recipients=recipients, law=chosen)
    return Plan(node, marking, flight, settings, table.published)


# The columns that every copy of a release has: their roles, and what is done to them.
def published_columns(roles: Mapping[str, str], released: Classes) -> dict[str, dict[str, str]]:
    """For JSON: per column its role and its treatment."""
    known = {column.name: treatment(column.level, column.hierarchy.height) for column in released.columns}
    return {name: {"role": role, "treatment": known.get(name, AS_IT_IS)} for name, role in roles.items()}


def columns_by_role(roles: Mapping[str, str]) -> str:
    """The same in words.

    >>> columns_by_role({"zip": "quasi", "age": "quasi", "income": "sensitive"})
    'zip, age (quasi) and income (sensitive)'
    """
    grouped = {role: [name for name in roles if roles[name] == role] for role in dict.fromkeys(roles.values())}
    *most, last = [f"{', '.join(names)} ({role})" for role, names in grouped.items()]
    return f"{', '.join(most)} and {last}" if most else last
