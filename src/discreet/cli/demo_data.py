"""`discreet demo-data`: generate a synthetic population and a hospital extract."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from discreet.cli import console


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
@click.option("--json", "as_json", is_flag=True, help="Print the paths as JSON.")
def command(people: int, seed: int, out: Path, as_json: bool) -> None:
    """Generate people who do not exist: a public register, a hospital's extract of it, and a policy.

    \b
    Examples:
      discreet demo-data --people 350000 --seed 1 --out demo
      discreet demo-data --people 13000000 --out big
    """
    from discreet.people import write_demo

    with console.working(f"Generating {people:,} people"):
        files = write_demo(out, people=people, seed=seed)
    paths = {name: str(path) for name, path in asdict(files).items()}
    if as_json:
        console.data(paths)
        return
    for path in paths.values():
        click.echo(path)
    console.say(f"\nNext: discreet assess {files.hospital} --policy {files.policy} --population {files.population}")
