"""Chapters of the demo, one per capability, on one shared store."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from discreet import __version__
from discreet.anonymity import Anonymised, anonymise
from discreet.cli import console
from discreet.cli.attack.init import DRAFT
from discreet.demo.contrast import Contrast, Side
from discreet.errors import UsageError
from discreet.misuse import Sensitivity, prepare, reduce_rows, score
from discreet.people import DemoFiles
from discreet.policy import Policy
from discreet.reference.case_study import HIS
from discreet.report.project import ProjectFile, draft_project, project_page, statements, tell
from discreet.risk import assess, profile, singling_out
from discreet.sources import Table, read
from discreet.wording import brief_percent

if TYPE_CHECKING:
    from discreet.ledger import Ledger

ASKED = 200
"""Patients that a clerk asks for."""


Told: TypeAlias = tuple[Contrast, ...]
"""What a chapter adds to the picture."""


@dataclass(frozen=True)
class Stage:
    """What the chapters share."""

    folder: Path
    people: int
    seed: int
    files: DemoFiles
    store: Path
    """Where the last chapters write down what they disclose."""


def the_data(stage: Stage) -> Told:
    """The data"""
    hospital = read(stage.files.hospital, policy=Policy.load(stage.files.policy))
    best = singling_out(hospital.classes(), largest=3).combinations[0]
    click.echo(
        f"{stage.people:,} people live in a made-up state; a register lists their ZIP code, sex, race and birth year."
    )
    click.echo(
        f"A hospital wants to share the records of {hospital.records:,} of them: {len(hospital.columns)} columns."
    )
    click.echo(
        f"Nothing but {', '.join(best.columns[:-1])} and {best.columns[-1]} is needed to single out {best.unique:,} of them ({brief_percent(best.share)})."
    )
    _wrote(stage.files.hospital, stage.files.population)
    _yours("discreet profile YOUR.csv")
    return ()


def who_can_be_singled_out(stage: Stage) -> Told:
    """Who can be singled out"""
    from discreet.report import assessment_page, findings

    policy = Policy.load(stage.files.policy)
    hospital = read(stage.files.hospital, policy=policy)
    assessment = assess(hospital, population=read(stage.files.population, policy=policy.for_population()))
    console.findings(findings(assessment, source=hospital.name)[:3])
    click.echo()
    report = stage.folder / "report.html"
    command = f"discreet assess {stage.files.hospital} --policy {stage.files.policy} --population {stage.files.population} --out {report}"
    page = assessment_page(
        assessment,
        title="Risk of the hospital's extract",
        source=hospital.name,
        created=datetime.datetime.now(datetime.UTC),
        command=command,
        version=__version__,
        policy=policy,
        profile=profile(hospital, largest=3),
    )
    console.write_text(report, page)
    _wrote(report)
    _yours("discreet assess YOUR.csv --policy policy.toml --population REGISTER --out report.html")
    return ()


def what_an_adversary_would_do(stage: Stage) -> Told:
    """What an adversary would do"""
    from discreet.report import attack_findings, attack_page

    policy = Policy.load(stage.files.policy)
    hospital = read(stage.files.hospital, policy=policy)
    register = read(stage.files.population, policy=policy.for_population())
    struck = HIS.on(hospital.classes(), register.classes(hospital.classes().names))
    threshold = policy.limits.threshold
    console.findings(attack_findings(struck, source=hospital.name, threshold=threshold)[:3])
    click.echo()
    report = stage.folder / "attack.html"
    page = attack_page(
        struck,
        title="What an adversary would do to the hospital's extract",
        source=hospital.name,
        threshold=threshold,
        exceeded=struck.exceeds(threshold, policy.limits.at_risk),
        created=datetime.datetime.now(datetime.UTC),
        command=f"discreet attack {stage.files.hospital} --policy {stage.files.policy} --external {stage.files.population} --out {report}",
        version=__version__,
        policy=policy,
    )
    console.write_text(report, page)
    _wrote(report)
    _yours("discreet attack YOUR.csv --policy policy.toml --external REGISTER --attack attack.toml --out attack.html")
    return ()


def what_we_release(stage: Stage) -> Told:
    """What we release"""
    policy = Policy.load(stage.files.policy)
    hospital = read(stage.files.hospital, policy=policy)
    register = read(stage.files.population, policy=policy.for_population())
    safe = anonymise(hospital, k=5, suppression=0.05)
    target = stage.folder / "safe.csv"
    rows = safe.write(target, overwrite=True)
    kept = safe.utility()
    most, least = max(kept, key=kept.__getitem__), min(kept, key=kept.__getitem__)
    click.echo(f"{rows:,} of {hospital.records:,} patients, nobody with fewer than four others who look the same.")
    click.echo(f"{most} keeps {brief_percent(kept[most])} of its detail, {least} {brief_percent(kept[least])}.")
    click.echo(safe.certificate.words() if safe.certificate else "")
    local = anonymise(hospital, k=5, search="local")
    click.echo(
        f"Recoded class by class instead, everybody stays and the loss falls from {safe.loss:.2f} to {local.loss:.2f}."
    )
    _wrote(target)
    _yours("discreet anonymise YOUR.csv --policy policy.toml --k 5 --suppression 0.05 --out safe.csv")
    return _singled_out(hospital, safe), _attacked(hospital, register, safe)


def what_a_query_gives_away(stage: Stage) -> Told:
    """What a query gives away"""
    policy = Policy.load(stage.files.policy)
    f, limit = Sensitivity.from_policy(policy), policy.misuse.limit or 0.0
    hospital = read(stage.files.hospital, policy=policy)
    source = prepare(hospital, policy.quasi)
    with stage.files.hospital.open(encoding="utf-8", newline="") as file:
        asked = [
            {name: row[name] for name in (*policy.quasi, "diagnosis")} for row in islice(csv.DictReader(file), ASKED)
        ]
    found = score(asked, source=source, sensitivity=f)
    coarse = score([{name: row[name] for name in ("sex", "diagnosis")} for row in asked], source=source, sensitivity=f)
    kept = reduce_rows(asked, source=source, sensitivity=f, limit=limit)
    click.echo(
        f"A clerk asks for {', '.join(asked[0])} of {ASKED} patients: a misuse score of {found.value:.1f}, the limit is {limit:g}."
    )
    click.echo(f"The same with sex and diagnosis only scores {coarse.value:.4f}: by sex alone nobody stands out.")
    click.echo(f"Of what she asked for, {len(kept)} rows stay within the limit; they are the largest set that does.")
    _yours("discreet misuse score RESULT.csv --source YOUR.csv --policy policy.toml --limit 2")
    return ()


def who_leaked_it(stage: Stage) -> Told:
    """Who leaked it"""
    from discreet.demo.release import play

    told = play(stage.folder, stage.files, stage.store)
    _yours("discreet release plan YOUR.csv --policy policy.toml --population REGISTER --recipients 20")
    return told


def what_it_costs_to_link(stage: Stage) -> Told:
    """What it costs to link"""
    from discreet.demo.linkage import play

    told = play(stage.folder, stage.store, seed=stage.seed)
    _yours("discreet link init A.csv B.csv --spec link.toml --out project")
    return told


def who_may_ask(stage: Stage) -> Told:
    """Who may ask"""
    from discreet.demo.gateway import play

    told = play(stage.files, stage.store)
    _yours("discreet gateway --upstream postgresql://USER@HOST/DATABASE --policy policy.toml --mode shadow")
    return told


def the_whole_story(stage: Stage) -> Told:
    """The whole story in one report"""

    report = play(stage.folder, stage.files, stage.store)
    _wrote(stage.folder / "project.toml", report)
    _yours("discreet report init YOUR.csv --policy policy.toml --store store.db --out project.toml")
    return ()


def _singled_out(hospital: Table, safe: Anonymised) -> Contrast:
    alone, published = assess(hospital).uniques, safe.assess()
    return Contrast(
        "Patients who can be singled out",
        _of(alone, hospital.records),
        _of(published.uniques, published.records),
        by="discreet anonymise",
    )


def _attacked(hospital: Table, register: Table, safe: Anonymised) -> Contrast:
    external = register.classes(hospital.classes().names)
    before, after = (HIS.on(classes, external).known.attacked for classes in (hospital.classes(), safe.published))
    label = f"Patients whom an adversary would attack who can gain {HIS.gain:,} and risks {HIS.penalty:,}"
    return Contrast(label, _of(before, hospital.records), _of(after, safe.published.records), by="discreet attack")


def _of(number: int, whole: int) -> Side:
    return Side(number / whole, f"{number:,} of {whole:,}")


CHAPTERS: tuple[Callable[[Stage], Told], ...] = (
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


def _wrote(*paths: Path) -> None:
    click.secho(f"  wrote    {', '.join(str(path) for path in paths)}", dim=True)


def _yours(command: str) -> None:
    click.secho(f"  yours    {command}", dim=True)


# The last chapter of the demo: everything that the others measured and disclosed, in one report.
TITLE = "A hospital shares its extract"
SHOWN = 3


def play(folder: Path, files: DemoFiles, store: Path) -> Path:
    """Write the project file, tell the project, write the report; gives its place."""
    console.write_text(folder / "attack.toml", DRAFT)
    file, report = folder / "project.toml", folder / "project.html"
    console.write_text(file, _project(folder, files, store))
    with console.working("Reading the ledger and measuring the data"):
        story = tell(ProjectFile.load(file))
    console.findings([one.finding for one in statements(story)][:SHOWN])
    click.echo()
    command = f"discreet report {file} --out {report}"
    page = project_page(story, created=datetime.datetime.now(datetime.UTC), command=command, version=__version__)
    console.write_text(report, page)
    return report


def _project(folder: Path, files: DemoFiles, store: Path) -> str:
    def seen(path: Path) -> str | None:
        return path.relative_to(folder).as_posix() if path.exists() else None

    return draft_project(
        title=TITLE,
        data=files.hospital.name,
        policy=files.policy.name,
        population=seen(files.population),
        attack="attack.toml",
        published=seen(folder / "safe.csv"),
        store=seen(store),
    )


# The one store of the demo, which its last chapters share: its ledger has all that they disclose.
MARK = "store.db.demo"
"""Beside a store that a demo made, and that the next one may replace."""


def fresh_store(folder: Path) -> Path:
    """Where the store of the demo is; what an earlier demo left there is gone, and nobody else's store is touched."""
    store = folder / "store.db"
    if store.exists() and not (folder / MARK).exists():
        raise UsageError(
            f"{store} was not made by a demo, which would replace it.", remedy="Name another folder with --out."
        )
    for old in folder.glob("store.db*"):
        old.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text(
        "The store beside this file is of discreet demo; the next one replaces it.\n", encoding="utf-8"
    )
    return store


def open_ledger(store: Path) -> Ledger:
    """Its ledger, with keys beside it, never the user's own; the first chapter that asks makes both."""
    from discreet.ledger import Keys, Ledger
    from discreet.store import Store  # first: says in words if the extra is missing

    place = store.with_name(f"{store.name}.keys")
    return Ledger(Store.open(store), keys=Keys.load(place) if place.exists() else Keys.make(place))
