"""Plan of a release: one node for all recipients, its marks, and the preflight check."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.anonymity import anonymise
from discreet.anonymity.result import AS_IT_IS, treatment
from discreet.errors import Refused, UsageError
from discreet.kernel import Classes, Countable
from discreet.kernel.classes import Levels
from discreet.kernel.serialise import card
from discreet.releases.decoys.detectability import REFUSE, WARN, either_way
from discreet.releases.manifest import ReleaseSettings
from discreet.releases.marks.codebook import Law, real_marks
from discreet.releases.marks.pairing import FEWEST_MARKS
from discreet.releases.marks.row_marks import FEW_PEOPLE, VALUE_WORST, WorstValue
from discreet.releases.marks.selection import Marking, mark
from discreet.releases.population_link import Linked, doubts
from discreet.releases.power import (
    ALPHA,
    NEEDED_OF_A_TENTH,
    POWER,
    claims_until_traced,
    coalition_supported,
    marks_needed,
)
from discreet.sources import Table
from discreet.wording import fine_percent, percent

# What a release would carry, before it is made: in words for the custodian, and as numbers.
ESCAPES = (
    "These figures are for eight ways in which copies can be put together, which were played; who finds another way, or changes "
    "most rows, may escape. `discreet release attack` plays them and other leaks with this table, and prints who is named."
)
"""What the figures of a plan do not cover."""
MOST_NAMED = 6
"""Values of a column that are named; JSON has all."""
BORROWED = (
    "Decoys hold the rows of people who are left out of every copy, unchanged, under quasi-identifiers of others: decide whether "
    "these people's values may be used so, and leave out of the table who objected."
)
"""What a custodian decides about decoys."""


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
    row_marks: int = 0
    """Single rows that some copies lack."""
    worst: tuple[WorstValue, ...] = ()
    """Per column, every value that may lose more of its people than the limit, or the one that loses most."""
    doubts: tuple[str, ...] = ()
    """Why the population may not be the one that the data came from."""

    @classmethod
    def of(cls, marking: Marking, *, recipients: int, law: Law) -> Preflight:
        """From the marks that were chosen."""
        marks, linked = marking.marks, marking.linked
        unmarked = linked.links[~real_marks(marks, linked.released)]
        claims = [
            claims_until_traced(marks, marking.probabilities, unmarked, recipients, colluding=colluding)
            for colluding in (1, 2)
        ]
        return cls(
            recipients=recipients,
            law=law.name,
            pairs=marking.pairs,
            marks=len(marks),
            needed=tuple(marks_needed(recipients, colluding) for colluding in (1, 2, 3)),
            coalition=coalition_supported(len(marks) + len(marking.rows), recipients),
            rows_lost=marking.rows_lost,
            most_lost=marking.most_lost,
            largest_shift=max(marking.shifts.values(), default=0.0),
            claims=claims[0],
            claims_of_two=claims[1],
            auc=marking.gate.auc,
            floor=marking.gate.floor,
            row_marks=len(marking.rows),
            worst=tuple(value for losses in marking.losses for value in WorstValue.of(losses)),
            doubts=doubts(linked),
        )

    @property
    def all_marks(self) -> int:
        """Marks of classes and of rows."""
        return self.marks + self.row_marks

    def words(self) -> tuple[str, ...]:
        """One sentence per thing that a custodian decides on."""
        few = (
            [f"That is fewer than {FEWEST_MARKS}: a leak can hardly be traced."]
            if self.all_marks < FEWEST_MARKS
            else []
        )
        # Who can be traced from a leaked copy.
        sure = f"with at most {ALPHA:g} for all innocents together, and in {percent(POWER)} of cases"
        if self.coalition:
            who = "a single leaker" if self.coalition == 1 else f"one of up to {self.coalition} who collude"
            takes = ", ".join(
                f"{'more than was measured' if needed is None else f'{needed:,}'} for {colluding}"
                for colluding, needed in enumerate(self.needed, start=1)
            )
            traced = f"{who} of {self.recipients:,} recipients can be traced, {sure} (marks needed: {takes})."
        else:
            traced = f"nobody of {self.recipients:,} can be named {sure}: that takes {self.needed[0] or 'more'} marks."
        in_part = coalition_supported(self.all_marks, self.recipients, measured=NEEDED_OF_A_TENTH)
        least = marks_needed(self.recipients, 1, measured=NEEDED_OF_A_TENTH)
        part = (
            f"From a tenth of the rows {'its recipient' if in_part == 1 else f'one of up to {in_part} who collude'} can be traced as surely."
            if in_part
            else f"From a tenth of the rows nobody can be traced surely: that takes {least:,} marks."
        )
        # Who can be traced by re-identifying people.
        alone, together = (
            "more claims than there are classes" if math.isinf(claims) else f"{claims:.0f} claims in half of all cases"
            for claims in (self.claims, self.claims_of_two)
        )
        # How well decoys are detected.
        auc = either_way(self.auc)
        if auc > max(REFUSE, self.floor):
            judged = "too well to be released"
        elif auc > max(WARN, self.floor):
            judged = "better than it should"
        else:
            judged = "there are too few marks to say whether it can" if auc > WARN else "this one hardly can"
        return (
            *self.doubts,
            (
                f"{self.pairs:,} pairs of a real and an unreleased class have about the same link count and size; "
                f"{self.marks:,} classes become marks, half of them decoys. {self.row_marks:,} single rows of other classes become marks."
            ),
            *few,
            f"From a whole file {traced} {part}",
            ESCAPES,
            (
                f"Every copy lacks {fine_percent(self.rows_lost)} of the released rows on average, and in fewer than one case in a million "
                f"more than {fine_percent(self.most_lost)}, however many recipients there are. No value of any column changes its share by "
                f"more than {fine_percent(self.largest_shift)} of all rows."
            ),
            *self.worst_words(),
            (
                f"A leaker who re-identifies people, the riskiest first, is named after {alone}; two who claim only "
                f"what both have, after {together}."
            ),
            (
                f"A classifier tells decoys from real classes with an AUC of {auc:.2f} (0.5 is guessing, up to "
                f"{self.floor:.2f} may be luck): {judged}."
            ),
            BORROWED,
        )

    def worst_words(self) -> Iterator[str]:
        """Which values lose many of their people, and why."""
        if many := [worst for worst in self.worst if worst.most > VALUE_WORST]:
            by_column = {
                column: [worst for worst in many if worst.column == column]
                for column in dict.fromkeys(worst.column for worst in many)
            }
            named = "; ".join(
                f"{column} {', '.join(worst.words() for worst in values[:MOST_NAMED])}"
                + (f" and {len(values) - MOST_NAMED} more" if len(values) > MOST_NAMED else "")
                for column, values in by_column.items()
            )
            yield (
                f"Of these values copies may lack more than {fine_percent(VALUE_WORST)} of their people: {named}. Classes of doubtful size, in which "
                f"decoys can hide, are mostly theirs. All other values lose less; those of fewer than {FEW_PEOPLE} people count together."
            )
        elif self.worst:
            yield (
                f"No value of at least {FEW_PEOPLE} people, and no column's rare values together, lose more than "
                f"{fine_percent(VALUE_WORST)} of their people in hardly any copy."
            )

    def to_dict(self) -> dict[str, Any]:
        """For JSON; numbers that are never reached are null."""
        finite = {
            name: None if isinstance(value, float) and math.isinf(value) else value
            for name, value in self.__dict__.items()
        }
        return finite | {
            "needed": list(self.needed),
            "worst": [worst.to_dict() for worst in self.worst],
            "doubts": list(self.doubts),
        }


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
    def only_size(self) -> bool:
        """Whether classes need nothing but enough people, so that single rows may be lacking."""
        return len(self.requirements) == 1

    @property
    def levels(self) -> dict[str, int]:
        """The level of each quasi-identifier."""
        return self.linked.levels

    @property
    def suppressed(self) -> int:
        """People who are left out."""
        return self.linked.suppressed.records

    def people(self, settings: ReleaseSettings, published: Mapping[str, str]) -> dict[str, Any]:
        """For JSON: who is released, at which levels, in which columns."""
        linked = self.linked
        return {
            "levels": self.levels,
            "k": settings.k,
            "requirements": self.requirements,
            "records": linked.records,
            "released": linked.released.records,
            "suppressed": self.suppressed,
            "population": linked.population.records,
            "published": published_columns(published, linked.released),
            "classes": len(linked.released),
        }


def require_releasable(table: Table) -> None:
    """Stop unless every column has a role and every row is a person."""
    if not isinstance(table, Table):
        raise UsageError(
            f"A release is made of a table, not of a {type(table).__name__}.",
            remedy="Read it first: discreet.read(source, policy=policy).",
        )
    table.refuse_undeclared()
    table.refuse_unconfirmed()
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


def people_words(node: Node, published: Mapping[str, str]) -> tuple[str, ...]:
    """Who is released at which levels, and in which columns."""
    linked = node.linked
    levels = ", ".join(f"{name} {level}" for name, level in node.levels.items())
    return (
        (
            f"{linked.released.records:,} of {linked.records:,} people can be released in {len(linked.released):,} classes "
            f"at levels {levels}; {node.suppressed:,} are left out. {'; '.join(node.requirements).capitalize()}."
        ),
        f"Every copy has {columns_by_role(published)}.",
    )


@dataclass(frozen=True, eq=False)
class Plan:
    """Plan of a release, made without a store and without a secret."""

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
        return *people_words(self.node, self.published), *self.preflight.words()

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        people = self.node.people(self.settings, self.published)
        return {**people, "preflight": self.preflight.to_dict(), "marking": self.marking.to_dict()}

    def __repr__(self) -> str:
        return f"Plan({len(self.marking.marks)} marks for {self.preflight.recipients} recipients)"

    def _repr_html_(self) -> str:
        return card("What this release would be:", list(enumerate(self.words(), start=1)))


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
    marking = mark(
        node.linked, table, key=NO_SECRET, release="plan", law=chosen, single_rows=node.only_size, force=force
    )
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
