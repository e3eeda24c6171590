"""`discreet trace leak`: from whose copy is a leaked file?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli import console
from discreet.cli.trace.options import tell, trace_options
from discreet.errors import UsageError


@click.command(name="leak", short_help="Trace a leaked file.")
@click.argument("leak", metavar="FILE")
@click.option("--column", "columns", metavar="THEIRS=OURS", multiple=True, help="A column that has another name there.")
@click.option("--original", metavar="DATA", help="The original table, to tell decoys by their other columns.")
@trace_options
def command(
    leak: str,
    columns: tuple[str, ...],
    original: str | None,
    release_name: str,
    address: str | None,
    as_json: bool,
    report: Path | None,
    **options: Any,
) -> int:
    """Hold a leaked FILE against every recipient of a release.

    It may have any of the rows and columns of a copy, and coarser values than were published. The trace is written to the
    ledger before it is told.

    \b
    Examples:
      discreet trace leak found.csv --release spring
      discreet trace leak found.csv --release spring --column plz=zip --report trace.html

    Ends with exit code 1 when somebody is accused.
    """
    if report is not None:
        console.refuse_other_than_html(report)
    from discreet.releases.tracing.trace import trace

    renamed = dict(_pair(written) for written in columns)
    found = trace(release_name, leak=leak, columns=renamed, original=original, store=address, **options)
    return tell(found, as_json=as_json, report=report)


def _pair(written: str) -> tuple[str, str]:
    theirs, equals, ours = written.partition("=")
    if not (theirs and equals and ours):
        raise UsageError(
            "A column that has another name is written THEIRS=OURS.", remedy="For example: --column plz=zip"
        )
    return theirs, ours
