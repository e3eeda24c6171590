"""Data sets: the list, and the ways to bring one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.web.datasets import ingest
from discreet.web.datasets import store as dataset_store
from discreet.web.datasets.allowed import files_below
from discreet.web.datasets.inspection import ENCODINGS
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.problems import Problem, problem_of
from discreet.web.jobs import store as jobs
from discreet.web.jobs.queued import ACTIVE
from discreet.web.jobs.store import Job
from discreet.web.remarks import remark


@dataclass(frozen=True)
class Listed:
    """A data set with what is known of it."""

    dataset: Dataset
    people: int | None
    exceeded: bool | None
    active: Job | None


def datasets_page(context: Here, said: str = "") -> Response:
    """All data sets, each with its last assessment."""
    with context.site.store.reading() as connection:
        listed = [_listed(connection, one) for one in dataset_store.everything(connection)]
    return context.page("datasets.html", listed=listed, said=remark(said))


def _listed(connection: Connection, one: Dataset) -> Listed:
    numbers = latest_numbers(connection, one.id, "assess")
    looked = numbers or latest_numbers(connection, one.id, "profile")
    active = jobs.newest(connection, dataset=one.id, states=ACTIVE, most=1)
    return Listed(
        one,
        None if looked is None else looked["records"],
        None if numbers is None else numbers["limit"]["exceeded"],
        active[0] if active else None,
    )


def latest_numbers(connection: Connection, number: int, kind: str) -> dict[str, Any] | None:
    """What the last job of a kind found, if any did."""
    done = jobs.newest(connection, dataset=number, kinds=(kind,), states=("done",), most=1)
    found = jobs.result(connection, done[0].id) if done else None
    return None if found is None else found.numbers


def new_page(context: Here) -> Response:
    """The three ways to bring a data set."""
    return _form(context)


def upload(context: Here) -> Response:
    """Keep a file that was sent."""
    return _bring(context, "upload")


def register(context: Here) -> Response:
    """A file that stays where it is."""
    return _bring(context, "path")


def connect(context: Here) -> Response:
    """A table of a PostgreSQL server."""
    return _bring(context, "postgres")


def _bring(context: Context, kind: str) -> Response:
    try:
        number = _brought(context, kind)
    except Exception as error:
        problem = problem_of(error)
        if problem.status >= 500:
            raise
        return _form(context, problem=problem, kind=kind)
    return go(f"/datasets/{number}", said="brought")


def _brought(context: Context, kind: str) -> int:
    form = context.form
    name = ingest.chosen_name(form.text("name", most=500))
    if kind == "postgres":
        given, table = form.text("address", most=1_000), form.text("table", most=500)
        password = form.verbatim("password", most=1_000)
        return ingest.bring_table(context, given, table=table, password=password, name=name)
    encoding = form.choice("encoding", ENCODINGS)
    if kind == "path":
        return ingest.bring_file(context, form.text("path", most=2_000), name=name, encoding=encoding)
    return ingest.bring_upload(context, form.files.get("file"), name=name, encoding=encoding)


def _form(context: Context, *, problem: Problem | None = None, kind: str = "") -> Response:
    settings, form = context.site.settings, context.form
    typed = {field: form.text(field, most=2_000) for field in ("name", "address", "table", "path") if kind}
    return context.page(
        "dataset_new.html",
        status=problem.status if problem else 200,
        problem=problem,
        kind=kind,
        typed=typed,
        files=files_below(settings.folders),
        folders=[str(folder) for folder in settings.folders],
        servers=settings.servers,
        encodings=ENCODINGS,
        largest=settings.largest_upload,
    )
