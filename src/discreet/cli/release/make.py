"""`discreet release make`: seal a release, then write a copy for every recipient."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli import console
from discreet.cli.ledger import store_option
from discreet.cli.release.options import Tables, delivery_options, node_options
from discreet.cli.release.output import tell_delivered
from discreet.errors import UsageError


@click.command(name="make", short_help="Give every recipient a copy of DATA that can be traced.")
@click.argument("data", metavar="DATA")
@node_options
@click.option("--name", metavar="NAME", required=True, help="What the release is called from now on.")
@click.option(
    "--recipient", "recipients", metavar="NAME", multiple=True, required=True, help="Who gets a copy; once for each."
)
@click.option("--out", metavar="DIR", required=True, help="Folder that gets a folder per recipient.")
@click.option("--population-source", metavar="TEXT", default="", help="Where the population comes from.")
@click.option("--population-licence", metavar="TEXT", default="", help="What allows its use for this.")
@click.option("--counts-only", is_flag=True, help="Confirm: only counts of the population are kept.")
@click.option("--sign-off", metavar="ID", default="", help="Number under which the release was approved in the house.")
@click.option(
    "--agreement",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Data-use agreement of your own; it must say that the copy contains control records.",
)
@delivery_options
@click.option("--row-ids", metavar="NAME", default="row", show_default=True, help="Column of fresh row numbers.")
@click.option("--no-row-ids", is_flag=True, help="Write no row numbers.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
def command(
    data: str,
    population: str,
    policy_file: str,
    recipients: tuple[str, ...],
    out: str,
    agreement: Path | None,
    file_format: Any,
    row_ids: str,
    no_row_ids: bool,
    actor: str | None,
    address: str | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Give every recipient a copy of DATA that can be traced: a folder with the data, a README and the agreement.

    Who has which control records is decided by a secret, sealed, and committed to in the ledger before any file appears.
    Repeat the command after a failure: it goes on where it stopped. With a known --name, other data become the next
    version.

    \b
    Example:
      discreet release make hospital.csv --population register.parquet --policy policy.toml \\
          --name spring --recipient north --recipient south --recipient west --out copies \\
          --population-source "register 2026" --population-licence "CC BY 4.0" --counts-only --sign-off DPO-2026-17
    """
    from discreet.releases.delivery.release import release
    from discreet.releases.preconditions import AGREEMENT, Gates

    names = ("population_source", "population_licence", "counts_only", "sign_off")
    answers = {name: asked.pop(name) for name in names}
    gates = Gates(**answers, agreement=AGREEMENT if agreement is None else _read(agreement)).check()
    tables = Tables.read(data, population, policy_file)
    with console.working(f"Sealing release {asked['name']}"):
        made = release(
            tables.data,
            tables.population,
            recipients,
            gates=gates,
            row_ids=None if no_row_ids else row_ids,
            store=address,
            actor=actor,
            **asked,
        )
    with console.working(f"Writing {len(recipients)} copies"):
        copies = made.write(out, format=file_format, recipients=recipients)
    tell_delivered(made.refreshed(), copies, as_json=as_json)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{file} cannot be read ({type(error).__name__}).", remedy="Give a text file in UTF-8, or leave it out."
        ) from None
