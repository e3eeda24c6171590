"""`discreet link init`: import tables into a linkage project."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli import console
from discreet.cli.ledger import store_option
from discreet.cli.link.lookup import actor_of, actor_option, opened


@click.command(name="init", short_help="Import tables into a linkage project.")
@click.argument("first", metavar="DATA")
@click.argument("second", metavar="[DATA2]", required=False)
@click.option("--spec", "spec_file", metavar="FILE", required=True, help="Link file that says what tells people apart.")
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, metavar="PROJECT", help="Folder to make; must be new."
)
@click.option("--register", is_flag=True, help="Make the project known to the store, too; else `assign` does.")
@click.option("--name", metavar="NAME", help="What to call it in the store [the folder's name].")
@actor_option
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print what was imported as JSON.")
def command(
    first: str, second: str | None, spec_file: str, out: Path, register: bool, name: str | None, actor: str | None,
    address: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Import one table to look for duplicates in, or two tables to link.

    \b
    Examples:
      discreet link init clinic.csv registry.csv --spec link.toml --out project
      discreet link init "postgresql://host/db?table=people" --spec link.toml --out project

    Identifying and sensitive columns go into separate files in different orders; only a random pseudonym joins them.
    """
    from discreet.linkage import LinkageSpec, start_project

    spec = LinkageSpec.load(spec_file)
    with console.working("Importing"):
        folder = start_project(out, first, second, spec=spec)
    if register:
        _register(out, name, actor_of(actor), address)
    if as_json:
        console.data({"project": str(out), "tables": folder.about["tables"]})
        return
    for table in folder.about["tables"]:
        _tell(table)
    console.say(f"\nNext: discreet link pairs {out}")


def _register(folder: Path, name: str | None, actor: str, address: str | None) -> None:
    from discreet.linkage.project import register_project

    with opened(address, create=True) as ledger:
        register_project(ledger, folder, actor=actor, name=name)


def _tell(table: dict[str, object]) -> None:
    console.heading(f"{table['name']}: {table['records']:,} records")
    missing, unread = table["missing"], table["unread_dates"]
    assert isinstance(missing, dict)  # noqa: S101 - as project.json has it
    assert isinstance(unread, dict)  # noqa: S101
    rows = [(name, f"{count:,}", f"{unread[name]:,}" if name in unread else "") for name, count in missing.items()]
    console.table(["attribute", "missing", "not read as dates"], rows, numeric=(1, 2))
    for key, words in (("sensitive", "split off"), ("left_out", "not imported")):
        names = table[key]
        assert isinstance(names, list)  # noqa: S101
        if names:
            click.echo(f"{words}: {console.plain(', '.join(names))}")
