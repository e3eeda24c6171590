"""`discreet link`: find records of one person in one table or two."""

from __future__ import annotations

import importlib

import click

COMMANDS = ("init", "pairs", "assign", "review", "status", "export")


class Links(click.Group):
    """Imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported when it is asked for."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return found


@click.group(name="link", cls=Links, short_help="Find records of one person, and pairs that people must decide.")
def command() -> None:
    """Find records of one person in two tables, or duplicates in one.

    \b
    Examples:
      discreet link init clinic.csv registry.csv --spec link.toml --out project
      discreet link pairs project --chart pairs.html
      discreet link assign project --worker ann --worker ben --overlap 2 --risk 0.12
      discreet link review project --worker ann
      discreet link status project
      discreet link export project --out linked

    Sensitive columns are split off at import; the sure pairs are decided by machine, the unsure ones by people.
    """
