"""`discreet link`: find records of one person in one table or two."""

from __future__ import annotations

import click

from discreet.cli.main import Verbs

VERBS = {
    "init": "Import tables into a linkage project.",
    "pairs": "Find candidate pairs, and say who decides which.",
    "assign": "Give pairs to reviewers, within limits.",
    "review": "Review pairs in the terminal.",
    "status": "See how far projects are, without any value.",
    "export": "Write the linked, de-identified table and the disclosure log.",
}


@click.group(
    name="link",
    cls=Verbs,
    package=__name__,
    verbs=VERBS,
    short_help="Find records of one person, and pairs that people must decide.",
)
def command() -> None:
    """Find records of one person in two tables, or duplicates in one.

    \b
    Examples:
      discreet link init clinic.csv registry.csv --spec link.toml --out project
      discreet link pairs project --chart pairs.html
      discreet link assign project --worker ann --worker ben --overlap 2 --risk 0.12
      discreet link review project --worker ann
      discreet link status project
      discreet link export project --out linked

    Sensitive columns are split off at import; the sure pairs are decided by machine, the unsure ones by people.
    """
