"""Pages of reports."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from starlette.responses import HTMLResponse, Response

from discreet.web.framework.context import Context, Here
from discreet.web.framework.problems import not_found
from discreet.web.framework.route import Loads, numbered
from discreet.web.jobs import store as jobs
from discreet.web.jobs.store import Job, Result

TITLES = {
    "assess": "Risk",
    "anonymise": "Anonymised table",
    "attack": "Planning adversary",
    "project": "Whole project",
}


def _find(context: Context, path: dict[str, str]) -> Job | None:
    with context.site.store.reading() as connection:
        job = jobs.find(connection, numbered(path["number"]))
    return job if job is not None and job.state == "done" and job.kind in jobs.REPORTED else None


REPORT = Loads("report", find=_find, may=lambda context, job: context.may(context.route.permission))
"""Reports belong to nobody: whoever may read reports may read each. They hold no value of any person."""


def reports_page(context: Here) -> Response:
    """All reports, the newest first."""
    with context.site.store.reading() as connection:
        listed = jobs.newest(connection, kinds=jobs.REPORTED, states=("done",), most=200)
    return context.page("reports.html", listed=listed, titles=TITLES, stamp=jobs.stamp)


def report_page(context: Here) -> Response:
    """One report within the application; that it was looked at is written down, once a day for each reader."""
    job: Job = context.loaded
    result = _result(context, job)
    _written_down(context, job, "read", key=f"report:{job.id}:{context.site.stamp()[:10]}")
    return context.page(
        "report.html", job=job, result=result, title=TITLES[job.kind], stamp=jobs.stamp, **verdict_of(result)
    )


def take_report(context: Here) -> Response:
    """The report as one file that opens offline."""
    return taken(context, context.loaded)


def taken(context: Context, job: Job) -> Response:
    """Write down who takes the report away, then give it."""
    result = _result(context, job)
    _written_down(context, job, "taken")
    name = quote(f"{job.dataset_name.partition('.')[0]}-{job.kind}-{job.id}.html", safe="")
    disposition = f"attachment; filename=\"report-{job.id}.html\"; filename*=UTF-8''{name}"
    return HTMLResponse(result.report or "", headers={"Content-Disposition": disposition})


def verdict_of(result: Result) -> dict[str, Any]:
    """Whether limits are kept."""
    numbers = result.numbers.get("after") or result.numbers
    limit = numbers.get("limit", {}).get("exceeded", numbers.get("exceeded"))
    return {"exceeded": limit}


def _result(context: Context, job: Job) -> Result:
    with context.site.store.reading() as connection:
        result = jobs.result(connection, job.id)
    if result is None:
        raise not_found()
    return result


def _written_down(context: Context, job: Job, act: str, *, key: str | None = None) -> None:
    context.act("web.shown", f"dataset:{job.dataset}/job:{job.id}", key=key, act=act, what="report", kind=job.kind)
