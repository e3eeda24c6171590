"""The command line: every verb with its arguments and options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from tests.house.surface.names import resolved
from tests.house.surface.snapshot import Items
from tests.house.surface.spelling import literal


def commands() -> Items:
    """Every verb, argument and option."""
    return {name: text for path, command in walked(root(), "discreet") for name, text in _described(path, command)}


def root() -> click.Group:
    """The command `discreet`."""
    command: click.Group = resolved("discreet.cli.main.cli")
    return command


def walked(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """A command and all its verbs, by path."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for verb in command.list_commands(context):
            inner = command.get_command(context, verb)
            assert inner is not None, f"{path} {verb}"
            yield from walked(inner, f"{path} {verb}")


def _described(path: str, command: click.Command) -> Iterator[tuple[str, str]]:
    yield path, f"verbs{_default_verb(path)}" if isinstance(command, click.Group) else "command"
    arguments = [parameter for parameter in command.params if isinstance(parameter, click.Argument)]
    for position, argument in enumerate(arguments, start=1):
        yield f"{path} {argument.metavar or (argument.name or '').upper()}", f"argument {position}, {_facts(argument)}"
    for option in command.params:
        if isinstance(option, click.Option):
            spelling, *others = [*option.opts, *option.secondary_opts]
            yield f"{path} {spelling}", ", ".join([*others, _facts(option)])


def _default_verb(path: str) -> str:
    """The verb that a group assumes where none is named, as in `discreet attack people.csv`."""
    shown = CliRunner().invoke(root(), [*path.split()[1:], "no-verb", "--help"], prog_name="discreet").output
    usage = re.match(rf"Usage: {path} (\S+) \[OPTIONS\]", shown)
    return f"; {usage[1]} where none is named" if usage else ""


def _facts(parameter: click.Parameter) -> str:
    is_flag = isinstance(parameter, click.Option) and parameter.is_flag
    facts = ["flag" if is_flag else _kind(parameter.type)]
    facts += ["required"] if parameter.required else []
    facts += ["can be repeated"] if parameter.nargs == -1 or getattr(parameter, "multiple", False) else []
    facts += [f"{parameter.nargs} values"] if parameter.nargs > 1 else []
    facts += [f"default {_default(parameter)}"] if _default(parameter) and not is_flag else []
    return ", ".join(facts)


def _kind(type_: Any) -> str:
    if isinstance(type_, click.Choice):
        return f"one of {' '.join(map(str, type_.choices))}"
    if isinstance(type_, click.IntRange | click.FloatRange):
        lower = "" if type_.min is None else f" {'>' if type_.min_open else '>='} {type_.min}"
        upper = "" if type_.max is None else f" {'<' if type_.max_open else '<='} {type_.max}"
        return f"{type_.name.partition(' ')[0]}{lower}{upper}"
    return "text" if isinstance(type_, click.Path) else str(type_.name)


def _default(parameter: click.Parameter) -> str:
    if isinstance(parameter.default, Path):
        return str(parameter.default)
    text = literal(parameter.default)
    return "" if text in ("None", "...", "()") else text
