"""Options shared by the commands of `discreet release`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from discreet.anonymity import LOSSES
from discreet.policy import Policy
from discreet.sources import Table, read

Command = TypeVar("Command", bound=Callable[..., Any])

OPTIONS = (
    click.option("--population", metavar="POP", required=True, help="Table of the people the data were drawn from."),
    click.option("--policy", "policy_file", metavar="FILE", required=True, help="Policy with roles and hierarchies."),
    click.option("--k", type=click.IntRange(2), default=5, show_default=True, help="At least K people look alike."),
    click.option(
        "--suppression",
        type=click.FloatRange(0, 1),
        default=0.1,
        show_default=True,
        metavar="S",
        help="Largest share of people left out.",
    ),
    click.option("--loss", default="dm_star", show_default=True, metavar="NAME", help="What to keep small."),
    click.option(
        "--law",
        default="0.2/0.5",
        show_default=True,
        metavar="LAW",
        help="How often a mark is in a copy: 0.2/0.5, 0.5, or nuida:C for C recipients who collude.",
    ),
    click.option("--force", is_flag=True, help="Go on with fewer than 30 marks, or with decoys that can be told."),
)


def node_options(command: Command) -> Command:
    """The options that both commands have."""
    return _with(OPTIONS, command)


def _with(options: Sequence[Callable[[Command], Command]], command: Command) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def search_options(*, smallest_k: int) -> Callable[[Command], Command]:
    """The options of commands that look for levels only to show what decoys would be like."""
    options = (
        click.option(
            "--population", metavar="POP", required=True, help="The people from whom the data were drawn: a table."
        ),
        click.option(
            "--policy", "policy_file", metavar="FILE", required=True, help="Policy with roles and hierarchies."
        ),
        click.option(
            "--k",
            type=click.IntRange(smallest_k),
            default=5,
            show_default=True,
            metavar="K",
            help="At least K look alike.",
        ),
        click.option(
            "--suppression",
            type=float,
            default=0.1,
            show_default=True,
            metavar="S",
            help="Largest share of people left out.",
        ),
        click.option(
            "--loss", type=click.Choice(list(LOSSES)), default="dm_star", show_default=True, help="What to keep small."
        ),
    )
    return lambda command: _with(options, command)


def delivery_options(command: Command) -> Command:
    """How copies are written, and by whom; for commands that write some."""
    formats = click.Choice(["parquet", "csv", "csv.gz"])
    options = (
        click.option(
            "--format",
            "file_format",
            type=formats,
            default="parquet",
            show_default=True,
            help="How copies are written.",
        ),
        click.option("--actor", metavar="NAME", help="Who does this, for the ledger; the user of this machine."),
    )
    return _with(options, command)


@dataclass(frozen=True)
class Tables:
    """The data and their population, read by one policy."""

    data: Table
    population: Table

    @classmethod
    def read(cls, data: str, population: str, policy_file: str) -> Tables:
        """Both tables."""
        policy = Policy.load(policy_file)
        return cls(read(data, policy=policy), read(population, policy=policy.for_population()))
