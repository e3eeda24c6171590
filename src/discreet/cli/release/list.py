"""`discreet release list`: the releases in a store."""

from __future__ import annotations

from collections import Counter

import click

from discreet.cli import console
from discreet.cli.ledger import store_option


@click.command(name="list", short_help="List the releases in a store.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(address: str | None, as_json: bool) -> None:
    """List the releases in a store, each in its newest version. Needs no keys.

    \b
    Example:
      discreet release list --store store.db
    """
    from discreet.store import Store

    with Store.open(address, create=False) as store, store.reading() as connection:
        from discreet.releases.delivery import repository

        found = repository.every_one(connection)
    if as_json:
        console.data([kept.to_dict() for kept in found])
        return
    rows = []
    for kept in found:
        states = Counter(copy.state for copy in kept.copies)
        told = ", ".join(f"{states[state]} {state}" for state in repository.STATES if states[state])
        rows.append((kept.name, str(kept.version), str(len(kept.copies)), told, kept.made[:10]))
    console.table(["release", "version", "recipients", "copies", "since"], rows, numeric=(1, 2))
    if not rows:
        console.say(
            "There is no release in this store yet. Next: discreet release plan DATA --population POP --policy FILE"
        )
