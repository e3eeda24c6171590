"""Reports: the list, one report, its file, and the form of a project report."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from sqlalchemy import Connection
from starlette.responses import HTMLResponse, Response

from discreet.report.project.ledger_facts import known_releases
from discreet.web.datasets import store as datasets
from discreet.web.datasets.dataset_page import finished
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context, Here, by_number, go, or_again
from discreet.web.framework.problems import Problem, not_found
from discreet.web.framework.route import ApiPost, Page, Route, Submit
from discreet.web.gateway import users
from discreet.web.jobs import store as jobs
from discreet.web.jobs.kinds import KINDS, REPORTED
from discreet.web.jobs.pages import ask, wanted_of
from discreet.web.jobs.store import Job, JobResult
from discreet.web.linkage import store as linkage_store


def _find(connection: Connection, number: int) -> Job | None:
    job = jobs.find(connection, number)
    return job if job is not None and job.state == "done" and job.kind in REPORTED else None


REPORT = by_number("report", _find)
"""Reports have no owner: the permission to read reports covers each. They hold no value of any person."""


def reports_page(context: Here) -> Response:
    """All reports, the newest first."""
    with context.site.store.reading() as connection:
        listed = jobs.newest(connection, kinds=REPORTED, states=("done",), most=200)
    titles = {kind: KINDS[kind].report for kind in REPORTED}
    return context.page("reports.html", listed=listed, titles=titles, stamp=jobs.stamp)


def report_page(context: Here) -> Response:
    """One report; reading is written down, once a day per reader."""
    job: Job = context.loaded
    result = _result(context, job, "read", key=f"report:{job.id}:{context.site.stamp()[:10]}")
    numbers = result.numbers.get("after") or result.numbers
    exceeded = numbers.get("limit", {}).get("exceeded", numbers.get("exceeded"))
    title = KINDS[job.kind].report
    return context.page("report.html", job=job, result=result, title=title, stamp=jobs.stamp, exceeded=exceeded)


def report(context: Here, number: str) -> Response:
    """The report as one HTML file; that it was taken away is written down first."""
    job: Job = context.loaded
    result = _result(context, job, "taken")
    name = quote(f"{job.dataset_name.partition('.')[0]}-{job.kind}-{job.id}.html", safe="")
    disposition = f"attachment; filename=\"report-{job.id}.html\"; filename*=UTF-8''{name}"
    return HTMLResponse(result.report or "", headers={"Content-Disposition": disposition})


def _result(context: Context, job: Job, act: str, *, key: str | None = None) -> JobResult:
    """What the job found, once the ledger says who reads it."""
    with context.site.store.reading() as connection:
        result = jobs.result(connection, job.id)
    if result is None:
        raise not_found()
    context.act("web.shown", f"dataset:{job.dataset}/job:{job.id}", key=key, act=act, what="report", kind=job.kind)
    return result


@dataclass(frozen=True)
class ProjectParts:
    """What the store knows that could belong to a project."""

    releases: list[str]
    linkage: list[str]
    databases: list[str]
    tables: list[tuple[str, str]]
    """Anonymised tables of the data set: the number of the job, and what was required of them."""

    @classmethod
    def of(cls, context: Context, dataset: Dataset) -> ProjectParts:
        """From the store."""
        with context.site.store.reading() as connection:
            made = [done for done in finished(connection, dataset.id, "anonymise", most=20) if done.result.file]
            return cls(
                releases=list(known_releases(connection)),
                linkage=[project.name for project in linkage_store.everything(connection)],
                databases=[database.name for database in users.watched(connection)],
                tables=[(str(done.job.id), "; ".join(done.result.numbers["requirements"])) for done in made],
            )


def new_page(context: Here, dataset: str = "") -> Response:
    """Choose the data set, unless there is only one; then what belongs to it."""
    if context.problem is not None:
        dataset = context.form.text("dataset")
    with context.site.store.reading() as connection:
        every = [candidate for candidate in datasets.everything(connection) if candidate.policy is not None]
    only = every[0] if len(every) == 1 else None
    chosen = next((candidate for candidate in every if str(candidate.id) == dataset), only)
    if chosen is None:
        return context.page("project_choose.html", every=every)
    title = context.form.text("title") if context.problem else f"Sharing {chosen.name.partition('.')[0]}"
    return context.page("project_new.html", dataset=chosen, known=ProjectParts.of(context, chosen), title=title)


@or_again(new_page)
def make(context: Here) -> Response:
    """Have it made; the page of the job leads to it."""
    form = context.form
    number = form.whole("dataset", least=0, most=10**17)
    with context.site.store.reading() as connection:
        dataset = datasets.find(connection, number)
    if dataset is None:
        raise Problem(422, "There is no such data set.", remedy="Choose one of the list.")
    parts = ProjectParts.of(context, dataset)
    table = form.choice("published", ["", *(job for job, _ in parts.tables)])
    wanted = {
        "title": form.text("title"),
        "published": int(table) if table else None,
        "adversary": form.text("adversary") == "yes",
        "releases": form.choices("release", parts.releases),
        "linkage": form.choices("linkage", parts.linkage),
        "databases": form.choices("database", parts.databases),
    }
    return go(f"/jobs/{ask(context, dataset, 'project', wanted_of('project', wanted))}")


REPORT_ROUTES: tuple[Route, ...] = (
    Page("/reports", "reports.read", reports_page),
    Page("/reports/new", "datasets.change", new_page),
    Submit("/reports/new", "datasets.change", make),
    Page("/reports/{number}", "reports.read", report_page, records=True, loads=REPORT),
    Submit("/reports/{number}/file", "reports.read", report, loads=REPORT),
    ApiPost("/api/v1/reports/{number}", "reports.read", report, body="none", loads=REPORT),
)
