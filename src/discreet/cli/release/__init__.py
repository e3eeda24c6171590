"""`discreet release`: one copy per recipient, so that a leak can be traced. One file per verb, imported when asked for."""

from __future__ import annotations

import importlib

import click

VERBS = {
    "add-recipient": "Give somebody who comes later a copy of a release.",
    "attack": "Play recipients who try to find the decoys.",
    "feasibility": "See whether decoys can be put into a table.",
    "fingerprints": "Give each recipient levels of its own, where that is safe.",
    "list": "List the releases in a store.",
    "make": "Give every recipient a copy that can be traced.",
    "plan": "See what a release would look like; nothing is written.",
    "retire": "Give a recipient no further copies of a release.",
    "show": "See how a release and its copies stand.",
}
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
    """Give every recipient a copy that can be traced.

    \b
    Examples:
      discreet release plan hospital.csv --population register.parquet --policy policy.toml
      discreet release make hospital.csv --population register.parquet --policy policy.toml --name spring \\
          --recipient north --recipient south --out copies --population-source "register 2026" \\
          --population-licence "CC BY 4.0" --counts-only --sign-off DPO-2026-17
      discreet release add-recipient spring hospital.csv --policy policy.toml --recipient east --out copies
      discreet release show spring
      discreet release feasibility people.csv --policy policy.toml --population register.parquet
      discreet release feasibility people.csv --policy policy.toml --population register.parquet --grid --report grid.html
      discreet release attack people.csv --policy policy.toml --population register.parquet
      discreet release fingerprints people.csv --policy policy.toml --recipients 3 --k 5
    """
