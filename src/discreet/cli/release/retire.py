"""`discreet release retire`: no further copies for a recipient."""

from __future__ import annotations

import click

from discreet.cli import console
from discreet.cli.ledger import store_option
from discreet.cli.release.output import tell_kept


@click.command(name="retire", short_help="Give a recipient no further copies of a release.")
@click.argument("release_name", metavar="RELEASE")
@click.option("--recipient", "recipients", metavar="NAME", multiple=True, required=True, help="Who; once for each.")
@click.option("--actor", metavar="NAME", help="Who does this, for the ledger; the user of this machine.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print how the release stands as JSON.")
def command(
    release_name: str, recipients: tuple[str, ...], actor: str | None, address: str | None, as_json: bool
) -> None:
    """Give a recipient no further copies of RELEASE, in this and all later versions.

    The copy that is out there stays traceable: a trace looks at everybody who ever had one.

    \b
    Example:
      discreet release retire spring --recipient north
    """
    from discreet.releases.delivery.release import Release

    made = Release.open(release_name, store=address, actor=actor)
    for name in recipients:
        made = made.retire(name)
    if as_json:
        console.data(made.opened.kept.to_dict())
    else:
        tell_kept(made.opened.kept)
