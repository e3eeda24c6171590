"""`discreet attack`: what a planning adversary would do to a table, and what deters him."""

from __future__ import annotations

import click

from discreet.cli.main import Verbs

VERBS = {
    "case-study": "Play a case study after a paper, on your people or ours.",
    "init": "Draft a file with his gain, costs and risks.",
    "sweep": "See how his decisions move with one parameter.",
    "table": "See what he would do to a table (the default).",
    "thresholds": "Show the group sizes at which he changes his mind.",
}


@click.group(
    name="attack",
    cls=Verbs,
    package=__name__,
    verbs=VERBS,
    default="table",
    short_help="See what a planning adversary would do, and what deters him.",
)
def command() -> None:
    """See what a planning adversary would do to a table, and what deters him.

    He may buy a list of named people, link it with the table, and try one candidate after another until it no
    longer pays: a re-identification brings him something, each step costs, and he may be caught and fined.

    \b
    Examples:
      discreet attack people.csv --policy policy.toml --external voters.parquet --out report.html
      discreet attack init --out attack.toml          his gain, costs and risks, to be filled in
      discreet attack thresholds --attack attack.toml
      discreet attack sweep --vary penalty=1000:50000:50

    `discreet attack DATA` is short for `discreet attack table DATA`; see `discreet attack table --help`.
    """
