"""Chapters of the demo on one table, and what all chapters share: stage, words, contrasts."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from discreet import __version__
from discreet.anonymity import anonymise
from discreet.attacker.extensions import DRAFT
from discreet.cli.output import finding_lines, paragraph, working, write_text
from discreet.errors import UsageError
from discreet.misuse import Sensitivity, prepare, reduce_rows, score
from discreet.people import DemoFiles
from discreet.policy import Policy
from discreet.reference.case_study import HIS
from discreet.report import Finding, assessment_page, attack_findings, attack_page, findings
from discreet.report.charts.bars import THINNEST, number, picture, rect, stripes, text
from discreet.report.project import ProjectFile, draft_project, project_page, statements, tell
from discreet.report.toolkit.html import Markup, element
from discreet.report.toolkit.page import stylesheet
from discreet.risk import assess, profile, singling_out
from discreet.sources import Table, read
from discreet.wording import brief_percent

if TYPE_CHECKING:
    from discreet.ledger import Ledger

DEMO_FLAG = "store.db.demo"
"""Beside a store that a demo made, and that the next one may replace."""
WIDTH, MARGIN, TOP, ROW, FOOT = 880, 28, 92, 84, 40
LONGEST = 560
"""Pixels of a bar for the whole; its words follow it."""
BEFORE, AFTER = "as it is", "with Discreet"
ASKED = 200
"""Patients that a clerk asks for."""
SHOWN = 3
"""Findings that a chapter prints."""
TITLE = "A hospital shares its extract"
STYLE = """
svg { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif; }
text { font-size: 15px; fill: var(--ink); font-variant-numeric: tabular-nums; }
.title { font-size: 20px; font-weight: 650; }
.label { font-weight: 600; }
.note { fill: var(--quiet); font-size: 14px; }
.by { fill: var(--quiet); font: 13px ui-monospace, Menlo, Consolas, "Liberation Mono", monospace; }
.sheet { fill: var(--sheet); stroke: var(--line); }
.with { fill: var(--accent); }
.ground { fill: var(--danger); }
.stripe { fill: var(--stripe); }
"""


@dataclass(frozen=True)
class DemoStage:
    """What the chapters share."""

    folder: Path
    people: int
    seed: int
    files: DemoFiles
    store: Path
    """Where the last chapters record what they disclose."""


@dataclass(frozen=True)
class ContrastSide:
    """A share, and how it is put in words."""

    share: float
    words: str


@dataclass(frozen=True)
class Contrast:
    """One risk of a disclosure, without and with Discreet."""

    label: str
    before: ContrastSide
    after: ContrastSide
    by: str = ""
    """The command that does it."""


Contrasts: TypeAlias = tuple[Contrast, ...]
"""What a chapter adds to the picture."""


def share_of(part: int, whole: int) -> ContrastSide:
    """A number of people as a share of all of them."""
    return ContrastSide(part / whole, f"{part:,} of {whole:,}")


def narrate(text: str) -> None:
    """Tell what happens, in lines of readable length."""
    click.echo(paragraph(text))


def show(*written: Path, command: str = "") -> None:
    """Say which files were written, and which command does the same."""
    if written:
        click.secho(f"  wrote    {', '.join(str(path) for path in written)}", dim=True)
    if command:
        click.secho(f"  yours    {command}", dim=True)


def fresh_store(folder: Path) -> Path:
    """A new store for the demo; replaces that of an earlier demo, never another."""
    store = folder / "store.db"
    if store.exists() and not (folder / DEMO_FLAG).exists():
        raise UsageError(
            f"{store} was not made by a demo, which would replace it.", remedy="Name another folder with --out."
        )
    for old in folder.glob("store.db*"):
        old.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / DEMO_FLAG).write_text(
        "The store beside this file was made by discreet demo; the next run replaces it.\n", encoding="utf-8"
    )
    return store


def open_ledger(store: Path) -> Ledger:
    """The ledger of the demo, with keys beside it, never the user's own."""
    from discreet.ledger import Keys, Ledger
    from discreet.store import Store  # first: says in words if the extra is missing

    keys = store.with_name(f"{store.name}.keys")
    return Ledger(Store.open(store), keys=Keys.load(keys) if keys.exists() else Keys.make(keys))


def contrast_picture(contrasts: Sequence[Contrast], *, title: str, source: str) -> str:
    """The contrasts as an SVG file that follows the reader's light or dark mode.

    >>> one = Contrast("People who can be singled out", ContrastSide(0.5, "5 of 10"), ContrastSide(0.0, "0 of 10"))
    >>> "5 of 10 as it is, 0 of 10 with Discreet" in contrast_picture([one], title="Ten people", source="made up")
    True
    """
    height = TOP + ROW * len(contrasts) + FOOT
    about = " ".join(f"{each.label}: {each.before.words} {BEFORE}, {each.after.words} {AFTER}." for each in contrasts)
    # The colours of every report, light and dark: the first paragraph of its style.
    tokens = stylesheet().partition("\n\n")[0].partition("*/")[2]
    striped, left = "url(#contrast-risk)", str(MARGIN)
    drawn = [
        element("style", Markup(tokens + STYLE)),
        element("defs", stripes("contrast-risk", 6)),
        rect(x="0.5", y=0, width=str(WIDTH - 1), height=height, rx="6", class_="sheet"),
        text(title, x=left, y=40, class_="title"),
        rect(x=left, y=57, width="28", class_="risk", fill=striped),
        text(BEFORE, x=str(MARGIN + 36), y=68, class_="note"),
        rect(x=str(MARGIN + 120), y=57, width="28", class_="with"),
        text(AFTER, x=str(MARGIN + 156), y=68, class_="note"),
    ]
    for index, contrast in enumerate(contrasts):
        top = TOP + ROW * index
        drawn.append(text(contrast.label, x=left, y=top + 18, class_="label"))
        for side, y, class_, fill in (
            (contrast.before, top + 27, "risk", striped),
            (contrast.after, top + 47, "with", None),
        ):
            # A share of nothing has no bar.
            long = max(side.share, THINNEST / 100) * LONGEST if side.share > 0 else 0.0
            if long:
                drawn.append(rect(x=left, y=y, width=number(long), class_=class_, fill=fill))
            drawn.append(text(side.words, x=number(MARGIN + long + (8 if long else 0)), y=y + 11, class_="note"))
        if contrast.by:
            end = str(WIDTH - MARGIN)
            drawn.append(text(contrast.by, x=end, y=top + 58, class_="by", text_anchor="end"))
    drawn.append(text(source, x=left, y=height - 18, class_="note"))
    size = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {WIDTH} {height}", "width": str(WIDTH)}
    return str(picture(drawn, key="contrast", title=title, about=about, height=str(height), **size))


def hospital_and_register(stage: DemoStage) -> tuple[Table, Table]:
    """The hospital's extract and the register, both by the demo's policy."""
    policy = Policy.load(stage.files.policy)
    return read(stage.files.hospital, policy=policy), read(stage.files.population, policy=policy.for_population())


def _print(found: list[Finding] | tuple[Finding, ...]) -> None:
    for line in finding_lines(lambda: found[:SHOWN]):
        click.echo(line)
    click.echo()


def _stamp(command: str) -> dict[str, Any]:
    return {"created": datetime.datetime.now(datetime.UTC), "command": command, "version": __version__}


def the_data(stage: DemoStage) -> Contrasts:
    """The data"""
    hospital, _ = hospital_and_register(stage)
    best = singling_out(hospital.classes(), largest=3).combinations[0]
    narrate(
        f"{stage.people:,} people live in a fictitious state; a register lists their ZIP code, sex, race and birth year."
    )
    narrate(f"A hospital wants to share the records of {hospital.records:,} of them: {len(hospital.columns)} columns.")
    narrate(
        f"Only {', '.join(best.columns[:-1])} and {best.columns[-1]} are needed to single out {best.unique:,} of them ({brief_percent(best.share)})."
    )
    show(stage.files.hospital, stage.files.population, command="discreet profile YOUR.csv")
    return ()


def who_can_be_singled_out(stage: DemoStage) -> Contrasts:
    """Who can be singled out"""
    hospital, register = hospital_and_register(stage)
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
    show(report, command="discreet assess YOUR.csv --policy policy.toml --population REGISTER --out report.html")
    return ()


def what_an_adversary_would_do(stage: DemoStage) -> Contrasts:
    """What an adversary would do"""
    hospital, register = hospital_and_register(stage)
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
    show(
        report,
        command="discreet attack YOUR.csv --policy policy.toml --external REGISTER --attack attack.toml --out attack.html",
    )
    return ()


def what_we_release(stage: DemoStage) -> Contrasts:
    """What we release"""
    hospital, register = hospital_and_register(stage)
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
    show(target, command="discreet anonymise YOUR.csv --policy policy.toml --k 5 --suppression 0.05 --out safe.csv")
    before, published = assess(hospital), safe.assess()
    external = register.classes(hospital.classes().names)
    attacked = [HIS.on(classes, external).known.attacked for classes in (hospital.classes(), safe.published)]
    return (
        Contrast(
            "Patients who can be singled out",
            share_of(before.uniques, hospital.records),
            share_of(published.uniques, published.records),
            by="discreet anonymise",
        ),
        Contrast(
            f"Patients attacked by an adversary who can gain {HIS.gain:,} and risks {HIS.penalty:,}",
            share_of(attacked[0], hospital.records),
            share_of(attacked[1], safe.published.records),
            by="discreet attack",
        ),
    )


def what_a_query_gives_away(stage: DemoStage) -> Contrasts:
    """What a query gives away"""
    policy = Policy.load(stage.files.policy)
    sensitivity, limit = Sensitivity.from_policy(policy), policy.misuse.limit or 0.0
    hospital, _ = hospital_and_register(stage)
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
    show(command="discreet misuse score RESULT.csv --source YOUR.csv --policy policy.toml --limit 2")
    return ()


def the_whole_story(stage: DemoStage) -> Contrasts:
    """The whole project in one report"""
    folder, files = stage.folder, stage.files
    file, report = folder / "project.toml", folder / "project.html"
    write_text(folder / "attack.toml", DRAFT)
    optional = {"population": files.population, "published": folder / "safe.csv", "store": stage.store}
    present = {key: path.relative_to(folder).as_posix() for key, path in optional.items() if path.exists()}
    about = {"title": TITLE, "data": files.hospital.name, "policy": files.policy.name, "attack": "attack.toml"}
    write_text(file, draft_project(**about, **present))
    with working("Reading the ledger and measuring the data"):
        story = tell(ProjectFile.load(file))
    _print([statement.finding for statement in statements(story)])
    write_text(report, project_page(story, **_stamp(f"discreet report {file} --out {report}")))
    show(file, report, command="discreet report init YOUR.csv --policy policy.toml --store store.db --out project.toml")
    return ()
