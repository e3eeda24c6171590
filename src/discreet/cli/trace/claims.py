"""`discreet trace claims`: from whose copy were people re-identified?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli import console
from discreet.cli.trace.options import tell, trace_options


@click.command(name="claims", short_help="Trace claims that people were re-identified.")
@click.argument("claims", metavar="CLAIMS")
@click.option("--exclude", metavar="FILE", help="Claims that do not count: your own audits.")
@click.option("--earlier", metavar="FILE", multiple=True, help="Claims of an earlier incident; once for each.")
@trace_options
def command(
    claims: str,
    exclude: str | None,
    earlier: tuple[str, ...],
    release_name: str,
    address: str | None,
    as_json: bool,
    report: Path | None,
    **options: Any,
) -> int:
    """Hold claims that people were re-identified against every recipient of a release.

    CLAIMS is a table with the quasi-identifiers of the people, one row each, raw or as they were published. The trace is
    written to the ledger before it is told.

    \b
    Examples:
      discreet trace claims claims.csv --release spring
      discreet trace claims june.csv --release spring --earlier may.csv --exclude audit.csv --report trace.html

    Ends with exit code 1 when somebody is accused.
    """
    if report is not None:
        console.refuse_other_than_html(report)
    from discreet.releases.tracing.trace import trace

    found = trace(release_name, claims=claims, exclude=exclude or (), earlier=earlier, store=address, **options)
    return tell(found, as_json=as_json, report=report)
