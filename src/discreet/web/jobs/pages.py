"""Jobs for people and programs: requests, progress, results, cancelling, files; and their routes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import func, select
from starlette.responses import FileResponse, JSONResponse, Response

from discreet.attacker import Attack
from discreet.store.tables.web import JOB as JOB_TABLE
from discreet.web.datasets import policies
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context, Here, by_number, go
from discreet.web.framework.forms import Number, Strict
from discreet.web.framework.problems import Problem, not_allowed, not_found
from discreet.web.framework.route import ApiGet, ApiPost, Page, Route, Submit
from discreet.web.jobs import store as jobs
from discreet.web.jobs.kinds import KINDS, REQUIREMENTS
from discreet.web.jobs.store import Job, State

MOST_WAITING = 100


def ask(context: Context, dataset: Dataset, kind: str, wanted: Strict) -> int:
    """Queue a job under the policy in force; gives its number."""
    asked: dict[str, Any] = {key: value for key, value in wanted.model_dump().items() if value is not None}
    if kind == "anonymise":
        _require_answerable(dataset, asked)
    if unknown := [name for name in asked.get("levels", ()) if name not in dataset.columns]:
        raise Problem(
            422, f"The data set has no column '{unknown[0]}'.", remedy="Give levels of its quasi-identifiers."
        )
    if kind == "attack" and "attack" in asked:
        Attack.from_dict(asked["attack"])
    if kind != "profile":
        lacking = "No column is a quasi-identifier, so there is nothing to measure."
        asked["policy"], policy = policies.with_quasi(context.site.store, dataset, otherwise=lacking)
        column = asked.get("prior_column")
        if column is not None and (column not in dataset.columns or column in policy.quasi):
            raise Problem(
                422,
                f"No column '{column}' can hold a prior for each record.",
                remedy="Choose a column of the data set that is no quasi-identifier.",
            )
        if kind == "anonymise":
            policies.require_declared(policy, dataset.columns)
            policies.require_confirmed(policy)
        if dataset.population is not None:
            asked["population"] = {"dataset": dataset.population}
        elif dataset.population_size is not None:
            asked["population"] = {"size": dataset.population_size}
    elif dataset.policy is not None:
        asked["policy"] = dataset.policy
    return enqueue(context, kind, dataset.id, asked)


def _require_answerable(dataset: Dataset, asked: dict[str, Any]) -> None:
    """Refuse at once what a search could only fail with: no requirement, no sensitive column, no population."""
    if not ({*REQUIREMENTS} - {"risk_model"}) & {*asked}:
        raise Problem(
            422,
            "The published table has no requirement.",
            remedy="Give k (the smallest group of people who look alike), or another requirement.",
        )
    roles = {role.removesuffix("?") for role, _ in policies.rules(dataset.policy).values()}
    if {"diversity", "closeness"} & {*asked} and "sensitive" not in roles:
        remedy = "Give one that role on the tab Profile."
        raise Problem(422, "l-diversity and t-closeness need a column with the role sensitive.", remedy=remedy)
    among = asked.get("risk_model") in ("journalist", "marketer") and "max_risk" in asked
    if (among or {"presence", "k_map"} & {*asked}) and dataset.population is None:
        raise Problem(
            422,
            "This is measured among the people of a population, and this data set has no table of one.",
            remedy="Set the population on the tab Risk, or leave this requirement out.",
        )


def enqueue(context: Context, kind: str, dataset: int, asked: dict[str, Any]) -> int:
    """Put a job into the queue and wake the supervisor; gives its number."""
    if not context.may(KINDS[kind].permission):
        raise not_allowed()
    with context.site.store.writing() as connection:
        waiting = select(func.count()).select_from(JOB_TABLE).where(JOB_TABLE.c.state == "queued")
        if connection.execute(waiting).scalar_one() >= MOST_WAITING:
            raise Problem(429, "Too many jobs are waiting.", remedy="Wait until some are done, or cancel some.")
        number = jobs.enqueue(connection, kind=kind, dataset=dataset, account=context.owner.id, asked=asked)
    context.site.wake_supervisor()
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


JOB = by_number("job", jobs.find)
"""Jobs belong to the custodians of the store, as data sets do."""
ENDINGS = {"csv": "text/csv", "csv.gz": "application/gzip", "parquet": "application/vnd.apache.parquet"}


@dataclass(frozen=True)
class JobProgress:
    """A job and how far it is, in words."""

    job: Job
    percent: int | None
    words: str


def progress_of(job: Job, now: int) -> JobProgress:
    """How far a job is and how long it will still take."""
    return JobProgress(job, job.percent, job.progress_words(now))


def jobs_page(context: Here) -> Response:
    """All jobs, the newest first."""
    with context.site.store.reading() as connection:
        now = jobs.moment(connection)
        listed = [progress_of(job, now) for job in jobs.newest(connection, most=100)]
    settings = context.site.settings
    return context.page("jobs.html", listed=listed, at_once=settings.jobs_at_once, stamp=jobs.stamp)


def job_page(context: Here) -> Response:
    """One job."""
    job: Job = context.loaded
    with context.site.store.reading() as connection:
        now = jobs.moment(connection)
        result = jobs.result(connection, job.id)
    receipt = context.site.ledger.receipt(actor=job.asker, key=job.key)
    return context.page(
        "job.html",
        job=job,
        shown=progress_of(job, now),
        result=result,
        entry=None if receipt is None else receipt.entry.sequence,
        tab=KINDS[job.kind].tab,
        stamp=jobs.stamp,
    )


def job_state(context: Here) -> Response:
    """How far it is, for the module that redraws the bar."""
    job: Job = context.loaded
    with context.site.store.reading() as connection:
        shown = progress_of(job, jobs.moment(connection))
    return JSONResponse({"state": job.state, "percent": shown.percent, "words": shown.words})


def cancel_by_form(context: Here) -> Response:
    """Cancel it. A job that has ended stays as it is."""
    cancel(context, context.loaded.id)
    return go(f"/jobs/{context.loaded.id}", said="cancelled" if context.loaded.active else "")


def file(context: Here, number: str) -> Response:
    """The anonymised table, or the risk of every record; that it was handed over is written down first."""
    job: Job = context.loaded
    with context.site.store.reading() as connection:
        result = jobs.result(connection, job.id)
    path = context.site.places.folder.find(result.file) if result is not None and result.file else None
    if result is None or path is None:
        raise Problem(
            404, "This job has no file, or no longer.", remedy="Anonymise the data set again if you need the table."
        )
    after, subject = result.numbers.get("after") or {}, f"dataset:{job.dataset}/job:{job.id}"
    facts: dict[str, Any] = {"job": job.id, "data": job.dataset_name, "file": path.name}
    if job.kind == "records":  # the custodian's own: nothing of it is published
        context.act("web.dataset", subject, act="risk of every record taken", rows=result.numbers["rows"], **facts)
    else:
        people, least = after.get("records"), after.get("k")
        context.act("anonymity.published", subject, people=people, least_group=least, **facts)
    ending = path.name.partition(".")[2]
    stem = job.dataset_name.rpartition("/")[2].partition(".")[0] or "table"
    what = "risk-of-every-record" if job.kind == "records" else "anonymised"
    return attachment(path, f"{stem}-{what}-{job.id}.{ending}", ENDINGS[ending])


def attachment(path: Path, name: str, kind: str) -> Response:
    """A file to be saved, under a name that is safe in a header."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
    return FileResponse(path, media_type=kind, headers={"Content-Disposition": disposition})


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


class JobResultModel(Strict):
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


def job_list(context: Here, query: Annotated[JobsQuery, Query()]) -> Jobs:
    """Jobs, newest first."""
    states = (query.state,) if query.state else ()
    with context.site.store.reading() as connection:
        now = jobs.moment(connection)
        listed = jobs.newest(connection, dataset=query.dataset, states=states, most=query.most)
    return Jobs(jobs=[_model(job, now) for job in listed])


def job(context: Here, number: str) -> JobModel:
    """One job."""
    return model(context, context.loaded.id)


def cancel(context: Here, number: str) -> JobModel:
    """End it, whether it waits or runs; a job that has ended stays as it is."""
    with context.site.store.writing() as connection:
        jobs.cancel(connection, context.loaded.id)
    context.site.wake_supervisor()
    return model(context, context.loaded.id)


def result(context: Here, number: str) -> JobResultModel:
    """What it found."""
    asked: Job = context.loaded
    with context.site.store.reading() as connection:
        outcome = jobs.result(connection, asked.id)
    if outcome is None:
        raise Problem(
            409,
            f"The job is {asked.state}, so it has no result.",
            remedy="Poll it until its state is done.",
            title="No result",
        )
    context.note_reading(asked.dataset, asked.id, "result", kind=asked.kind)
    receipt = context.site.ledger.receipt(actor=asked.asker, key=asked.key)
    return JobResultModel(
        job=asked.id,
        kind=asked.kind,
        policy=outcome.policy,
        sha256=outcome.hash,
        entry=None if receipt is None else receipt.entry.sequence,
        file=outcome.file is not None,
        numbers=outcome.numbers,
    )


def model(context: Context, number: int) -> JobModel:
    """A job as it is now."""
    with context.site.store.reading() as connection:
        job, now = jobs.find(connection, number), jobs.moment(connection)
    if job is None:
        raise not_found()
    return _model(job, now)


def _model(job: Job, now: int) -> JobModel:
    return JobModel.of(
        job,
        made=jobs.stamp(job.made),
        started=None if job.started is None else jobs.stamp(job.started),
        ended=None if job.ended is None else jobs.stamp(job.ended),
        seconds_left=job.seconds_left(now),
        next=job.remedy,
    )


JOB_ROUTES: tuple[Route, ...] = (
    Page("/jobs", "datasets.read", jobs_page),
    Page("/jobs/{number}", "datasets.read", job_page, live=True, loads=JOB),
    Page("/jobs/{number}/state", "datasets.read", job_state, kind="fragment", loads=JOB),
    Submit("/jobs/{number}/cancel", "datasets.change", cancel_by_form, loads=JOB),
    Submit("/jobs/{number}/file", "datasets.take", file, loads=JOB),
    ApiGet("/api/v1/jobs", "datasets.read", job_list, returns=Jobs),
    ApiGet("/api/v1/jobs/{number}", "datasets.read", job, returns=JobModel, loads=JOB),
    ApiPost("/api/v1/jobs/{number}/cancel", "datasets.change", cancel, returns=JobModel, loads=JOB),
    ApiGet("/api/v1/jobs/{number}/result", "datasets.read", result, returns=JobResultModel, records=True, loads=JOB),
    ApiPost("/api/v1/jobs/{number}/file", "datasets.take", file, body="none", loads=JOB),
)
