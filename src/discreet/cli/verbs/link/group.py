"""The group of commands `discreet link`, and what they share: the ledger, the project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.main import Verbs
from discreet.errors import NotThere, StoreUnreachable, UsageError

if TYPE_CHECKING:
    from discreet.ledger import Ledger
    from discreet.linkage.project import Project


@click.group(
    name="link",
    cls=Verbs,
    verbs={
        "init": ("link.tables", "init", "Import tables into a linkage project."),
        "pairs": ("link.pairs", "pairs", "Find candidate pairs and divide them between machine and reviewers."),
        "assign": ("link.review", "assign", "Assign pairs to reviewers, within limits."),
        "review": ("link.review", "review", "Review pairs in the terminal."),
        "status": ("link.results", "status", "Show the progress of projects, without any value."),
        "evaluate": ("link.results", "evaluate", "Hold reviewers' answers against a known truth."),
        "encode": ("link.tables", "encode", "Encode a table for an organisation that may not see names."),
        "add": ("link.tables", "add", "Add a table of further records to a linkage project."),
        "labels": ("link.pairs", "labels", "Write what reviewers decided as labels that travel."),
        "export": ("link.results", "export", "Write the linked, de-identified table and the disclosure log."),
    },
    short_help="Find records of the same person; reviewers decide unclear pairs.",
)
def command() -> None:
    """Find records of the same person in two tables, or duplicates in one.

    \b
    Examples:
      discreet link init clinic.csv registry.csv --spec link.toml --out project
      discreet link pairs project --chart pairs.html
      discreet link assign project --worker ann --worker ben --overlap 2 --risk 0.12
      discreet link review project --worker ann
      discreet link status project
      discreet link export project --out linked

    Sensitive columns are split off at import; clear pairs are decided by machine, unclear ones by reviewers.
    """


def opened_ledger(address: str | None, *, create: bool = False) -> Ledger:
    """The ledger of a store."""
    from discreet.ledger import Ledger

    return Ledger.open(address, create=create)


def ledger_for(project: str, address: str | None) -> Ledger:
    """The ledger of the store; a new one only for a folder that can be registered in it."""
    is_folder = (Path(project) / "project.json").is_file()
    try:
        return opened_ledger(address, create=is_folder)
    except StoreUnreachable as error:
        if is_folder:
            raise
        raise UsageError(
            f"'{project}' is not the folder of a project. {error.problem}",
            remedy="Give the folder that discreet link init wrote, or the store that holds the project with --store.",
        ) from None


def project_named(ledger: Ledger, name: str) -> Project:
    """A project by its name in the store, or by its folder."""
    from discreet.linkage.project import list_projects

    for project in list_projects(ledger.store):
        if project.name == name or project.folder == str(Path(name).resolve()):
            return project
    raise NotThere(
        f"The store knows no project '{name}'.",
        remedy="Assign its pairs first: discreet link assign PROJECT --worker NAME",
    )


def project_to_export(ledger: Ledger, name: str, actor: str) -> Project:
    """A project by its name; registered now if people decide nothing in it."""
    from discreet.linkage.folder import ProjectFolder
    from discreet.linkage.matching.candidate_pairs import load_candidates
    from discreet.linkage.project import register_project

    try:
        return project_named(ledger, name)
    except NotThere:
        if not (Path(name) / "project.json").is_file() or len(load_candidates(ProjectFolder.open(name)).to_review):
            raise
    return register_project(ledger, name, actor=actor)
