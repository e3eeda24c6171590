"""API of jobs: poll, cancel, fetch."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from discreet.web.datasets.models import JobModel, Jobs, JobsQuery, ResultModel
from discreet.web.framework.context import Context, Here
from discreet.web.framework.problems import Problem, not_found
from discreet.web.jobs import queue, requests
from discreet.web.jobs import store as jobs
from discreet.web.jobs.pages import handed_over
from discreet.web.jobs.store import Job
from discreet.web.reports.pages import taken


def job_list(context: Here, query: Annotated[JobsQuery, Query()]) -> Jobs:
    """Jobs, newest first."""
    states = (query.state,) if query.state else ()
    with context.site.store.reading() as connection:
        now = queue.moment(connection)
        found = jobs.newest(connection, dataset=query.dataset, states=states, most=query.most)
    return Jobs(jobs=[_model(job, now) for job in found])


def job(context: Here, number: str) -> JobModel:
    """One job."""
    return model(context, context.loaded.id)


def cancel(context: Here, number: str) -> JobModel:
    """End it, whether it waits or runs; a job that has ended stays as it is."""
    requests.cancel(context, context.loaded)
    return model(context, context.loaded.id)


def result(context: Here, number: str) -> ResultModel:
    """What it found."""
    one: Job = context.loaded
    with context.site.store.reading() as connection:
        found = jobs.result(connection, one.id)
    if found is None:
        raise Problem(
            409,
            f"The job is {one.state}, so it has no result.",
            remedy="Poll it until its state is done.",
            title="No result",
        )
    receipt = context.site.ledger.receipt(actor=one.asker, key=one.key)
    return ResultModel(
        job=one.id,
        kind=one.kind,
        policy=found.policy,
        sha256=found.hash,
        entry=None if receipt is None else receipt.entry.sequence,
        file=found.file is not None,
        numbers=found.numbers,
    )


def file(context: Here, number: str) -> Response:
    """The anonymised table; that it was handed over is written down first."""
    return handed_over(context, context.loaded)


def report(context: Here, number: str) -> Response:
    """The report as one HTML file; that it was taken away is written down first."""
    return taken(context, context.loaded)


def model(context: Context, number: int) -> JobModel:
    """A job as it is now."""
    with context.site.store.reading() as connection:
        found, now = jobs.find(connection, number), queue.moment(connection)
    if found is None:
        raise not_found()
    return _model(found, now)


def _model(one: Job, now: int) -> JobModel:
    return JobModel(
        id=one.id,
        kind=one.kind,
        dataset=one.dataset,
        asker=one.asker,
        state=one.state,
        made=jobs.stamp(one.made),
        started=None if one.started is None else jobs.stamp(one.started),
        ended=None if one.ended is None else jobs.stamp(one.ended),
        attempts=one.attempts,
        step=one.step,
        percent=one.percent,
        seconds_left=one.seconds_left(now),
        problem=one.problem,
        next=one.remedy,
    )
