"""A group of commands that imports a command only when it is asked for, so that help is instant."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class Verbs(click.Group):
    """`verbs` says what each does; a verb is `command` in the module of that name in `package`.

    With a `default` the group takes what that verb is about where a verb would stand: `discreet attack DATA` is `discreet
    attack table DATA`.
    """

    def __init__(self, *, package: str, verbs: Mapping[str, str], default: str | None = None, **settings: Any) -> None:
        super().__init__(**settings)
        self._package, self._verbs, self._default = package, verbs, default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Anything that is neither a verb nor an option of the group is about the default."""
        if self._default and args and args[0] not in (*self._verbs, *self.get_help_option_names(ctx)):
            args = [self._default, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, in order."""
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb's command object."""
        if cmd_name not in self._verbs:
            return None
        module = importlib.import_module(f"{self._package}.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self._verbs.items()))
