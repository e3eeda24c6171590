"""`discreet trace`: from whose copy do re-identified people, or a leaked file, come? One file per verb, imported when asked for."""

from __future__ import annotations

import importlib

import click

VERBS = {
    "claims": "Trace claims that people were re-identified.",
    "leak": "Trace a leaked file.",
}
"""The verbs; `discreet trace VERB` is `command` in `discreet/cli/trace/VERB.py`."""


class Verbs(click.Group):
    """Imports a verb only when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, in order."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb's command object."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(name="trace", cls=Verbs, short_help="Find out from whose copy people or rows came.")
def command() -> None:
    """Find out from whose copy of a release re-identified people, or the rows of a leaked file, came.

    \b
    Examples:
      discreet trace claims claims.csv --release spring
      discreet trace leak found.csv --release spring --report trace.html
    """
