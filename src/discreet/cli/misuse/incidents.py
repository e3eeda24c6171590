"""`discreet misuse incidents`: rank leaked results by how bad they are."""

from __future__ import annotations

import datetime
from pathlib import Path

import click

from discreet import __version__
from discreet.cli import console
from discreet.cli.misuse.options import between
from discreet.misuse.incidents import Incident, triage
from discreet.misuse.log import read_log


@click.command(name="incidents", short_help="Rank leaked results by how bad they are.")
@click.argument("log", metavar="LOG", type=click.Path(path_type=Path))
@click.option(
    "--leaked",
    multiple=True,
    metavar="ID",
    help="A result that leaked; may be repeated [all that were let through with an alert].",
)
@click.option("--frame", type=click.IntRange(1), metavar="DAYS", help="How long results are held [for ever].")
@click.option("--since", metavar="DATE", help="Only results from this day on.")
@click.option("--until", metavar="DATE", help="Only results up to and with this day.")
@click.option("--most", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="Incidents to list.")
@click.option("--json", "as_json", is_flag=True, help="Print all incidents as JSON.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a report (HTML).")
def command(
    log: Path,
    leaked: tuple[str, ...],
    frame: int | None,
    since: str | None,
    until: str | None,
    most: int,
    as_json: bool,
    out: Path | None,
) -> None:
    """Rank leaked results by what they and all that their readers already held could do together.

    \b
    Examples:
      discreet misuse incidents log.jsonl
      discreet misuse incidents log.jsonl --leaked r000123 --leaked r000456 --out incidents.html
      discreet misuse incidents log.jsonl --frame 90 --json

    Shows rows by position and columns by name, never a value.
    """
    if out is not None:
        console.refuse_other_than_html(out)
    results = between(read_log(log), since, until)
    held = None if frame is None else datetime.timedelta(days=frame)
    found = triage(results, leaked=leaked or None, frame=held)
    if as_json:
        console.data({"incidents": [one.to_dict() for one in found]})
    else:
        _tell(found, log.name, most)
    if out is not None:
        _write(out, found[:most], len(found), log.name, frame)


def _tell(found: list[Incident], name: str, most: int) -> None:
    from discreet.report import incident_findings

    console.heading(f"Incidents in {name}")
    console.findings(incident_findings(found))
    if not found:
        return
    click.echo()
    rows = [
        (
            one.result.id,
            one.result.user,
            f"{one.result.time:%Y-%m-%d %H:%M}",
            f"{one.score:.2f}",
            f"{one.result.score:.2f}",
            f"{one.result.rows:,}",
            f"{one.held:,}",
            ", ".join(str(row.row) for row in one.rows[:3]),
            ", ".join(column.column for column in one.columns[:3]),
        )
        for one in found[:most]
    ]
    head = ["id", "user", "time", "score", "alone", "rows", "held", "heaviest rows", "heaviest columns"]
    console.table(head, rows, numeric=(3, 4, 5, 6))


def _write(out: Path, found: list[Incident], whole: int, name: str, frame: int | None) -> None:
    from discreet.report import incidents_page

    page = incidents_page(
        found,
        whole=whole,
        frame=frame,
        source=name,
        created=datetime.datetime.now(datetime.UTC),
        command=console.command_line(),
        version=__version__,
    )
    console.write_text(out, page)
    console.say(f"\nReport: {out}")
