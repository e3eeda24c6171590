"""Pages of jobs: what runs, progress, estimate, outcome."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from starlette.responses import FileResponse, JSONResponse, Response

from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.format import remark
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import Loads, numbered
from discreet.web.jobs import queue, requests
from discreet.web.jobs import store as jobs
from discreet.web.jobs.store import Job, Result

TAB = {
    "profile": "",
    "assess": "/risk",
    "anonymise": "/protect",
    "attack": "/attacker",
    "preflight": "/releases",
    "release": "/releases",
    "project": "",
}
"""The tab of the data set where the result is."""
ENDINGS = {"csv": "text/csv", "csv.gz": "application/gzip", "parquet": "application/vnd.apache.parquet"}


@dataclass(frozen=True)
class Progress:
    """A job and how far it is, in words."""

    job: Job
    percent: int | None
    words: str


def progress_of(job: Job, now: int) -> Progress:
    """How far a job is and how long it will still take."""
    return Progress(job, job.percent, ", ".join(_words(job, now)))


def _words(job: Job, now: int) -> Iterator[str]:
    yield job.step
    if job.percent is not None:
        yield f"{job.percent} %"
    left = job.seconds_left(now)
    if left is not None:
        yield (
            "a few seconds left"
            if left < 10
            else f"about {left} seconds left"
            if left < 90
            else f"about {-(-left // 60)} minutes left"
        )
    if job.attempts > 1 and job.active:
        yield f"attempt {job.attempts}"


def _find(context: Context, path: dict[str, str]) -> Job | None:
    with context.site.store.reading() as connection:
        return jobs.find(connection, numbered(path["number"]))


JOB = Loads("job", find=_find, may=lambda context, job: context.may(context.route.permission))
"""Jobs belong to the custodians of the store, as data sets do."""


def jobs_page(context: Here) -> Response:
    """All jobs, the newest first."""
    with context.site.store.reading() as connection:
        now = queue.moment(connection)
        listed = [progress_of(job, now) for job in jobs.newest(connection, most=100)]
    settings = context.site.settings
    return context.page("jobs.html", listed=listed, at_once=settings.jobs_at_once, stamp=jobs.stamp)


def job_page(context: Here, said: str = "") -> Response:
    """One job."""
    job: Job = context.loaded
    with context.site.store.reading() as connection:
        now = queue.moment(connection)
        result = jobs.result(connection, job.id)
    receipt = context.site.ledger.receipt(actor=job.asker, key=job.key)
    return context.page(
        "job.html",
        said=remark(said),
        job=job,
        shown=progress_of(job, now),
        result=result,
        entry=None if receipt is None else receipt.entry.sequence,
        tab=TAB[job.kind],
        stamp=jobs.stamp,
    )


def job_state(context: Here) -> Response:
    """How far it is, for the module that redraws the bar."""
    job: Job = context.loaded
    with context.site.store.reading() as connection:
        shown = progress_of(job, queue.moment(connection))
    return JSONResponse({"state": job.state, "percent": shown.percent, "words": shown.words})


def cancel(context: Here) -> Response:
    """End it. A job that had come to its end stays as it is."""
    requests.cancel(context, context.loaded)
    return go(f"/jobs/{context.loaded.id}", said="cancelled" if context.loaded.active else "")


def take_file(context: Here) -> Response:
    """The anonymised table; that it was handed over, and what it risks, is written down first."""
    return handed_over(context, context.loaded)


def handed_over(context: Context, job: Job) -> Response:
    """Write down who takes the table away, then give it."""
    result, path = _file(context, job)
    after = result.numbers.get("after") or {}
    context.act(
        "anonymity.published",
        f"dataset:{job.dataset}/job:{job.id}",
        job=job.id,
        data=job.dataset_name,
        people=after.get("records"),
        least_group=after.get("k"),
        file=path.name,
    )
    ending = path.name.partition(".")[2]
    stem = job.dataset_name.rpartition("/")[2].partition(".")[0] or "table"
    return attachment(path, f"{stem}-anonymised-{job.id}.{ending}", ENDINGS[ending])


def _file(context: Context, job: Job) -> tuple[Result, Path]:
    with context.site.store.reading() as connection:
        result = jobs.result(connection, job.id)
    path = context.site.places.folder.find(result.file) if result is not None and result.file else None
    if result is None or path is None:
        raise Problem(
            404, "This job has no file, or no longer.", remedy="Anonymise the data set again if you need the table."
        )
    return result, path


def attachment(path: Path, name: str, kind: str) -> Response:
    """A file to be saved, under a name that no header can be broken with."""
    plain = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "_" for letter in name)
    disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
    return FileResponse(path, media_type=kind, headers={"Content-Disposition": disposition})
