"""`discreet link export`: the linked table without identities, decisions, clusters, and who saw what."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli import console
from discreet.cli.ledger import store_option
from discreet.cli.link.lookup import actor_of, actor_option, opened, project_called


@click.command(name="export", short_help="Write the linked, de-identified table and the disclosure log.")
@click.argument("project", metavar="PROJECT")
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, metavar="FOLDER", help="Folder to make; must be new."
)
@click.option("--unfinished", is_flag=True, help="Export although pairs are undecided; they are taken as different.")
@click.option("--everybody", is_flag=True, help="Of two tables, also those who are in one of them only.")
@click.option("--format", "form", type=click.Choice(["parquet", "csv"]), default="parquet", show_default=True, help="Of the linked table.")  # fmt: skip
@actor_option
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def command(
    project: str, out: Path, unfinished: bool, everybody: bool, form: str, actor: str | None, address: str | None,
    as_json: bool,
) -> int:  # fmt: skip
    """Write a FOLDER with what people and the machine have decided about PROJECT.

    \b
    Examples:
      discreet link export project --out linked
      discreet link export project --out linked --format csv --everybody

    The linked table holds sensitive columns under new random pseudonyms, no identifying value and no id. Ends with 1 if
    decisions contradict each other.
    """
    from discreet.linkage.export import export

    with opened(address) as ledger:
        found = project_called(ledger, project)
        with console.working("Linking"):
            done = export(
                ledger, found, out, actor=actor_of(actor), unfinished=unfinished, everybody=everybody,
                form="csv" if form == "csv" else "parquet",
            )  # fmt: skip
    if as_json:
        console.data(done.to_dict())
    else:
        linked = done.linked
        click.echo(
            f"{linked.rows:,} rows of {linked.people:,} people, columns: {console.plain(', '.join(linked.columns))}"
        )
        click.echo(
            f"{done.pairs:,} pairs by people, {done.undecided:,} of them undecided; {done.clusters:,} people in all."
        )
        if done.contradictions or done.crowded:
            click.echo(
                f"{done.contradictions:,} decisions contradict others (contradictions.csv); "
                f"{done.crowded:,} people are twice in a table that has everybody once."
            )
        console.say(f"\nWrote {out}; entry {done.entry} of the ledger.")
    return 1 if done.contradictions or done.crowded else 0
