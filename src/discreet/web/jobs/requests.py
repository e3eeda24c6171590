"""Job requests: checked, queued under the policy in force, cancelled."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError
from sqlalchemy import func, select

from discreet.attacker import Attack
from discreet.store.tables.web import JOB
from discreet.web.datasets import policies
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context
from discreet.web.framework.forms import Strict
from discreet.web.framework.problems import Problem, not_allowed
from discreet.web.jobs import queue
from discreet.web.jobs.kinds import KINDS
from discreet.web.jobs.store import Job

MOST_WAITING = 100


def ask(context: Context, dataset: Dataset, kind: str, wanted: Strict) -> int:
    """Queue a job under the policy as it is now; gives its number, the old one if the same is being done already."""
    asked: dict[str, Any] = {key: value for key, value in wanted.model_dump().items() if value is not None}
    _refuse_nonsense(kind, asked, dataset)
    if kind != "profile":
        lacking = "No column is a quasi-identifier, so there is nothing to measure."
        asked["policy"], _ = policies.with_quasi(context.site.store, dataset, otherwise=lacking)
    elif dataset.policy is not None:
        asked["policy"] = dataset.policy
    if kind != "profile" and dataset.population is not None:
        asked["population"] = {"dataset": dataset.population}
    elif kind != "profile" and dataset.population_size is not None:
        asked["population"] = {"size": dataset.population_size}
    return enqueue(context, kind, dataset.id, asked)


def enqueue(context: Context, kind: str, dataset: int, asked: dict[str, Any]) -> int:
    """Put a job into the queue and wake the foreman; gives its number."""
    if not context.may(KINDS[kind].permission):
        raise not_allowed()
    with context.site.store.writing() as connection:
        waiting = select(func.count()).select_from(JOB).where(JOB.c.state == "queued")
        if connection.execute(waiting).scalar_one() >= MOST_WAITING:
            raise Problem(429, "Too many jobs are waiting.", remedy="Wait until some are done, or cancel some.")
        number = queue.enqueue(connection, kind=kind, dataset=dataset, account=context.owner.id, asked=asked)
    context.site.wake_foreman()
    return number


def wanted_of(kind: str, given: dict[str, Any]) -> Strict:
    """What a form asks for, as the API would."""
    model = KINDS[kind].request or Strict
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = str(first["loc"][0]).replace("_", " ") if first["loc"] else "form"
        raise Problem(422, f"{field}: {first['msg']}.", remedy="Correct it and send the form again.") from None


def _refuse_nonsense(kind: str, asked: dict[str, Any], dataset: Dataset) -> None:
    if kind == "anonymise" and not {"k", "max_risk"} & set(asked):
        raise Problem(
            422,
            "The published table has no requirement.",
            remedy="Give k (the smallest group of people who look alike), or the highest risk that you accept.",
        )
    crowd = asked.get("risk_model") in ("journalist", "marketer") and "max_risk" in asked
    if kind == "anonymise" and crowd and dataset.population is None:
        raise Problem(
            422,
            "This risk is measured among the people of a population, and this data set has no table of one.",
            remedy="Choose the prosecutor's risk, or set the population on the tab Risk.",
        )
    if kind == "attack" and "attack" in asked:
        Attack.from_dict(asked["attack"])


def cancel(context: Context, job: Job) -> None:
    """Cancel a job that waits or runs; a second time changes nothing."""
    with context.site.store.writing() as connection:
        queue.cancel(connection, job.id)
    context.site.wake_foreman()
