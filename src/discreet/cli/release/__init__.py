"""`discreet release`: one copy per recipient, so that a leak can be traced. One file per verb, imported when asked for."""

from __future__ import annotations

import click

from discreet.cli.main import Verbs

VERBS = {
    "add-recipient": "Give somebody who comes later a copy of a release.",
    "attack": "Play recipients who try to find the decoys.",
    "feasibility": "See whether decoys can be put into a table.",
    "fingerprints": "Give each recipient levels of its own, where that is safe.",
    "list": "List the releases in a store.",
    "make": "Give every recipient a copy that can be traced.",
    "plan": "See what a release would look like; nothing is written.",
    "retire": "Give a recipient no further copies of a release.",
    "show": "See how a release and its copies stand.",
}
"""The verbs; `discreet release VERB` is `command` in `discreet/cli/release/VERB.py`."""


@click.group(
    name="release",
    cls=Verbs,
    package=__name__,
    verbs=VERBS,
    short_help="Give every recipient a copy that can be traced.",
)
def command() -> None:
    """Give every recipient a copy that can be traced.

    A trace names the copy that was leaked as it is, or in part. A leaker who alters the classes of doubtful size escapes; see
    docs/explain/limitations.md.

    \b
    Examples:
      discreet release plan hospital.csv --population register.parquet --policy policy.toml
      discreet release make hospital.csv --population register.parquet --policy policy.toml --name spring \\
          --recipient north --recipient south --out copies --population-source "register 2026" \\
          --population-licence "CC BY 4.0" --counts-only --sign-off DPO-2026-17
      discreet release add-recipient spring hospital.csv --policy policy.toml --recipient east --out copies
      discreet release show spring
      discreet release feasibility people.csv --policy policy.toml --population register.parquet
      discreet release feasibility people.csv --policy policy.toml --population register.parquet --grid --report grid.html
      discreet release attack people.csv --policy policy.toml --population register.parquet
      discreet release fingerprints people.csv --policy policy.toml --recipients 3 --k 5
    """
