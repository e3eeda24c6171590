"""Plan of a release: one node for all recipients, and the marks it carries."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.anonymity import anonymise
from discreet.anonymity.result import AS_IT_IS, treatment
from discreet.errors import Refused, UsageError
from discreet.kernel import Classes, Countable
from discreet.kernel.classes import Levels
from discreet.kernel.notebook import card
from discreet.releases.manifest.manifest import ReleaseSettings
from discreet.releases.marks.codebook import Law
from discreet.releases.marks.selection import Marking, mark
from discreet.releases.population_link import Linked
from discreet.releases.preflight import Preflight
from discreet.sources import Table
from discreet.wording import fine_percent, percent

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
