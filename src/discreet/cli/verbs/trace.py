"""`discreet trace`: which recipient's copy re-identified people, or a leaked file, came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from discreet import report
from discreet.cli.options import actor_option, option, options, store_option
from discreet.cli.output import CommandResult, bullet, heading, output, table
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.releases import Trace


@click.group(name="trace", short_help="Identify which recipient's copy a leak came from.")
def command() -> None:
    """Identify which recipient's copy of a release re-identified people, or the rows of a leaked file, came from.

    \b
    Examples:
      discreet trace claims claims.csv --release spring
      discreet trace leak found.csv --release spring --report trace.html
      discreet trace list --release spring
    """


trace_options = options(
    option("--release", "release_name", metavar="NAME", required=True, help="Name of the release."),
    option("--version", type=click.IntRange(1), help="An earlier version of it [the newest]."),
    option(
        "--alpha",
        type=float,
        metavar="P",
        help="Largest probability that anybody is accused although all are innocent; the first trace fixes it [0.001].",
    ),
    option("--prior", type=float, default=0.5, metavar="P", help="Prior probability that a recipient is the source."),
    option("--family", type=click.IntRange(1), metavar="N", help="All recipients to be expected, if more come."),
    actor_option,
    store_option,
)


@command.command(name="claims", short_help="Trace claims that people were re-identified.")
@click.argument("claims", metavar="CLAIMS")
@option("--exclude", metavar="FILE", help="Claims that do not count: your own audits.")
@option("--earlier", metavar="FILE", multiple=True, help="Claims of an incident that was never traced; once for each.")
@option("--alone", is_flag=True, help="Weigh these claims without those traced before; counts as a traced file.")
@trace_options
@output("Print the trace as JSON.", report="--report")
def claims(
    claims: str,
    exclude: str | None,
    earlier: tuple[str, ...],
    alone: bool,
    release_name: str,
    address: str | None,
    **options: Any,
) -> CommandResult:
    """Compare claims that people were re-identified with the copies of every recipient of a release.

    CLAIMS is a table with the quasi-identifiers of the people, one row each, raw or as published. The trace is recorded
    in the ledger before it is shown. Claims that were traced before count as well, each class once.

    \b
    Examples:
      discreet trace claims claims.csv --release spring
      discreet trace claims june.csv --release spring --earlier may.csv --exclude audit.csv --report trace.html

    Ends with exit code 1 when a recipient is accused.
    """
    from discreet.releases import trace

    options |= {"exclude": exclude or (), "earlier": earlier, "accumulate": not alone}
    return _traced(trace(release_name, claims=claims, store=address, **options))


@command.command(name="leak", short_help="Trace a leaked file.")
@click.argument("leak", metavar="FILE")
@option("--column", "columns", metavar="THEIRS=OURS", multiple=True, help="A column that has another name there.")
@option("--count", metavar="COLUMN", help="In a table of counts: the column that says how many people a row is.")
@option("--original", metavar="DATA", help="The original table, to recognise decoys by their other columns.")
@trace_options
@output("Print the trace as JSON.", report="--report")
def leak(
    leak: str,
    columns: tuple[str, ...],
    original: str | None,
    release_name: str,
    address: str | None,
    **options: Any,
) -> CommandResult:
    """Compare a leaked FILE with the copies of every recipient of a release.

    It may have any of the rows and columns of a copy, and coarser values than were published. The trace is recorded in
    the ledger before it is shown. All traced files of a release share its error rate.

    \b
    Examples:
      discreet trace leak found.csv --release spring
      discreet trace leak found.csv --release spring --column plz=zip --report trace.html
      discreet trace leak table.csv --release spring --count people

    Ends with exit code 1 when a recipient is accused.
    """
    from discreet.releases import trace

    renamed = {}
    for text in columns:
        theirs, _, ours = text.partition("=")
        if not (theirs and ours):
            raise UsageError(
                "A column that has another name is written THEIRS=OURS.", remedy="For example: --column plz=zip"
            )
        renamed[theirs] = ours
    return _traced(trace(release_name, leak=leak, columns=renamed, original=original, store=address, **options))


@command.command(name="list", short_help="List the traces of a release.")
@option("--release", "release_name", metavar="NAME", required=True, help="Name of the release.")
@store_option
@output("Print as JSON.")
def list_traces(release_name: str, address: str | None) -> CommandResult:
    """List what was traced for a release, from the ledger: claims and files, with their numbers and who was accused.

    \b
    Example:
      discreet trace list --release spring
    """
    from discreet.releases.delivery.service import registry_of
    from discreet.releases.tracing.register import TraceRegister

    with registry_of(address) as registry:
        registry.require(release_name)
        traces = TraceRegister.of(registry.ledger, release_name).traces
    rows = [
        (
            str(past.entry),
            past.time[:16].replace("T", " "),
            past.kind,
            "" if past.number is None else str(past.number),
            past.source,
            past.accused or "nobody",
            past.actor,
        )
        for past in traces
    ]
    return CommandResult(
        lambda: [past.to_dict() for past in traces],
        [table(["entry", "time", "kind", "file", "source", "accused", "by"], rows, numeric=(0, 3))],
        notes=[] if rows else ["Nothing was traced for this release yet."],
    )


def _traced(trace: Trace) -> CommandResult:
    from discreet.releases.tracing.result import power, share

    rows = [
        (
            standing.recipient,
            f"{standing.hits:,}",
            f"{standing.misses:,}",
            power(standing.log10_e),
            "" if standing.p_value is None else f"{standing.p_value:.2g}",
            share(standing.posterior),
            "accused" if standing.accused else "",
        )
        for standing in trace.standings
    ]
    headers = ["recipient", "for", "against", "e-value", "p-value", "posterior", ""]
    words = [heading(f"{trace.source} against release {trace.release}")]
    for sentence in trace.words().splitlines():
        words += ["", bullet(sentence)]
    words += ["", table(headers, rows, numeric=(1, 2, 3, 4, 5))]
    return CommandResult(
        trace.to_dict,
        words,
        page=lambda **stamp: report.traced_page(trace, **stamp),
        exit_code=int(bool(trace.accused)),
    )
