"""Work of jobs about a data set: profile, assess, anonymise, attack, project report."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, cast

from discreet import __version__
from discreet.anonymity import (
    Anonymised,
    Candidate,
    Point,
    Progress,
    Seen,
    TableComparison,
    anonymise,
    compare,
    frontier,
    sweep,
)
from discreet.attacker import Attack, Attacked
from discreet.attacker.extensions import RecordPriors
from discreet.attacker.population import Targets
from discreet.errors import DataError
from discreet.ledger.entry import listing
from discreet.policy import write_draft
from discreet.reference.case_study import PUBLISHED
from discreet.report import (
    anonymised_findings,
    anonymised_page,
    assessment_page,
    attack_findings,
    attack_page,
    comparison_page,
    findings,
    given_words,
    profile_findings,
)
from discreet.report.anonymisation import anonymised_parts
from discreet.report.anonymisation_findings import Case as AnonymisedCase
from discreet.report.assessment import assessment_parts
from discreet.report.attack import attack_parts
from discreet.report.attack_charts import Case as AttackCase
from discreet.report.comparison import comparison_parts
from discreet.report.project import ProjectFile, Story, project_page
from discreet.report.project.ledger_facts import disclosed_in
from discreet.report.project.measurement import measure_tables
from discreet.report.project.report import project_parts
from discreet.risk import Assessment, assess, profile
from discreet.risk.giveaways import Telling, telling_columns, told_apart
from discreet.sources.export.record_list import write_listing
from discreet.web.jobs import store as jobs
from discreet.web.jobs.kinds import REQUIREMENTS, chosen
from discreet.web.jobs.process import JobOutcome, TableTask

LARGEST = 3
"""Columns in a combination of the profile."""
PROFILED = 500_000
"""Larger tables are reported without a profile of every column."""
DRAWN = 20_000
"""Lattices up to this many nodes are drawn whole."""
CHOICES = (*REQUIREMENTS, "suppression", "loss", "search", "levels", "time_limit")
"""What a custodian chooses; the same names as on the command line."""
MOST_WARNINGS = 10
MOST_PRIORS = 100
"""Different priors of records, through which the lab goes at every change."""
COUNTING = "Counting people who look alike"


def profile_table(task: TableTask) -> JobOutcome:
    """Columns, how people spread over them, who is unique; and a draft policy."""
    counted = task.counting(len(task.dataset.columns) + 1, upto=0.95, words="Counting column by column")
    table = task.table(counted)
    profiled = profile(table, largest=LARGEST)
    written = {key: table.engine.dialect[key] for key in ("delimiter", "sheet") if key in table.engine.dialect}
    confirm = "Confirm them, or correct what an adversary could know, and save the roles."
    shown = [asdict(finding) for finding in profile_findings(profiled)]
    for finding in shown:
        if "policy init" in finding["next_step"]:  # the next step is not that command but the form on the same page
            finding["next_step"] = confirm
    return JobOutcome(
        event="risk.profiled",
        numbers={**profiled.to_dict(), "findings": shown},
        draft=write_draft(
            profiled.drafts(),
            encoding=task.dataset.encoding,
            decimal=profiled.decimal,
            missing=profiled.missing,
            commands=False,
            **written,
        ),
        details={"people": profiled.records, "columns": len(profiled.columns)},
    )


def assess_table(task: TableTask) -> JobOutcome:
    """The assessment and its report."""
    steps = 1 + len(task.policy.sensitive) + (task.population is not None)
    table = task.table(task.counting(steps, upto=0.6, words=COUNTING))
    population = task.population_table(lambda: task.tell("Counting the population", 0.55))
    assessment = assess(
        table,
        population=population if population is not None else task.population_size,
        threshold=task.asked.get("threshold"),
    )
    away = telling_columns(table)
    profiled = None
    if assessment.records <= PROFILED:
        words = "Looking for columns that single people out"
        counted = task.counting(len(task.dataset.columns) + 1, start=0.6, upto=0.9, words=words)
        profiled = profile(task.table(counted), largest=LARGEST)
    task.tell("Writing the report", 0.95)
    name = task.dataset.name
    frame: dict[str, Any] = {"source": name, "command": task.command("assess"), "policy": task.policy}
    frame["profile"] = profiled
    numbers = assessment.to_dict()
    numbers["findings"] = [asdict(finding) for finding in findings(assessment, source=name)]
    numbers |= {"undeclared": list(table.undeclared), "unconfirmed": list(task.policy.unconfirmed)}
    frame["away"] = away
    numbers |= given_away(away)
    return JobOutcome(
        event="risk.assessed",
        numbers=numbers,
        parts=assessment_parts(assessment, **frame),
        report=assessment_page(assessment, **task.head(f"Risk of {name}"), **frame),
        policy=task.policy,
        risk_before=Fraction(1, assessment.k),
        details=facts(assessment),
    )


def facts(assessment: Assessment) -> dict[str, str | int | bool | None]:
    """What the ledger says of an assessment: numbers of people only."""
    average = Fraction(assessment.classes, assessment.records)
    if assessment.rows is not None:
        # People are in several classes: the average is over the riskiest row of each.
        average = Fraction(assessment.average_risk).limit_denominator(10**9)
    return {
        "people": assessment.records,
        "alone": assessment.uniques,
        "average_risk": str(average),
        "exceeded": assessment.exceeded,
    }


def attack_table(task: TableTask) -> JobOutcome:
    """The attack of an adversary who buys the table of the population, or the data."""
    adversary = Attack.from_dict(task.asked.get("attack") or PUBLISHED)
    table = task.table(task.counting(2, upto=0.4, words=COUNTING))
    population = task.population_table(lambda: task.tell("Counting the list for sale", 0.5))
    assessment = assess(table, attack=adversary, external=population)
    attacked, threshold = cast(Attacked, assessment.attack), assessment.threshold
    task.tell("Writing the report", 0.9)
    exceeded = attacked.exceeds(threshold, assessment.allowed_at_risk)
    name = task.dataset.name
    column = task.asked.get("prior_column")
    options = [] if column is None else [shlex.quote(f"--set=prior_column={column}")]
    command = task.command("attack", "--attack attack.toml", *options).replace("--population", "--external")
    frame: dict[str, Any] = {"source": name, "command": command, "policy": task.policy}
    numbers = {**attacked.to_dict(threshold), "threshold": threshold, "exceeded": exceeded}
    numbers["targets"] = Targets.of(attacked).to_dict()  # what the lab works on
    if column is not None:
        priors = RecordPriors.of(column, table, population=population, most=MOST_PRIORS)
        numbers["priors"] = priors.to_dict()
    shown, title = attack_findings(attacked, source=name, threshold=threshold), f"What an adversary would do to {name}"
    numbers["findings"] = [asdict(finding) for finding in shown]
    return JobOutcome(
        event="attacker.planned",
        numbers=numbers,
        parts=attack_parts(AttackCase(attacked, threshold), **frame),
        report=attack_page(attacked, threshold=threshold, exceeded=exceeded, **task.head(title), **frame),
        policy=task.policy,
        risk_before=Fraction(1, assessment.k),
        details={"people": assessment.records, "exceeded": exceeded},
    )


def anonymise_table(task: TableTask) -> JobOutcome:
    """The least lossy table within the limits, its risk, and alternatives."""
    table = task.table(task.counting(2 + len(task.policy.sensitive), upto=0.2, words=COUNTING))
    table.refuse_undeclared()
    table.refuse_unconfirmed()
    population = task.population_table(lambda: task.tell("Counting the population", 0.2))
    given = chosen(task.asked, CHOICES)

    def watch(progress: Progress) -> bool:
        share = 0.0 if progress.best in (0, float("inf")) else min(1.0, progress.bound / progress.best)
        task.tell(f"Searching: {progress.evaluated:,} of {progress.nodes:,} combinations counted", 0.2 + 0.4 * share)
        return True

    result = anonymise(table, population=population, watch=watch, **given)
    before = assess(table)
    after = result.assess(threshold=before.threshold) if result.published.records else None
    # What other levels and other k would give, where that takes little time.
    points: tuple[Point, ...] = ()
    nodes: tuple[Seen, ...] = ()
    if result.certificate is not None and result.certificate.nodes <= DRAWN:
        task.tell("Working out what more protection would cost", 0.65)
        share = result.limits.suppressible / (result.rows or result.records)
        points = frontier(table, suppression=share, loss=result.loss_name)
        nodes = tuple(sweep(result.recoding.classes, result.limits, loss=result.loss_name))
    task.tell("Writing the table and reading it back", 0.85)
    file = _write(task, result)
    name = task.dataset.name
    shown = {**given, **({"levels": "levels.json"} if "levels" in given else {})}
    options = [f"--{choice.replace('_', '-')} {_as_option(value)}" for choice, value in shown.items()]
    frame: dict[str, Any] = {"source": name, "policy": task.policy, "frontier": points, "lattice": nodes}
    frame["formulas"] = None if file is None else result.formulas(file)
    frame["utility"] = result.measures() if after is not None else None
    frame["command"] = task.command("anonymise", *options, "--out safe.csv")
    frame["away"] = telling_columns(table, result.levels)
    found = anonymised_findings(result, before=before, after=after, source=name)
    roles = [f"{column} ({about['role']}): {about['treatment']}" for column, about in result.columns.items()]
    return JobOutcome(
        event="anonymity.made",
        numbers={
            **result.to_dict(),
            "heights": {column.name: column.hierarchy.height for column in result.recoding.classes.columns},
            "frontier": [point.to_dict() for point in points],
            "formulas": frame["formulas"],
            "given": given_words(result) if "levels" in given else None,
            "measures": None if frame["utility"] is None else frame["utility"].to_dict(),
            "before": before.to_dict(),
            "after": None if after is None else after.to_dict(),
            "findings": [asdict(finding) for finding in found],
            **given_away(frame["away"]),
        },
        parts=anonymised_parts(AnonymisedCase.of(result, before, after), **frame),
        report=anonymised_page(result, before=before, after=after, **task.head(f"Anonymised: {name}"), **frame),
        policy=task.policy,
        file=file,
        risk_before=Fraction(1, before.k),
        risk_after=Fraction(1, after.k) if after is not None else Fraction(0),
        details={
            **(facts(after) if after is not None else {"people": 0}),
            "left_out": result.suppressed,
            "loss": f"{result.loss_name} {result.loss:.6g}",
            **listing("published", roles),
        },
    )


def _as_option(value: Any) -> str:
    """A choice as it is typed on the command line."""
    if isinstance(value, dict):
        return shlex.quote(json.dumps(value))
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def given_away(found: Sequence[Telling]) -> dict[str, Any]:
    """Published columns that say what a quasi-identifier is, or single people out, as data and in words."""
    return {
        **told_apart(found),
        "warnings": [one.words() for one in found[:MOST_WARNINGS]],
    }


def compare_candidates(task: TableTask) -> JobOutcome:
    """The best table for every combination of limits, side by side."""
    asked = task.asked
    sizes, shares = sorted(set(asked["k"])), sorted(set(asked["suppression"]))
    classes = task.table(task.counting(1, upto=0.2, words=COUNTING)).classes()
    candidates: list[Candidate] = []
    choices = list(product(sizes, shares))
    for done, (k, share) in enumerate(choices):
        task.tell(f"Searching: candidate {done + 1} of {len(choices)}", 0.2 + 0.7 * done / len(choices))
        candidates += compare(classes, k, share, asked["loss"], search=asked["search"]).candidates
    found = TableComparison(classes.records, classes.names, tuple(candidates))
    name = task.dataset.name
    options = [f"--k {','.join(map(str, sizes))}", f"--suppression {','.join(f'{share:g}' for share in shares)}"]
    options += [f"--{choice} {asked[choice]}" for choice in ("loss", "search")]
    frame: dict[str, Any] = {"policy": task.policy, "command": task.command("compare", *options)}
    return JobOutcome(
        event="risk.assessed",
        numbers=found.to_dict(),
        parts=comparison_parts(found, **frame),
        report=comparison_page(found, source=name, **task.head(f"Candidates for {name}"), **frame),
        policy=task.policy,
        risk_before=Fraction(1, int(classes.sizes.min())),
        details={"people": classes.records, "candidates": len(choices), "possible": len(found.possible)},
    )


def list_records(task: TableTask) -> JobOutcome:
    """The risk of every record in the order of the file, for custodians only."""
    table = task.table(task.counting(2 + len(task.policy.sensitive), upto=0.5, words=COUNTING))
    population = task.population_table(lambda: task.tell("Counting the population", 0.5))
    assessment = assess(table, population=population if population is not None else task.population_size)
    task.tell("Writing the risk of every record", 0.7)
    records = assessment.records()
    path = task.places.folder.new("result", "csv")
    write_listing(records.columns, path, overwrite=False)
    _sync(path)
    return JobOutcome(
        event="risk.assessed",
        numbers={"records": assessment.records, "rows": len(records), "columns": list(records.columns)},
        policy=task.policy,
        file=path,
        risk_before=Fraction(1, assessment.k),
        details={**facts(assessment), "rows": len(records), "list": "the risk of every record"},
    )


def _write(task: TableTask, result: Anonymised) -> Path | None:
    """The private file, on the disk before the store speaks of it."""
    if not result.published.records or result.exceeded:
        return None
    path = task.places.folder.new("result", task.asked.get("format") or "csv")
    result.write(path)
    path.chmod(0o600)
    _sync(path)
    return path


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def report_project(task: TableTask) -> JobOutcome:
    """The risk of what leaves, and all disclosures, in one report."""
    asked = task.asked
    chosen: dict[str, Any] = {name: tuple(asked.get(name, ())) for name in ("releases", "linkage", "databases")}
    project = ProjectFile(asked["title"], task.dataset.name, "policy.toml", **chosen)
    task.tell("Verifying the ledger", 0.05)  # first, since it is quick, and nothing is reported beside a broken one
    disclosures = disclosed_in(task.ledger.store, project)
    table = task.table(task.counting(4, upto=0.6, words=COUNTING))
    population = task.population_table(lambda: task.tell("Counting the population", 0.6))
    published, called, number = None, None, asked.get("published")
    if number is not None:  # the anonymised table that a job made of this data set
        with task.ledger.store.reading() as connection:
            made, result = jobs.find(connection, number), jobs.result(connection, number)
        ours = made is not None and made.dataset == task.dataset.id and made.kind == "anonymise"
        published = task.places.folder.find(result.file) if ours and result is not None and result.file else None
        if published is None:
            remedy = "Anonymise the data set again, on its tab Protect."
            raise DataError("The anonymised table is not there any more.", remedy=remedy)
        called = f"{task.dataset.name.partition('.')[0]}, anonymised"
    measured = measure_tables(
        table,
        policy=task.policy,
        crowd=population if population is not None else task.population_size,
        attack=Attack.from_dict(PUBLISHED) if asked.get("adversary") else None,
        published=published,
        called=called,
    )
    story = Story(project, measured, disclosures)
    task.tell("Writing the report", 0.95)
    drafted = task.command("report init", f"--title {shlex.quote(asked['title'])}", "--out project.toml")
    command = f"{drafted}\ndiscreet report project.toml --store ADDRESS --out report.html"
    return JobOutcome(
        event="risk.assessed",
        numbers=story.to_dict(),
        parts=project_parts(story, command=command),
        report=project_page(story, created=task.now(), command=command, version=__version__),
        policy=task.policy,
        risk_before=Fraction(1, story.measured.assessment.k),
        details={**facts(story.measured.leaving), "report": "project"},
    )
