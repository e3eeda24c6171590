"""`discreet report`: a whole data-sharing project in one report."""

from __future__ import annotations

import click

from discreet.cli.main import Verbs

VERBS = {"init": "Draft a project file.", "project": "Tell a whole project (the default)."}


@click.group(
    name="report",
    cls=Verbs,
    package=__name__,
    verbs=VERBS,
    default="project",
    short_help="Tell a whole data-sharing project in one report.",
)
def command() -> None:
    """Tell a whole data-sharing project in one report: data, risk, adversary, recipients, linkage, queries, ledger.

    \b
    Examples:
      discreet report init people.csv --policy policy.toml --store store.db --out project.toml
      discreet report project.toml --out report.html
      discreet report FOLDER --out report.html --head head.json

    `discreet report PROJECT` is short for `discreet report project PROJECT`; see `discreet report project --help`.
    """
