"""Release chapter of the demo: three recipients, one leak, and its source."""

from __future__ import annotations

import csv
import shutil
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli import console
from discreet.demo.chapters import open_ledger
from discreet.demo.contrast import Contrast, Side
from discreet.errors import MissingExtra, Refused
from discreet.people import DemoFiles
from discreet.policy import Policy
from discreet.sources import Table, read
from discreet.sources.rows import fetch
from discreet.wording import brief_percent

if TYPE_CHECKING:
    from discreet.ledger import Ledger
    from discreet.releases import Release

RECIPIENTS = ("north-university", "south-institute", "west-clinic")
LEAKER = "south-institute"
SIZES = (5, 3, 2)
"""Small states have too few classes of doubtful size for the first of these."""


def play(folder: Path, files: DemoFiles, store: Path) -> tuple[Contrast, ...]:
    """Release, leak, trace. The store and its keys are in the folder of the demo, never the user's own."""
    place = folder / "releases"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    try:
        with open_ledger(store) as ledger:
            return (_play(place, files, ledger),)
    except (MissingExtra, Refused) as error:
        click.echo(f"{error.problem} {error.remedy}")
        return ()


def _play(place: Path, files: DemoFiles, ledger: Ledger) -> Contrast:
    from discreet.releases import trace

    policy = Policy.load(files.policy)
    hospital = read(files.hospital, policy=policy)
    with console.working("Releasing"):
        spring = _released(hospital, read(files.population, policy=policy.for_population()), ledger)
        copies = spring.write(place / "copies")
    marks = len(spring.manifest.codebook.marks)
    lost = spring.preflight["rows_lost"]
    click.echo(
        f"Three recipients get a copy each, with groups of at least {spring.manifest.settings.k} who look alike: "
        f"{', '.join(f'{copy.rows:,}' for copy in copies)} rows. Of {marks} small classes, "
        f"half real and half\nmade up, a secret decides who has which; a copy lacks {brief_percent(lost)} of the rows. Their sealed list "
        "stands in the ledger."
    )
    leak = _leaked(place)
    with console.working("Tracing"):
        found = trace(spring, leak=leak, store=ledger)
    click.echo("Months later half of the rows of some copy turn up on the net, without their numbers.")
    who = ", ".join(found.accused) or "nobody"
    first = found.standings[0]
    click.echo(
        f"The trace accuses {who}: {first.hits} of the {first.hits + first.misses} marks that show are in that copy. It was "
        f"{LEAKER}.\nWere all innocent, anybody would be accused in at most {brief_percent(found.alpha)} of traced files."
    )
    click.secho(f"  wrote    {place / 'copies'}, {leak}", dim=True)
    suspects, all_of_them = len(found.accused) or len(RECIPIENTS), len(RECIPIENTS)
    before, after = (Side(many / all_of_them, f"{many} of {all_of_them}") for many in (all_of_them, suspects))
    return Contrast(
        "Recipients who may have leaked half of a copy, unaltered", before, after, by="discreet release, discreet trace"
    )


def _released(hospital: Table, register: Table, ledger: Ledger) -> Release:
    """With the largest k that leaves enough marks."""
    from discreet.releases import Gates, release

    gates = Gates("a register of people who do not exist", "made up", counts_only=True, sign_off="DEMO-1")
    for k in SIZES:
        try:
            return release(hospital, register, RECIPIENTS, name="spring", gates=gates, k=k, store=ledger, actor="demo")
        except Refused:
            if k == SIZES[-1]:
                raise
    raise AssertionError("there are sizes")


def _leaked(place: Path) -> Path:
    """Half of the rows of one copy, as somebody would offer them: its order is random, so the first rows are any rows."""
    copy = read(place / "copies" / LEAKER / "data.parquet")
    columns = [name for name in copy.columns if name != "row"]
    cells = fetch(copy, columns)
    rows = zip(*([coded.values[code] for code in coded.codes.tolist()] for coded in cells.values()), strict=True)
    leak = place / "leak.csv"
    with leak.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(islice(rows, copy.records // 2))
    return leak
