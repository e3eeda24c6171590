"""Chapters of the demo, one per capability; `store_chapters` has those on the store."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import click

from discreet import __version__
from discreet.anonymity import Anonymised, anonymise
from discreet.cli.output import finding_lines, working, write_text
from discreet.cli.verbs.attack import DRAFT
from discreet.demo.stage import Contrast, Contrasts, DemoStage, narrate, share_of, show_command, show_files
from discreet.demo.store_chapters import what_it_costs_to_link, who_leaked_it, who_may_ask
from discreet.misuse import Sensitivity, prepare, reduce_rows, score
from discreet.policy import Policy
from discreet.reference.case_study import HIS
from discreet.report import Finding, assessment_page, attack_findings, attack_page, findings
from discreet.report.project import ProjectFile, draft_project, project_page, statements, tell
from discreet.risk import assess, profile, singling_out
from discreet.sources import Table, read
from discreet.wording import brief_percent

ASKED = 200
"""Patients that a clerk asks for."""
SHOWN = 3
"""Findings that a chapter prints."""
TITLE = "A hospital shares its extract"


def _hospital(stage: DemoStage) -> tuple[Table, Table]:
    """The hospital's extract and the register, both by the demo's policy."""
    policy = Policy.load(stage.files.policy)
    return read(stage.files.hospital, policy=policy), read(stage.files.population, policy=policy.for_population())


def _print(found: list[Finding] | tuple[Finding, ...]) -> None:
    for line in finding_lines(found[:SHOWN]):
        click.echo(line)
    click.echo()


def _stamp(command: str) -> dict[str, Any]:
    return {"created": datetime.datetime.now(datetime.UTC), "command": command, "version": __version__}


def the_data(stage: DemoStage) -> Contrasts:
    """The data"""
    hospital, _ = _hospital(stage)
    best = singling_out(hospital.classes(), largest=3).combinations[0]
    narrate(
        f"{stage.people:,} people live in a fictitious state; a register lists their ZIP code, sex, race and birth year."
    )
    narrate(f"A hospital wants to share the records of {hospital.records:,} of them: {len(hospital.columns)} columns.")
    narrate(
        f"Only {', '.join(best.columns[:-1])} and {best.columns[-1]} are needed to single out {best.unique:,} of them ({brief_percent(best.share)})."
    )
    show_files(stage.files.hospital, stage.files.population)
    show_command("discreet profile YOUR.csv")
    return ()


def who_can_be_singled_out(stage: DemoStage) -> Contrasts:
    """Who can be singled out"""
    hospital, register = _hospital(stage)
    assessment = assess(hospital, population=register)
    _print(findings(assessment, source=hospital.name))
    report, files = stage.folder / "report.html", stage.files
    page = assessment_page(
        assessment,
        title="Risk of the hospital's extract",
        source=hospital.name,
        policy=hospital.policy,
        profile=profile(hospital, largest=3),
        **_stamp(
            f"discreet assess {files.hospital} --policy {files.policy} --population {files.population} --out {report}"
        ),
    )
    write_text(report, page)
    show_files(report)
    show_command("discreet assess YOUR.csv --policy policy.toml --population REGISTER --out report.html")
    return ()


def what_an_adversary_would_do(stage: DemoStage) -> Contrasts:
    """What an adversary would do"""
    hospital, register = _hospital(stage)
    limits = Policy.load(stage.files.policy).limits
    attacked = HIS.on(hospital.classes(), register.classes(hospital.classes().names))
    _print(attack_findings(attacked, source=hospital.name, threshold=limits.threshold))
    report, files = stage.folder / "attack.html", stage.files
    page = attack_page(
        attacked,
        title="What an adversary would do to the hospital's extract",
        source=hospital.name,
        threshold=limits.threshold,
        exceeded=attacked.exceeds(limits.threshold, limits.at_risk),
        policy=hospital.policy,
        **_stamp(
            f"discreet attack {files.hospital} --policy {files.policy} --external {files.population} --out {report}"
        ),
    )
    write_text(report, page)
    show_files(report)
    show_command(
        "discreet attack YOUR.csv --policy policy.toml --external REGISTER --attack attack.toml --out attack.html"
    )
    return ()


def what_we_release(stage: DemoStage) -> Contrasts:
    """What we release"""
    hospital, register = _hospital(stage)
    safe = anonymise(hospital, k=5, suppression=0.05)
    target = stage.folder / "safe.csv"
    rows = safe.write(target, overwrite=True)
    detail = safe.utility()
    most, least = max(detail, key=detail.__getitem__), min(detail, key=detail.__getitem__)
    narrate(f"{rows:,} of {hospital.records:,} patients, each with at least four others who look the same.")
    narrate(f"{most} retains {brief_percent(detail[most])} of its detail, {least} {brief_percent(detail[least])}.")
    narrate(safe.certificate.words() if safe.certificate else "")
    local = anonymise(hospital, k=5, search="local")
    narrate(
        f"Recoded class by class instead, everybody stays and the loss falls from {safe.loss:.2f} to {local.loss:.2f}."
    )
    show_files(target)
    show_command("discreet anonymise YOUR.csv --policy policy.toml --k 5 --suppression 0.05 --out safe.csv")
    return _singled_out(hospital, safe), _attacked(hospital, register, safe)


def _singled_out(hospital: Table, safe: Anonymised) -> Contrast:
    before, published = assess(hospital), safe.assess()
    return Contrast(
        "Patients who can be singled out",
        share_of(before.uniques, hospital.records),
        share_of(published.uniques, published.records),
        by="discreet anonymise",
    )


def _attacked(hospital: Table, register: Table, safe: Anonymised) -> Contrast:
    external = register.classes(hospital.classes().names)
    before, after = (HIS.on(classes, external).known.attacked for classes in (hospital.classes(), safe.published))
    return Contrast(
        f"Patients attacked by an adversary who can gain {HIS.gain:,} and risks {HIS.penalty:,}",
        share_of(before, hospital.records),
        share_of(after, safe.published.records),
        by="discreet attack",
    )


def what_a_query_gives_away(stage: DemoStage) -> Contrasts:
    """What a query gives away"""
    policy = Policy.load(stage.files.policy)
    sensitivity, limit = Sensitivity.from_policy(policy), policy.misuse.limit or 0.0
    hospital, _ = _hospital(stage)
    weighed: dict[str, Any] = {"source": prepare(hospital, policy.quasi), "sensitivity": sensitivity}
    with stage.files.hospital.open(encoding="utf-8", newline="") as file:
        rows = list(islice(csv.DictReader(file), ASKED))
    asked = [{name: row[name] for name in (*policy.quasi, "diagnosis")} for row in rows]
    whole = score(asked, **weighed)
    coarse = score([{name: row[name] for name in ("sex", "diagnosis")} for row in rows], **weighed)
    allowed = reduce_rows(asked, limit=limit, **weighed)
    narrate(
        f"A clerk asks for {', '.join(asked[0])} of {ASKED} patients: a misuse score of {whole.value:.1f}, the limit is {limit:g}."
    )
    narrate(f"The same with sex and diagnosis only scores {coarse.value:.4f}: by sex alone nobody can be singled out.")
    narrate(f"Of the rows requested, {len(allowed)} stay within the limit; no larger set does.")
    show_command("discreet misuse score RESULT.csv --source YOUR.csv --policy policy.toml --limit 2")
    return ()


def the_whole_story(stage: DemoStage) -> Contrasts:
    """The whole project in one report"""
    file, report = write_project(stage)
    show_files(file, report)
    show_command("discreet report init YOUR.csv --policy policy.toml --store store.db --out project.toml")
    return ()


def write_project(stage: DemoStage) -> tuple[Path, Path]:
    """Write the project file and the report of all that was measured and disclosed."""
    folder, files = stage.folder, stage.files
    file, report = folder / "project.toml", folder / "project.html"

    def relative(path: Path) -> str | None:
        return path.relative_to(folder).as_posix() if path.exists() else None

    write_text(folder / "attack.toml", DRAFT)
    text = draft_project(
        title=TITLE,
        data=files.hospital.name,
        policy=files.policy.name,
        population=relative(files.population),
        attack="attack.toml",
        published=relative(folder / "safe.csv"),
        store=relative(stage.store),
    )
    write_text(file, text)
    with working("Reading the ledger and measuring the data"):
        story = tell(ProjectFile.load(file))
    _print([statement.finding for statement in statements(story)])
    write_text(report, project_page(story, **_stamp(f"discreet report {file} --out {report}")))
    return file, report


CHAPTERS: tuple[Callable[[DemoStage], Contrasts], ...] = (
    the_data,
    who_can_be_singled_out,
    what_an_adversary_would_do,
    what_we_release,
    what_a_query_gives_away,
    who_leaked_it,
    what_it_costs_to_link,
    who_may_ask,
    the_whole_story,
)
