"""`discreet demo-data`: generate a synthetic population and a hospital extract."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli import console

if TYPE_CHECKING:
    from discreet.people import DemoFiles, LinkFiles


@click.command(name="demo-data", short_help="Generate a synthetic population and a hospital extract.")
@click.option(
    "--people", type=click.IntRange(1_000, 50_000_000), default=350_000, show_default=True, help="People in the state."
)
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="The same seed gives the same people."
)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR", help="Folder to write to."
)
@click.option("--linkage", is_flag=True, help="Write two tables to link, the truth and a link file instead.")
@click.option("--json", "as_json", is_flag=True, help="Print the paths as JSON.")
def command(people: int, seed: int, out: Path, linkage: bool, as_json: bool) -> None:
    """Generate people who do not exist: a public register, a hospital's extract of it, and a policy.

    \b
    Examples:
      discreet demo-data --people 350000 --seed 1 --out demo
      discreet demo-data --people 13000000 --out big
      discreet demo-data --people 1000 --linkage --out to-link
    """
    from discreet.people import write_demo, write_extracts

    with console.working(f"Generating {people:,} people"):
        write = write_extracts if linkage else write_demo
        files: DemoFiles | LinkFiles = write(out, people=people, seed=seed)
    paths = {name: str(path) for name, path in asdict(files).items()}
    if as_json:
        console.data(paths)
        return
    for path in paths.values():
        click.echo(path)
    console.say(f"\nNext: {_next(files)}")


def _next(files: DemoFiles | LinkFiles) -> str:
    from discreet.people import DemoFiles

    if isinstance(files, DemoFiles):
        return f"discreet assess {files.hospital} --policy {files.policy} --population {files.population}"
    return f"discreet link init {files.first} {files.second} --spec {files.link} --out project"
