"""`discreet report`: a whole data-sharing project in one report."""

from __future__ import annotations

import importlib

import click

PROJECT = "project"
COMMANDS = ("init", PROJECT)


class Reports(click.Group):
    """A group that takes a project where another command would stand: `discreet report DIR` is `report project DIR`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported when it is asked for."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Anything that is neither a command nor an option of the group is a project."""
        if args and args[0] not in (*COMMANDS, *self.get_help_option_names(ctx)):
            args = [PROJECT, *args]
        return super().parse_args(ctx, args)


@click.group(name="report", cls=Reports, short_help="Tell a whole data-sharing project in one report.")
def command() -> None:
    """Tell a whole data-sharing project in one report: data, risk, adversary, recipients, linkage, queries, ledger.

    \b
    Examples:
      discreet report init people.csv --policy policy.toml --store store.db --out project.toml
      discreet report project.toml --out report.html
      discreet report FOLDER --out report.html --head head.json

    `discreet report PROJECT` is short for `discreet report project PROJECT`; see `discreet report project --help`.
    """
