"""The adversary as the command line gives him: a TOML file, and single parameters on top."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from discreet.attacker import Attack
from discreet.attacker.parameters import read_attack
from discreet.cli import console
from discreet.errors import UsageError
from discreet.reference.case_study import PUBLISHED

Function = TypeVar("Function", bound=Callable[..., Any])


def options(function: Function) -> Function:
    """The options that every command about an adversary has."""
    file = click.option(
        "--attack",
        "attack_file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="What he gains, pays and risks (TOML) [a published case study].",
    )
    single = click.option(
        "--set",
        "changes",
        multiple=True,
        metavar="NAME=NUMBER",
        help="Change one parameter, such as penalty=20000; can be repeated.",
    )
    return file(single(function))


def adversary(file: Path | None, changes: Sequence[str] = ()) -> Attack:
    """The adversary in a file, with some parameters changed."""
    given: dict[str, Any] = dict(PUBLISHED) if file is None else read_attack(file)
    if file is None:
        console.say("Note: no --attack file, so the adversary is that of a published case study (Xia et al. 2015).")
    for change in changes:
        name, _, number = change.partition("=")
        given[name.strip()] = parsed(number.strip(), name.strip())
    return Attack.from_dict(given)


def parsed(text: str, name: str) -> float | int | str:
    """A parameter's value."""
    if text == "unlimited":
        return text
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise UsageError(
            f"'{name}' needs a number.", remedy="For example --set penalty=20000, or max_penalties=unlimited."
        ) from None
