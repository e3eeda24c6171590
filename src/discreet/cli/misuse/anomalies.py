"""`discreet misuse anomalies`: find unusual days in a log of scored results."""

from __future__ import annotations

import datetime
from pathlib import Path

import click

from discreet import __version__
from discreet.cli import console
from discreet.cli.misuse.options import between
from discreet.misuse.anomalies import Anomalies, find_anomalies
from discreet.misuse.log import read_log


@click.command(name="anomalies", short_help="Find unusual days in a log.")
@click.argument("log", metavar="LOG", type=click.Path(path_type=Path))
@click.option("--threshold", type=float, default=3.5, show_default=True, metavar="Z", help="From which z on.")
@click.option("--since", metavar="DATE", help="Only results from this day on.")
@click.option("--until", metavar="DATE", help="Only results up to and with this day.")
@click.option("--most", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="Days to list.")
@click.option("--json", "as_json", is_flag=True, help="Print the days as JSON.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a report (HTML).")
def command(
    log: Path, threshold: float, since: str | None, until: str | None, most: int, as_json: bool, out: Path | None
) -> int:
    """Find days on which somebody took much more than is usual for her and her peers.

    \b
    Examples:
      discreet misuse anomalies log.jsonl
      discreet misuse anomalies log.jsonl --since 2025-03-01 --out unusual.html
      discreet misuse anomalies log.jsonl --threshold 5 --json

    Ends with exit code 1 when there is such a day.
    """
    if out is not None:
        console.refuse_other_than_html(out)
    results = between(read_log(log), since, until)
    found = find_anomalies(results, threshold=threshold)
    if len(found.versions) > 1:
        console.say(f"Note: scores were made with {len(found.versions)} versions of the sensitivity function.")
    if as_json:
        console.data(found.to_dict())
    else:
        _tell(found, log.name, most)
    if out is not None:
        _write(out, found, log.name)
    return int(bool(found.unusual))


def _tell(found: Anomalies, name: str, most: int) -> None:
    from discreet.report import anomaly_findings

    users = len({one.user for one in found.standings})
    console.heading(f"Unusual days in {name}: {len(found.days):,} days of {users:,} users")
    console.findings(anomaly_findings(found))
    if found.unusual:
        click.echo()
        rows = [
            (
                day.user,
                day.role,
                day.day.isoformat(),
                f"{day.score:.2f}",
                f"{day.usual:.2f}",
                f"{day.rows:,}",
                f"{day.z:.1f}",
            )
            for day in found.unusual[:most]
        ]
        console.table(["user", "role", "day", "score", "usual", "rows", "z"], rows, numeric=(3, 4, 5, 6))


def _write(out: Path, found: Anomalies, name: str) -> None:
    from discreet.report import anomalies_page

    page = anomalies_page(
        found,
        source=name,
        created=datetime.datetime.now(datetime.UTC),
        command=console.command_line(),
        version=__version__,
    )
    console.write_text(out, page)
    console.say(f"\nReport: {out}")
