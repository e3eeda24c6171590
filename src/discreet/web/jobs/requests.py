"""Job requests: what may be chosen, and what must exist first."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationError
from sqlalchemy import func, select

from discreet.anonymity import LOSSES, SEARCHES
from discreet.attacker import Attack
from discreet.store.tables.web import JOB
from discreet.web.datasets import policies
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context
from discreet.web.framework.models import Strict
from discreet.web.framework.problems import Problem
from discreet.web.jobs import queue
from discreet.web.jobs.store import Job

MOST_WAITING = 100
FORMATS = ("csv", "csv.gz", "parquet")


class ProfileWanted(Strict):
    """A look at the columns."""


class AssessWanted(Strict):
    """An assessment."""

    threshold: float | None = Field(default=None, gt=0, le=1)
    """The risk above which a person counts as at risk; the policy's if left out."""


class AnonymiseWanted(Strict):
    """A table within limits; at least one of `k` and `max_risk` must be given."""

    k: int | None = Field(default=None, ge=1, le=10**9)
    suppression: float = Field(default=0.0, ge=0, le=1)
    loss: Literal[tuple(LOSSES)] = "loss"  # type: ignore[valid-type]
    max_risk: float | None = Field(default=None, gt=0, le=1)
    risk_model: Literal["prosecutor", "journalist", "marketer"] = "prosecutor"
    search: Literal[SEARCHES] = "optimal"  # type: ignore[valid-type]
    format: Literal["csv", "csv.gz", "parquet"] = "csv"


class AttackWanted(Strict):
    """What an adversary gains, pays and risks; the published case study if left out."""

    attack: dict[str, float | int | str] | None = Field(default=None, max_length=20)


class ProjectWanted(Strict):
    """A report on a whole project; what is left out of a list is not told."""

    title: str = Field(min_length=1, max_length=200)
    published: int | None = None
    """The job that made the anonymised table; without one the data leave as they are."""
    adversary: bool = True
    """What the adversary of the published case study would do?"""
    releases: tuple[str, ...] = ()
    linkage: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()


WANTED: dict[str, type[Strict]] = {
    "profile": ProfileWanted,
    "assess": AssessWanted,
    "anonymise": AnonymiseWanted,
    "attack": AttackWanted,
    "project": ProjectWanted,
}
"""What may be asked of each kind of job."""


def ask(context: Context, dataset: Dataset, kind: str, wanted: Strict) -> int:
    """Queue a job under the policy as it is now; gives its number, the old one if the same is being done already."""
    asked: dict[str, Any] = {key: value for key, value in wanted.model_dump().items() if value is not None}
    _refuse_nonsense(kind, asked, dataset)
    if kind != "profile":
        lacking = "No column is a quasi-identifier, so there is nothing to measure."
        asked["policy"], _ = policies.with_quasi(context.site.store, dataset, otherwise=lacking)
    elif dataset.policy is not None:
        asked["policy"] = dataset.policy
    if (population := _population(dataset)) and kind != "profile":
        asked["population"] = population
    return enqueue(context, kind, dataset.id, asked)


def enqueue(context: Context, kind: str, dataset: int, asked: dict[str, Any]) -> int:
    """Put a job into the queue and wake whoever starts jobs; gives its number."""
    with context.site.store.writing() as connection:
        waiting = select(func.count()).select_from(JOB).where(JOB.c.state == "queued")
        if connection.execute(waiting).scalar_one() >= MOST_WAITING:
            raise Problem(429, "Too many jobs are waiting.", remedy="Wait until some are done, or cancel some.")
        number = queue.enqueue(connection, kind=kind, dataset=dataset, account=context.owner.id, asked=asked)
    if context.site.foreman is not None:
        context.site.foreman.wake()
    return number


def wanted_of(kind: str, given: dict[str, Any]) -> Strict:
    """What a form asks for, as the API would."""
    try:
        return WANTED[kind].model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = str(first["loc"][0]).replace("_", " ") if first["loc"] else "form"
        raise Problem(422, f"{field}: {first['msg']}.", remedy="Correct it and send the form again.") from None


def _refuse_nonsense(kind: str, asked: dict[str, Any], dataset: Dataset) -> None:
    if kind == "anonymise" and not {"k", "max_risk"} & set(asked):
        raise Problem(
            422,
            "Nothing is required of the published table.",
            remedy="Give k (so many people look alike at least), or the highest risk that you accept.",
        )
    crowd = asked.get("risk_model") in ("journalist", "marketer") and "max_risk" in asked
    if kind == "anonymise" and crowd and dataset.population is None:
        raise Problem(
            422,
            "That risk is one among the people of a population, and this data set has no table of it.",
            remedy="Choose the prosecutor's risk, or say on the page Risk which data set is the population.",
        )
    if kind == "attack" and "attack" in asked:
        Attack.from_dict(asked["attack"])


def _population(dataset: Dataset) -> dict[str, int]:
    if dataset.population is not None:
        return {"dataset": dataset.population}
    return {} if dataset.population_size is None else {"size": dataset.population_size}


def cancel(context: Context, job: Job) -> None:
    """End it, whether it waits or runs; once is as good as twice."""
    with context.site.store.writing() as connection:
        queue.cancel(connection, job.id)
    if context.site.foreman is not None:
        context.site.foreman.wake()
