"""`discreet demo`: the whole story on generated people, one chapter per capability, and one picture of it."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli import console
from discreet.demo.chapters import CHAPTERS, Stage, fresh_store
from discreet.demo.contrast import Contrast, contrast_picture
from discreet.people import write_demo

TITLE = "A hospital shares its records: what that risks"
SOURCE = "Measured by discreet demo on people who do not exist."


@click.command(name="demo", short_help="Tell the whole story on generated people.")
@click.option(
    "--people",
    type=click.IntRange(100_000, 50_000_000),
    default=1_000_000,
    show_default=True,
    help="People in the state.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="The same seed gives the same people."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo"),
    show_default=True,
    metavar="DIR",
    help="Folder to write to.",
)
def command(people: int, seed: int, out: Path) -> None:
    """Tell the whole story on people who do not exist: generate, profile, assess, report.

    \b
    Example:
      discreet demo --out demo
    """
    store = fresh_store(out)
    with console.working(f"Generating {people:,} people"):
        stage = Stage(out, people, seed, write_demo(out, people=people, seed=seed), store)
    told: list[Contrast] = []
    for number, chapter in enumerate(CHAPTERS, start=1):
        click.echo()
        console.heading(f"{number}. {chapter.__doc__}")
        told += chapter(stage)
    console.write_text(out / "story.svg", contrast_picture(told, title=TITLE, source=SOURCE))
    click.echo()
    console.heading("Next")
    everything = f"Open {out / 'project.html'} in a browser, which tells all of it ({out / 'story.svg'} in one picture)"
    click.echo(f"{everything}, then try your own data:")
    click.echo("  discreet policy init YOUR.csv --out policy.toml")
    click.echo("or look around in the web application (extra `web`): discreet serve --demo")
