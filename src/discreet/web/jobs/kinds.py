"""Job kinds, each declared once: request, permission, work in the child process, page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, Literal

from pydantic import Field
from sqlalchemy import Table

from discreet.anonymity import LOSSES, SEARCHES
from discreet.anonymity.comparison import KS, SHARES
from discreet.store.tables.linkage import WORK
from discreet.store.tables.web import JOB
from discreet.web.framework.forms import Strict

FORMATS = ("csv", "csv.gz", "parquet")
MOST_COMPARED = 6
"""Values of k, and shares, that are compared at a time."""


class ProfileWanted(Strict):
    """A look at the columns."""


class AssessWanted(Strict):
    """An assessment."""

    threshold: float | None = Field(default=None, gt=0, le=1)
    """The risk above which a person counts as at risk; the policy's if left out."""


class DiversityWanted(Strict):
    """l-diversity of every sensitive column."""

    l: float = Field(ge=1, le=1e9)  # noqa: E741 - the name it has in the papers
    kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    c: float = Field(default=3.0, gt=0, le=1e9)


class ClosenessWanted(Strict):
    """t-closeness of every sensitive column; without a distance, that of the policy."""

    t: float = Field(ge=0, le=1)
    distance: Literal["equal", "hierarchical", "ordered"] | None = None


class AnonymiseWanted(Strict):
    """A table within limits; at least one requirement must be given."""

    k: int | None = Field(default=None, ge=1, le=10**9)
    suppression: float = Field(default=0.0, ge=0, le=1)
    loss: Literal[tuple(LOSSES)] = "loss"  # type: ignore[valid-type]
    max_risk: float | None = Field(default=None, gt=0, le=1)
    risk_model: Literal["prosecutor", "journalist", "marketer"] = "prosecutor"
    average_risk: float | None = Field(default=None, gt=0, le=1)
    diversity: DiversityWanted | None = None
    closeness: ClosenessWanted | None = None
    presence: list[Annotated[float, Field(ge=0, le=1)]] | None = Field(default=None, min_length=2, max_length=2)
    """Least and most probability that a person of the population is in the table."""
    k_map: int | None = Field(default=None, ge=1, le=10**9)
    """The smallest group in the population."""
    time_limit: float | None = Field(default=None, gt=0, le=86_400)
    """Seconds after which the best so far is taken."""
    search: Literal[SEARCHES] = "optimal"  # type: ignore[valid-type]
    format: Literal["csv", "csv.gz", "parquet"] = "csv"
    levels: dict[str, Annotated[int, Field(ge=0, le=1_000)]] | None = Field(default=None, max_length=500)
    """Taken as given, instead of searched: the levels of an earlier table."""


REQUIREMENTS = ("k", "max_risk", "risk_model", "average_risk", "diversity", "closeness", "presence", "k_map")
"""What of an `AnonymiseWanted` every published class satisfies."""
IN_COPIES = ("k", "risk_model")
"""Which of them the copies of a release hold too."""


def chosen(asked: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """What was asked for, without what was left open, as `anonymise` takes it.

    >>> chosen({"k": 5, "l": None, "closeness": {"t": 0.2, "distance": None}}, ["k", "l", "closeness"])
    {'k': 5, 'closeness': {'t': 0.2}}
    """
    given = {name: asked[name] for name in names if asked.get(name) is not None}
    return {
        name: {key: part for key, part in value.items() if part is not None} if isinstance(value, Mapping) else value
        for name, value in given.items()
    }


Size = Annotated[int, Field(ge=1, le=10**9)]
Share = Annotated[float, Field(ge=0, le=1)]


class CompareWanted(Strict):
    """The best table for every combination of these."""

    k: list[Size] = Field(default_factory=lambda: [*KS], min_length=1, max_length=MOST_COMPARED)
    suppression: list[Share] = Field(default_factory=lambda: [*SHARES], min_length=1, max_length=MOST_COMPARED)
    loss: Literal[tuple(LOSSES)] = "loss"  # type: ignore[valid-type]
    search: Literal[SEARCHES] = "optimal"  # type: ignore[valid-type]


class RecordsWanted(Strict):
    """The risk of every record, for the custodian only."""


class AttackWanted(Strict):
    """What an adversary gains, pays and risks; the published case study if left out."""

    attack: dict[str, float | int | str] | None = Field(default=None, max_length=20)
    prior_column: str | None = Field(default=None, max_length=500)
    """A column that holds a prior for each record; the attacker lab shows what that changes."""


class ProjectWanted(Strict):
    """A report on a whole project, with what each list names and nothing else."""

    title: str = Field(min_length=1, max_length=200)
    published: int | None = None
    """The job that made the anonymised table; without one the data leave as they are."""
    adversary: bool = True
    """What the adversary of the published case study would do?"""
    releases: tuple[str, ...] = ()
    linkage: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()


@dataclass(frozen=True)
class JobKind:
    """One kind of job."""

    name: str
    words: str
    """What it does, for lists of jobs."""
    work: str
    """Module and function of the work; imported in the process of the job only, which does a single one."""
    request: type[Strict] | None = None
    """What may be chosen; None if a page of its own collects that."""
    permission: str = "datasets.change"
    """What an account needs to have such a job queued."""
    tab: str = ""
    """The tab of the data set that shows the result."""
    report: str = ""
    """Title of its report; empty if the result is none. A report holds no value of any person."""
    table: Table = JOB
    """Where its jobs are queued."""

    def load(self) -> Callable[[Any], Any]:
        """The function that does the work: from a `Task` to an `Outcome`.

        >>> KINDS["profile"].load().__name__
        'profile_table'
        """
        module, _, function = self.work.partition(":")
        work: Callable[[Any], Any] = getattr(import_module(f"discreet.web.jobs.{module}"), function)
        return work


_RELEASES: dict[str, Any] = {"permission": "releases.change", "tab": "/releases"}
_LINKAGE: dict[str, Any] = {"permission": "linkage.manage", "table": WORK}

KINDS: dict[str, JobKind] = {
    kind.name: kind
    for kind in (
        JobKind("profile", "profile the columns", "table_work:profile_table", ProfileWanted),
        JobKind("assess", "measure the risk", "table_work:assess_table", AssessWanted, tab="/risk", report="Risk"),
        JobKind("records", "list the risk of every record", "table_work:list_records", RecordsWanted, tab="/risk"),
        JobKind("compare", "compare candidates", "table_work:compare_candidates", CompareWanted, tab="/compare", report="Candidates for publication"),
        JobKind("anonymise", "anonymise", "table_work:anonymise_table", AnonymiseWanted, tab="/protect", report="Anonymised table"),
        JobKind("attack", "plan an attack", "table_work:attack_table", AttackWanted, tab="/attacker", report="Planning adversary"),
        JobKind("project", "report on a whole project", "table_work:report_project", ProjectWanted, report="Whole project"),
        JobKind("preflight", "preview a release", "disclosure_work:preview_plan", **_RELEASES),
        JobKind("release", "seal a release and make its copies", "disclosure_work:make_copies", **_RELEASES),
        JobKind("make", "make the project", "disclosure_work:make_project", **_LINKAGE),
        JobKind("retrain", "score the pairs of a project", "disclosure_work:score_project", **_LINKAGE),
    )
}  # fmt: skip
REPORTED = tuple(kind.name for kind in KINDS.values() if kind.report)
"""Kinds whose result is a report."""
QUEUES: dict[str, Table] = {table.name: table for table in (JOB, WORK)}
"""The tables in which jobs wait, by name."""
