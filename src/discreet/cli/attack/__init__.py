"""`discreet attack`: what a planning adversary would do to a table, and what deters him."""

from __future__ import annotations

import importlib

import click

TABLE = "table"
COMMANDS = ("case-study", "init", "sweep", TABLE, "thresholds")


class Attacks(click.Group):
    """A group that takes a table where another command would stand: `discreet attack DATA` is `attack table DATA`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported when it is asked for."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"{__name__}.{cmd_name.replace('-', '_')}")
        found: click.Command = module.command
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Anything that is neither a command nor an option of the group is about a table."""
        if args and args[0] not in (*COMMANDS, *self.get_help_option_names(ctx)):
            args = [TABLE, *args]
        return super().parse_args(ctx, args)


@click.group(name="attack", cls=Attacks, short_help="See what a planning adversary would do, and what deters him.")
def command() -> None:
    """See what a planning adversary would do to a table, and what deters him.

    He may buy a list of named people, link it with the table, and try one candidate after another until it no
    longer pays: a re-identification brings him something, each step costs, and he may be caught and fined.

    \b
    Examples:
      discreet attack people.csv --policy policy.toml --external voters.parquet --out report.html
      discreet attack init --out attack.toml          his gain, costs and risks, to be filled in
      discreet attack thresholds --attack attack.toml
      discreet attack sweep --vary penalty=1000:50000:50

    `discreet attack DATA` is short for `discreet attack table DATA`; see `discreet attack table --help`.
    """
