"""Lookup of the project, its store, and the person acting."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from discreet.errors import NotThere

if TYPE_CHECKING:
    from discreet.ledger import Ledger
    from discreet.linkage.project import Project

Command = TypeVar("Command", bound=Callable[..., Any])


def actor_option(command: Command) -> Command:
    """The option that says who does it."""
    words = "Who does this, as the ledger is to say [your user name]."
    return click.option("--as", "actor", metavar="NAME", help=words)(command)


def actor_of(name: str | None) -> str:
    """Who does it: the name that was given, or that of the user of this machine."""
    return name or getpass.getuser()


@contextmanager
def opened(address: str | None, *, create: bool = False) -> Iterator[Ledger]:
    """The ledger of a store."""
    from discreet.ledger import Ledger

    with Ledger.open(address, create=create) as ledger:
        yield ledger


def project_called(ledger: Ledger, name: str) -> Project:
    """A project by its name in the store, or by its folder."""
    from discreet.linkage.project import list_projects

    for project in list_projects(ledger.store):
        if project.name == name or project.folder == str(Path(name).resolve()):
            return project
    raise NotThere(
        f"The store knows no project '{name}'.",
        remedy="Give its pairs out first: discreet link assign PROJECT --worker NAME",
    )
