"""Tell a whole project: the risk of what leaves, and what the store says was disclosed, in one report."""

from __future__ import annotations

import shlex
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.attacker import Attack
from discreet.errors import DataError
from discreet.reference.case_study import PUBLISHED
from discreet.report.project import ProjectFile, Story, project_page
from discreet.report.project.ledger_facts import disclosed_in
from discreet.report.project.measurement import Measured, measure_tables
from discreet.report.project.report import project_parts
from discreet.web.jobs import store as jobs
from discreet.web.jobs.task import Outcome, Task
from discreet.web.jobs.work.assess import facts


def tell_project(task: Task) -> Outcome:
    """The ledger first: it is quick, and nothing is told beside one that was tampered with."""
    project = _project(task)
    task.tell("Verifying the ledger", 0.05)
    found = disclosed_in(task.ledger.store, project)
    story = Story(project, _measured(task), found)
    task.tell("Writing the report", 0.95)
    command = _command(task)
    page = project_page(story, created=task.now(), command=command, version=__version__)
    return Outcome(
        event="risk.assessed",
        numbers=story.to_dict(),
        parts=project_parts(story, command=command),
        report=page,
        policy=task.policy,
        risk_before=Fraction(1, story.measured.assessment.k),
        details={**facts(story.measured.leaving), "report": "project"},
    )


def _project(task: Task) -> ProjectFile:
    """What was chosen, as the file that the command line would read."""
    chosen: dict[str, Any] = {name: tuple(task.asked.get(name, ())) for name in ("releases", "linkage", "databases")}
    return ProjectFile(task.asked["title"], task.dataset.name, "policy.toml", **chosen)


def _command(task: Task) -> str:
    """The project file that the form stands for, and the report on it."""
    drafted = task.command("report init", f"--title {shlex.quote(task.asked['title'])}", "--out project.toml")
    return f"{drafted}\ndiscreet report project.toml --store ADDRESS --out report.html"


def _measured(task: Task) -> Measured:
    table = task.table(task.counting(4, upto=0.6, words="Counting people who look alike"))
    crowd = task.crowd(lambda: task.tell("Counting the population", 0.6))
    adversary = Attack.from_dict(PUBLISHED) if task.asked.get("adversary") else None
    published, called = _published(task)
    return measure_tables(
        table,
        policy=task.policy,
        crowd=crowd if crowd is not None else task.population_size,
        attack=adversary,
        published=published,
        called=called,
    )


def _published(task: Task) -> tuple[Path | None, str | None]:
    """The anonymised table that a job made of this data set, and what people call it."""
    number = task.asked.get("published")
    if number is None:
        return None, None
    with task.ledger.store.reading() as connection:
        made, result = jobs.find(connection, number), jobs.result(connection, number)
    ours = made is not None and made.dataset == task.dataset.id and made.kind == "anonymise"
    path = task.places.folder.find(result.file) if ours and result is not None and result.file else None
    if path is None:
        raise DataError(
            "The anonymised table is not there any more.", remedy="Anonymise the data set again, on its tab Protect."
        )
    return path, f"{task.dataset.name.partition('.')[0]}, anonymised"
