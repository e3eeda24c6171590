"""`discreet release`: one copy per recipient, so that a leak can be traced. One file per verb, imported when asked for."""

from __future__ import annotations

import importlib

import click

VERBS: dict[str, str] = {}
"""The verbs; `discreet release VERB` is `command` in `discreet/cli/release/VERB.py`."""


class Verbs(click.Group):
    """Imports a verb only when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, in order."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb's command object."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"{__name__}.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(name="release", cls=Verbs, short_help="Give every recipient a copy that can be traced.")
def command() -> None:
    """Give every recipient a copy that can be traced."""
