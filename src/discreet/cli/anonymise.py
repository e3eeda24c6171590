"""`discreet anonymise`: write the least lossy table within a limit."""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from discreet import __version__
from discreet.anonymity import LOSSES, SEARCHES, Anonymised, Point, Progress, anonymise, frontier, sweep
from discreet.cli import console
from discreet.cli.attack.adversary import adversary
from discreet.errors import UsageError
from discreet.policy import Policy
from discreet.risk import assess
from discreet.sources import Table, read
from discreet.wording import brief_percent

DRAWN = 20_000
"""Lattices up to this many nodes are drawn whole in a report."""


@click.command(name="anonymise", short_help="Write the least lossy table within a limit.")
@click.argument("source", metavar="DATA")
@click.option("--policy", "policy_file", metavar="FILE", required=True, help="Policy with roles and hierarchies.")
@click.option("--k", type=click.IntRange(1), metavar="K", help="At least K people look alike.")
@click.option(
    "--suppression", type=float, default=0.0, show_default=True, metavar="S", help="Largest share of people left out."
)
@click.option("--loss", type=click.Choice(list(LOSSES)), default="loss", show_default=True, help="What to keep small.")
@click.option("--max-risk", type=float, metavar="T", help="Largest risk of anybody; with marketer, on average.")
@click.option(
    "--risk-model",
    type=click.Choice(["prosecutor", "journalist", "marketer"]),
    default="prosecutor",
    show_default=True,
    help="Whose risk --max-risk limits.",
)
@click.option(
    "--attack",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Hold --max-risk against a planning adversary (TOML; discreet attack init drafts one).",
)
@click.option("--average-risk", type=float, metavar="T", help="Largest average risk.")
@click.option(
    "--diversity", metavar="L", help='At least L values of each sensitive column, or JSON: {"l": 3, "kind": "entropy"}.'
)
@click.option(
    "--closeness",
    metavar="T",
    help='Sensitive columns within T of the whole table, or JSON: {"t": 0.2, "distance": "hierarchical"}.',
)
@click.option(
    "--presence",
    type=float,
    nargs=2,
    metavar="LOW HIGH",
    help="Bounds of the probability that somebody is in the data.",
)
@click.option("--k-map", type=click.IntRange(1), metavar="K", help="At least K people of the population look alike.")
@click.option("--population", metavar="POP", help="Table of the people an adversary may know of.")
@click.option("--search", type=click.Choice(SEARCHES), default="optimal", show_default=True, help="How to search.")
@click.option("--time-limit", type=float, metavar="SECONDS", help="Stop then, with the best so far and a proven bound.")
@click.option("--out", metavar="TARGET", help="Write to a CSV or Parquet file, or to postgresql://...?table=NAME.")
@click.option("--overwrite", is_flag=True, help="Replace TARGET if it exists.")
@click.option(
    "--report", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a report (HTML)."
)
@click.option("--dry-run", is_flag=True, help="Search, but write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    source: str,
    policy_file: str,
    out: str | None,
    overwrite: bool,
    report: Path | None,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Write the least lossy generalisation of DATA whose classes satisfy every limit.

    \b
    Examples:
      discreet anonymise people.csv --policy policy.toml --k 5 --out safe.csv
      discreet anonymise people.csv --policy policy.toml --k 5 --suppression 0.02 --loss entropy --dry-run
      discreet anonymise people.csv --policy policy.toml --max-risk 0.1 --risk-model journalist --population register.parquet
      discreet anonymise people.csv --policy policy.toml --k 5 --search local --out safe.parquet

    Stopped with Ctrl-C, the search keeps the best it has found, says how far from the best it may be, and ends with
    exit code 1.
    """
    if out is None and not dry_run and not as_json:
        raise UsageError("Nothing would be written.", remedy="Give --out TARGET, or --dry-run to see the result only.")
    if report is not None:
        console.refuse_other_than_html(report)
    policy = Policy.load(policy_file)
    table = read(source, policy=policy)
    if out is not None and not dry_run:
        table.refuse_undeclared()
    with _shown(table.name) as watch:
        result = anonymise(table, watch=watch, **_keywords(options, policy))
    written = result.write(out, overwrite=overwrite) if out is not None and not dry_run else None
    if as_json:
        where = {"written": written, "target": out if written is not None else None}
        console.data({**result.to_dict(), "undeclared": list(table.undeclared), **where})
    else:
        _tell(result, table)
    if written is not None:
        console.say(f"\nWrote {written:,} rows to {out.partition('?')[0] if out else ''}, verified class by class.")
    if report is not None:
        _write_report(report, result, table)
    return int(result.certificate is not None and not result.certificate.optimal and result.certificate.search != "ola")


def _keywords(options: dict[str, Any], policy: Policy) -> dict[str, Any]:
    """The options as `discreet.anonymise` takes them."""
    given = {name: value for name, value in options.items() if value is not None}
    for name in ("diversity", "closeness"):
        if name in given:
            given[name] = _parsed(given[name], name)
    if "attack" in given:
        given["attack"] = adversary(given["attack"])
    if "population" in given:
        given["population"] = read(given["population"], policy=policy.for_population())
    return given


def _parsed(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise UsageError(f"--{name} is a number or JSON.", remedy=f"For example --{name} 3") from None


@contextmanager
def _shown(name: str) -> Iterator[Any]:
    """Progress on a terminal: how many nodes, how far the best may be from the bound."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[gap]}"),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, transient=True) as bar:
        task = bar.add_task(f"Searching {name}", total=1.0, gap="")

        def watch(progress: Progress) -> bool:
            bar.update(task, completed=closed(progress), gap=_gap(progress))
            return True

        yield watch


def closed(progress: Progress) -> float:
    """How much of the way the proven bound has come towards the best loss found.

    >>> closed(Progress(evaluated=10, nodes=100, bound=0.2, best=0.4))
    0.5
    """
    return 0.0 if progress.best in (0, float("inf")) else min(1.0, progress.bound / progress.best)


def _gap(progress: Progress) -> str:
    best = "none yet" if progress.best == float("inf") else f"{progress.best:.6g}"
    return f"{progress.evaluated:,} nodes counted, best {best}, bound {progress.bound:.6g}"


def _write_report(report: Path, result: Anonymised, table: Table) -> None:
    from discreet.report import anonymised_page

    before = assess(table)
    remaining = result.records - result.suppressed
    small = result.certificate is not None and result.certificate.nodes <= DRAWN
    page = anonymised_page(
        result,
        before=before,
        after=result.assess(threshold=before.threshold) if remaining else None,
        title=f"Anonymised: {table.name}",
        source=table.name,
        created=datetime.datetime.now(datetime.UTC),
        command=console.command_line(),
        version=__version__,
        policy=table.policy,
        frontier=_frontier(result, table) if small else (),
        lattice=sweep(result.recoding.classes, result.limits, loss=result.loss_name) if small else (),
    )
    console.write_text(report, page)
    console.say(f"Report: {report}")


def _frontier(result: Anonymised, table: Table) -> tuple[Point, ...]:
    share = result.limits.suppressible / result.records
    return frontier(table, suppression=share, loss=result.loss_name)


def _tell(result: Anonymised, table: Table) -> None:
    console.heading(
        f"{table.name}: {result.records - result.suppressed:,} of {result.records:,} people in {result.classes:,} classes"
    )
    click.echo(
        f"{result.loss_name} {result.loss:.6g}; {result.suppressed:,} people left out; {'; '.join(result.requirements)}."
    )
    click.echo()
    utility = result.utility()
    rows = [
        (column, about["role"], about["treatment"], brief_percent(utility[column]) if column in utility else "")
        for column, about in result.columns.items()
    ]
    console.table(["column", "role", "published", "kept"], rows, numeric=(3,))
    _tell_unpublished(table)
    if result.certificate is not None:
        click.echo()
        click.echo(click.wrap_text(result.certificate.words(), width=96))


def _tell_unpublished(table: Table) -> None:
    left_out = table.policy.unpublished if table.policy else ()
    if left_out:
        click.echo(f"Left out: {', '.join(left_out)}.")
    if table.undeclared:
        console.say(
            f"Note: the policy gives no role to {', '.join(table.undeclared)}; nothing can be written before it does."
        )
