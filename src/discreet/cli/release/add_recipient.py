"""`discreet release add-recipient`: a copy for somebody who comes later."""

from __future__ import annotations

from typing import Any

import click

from discreet.cli import console
from discreet.cli.ledger import store_option
from discreet.cli.release.options import delivery_options
from discreet.cli.release.output import tell_delivered
from discreet.policy import Policy
from discreet.sources import read


@click.command(name="add-recipient", short_help="Give somebody who comes later a copy of a release.")
@click.argument("release_name", metavar="RELEASE")
@click.argument("data", metavar="DATA")
@click.option("--policy", "policy_file", metavar="FILE", required=True, help="The policy of the release.")
@click.option("--recipient", "recipients", metavar="NAME", multiple=True, required=True, help="Who; once for each.")
@click.option("--out", metavar="DIR", required=True, help="Folder that gets a folder per recipient.")
@delivery_options
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
def command(
    release_name: str,
    data: str,
    policy_file: str,
    recipients: tuple[str, ...],
    out: str,
    file_format: Any,
    actor: str | None,
    address: str | None,
    as_json: bool,
) -> None:
    """Give somebody who comes later a copy of RELEASE, written from the same DATA as the others.

    Nobody else's copy changes. The population is not needed again: all that is needed of it is in the sealed manifest.

    \b
    Example:
      discreet release add-recipient spring hospital.csv --policy policy.toml --recipient east --out copies
    """
    from discreet.releases.delivery.release import Release

    table = read(data, policy=Policy.load(policy_file))
    made = Release.open(release_name, store=address, table=table, actor=actor)
    new = [name for name in recipients if name not in made.recipients]
    with console.working(f"Writing {len(recipients)} copies"):
        made.refuse_other_data()
        made = made.add_recipient(*new) if new else made
        copies = made.write(out, format=file_format, recipients=recipients)
    tell_delivered(made.refreshed(), copies, as_json=as_json)
