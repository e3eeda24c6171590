"""`discreet demo` and `discreet demo-data`: every capability on generated people, and the people alone."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.options import folder_option, option, seed_option
from discreet.cli.output import CommandResult, heading, output, working, write_text

if TYPE_CHECKING:
    from discreet.demo.stage import Contrast
    from discreet.people import DemoFiles, LinkFiles

TITLE = "A hospital shares its records: what that risks"
SOURCE = "Measured by discreet demo on generated people."


@click.command(name="demo", short_help="Walk through every capability on generated people.")
@option("--people", type=click.IntRange(100_000, 50_000_000), default=1_000_000, help="People in the state.")
@seed_option("people")
@folder_option(default=Path("demo"))
def demo(people: int, seed: int, out: Path) -> None:
    """Walk through every capability on generated people, one chapter each, and write the reports.

    \b
    Example:
      discreet demo --out demo
    """
    from discreet.demo.chapters import CHAPTERS
    from discreet.demo.stage import DemoStage, contrast_picture, fresh_store
    from discreet.people import write_demo

    store = fresh_store(out)
    with working(f"Generating {people:,} people"):
        stage = DemoStage(out, people, seed, write_demo(out, people=people, seed=seed), store)
    contrasts: list[Contrast] = []
    for number, chapter in enumerate(CHAPTERS, start=1):
        click.echo()
        click.echo(heading(f"{number}. {chapter.__doc__}"))
        contrasts += chapter(stage)
    write_text(out / "story.svg", contrast_picture(contrasts, title=TITLE, source=SOURCE))
    click.echo()
    click.echo(heading("Next"))
    click.echo(
        f"Open {out / 'project.html'} in a browser for the whole report ({out / 'story.svg'} is a summary picture),"
    )
    click.echo("then try your own data:")
    click.echo("  discreet policy init YOUR.csv --out policy.toml")
    click.echo("or explore the web application (extra `web`): discreet serve --demo")


@click.command(name="demo-data", short_help="Generate a synthetic population and a hospital extract.")
@option("--people", type=click.IntRange(1_000, 50_000_000), default=350_000, help="People in the state.")
@seed_option("people")
@folder_option(required=True)
@option("--linkage", is_flag=True, help="Write two tables to link, the truth and a link file instead.")
@output("Print the paths as JSON.")
def demo_data(people: int, seed: int, out: Path, linkage: bool) -> CommandResult:
    """Generate synthetic people: a public register, a hospital extract of it, and a policy.

    \b
    Examples:
      discreet demo-data --people 350000 --seed 1 --out demo
      discreet demo-data --people 13000000 --out big
      discreet demo-data --people 1000 --linkage --out to-link
    """
    from discreet.people import DemoFiles, write_demo, write_extracts

    with working(f"Generating {people:,} people"):
        write = write_extracts if linkage else write_demo
        files: DemoFiles | LinkFiles = write(out, people=people, seed=seed)
    if isinstance(files, DemoFiles):
        step = f"discreet assess {files.hospital} --policy {files.policy} --population {files.population}"
    else:
        step = f"discreet link init {files.first} {files.second} --spec {files.link} --out project"
    paths = {name: str(path) for name, path in asdict(files).items()}
    return CommandResult(lambda: paths, paths.values(), next_step=step)
