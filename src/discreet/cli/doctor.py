"""`discreet doctor`: what is installed, what is missing, and how to get it."""

from __future__ import annotations

import click

from discreet.cli import console
from discreet.cli.doctor_checks import Check, examine

MARKS = {"ok": ("ok", "green"), "missing": ("missing", "yellow"), "broken": ("BROKEN", "red")}


@click.command(name="doctor", short_help="See what is installed, what is missing, and how to get it.")
@click.option("--store", metavar="ADDRESS", help="The store to look at; default DISCREET_STORE.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(store: str | None, as_json: bool) -> int:
    """Look at the installation, its extras, the programs beside it and the store. Nothing is changed.

    Missing parts are needed for some work only. Ends with 1 if something is broken.

    \b
    Example:
      discreet doctor
    """
    checks = examine(store)
    broken = any(check.state == "broken" for check in checks)
    if as_json:
        console.data({"sound": not broken, "checks": [check.to_dict() for check in checks]})
    else:
        _tell(checks)
    return 1 if broken else 0


def _tell(checks: list[Check]) -> None:
    widest = max(len(check.about) for check in checks)
    for check in checks:
        mark, colour = MARKS[check.state]
        click.echo(f"{click.style(mark.ljust(8), fg=colour)}{check.about.ljust(widest)}  {console.plain(check.found)}")
        if check.remedy and check.state != "ok":
            click.secho(f"{'':8}{'':{widest}}  → {console.plain(check.remedy)}", dim=True)
