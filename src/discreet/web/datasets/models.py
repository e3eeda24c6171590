"""Models of the API of data sets and jobs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from discreet.web.datasets.ingest import LONGEST_POLICY
from discreet.web.framework.models import Line, Strict
from discreet.web.jobs.store import State

Encoding = Literal["utf-8", "latin-1", "cp1252", "utf-16"]
Number = Annotated[int, Field(ge=0, le=10**17)]


class DatasetModel(Strict):
    """A data set. `place` never holds a password."""

    id: int
    name: str
    kind: str
    place: str | None
    """Null for an upload."""
    size: int | None
    sha256: str | None
    columns: list[str]
    owner: str
    made: str
    policy_version: int
    """0 before there is a policy."""
    population: int | None
    population_size: int | None


class Datasets(Strict):
    """All data sets, by name."""

    datasets: list[DatasetModel]


class NewFile(Strict):
    """A file to be registered where it is."""

    path: Annotated[str, Field(min_length=1, max_length=2_000)]
    name: Line | None = None
    encoding: Encoding = "utf-8"


class NewTable(Strict):
    """A table of a PostgreSQL server to be registered. The password is kept encrypted and never given out."""

    address: Annotated[str, Field(min_length=1, max_length=1_000)]
    table: Annotated[str, Field(min_length=1, max_length=200)]
    password: Annotated[str, Field(max_length=1_000)] = ""
    name: Line | None = None


class PolicyModel(Strict):
    """The policy of a data set as TOML."""

    policy: str | None
    version: int


class NewPolicy(Strict):
    """A policy to be put in force in place of the one of this version."""

    policy: Annotated[str, Field(max_length=LONGEST_POLICY)]
    version: Number


class NewPopulation(Strict):
    """Among whom an adversary looks: a data set, a number of people, or null for both."""

    dataset: Number | None = None
    size: Annotated[int, Field(ge=1, le=10**12)] | None = None


class Removed(Strict):
    """The number of what was removed."""

    removed: int


class JobModel(Strict):
    """A job. Poll it until its state is done, failed or cancelled."""

    id: int
    kind: str
    dataset: int
    asker: str
    state: State
    made: str
    started: str | None
    ended: str | None
    attempts: int
    step: str
    percent: int | None
    seconds_left: int | None
    problem: str | None
    next: str | None


class Jobs(Strict):
    """Jobs, newest first."""

    jobs: list[JobModel]


class JobsQuery(BaseModel):
    """Which jobs."""

    model_config = ConfigDict(extra="forbid")

    dataset: Number | None = None
    state: State | None = None
    most: int = Field(default=50, ge=1, le=500)


class ResultModel(Strict):
    """What a job found; `numbers` has the keys of the command's JSON."""

    job: int
    kind: str
    policy: str | None
    """The digest of the policy under which it was found."""
    sha256: str | None
    """Of the file that was looked at."""
    entry: int | None
    """The entry of the ledger that says so."""
    file: bool
    """Can a table be downloaded?"""
    numbers: dict[str, Any]
