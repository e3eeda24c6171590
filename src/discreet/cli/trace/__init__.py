"""`discreet trace`: from whose copy do re-identified people, or a leaked file, come? One file per verb, imported when asked for."""

from __future__ import annotations

import click

from discreet.cli.main import Verbs

VERBS = {
    "claims": "Trace claims that people were re-identified.",
    "leak": "Trace a leaked file.",
}
"""The verbs; `discreet trace VERB` is `command` in `discreet/cli/trace/VERB.py`."""


@click.group(
    name="trace", cls=Verbs, package=__name__, verbs=VERBS, short_help="Find out from whose copy people or rows came."
)
def command() -> None:
    """Find out from whose copy of a release re-identified people, or the rows of a leaked file, came.

    \b
    Examples:
      discreet trace claims claims.csv --release spring
      discreet trace leak found.csv --release spring --report trace.html
    """
