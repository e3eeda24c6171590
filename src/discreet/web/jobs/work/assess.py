"""Measure the risk of publishing the table."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from typing import Any

from discreet import __version__
from discreet.report import assessment_page, findings
from discreet.report.assessment.report import assessment_parts
from discreet.risk import Assessment, Profile, assess, profile
from discreet.sources import Table
from discreet.web.jobs.task import Outcome, Task

PROFILED = 500_000
"""Larger tables are reported without a profile of every column."""


def assess_table(task: Task) -> Outcome:
    """The assessment and its report."""
    steps = 1 + len(task.policy.sensitive) + (task.population is not None)
    table = task.table(task.counting(steps, upto=0.6, words="Counting people who look alike"))
    crowd = task.crowd(lambda: task.tell("Counting the population", 0.55))
    threshold = task.asked.get("threshold")
    found = assess(table, population=crowd if crowd is not None else task.population_size, threshold=threshold)
    shown = _profile(task, found)
    task.tell("Writing the report", 0.95)
    frame: dict[str, Any] = {
        "source": task.dataset.name,
        "command": task.command("assess"),
        "policy": task.policy,
        "profile": shown,
    }
    numbers = found.to_dict()
    numbers["findings"] = [asdict(finding) for finding in findings(found, source=task.dataset.name)]
    numbers["undeclared"] = list(table.undeclared)
    return Outcome(
        event="risk.assessed",
        numbers=numbers,
        parts=assessment_parts(found, **frame),
        report=assessment_page(
            found, title=f"Risk of {task.dataset.name}", created=task.now(), version=__version__, **frame
        ),
        policy=task.policy,
        risk_before=Fraction(1, found.k),
        details=facts(found),
    )


def facts(found: Assessment) -> dict[str, str | int | bool | None]:
    """What the ledger remembers of an assessment: numbers of people, nothing about any of them."""
    return {
        "people": found.records,
        "alone": found.uniques,
        "average_risk": str(Fraction(found.classes, found.records)),
        "exceeded": found.exceeded,
    }


def _profile(task: Task, found: Assessment) -> Profile | None:
    if found.records > PROFILED:
        return None
    columns = len(task.dataset.columns)
    done = 0

    def counted() -> None:
        nonlocal done
        done += 1
        task.tell("Looking for columns that single people out", 0.6 + 0.3 * min(1.0, done / (columns + 1)))

    table: Table = task.table(counted)
    return profile(table, largest=3)
