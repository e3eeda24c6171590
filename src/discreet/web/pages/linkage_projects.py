"""Linkage for managers: projects, who has which pairs, meters and agreement. Numbers and names of columns, never a value."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from discreet.errors import DiscreetError
from discreet.linkage.matching.candidate_pairs import load_candidates
from discreet.linkage.progress import Progress, progress
from discreet.linkage.project import INITIAL, Project
from discreet.linkage.records.folder import ProjectFolder
from discreet.linkage.review.decisions import disputes
from discreet.web.accounts import accounts
from discreet.web.accounts.accounts import Account
from discreet.web.framework.context import Context, Here
from discreet.web.framework.problems import Problem, problem_of
from discreet.web.framework.route import Loads, numbered
from discreet.web.linkage import jobs as works
from discreet.web.linkage import store as linkage_store
from discreet.web.linkage.pair_view import ShownMeter, label_of, written
from discreet.web.remarks import remark

ENOUGH_LABELS = 20


def _find(context: Context, path: dict[str, str]) -> Project | None:
    with context.site.store.reading() as connection:
        return linkage_store.find(connection, numbered(path["number"]))


PROJECT = Loads("linkage project", find=_find, may=lambda context, project: context.may(context.route.permission))
"""Projects belong to the managers of the store, who look after them together."""


def linkage_page(context: Here, said: str = "") -> Response:
    """What waits for one's own eyes, and, for managers, all projects."""
    manages = context.may("linkage.manage")
    with context.site.store.reading() as connection:
        tasks = linkage_store.tasks_of(connection, context.owner.name) if context.may("linkage.review") else []
        every = linkage_store.everything(connection) if manages else []
        making = works.unfinished(connection) if manages else []
    listed = [progress(context.site.ledger, one) for one in every]
    shown: dict[str, Any] = {"tasks": tasks, "listed": listed, "making": making}
    return context.page("linkage.html", said=remark(said), agreement=agreement, written=written, **shown)


def project_page(context: Here, said: str = "") -> Response:
    """How far a project is, and everything that can be done with it."""
    return show_project(context, said=remark(said))


def show_project(context: Context, *, said: str = "", problem: Problem | None = None) -> Response:
    """The page, also with what went wrong in one of its forms."""
    project: Project = context.loaded
    found = progress(context.site.ledger, project)
    with context.site.store.reading() as connection:
        jobs = works.of_project(connection, project.id)
    return context.page(
        "linkage_project.html",
        status=problem.status if problem else 200,
        problem=problem,
        said=said,
        project=project,
        found=found,
        folder=_folder(project),
        running=[one for one in jobs if one.active],
        failed=next((one for one in jobs[:1] if one.state == "failed"), None),
        reviewers=reviewers(context),
        disputed=disputes(context.site.store, project),
        initial=INITIAL,
        label_of=label_of,
        written=written,
        meters=meters,
        agreement=agreement,
        labels=_labels(found),
        enough=ENOUGH_LABELS,
    )


def acting(context: Context, act: Any) -> Response:
    """Do something with a project; if it cannot be done, its page again, with what is wrong."""
    try:
        done: Response = act()
    except DiscreetError as error:
        problem = problem_of(error)
        if problem.status >= 500:
            raise
        if problem.status == 403:  # nothing is forbidden to whoever asks; it does not fit the state of the project
            problem = Problem(409, problem.problem, remedy=problem.remedy, title="This cannot be done now")
        return show_project(context, problem=problem)
    return done


def reviewers(context: Context) -> list[Account]:
    """Who can be given pairs."""
    with context.site.store.reading() as connection:
        return [one for one in accounts.everybody(connection) if one.role == "worker" and not one.disabled]


def meters(row: Any) -> tuple[ShownMeter, ShownMeter]:
    """The two meters of a worker or a project."""
    return ShownMeter("characters", "Characters shown", row.characters), ShownMeter("risk", "Privacy risk", row.risk)


def agreement(found: Progress) -> str:
    """How far reviewers agree, in words."""
    if found.agreement is None:
        return "nothing to compare yet" if not found.compared else "all answers are alike"
    return f"{float(found.agreement):.2f}"


def _labels(found: Progress) -> int:
    return found.verdicts["same"] + found.verdicts["different"]


def _folder(project: Project) -> dict[str, Any]:
    """What was imported, and who decides which candidate pairs, in numbers."""
    try:
        home = ProjectFolder.open(project.folder)
        counts = load_candidates(home).counts
    except DiscreetError as error:
        return {"problem": problem_of(error).problem, "tables": [], "counts": None, "sensitive": 0}
    tables = home.about["tables"]
    return {
        "problem": "",
        "tables": tables,
        "sizes": home.sizes,
        "counts": counts,
        "sensitive": sum(len(one["sensitive"]) for one in tables),
    }
