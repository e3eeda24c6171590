"""`discreet gateway explain`: what would become of a statement, and what it would cost."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.options import option
from discreet.cli.output import say
from discreet.errors import Refused

EXISTING = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.command(name="explain", short_help="Say what the gateway would make of a statement.")
@click.argument("statement")
@option("--policy", "policy", type=EXISTING, required=True, metavar="FILE", help="Policy with a section [gateway].")
@option("--own", metavar="URL", help="Look into this database for types and views; nothing is run there.")
def command(statement: str, policy: Path, own: str | None) -> None:
    """Say what the gateway would make of a statement: rows that are charged to people, a statistic, or a refusal.

    Without --own the tables are those of the policy, and types are guessed from it. Nothing is run in either case.

    \b
    Examples:
      discreet gateway explain 'SELECT avg(income) FROM patients' --policy clinic.toml
      discreet gateway explain 'SELECT max(income) FROM patients' --policy clinic.toml --own postgresql://discreet@db.example/clinic
    """
    from discreet.gateway.explanation import explained
    from discreet.policy import Policy

    found = explained(statement, Policy.load(policy), own=own)
    for line in found.lines:
        say(line)
    if found.refused:
        raise Refused(found.refused, remedy=found.instead or "See docs/explain/gateway.md for what can be asked.")
