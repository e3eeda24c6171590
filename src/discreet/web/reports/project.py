"""Page of a project report: choose what belongs to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.errors import DiscreetError
from discreet.report.project.ledger_facts import known_releases
from discreet.web.datasets import store as datasets
from discreet.web.datasets.dataset_page import finished
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.problems import Problem, problem_of
from discreet.web.gateway import users
from discreet.web.jobs.requests import ask, wanted_of
from discreet.web.linkage import store as linkage_store


@dataclass(frozen=True)
class Known:
    """What the store knows that could belong to a project."""

    releases: list[str]
    linkage: list[str]
    databases: list[str]
    tables: list[tuple[str, str]]
    """Anonymised tables of the data set: the number of the job, and what was required of them."""


def new_page(context: Here, dataset: str = "") -> Response:
    """First which data set it is about, unless there is but one; then what belongs to it."""
    with context.site.store.reading() as connection:
        every = [one for one in datasets.everything(connection) if one.policy is not None]
    chosen = next((one for one in every if str(one.id) == dataset), every[0] if len(every) == 1 else None)
    if chosen is None:
        return context.page("project_choose.html", every=every)
    return _form(context, chosen)


def make(context: Here) -> Response:
    """Have it made; the page of the job leads to it."""
    number = context.form.whole("dataset", least=0, most=10**17)
    with context.site.store.reading() as connection:
        found = datasets.find(connection, number)
    if found is None:
        raise Problem(422, "There is no such data set.", remedy="Choose one of the list.")
    try:
        wanted = wanted_of("project", _chosen(context, found))
        return go(f"/jobs/{ask(context, found, 'project', wanted)}")
    except DiscreetError as error:
        problem = problem_of(error)
        if problem.status >= 500:
            raise
        return _form(context, found, problem=problem)


def _chosen(context: Context, dataset: Dataset) -> dict[str, Any]:
    form = context.form
    with context.site.store.reading() as connection:
        known = _known(connection, dataset)
    table = form.choice("published", ["", *(number for number, _ in known.tables)])
    return {
        "title": form.text("title"),
        "published": int(table) if table else None,
        "adversary": form.text("adversary") == "yes",
        "releases": form.choices("release", known.releases),
        "linkage": form.choices("linkage", known.linkage),
        "databases": form.choices("database", known.databases),
    }


def _known(connection: Connection, dataset: Dataset) -> Known:
    made = [one for one in finished(connection, dataset.id, "anonymise", most=20) if one.result.file]
    return Known(
        releases=list(known_releases(connection)),
        linkage=[one.name for one in linkage_store.everything(connection)],
        databases=[one.name for one in users.watched(connection)],
        tables=[(str(one.job.id), "; ".join(one.result.numbers["requirements"])) for one in made],
    )


def _form(context: Context, dataset: Dataset, *, problem: Problem | None = None) -> Response:
    with context.site.store.reading() as connection:
        known = _known(connection, dataset)
    typed = context.form.text("title") if problem else f"Sharing {dataset.name.partition('.')[0]}"
    status = problem.status if problem else 200
    return context.page("project_new.html", status=status, problem=problem, dataset=dataset, known=known, title=typed)
