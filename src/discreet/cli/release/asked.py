"""What `release plan` and `release make` are asked in the same words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

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
    for option in reversed(OPTIONS):
        command = option(command)
    return command


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
