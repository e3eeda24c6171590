"""`discreet report PROJECT`: measure what can be measured, read what was disclosed, write one report."""

from __future__ import annotations

import datetime
from pathlib import Path

import click

from discreet import __version__
from discreet.cli import console
from discreet.cli.ledger import head_option, read_head_file


@click.command(name="project", short_help="Tell a whole project (the default).")
@click.argument("project", metavar="PROJECT", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the report (HTML).")
@click.option("--store", "address", metavar="URL", help="The store: a path or a URL [the project's].")
@head_option
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(project: Path, out: Path | None, address: str | None, head_files: tuple[Path, ...], as_json: bool) -> int:
    """Tell PROJECT, a project file or a folder with a project.toml, in words and as one HTML file that prints.

    \b
    Examples:
      discreet report project.toml --out report.html
      discreet report FOLDER --store postgresql://host/discreet --json

    Ends with exit code 1 when something is above a limit: what leaves the house, a reviewer of pairs, or a user of a
    database. Ends with 6, and tells nothing, when the ledger is not what was written.
    """
    from discreet.report.project import ProjectFile, project_page, statements, tell

    if out is not None:
        console.refuse_other_than_html(out)
    heads = [read_head_file(file) for file in head_files]
    with console.working("Reading the ledger and measuring the data"):
        story = tell(ProjectFile.load(project), store=address, heads=heads)
    if as_json:
        console.data(story.to_dict())
    else:
        console.heading(story.project.title)
        said = statements(story)
        console.findings([one.finding for one in said], signs=[one.sign for one in said])
    if out is not None:
        now = datetime.datetime.now(datetime.UTC)
        page = project_page(story, created=now, command=console.command_line(), version=__version__)
        console.write_text(out, page)
        console.say(f"\nReport: {out}")
    elif not as_json:
        console.say(f"\nNext: discreet report {project} --out report.html")
    return int(story.exceeded)
