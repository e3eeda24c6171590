"""The last chapter of the demo: everything that the others measured and disclosed, in one report."""

from __future__ import annotations

import datetime
from pathlib import Path

import click

from discreet import __version__
from discreet.cli import console
from discreet.cli.attack.init import DRAFT
from discreet.people import DemoFiles
from discreet.report.project import ProjectFile, draft_project, project_page, statements, tell

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
