"""What the work of a job is given, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from discreet.ledger import Ledger
from discreet.ledger.entry import Detail
from discreet.policy import Policy
from discreet.report.toolkit.page import Part
from discreet.sources import Table
from discreet.web.datasets.files import Places
from discreet.web.datasets.store import Dataset
from discreet.web.jobs.store import Job

Tell = Callable[[str, float | None], None]
"""Told where the work stands: in words, and as a share of the whole if that is known."""


@dataclass(frozen=True)
class Task:
    """One job, with all that it needs."""

    job: Job
    dataset: Dataset
    policy: Policy
    population: Dataset | None
    population_size: int | None
    places: Places
    tell: Tell
    hash: str | None
    """The SHA-256 of the file."""
    ledger: Ledger
    """For work that must be written down before it goes on."""

    @property
    def asked(self) -> dict[str, Any]:
        """What the custodian chose."""
        return self.job.asked

    def now(self) -> datetime:
        """For the head of a report."""
        return datetime.now(UTC)

    def counting(self, steps: int, *, upto: float, words: str) -> Callable[[], None]:
        """To be called after each of so many counts; they come to this share of the whole."""
        done = 0

        def counted() -> None:
            nonlocal done
            done += 1
            self.tell(words, upto * min(done / steps, 0.98))

        return counted

    def table(self, counted: Callable[[], None]) -> Table:
        """The data set, seen through its policy."""
        return self.places.open(self.dataset, self.policy, counted)

    def crowd(self, counted: Callable[[], None]) -> Table | None:
        """The table of people among whom an adversary looks, if there is one."""
        if self.population is None:
            return None
        return self.places.open(self.population, self.policy.for_population(), counted)

    def command(self, verb: str, *options: str) -> str:
        """The command that gives the same on the command line."""
        people = None if self.population is None else self.population.name
        size = None if self.population_size is None else str(self.population_size)
        given = ["--population", _quoted(people or size or "")] if people or size else []
        return " ".join(["discreet", verb, _quoted(self.dataset.name), "--policy policy.toml", *given, *options])


@dataclass(frozen=True)
class Outcome:
    """What was found, and what the ledger is told about it."""

    event: str
    numbers: dict[str, Any]
    parts: Sequence[Part] = ()
    report: str | None = None
    policy: Policy | None = None
    file: Path | None = None
    draft: str | None = None
    """A policy for a data set that has none."""
    risk_before: Fraction | None = None
    risk_after: Fraction | None = None
    details: Mapping[str, Detail] = field(default_factory=dict)
    subject: str | None = None
    """What the ledger calls it, if it is not about the data set."""
    along: Callable[[Connection], object] | None = None
    """What changes in the store with it."""


def _quoted(name: str) -> str:
    import shlex

    return shlex.quote(name)
