"""What can be measured now: the risk of the data, of what is published, and what an adversary would do to each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from discreet.attacker import Attack, Attacked
from discreet.attacker.parameters import read_attack
from discreet.kernel import Classes
from discreet.policy import Policy
from discreet.report.project.measurement import ProjectFile
from discreet.report.project.published import Published, place, published_policy
from discreet.risk import Assessment, assess, singling_out
from discreet.risk.combinations import SinglingOut
from discreet.sources import Table, read

MOST_COLUMNS = 3
"""Combinations of up to so many quasi-identifiers are looked at."""


@dataclass(frozen=True, eq=False)
class Measured:
    """The data, what is published of them, and what both risk."""

    source: str
    columns: int
    policy: Policy
    singling_out: SinglingOut
    """Which few quasi-identifiers single people out."""
    assessment: Assessment
    """Of the data as they are."""
    published: Published | None
    remaining: Assessment | None
    """Of what is published."""

    @property
    def leaving(self) -> Assessment:
        """Of what leaves the house: the published table, or the data where there is none."""
        return self.assessment if self.remaining is None else self.remaining

    @property
    def leaving_name(self) -> str:
        """What to call it."""
        return self.source if self.published is None else self.published.name

    @property
    def struck(self) -> Attacked | None:
        """What an adversary would do to what leaves the house."""
        return cast("Attacked | None", self.leaving.attack)

    @property
    def struck_exceeds(self) -> bool:
        """Whether he re-identifies more people than the limits allow."""
        found = self.struck
        return found is not None and found.exceeds(self.leaving.threshold, self.leaving.allowed_at_risk)

    @property
    def exceeded(self) -> bool:
        """Whether what leaves the house is above the policy's limits."""
        names = self.published is not None and bool(self.published.identifiers)
        return self.leaving.exceeded or self.struck_exceeds or names

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        published = self.published
        return {
            "data": {"source": self.source, "columns": self.columns, "risk": self.assessment.to_dict()},
            "published": None
            if published is None or self.remaining is None
            else {
                "source": published.name,
                "levels": published.levels,
                "left_out_columns": list(published.dropped),
                "identifiers": list(published.identifiers),
                "risk": self.remaining.to_dict(),
            },
        }


def measure(project: ProjectFile) -> Measured:
    """Read the tables that the project names, and measure them."""
    policy = Policy.load(project.policy)
    table = read(project.data, policy=policy)
    attack = None if project.attack is None else Attack.from_dict(read_attack(Path(project.attack)))
    return measure_tables(
        table, policy=policy, crowd=_population(project, policy), attack=attack, published=project.published
    )


def measure_tables(
    table: Table,
    *,
    policy: Policy,
    crowd: Table | int | None = None,
    attack: Attack | None = None,
    published: str | Path | None = None,
    called: str | None = None,
) -> Measured:
    """The same for tables that are open already; `called` is what the published one is called, if not like its file."""
    assessment = assess(table, population=crowd, attack=attack)
    shown = None if published is None else _published(published, table, policy)
    shown = shown if shown is None or called is None else replace(shown, name=called)
    return Measured(
        source=table.name,
        columns=len(table.columns),
        policy=policy,
        singling_out=singling_out(table.classes(), largest=MOST_COLUMNS),
        assessment=assessment,
        published=shown,
        remaining=None if shown is None else _remaining(shown, crowd, attack),
    )


def _population(project: ProjectFile, policy: Policy) -> Table | int | None:
    if isinstance(project.population, str):
        return read(project.population, policy=policy.for_population())
    return project.population


def _published(source: str | Path, data: Table, policy: Policy) -> Published:
    columns = read(source).columns
    return place(read(source, policy=published_policy(policy, columns)), data.classes(), policy)


def _remaining(shown: Published, crowd: Table | int | None, attack: Attack | None) -> Assessment:
    """Against the same population, as far as the published labels stand in its hierarchies."""
    if not isinstance(crowd, Table):
        return assess(shown, population=_as_large(crowd, shown.counted), attack=attack)
    return assess(shown, population=crowd if shown.levels is not None else None, attack=attack)


def _as_large(size: int | None, counted: Classes) -> int | None:
    return None if size is None else max(size, counted.records)
