"""`discreet misuse score`: what a result could do in the wrong hands."""

from __future__ import annotations

import click


@click.command(name="score", short_help="Measure what a result could do in the wrong hands.")
def command() -> None:
    """Measure what a result could do in the wrong hands."""
