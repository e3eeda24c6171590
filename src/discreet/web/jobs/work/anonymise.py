"""Search the least lossy table within the limits, write it, and say what it risks."""

from __future__ import annotations

import os
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.anonymity import Anonymised, Point, Progress, Seen, anonymise, frontier, sweep
from discreet.ledger.entry import listing
from discreet.report import anonymised_findings, anonymised_page
from discreet.report.anonymisation.findings import Case
from discreet.report.anonymisation.report import anonymised_parts
from discreet.risk import Assessment, assess
from discreet.sources import Table
from discreet.web.jobs.task import Outcome, Task
from discreet.web.jobs.work.assess import facts

DRAWN = 20_000
"""Lattices up to this many nodes are drawn whole."""
CHOICES = ("k", "suppression", "loss", "max_risk", "risk_model", "search")
"""What a custodian chooses; the same names as on the command line."""


def anonymise_table(task: Task) -> Outcome:
    """The table, its certificate, what it risks, and what more protection would cost."""
    table = task.table(task.counting(2 + len(task.policy.sensitive), upto=0.2, words="Counting people who look alike"))
    table.refuse_undeclared()
    crowd = task.crowd(lambda: task.tell("Counting the population", 0.2))
    given = {name: task.asked[name] for name in CHOICES if task.asked.get(name) is not None}
    result = anonymise(table, population=crowd, watch=_watch(task), **given)
    before = assess(table)
    after = result.assess(threshold=before.threshold) if result.records > result.suppressed else None
    points, seen = _alternatives(task, result, table)
    task.tell("Writing the table and reading it back", 0.85)
    file = _written(task, result)
    return _outcome(task, result, before, after, points, seen, file)


def _watch(task: Task) -> Any:
    def watch(progress: Progress) -> bool:
        share = 0.0 if progress.best in (0, float("inf")) else min(1.0, progress.bound / progress.best)
        task.tell(f"Searching: {progress.evaluated:,} of {progress.nodes:,} combinations counted", 0.2 + 0.4 * share)
        return True

    return watch


def _alternatives(task: Task, result: Anonymised, table: Table) -> tuple[tuple[Point, ...], tuple[Seen, ...]]:
    """What other levels and other k would give, where that is quickly said."""
    if result.certificate is None or result.certificate.nodes > DRAWN:
        return (), ()
    task.tell("Working out what more protection would cost", 0.65)
    share = result.limits.suppressible / result.records
    points = frontier(table, suppression=share, loss=result.loss_name)
    return points, tuple(sweep(result.recoding.classes, result.limits, loss=result.loss_name))


def _written(task: Task, result: Anonymised) -> Path | None:
    """The file, which only its owner can read, on the disk before the store speaks of it."""
    if result.records == result.suppressed:
        return None
    path = task.places.folder.new("result", task.asked.get("format") or "csv")
    result.write(path)
    path.chmod(0o600)
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return path


def _outcome(
    task: Task,
    result: Anonymised,
    before: Assessment,
    after: Assessment | None,
    points: tuple[Point, ...],
    seen: tuple[Seen, ...],
    file: Path | None,
) -> Outcome:
    name, command = task.dataset.name, task.command("anonymise", *_options(task), "--out safe.csv")
    frame: dict[str, Any] = {
        "source": name,
        "command": command,
        "policy": task.policy,
        "frontier": points,
        "lattice": seen,
    }
    page = anonymised_page(
        result,
        before=before,
        after=after,
        title=f"Anonymised: {name}",
        created=task.now(),
        version=__version__,
        **frame,
    )
    return Outcome(
        event="anonymity.made",
        numbers=_numbers(result, before, after, points, name),
        parts=anonymised_parts(Case.of(result, before, after), **frame),
        report=page,
        policy=task.policy,
        file=file,
        risk_before=Fraction(1, before.k),
        risk_after=Fraction(1, after.k) if after is not None else Fraction(0),
        details=_details(result, after),
    )


def _options(task: Task) -> list[str]:
    given = {name: task.asked[name] for name in CHOICES if task.asked.get(name) is not None}
    return [f"--{name.replace('_', '-')} {value}" for name, value in given.items()]


def _numbers(
    result: Anonymised, before: Assessment, after: Assessment | None, points: tuple[Point, ...], name: str
) -> dict[str, Any]:
    heights = {column.name: column.hierarchy.height for column in result.recoding.classes.columns}
    return {
        **result.to_dict(),
        "heights": heights,
        "frontier": [point.to_dict() for point in points],
        "before": before.to_dict(),
        "after": None if after is None else after.to_dict(),
        "findings": [
            asdict(finding) for finding in anonymised_findings(result, before=before, after=after, source=name)
        ],
    }


def _details(result: Anonymised, after: Assessment | None) -> dict[str, Any]:
    left = facts(after) if after is not None else {"people": 0}
    roles = [f"{name} ({about['role']})" for name, about in result.columns.items()]
    loss = f"{result.loss_name} {result.loss:.6g}"
    return {**left, "left_out": result.suppressed, "loss": loss, **listing("published", roles)}
