"""`discreet report`: a whole data-sharing project in one report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from discreet.cli.main import Verbs
from discreet.cli.options import PATH, draft_option, number_of_people, option
from discreet.cli.output import CommandResult, finding_lines, hand_over, heading, output, working
from discreet.cli.verbs.ledger import head_option, read_head_file


@click.group(
    name="report",
    cls=Verbs,
    verbs={
        "init": ("report", "init", "Draft a project file."),
        "project": ("report", "project", "Report on a project (the default)."),
    },
    default="project",
    short_help="Report on a whole data-sharing project.",
)
def command() -> None:
    """Report on a whole data-sharing project: data, risk, adversary, recipients, linkage, queries, ledger.

    \b
    Examples:
      discreet report init people.csv --policy policy.toml --store store.db --out project.toml
      discreet report project.toml --out report.html
      discreet report FOLDER --out report.html --head head.json

    `discreet report PROJECT` is short for `discreet report project PROJECT`; see `discreet report project --help`.
    """


@click.command(name="init", short_help="Draft a project file.")
@click.argument("data", metavar="DATA")
@option("--policy", metavar="FILE", required=True, help="The policy file.")
@option("--title", metavar="TEXT", help="Title of the report [Sharing DATA].")
@option("--population", metavar="POP", help="The people an adversary may know of: a table, or their number.")
@option("--attack", metavar="FILE", help="What an adversary gains, pays and risks.")
@option("--published", metavar="FILE", help="The anonymised table, as it is handed out.")
@option("--store", metavar="URL", help="The store whose ledger has the disclosures.")
@draft_option()
def init(data: str, title: str | None, out: Path | None, **paths: str | None) -> None:
    """Draft a project file about sharing DATA, with a comment on every key. Paths in it are relative to it.

    \b
    Example:
      discreet report init people.csv --policy policy.toml --population 3500000 --store store.db --out project.toml
    """
    from discreet.report.project import draft_project

    folder = Path() if out is None else out.parent
    relative: dict[str, Any] = {
        key: None if path is None else _seen_from(folder, path) for key, path in {"data": data, **paths}.items()
    }
    text = draft_project(title=title or f"Sharing {Path(data).name}", **relative)
    hand_over(text, out, next_step=f"Next: discreet report {out} --out report.html")


def _seen_from(folder: Path, path: str) -> str:
    """A path relative to the project file; an address or a number unchanged."""
    if "://" in path or number_of_people(path) is not None or Path(path).is_absolute():
        return path
    return Path(os.path.relpath(path, folder)).as_posix()


@click.command(name="project", short_help="Report on a project (the default).")
@click.argument("project", metavar="PROJECT", type=PATH)
@option("--store", "address", metavar="URL", help="The store: a path or a URL [the project's].")
@head_option
@output("Print everything as JSON.", report="--out")
def project(project: Path, address: str | None, head_files: tuple[Path, ...]) -> CommandResult:
    """Report on PROJECT, a project file or a folder with a project.toml, in words and as one printable HTML file.

    \b
    Examples:
      discreet report project.toml --out report.html
      discreet report FOLDER --store postgresql://host/discreet --json

    Ends with exit code 1 when something is above a limit: what is released, a reviewer of pairs, or a user of a
    database. Ends with 6, without a report, when the ledger is not what was written.
    """
    from discreet.report.project import ProjectFile, project_page, statements, tell

    heads = [read_head_file(file) for file in head_files]
    with working("Reading the ledger and measuring the data"):
        story = tell(ProjectFile.load(project), store=address, heads=heads)
    stated = statements(story)
    findings = finding_lines([each.finding for each in stated], signs=[each.sign for each in stated])
    return CommandResult(
        story.to_dict,
        [heading(story.project.title), *findings],
        page=lambda **stamp: project_page(story, **stamp),
        next_step=""
        if click.get_current_context().params["report_file"]
        else f"discreet report {project} --out report.html",
        exit_code=int(story.exceeded),
    )
