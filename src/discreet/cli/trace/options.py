"""Options and output shared by both ways of tracing."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from discreet import __version__
from discreet.cli import console
from discreet.cli.ledger import store_option

if TYPE_CHECKING:
    from discreet.releases.tracing.result import Trace

Command = TypeVar("Command", bound=Callable[..., Any])

OPTIONS = (
    click.option("--release", "release_name", metavar="NAME", required=True, help="The release, by its name."),
    click.option("--version", type=click.IntRange(1), help="An earlier version of it; else the newest."),
    click.option(
        "--alpha",
        type=float,
        default=1e-3,
        show_default=True,
        metavar="P",
        help="How often anybody may be accused though all are innocent.",
    ),
    click.option(
        "--prior",
        type=float,
        default=0.5,
        show_default=True,
        metavar="P",
        help="How probable it is beforehand that a recipient is the source.",
    ),
    click.option("--family", type=click.IntRange(1), metavar="N", help="Recipients there will ever be, if more come."),
    click.option("--actor", metavar="NAME", help="Who does this, for the ledger; the user of this machine."),
    store_option,
    click.option("--json", "as_json", is_flag=True, help="Print the trace as JSON."),
    click.option(
        "--report", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a report (HTML)."
    ),
)


def trace_options(command: Command) -> Command:
    """The options that both commands have."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def tell(trace: Trace, *, as_json: bool, report: Path | None) -> int:
    """Print the trace, write the report, and say by the exit code whether anybody is accused."""
    if as_json:
        console.data(trace.to_dict())
    else:
        _tell(trace)
    if report is not None:
        _write(trace, report)
    return int(bool(trace.accused))


def _tell(trace: Trace) -> None:
    from discreet.releases.tracing.result import power, share

    console.heading(f"{trace.source} against release {trace.release}")
    for sentence in trace.words().splitlines():
        click.echo()
        click.echo(click.wrap_text(console.plain(sentence), width=96, initial_indent="• ", subsequent_indent="  "))
    click.echo()
    rows = [
        (
            one.recipient,
            f"{one.hits:,}",
            f"{one.misses:,}",
            power(one.log10_e),
            "" if one.p_value is None else f"{one.p_value:.2g}",
            share(one.posterior),
            "accused" if one.accused else "",
        )
        for one in trace.standings
    ]
    console.table(["recipient", "for", "against", "e-value", "p-value", "posterior", ""], rows, numeric=(1, 2, 3, 4, 5))


def _write(trace: Trace, report: Path) -> None:
    from discreet.report import traced_page

    page = traced_page(
        trace,
        created=datetime.datetime.now(datetime.UTC),
        command=console.command_line(),
        version=__version__,
    )
    console.write_text(report, page)
    console.say(f"\nReport: {report}")
