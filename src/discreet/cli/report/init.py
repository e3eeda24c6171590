"""`discreet report init`: a project file, with a comment on every key."""

from __future__ import annotations

import os
from pathlib import Path

import click

from discreet.cli import console
from discreet.errors import UsageError


@click.command(name="init", short_help="Draft a project file.")
@click.argument("data", metavar="DATA")
@click.option("--policy", metavar="FILE", required=True, help="The policy file.")
@click.option("--title", metavar="TEXT", help="What the report is called [Sharing DATA].")
@click.option("--population", metavar="POP", help="The people an adversary may know of: a table, or just their number.")
@click.option("--attack", metavar="FILE", help="What an adversary gains, pays and risks.")
@click.option("--published", metavar="FILE", help="The anonymised table, as it is handed out.")
@click.option("--store", metavar="URL", help="The store whose ledger has the disclosures.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write to FILE instead of stdout; never overwrites.",
)
def command(data: str, policy: str, title: str | None, out: Path | None, **given: str | None) -> None:
    """Draft a project file about sharing DATA, with a comment on every key. Paths in it are relative to it.

    \b
    Example:
      discreet report init people.csv --policy policy.toml --population 3500000 --store store.db --out project.toml
    """
    from discreet.report.project import draft_project

    if out is not None and out.exists():
        raise UsageError(f"{out} exists already.", remedy="Give another name; a file that was filled in is kept.")
    folder = Path() if out is None else out.parent
    places = {key: None if place is None else _seen_from(folder, place) for key, place in given.items()}
    called = title or f"Sharing {Path(data).name}"
    text = draft_project(title=called, data=_seen_from(folder, data), policy=_seen_from(folder, policy), **places)
    if out is None:
        click.echo(text, nl=False)
        return
    console.write_text(out, text)
    console.say(f"Wrote {out}. Next: discreet report {out} --out report.html")


def _seen_from(folder: Path, place: str) -> str:
    """A path as the project file says it; an address or a number as it is."""
    if "://" in place or place.replace(",", "").replace("_", "").isdigit() or Path(place).is_absolute():
        return place
    return Path(os.path.relpath(place, folder)).as_posix()
