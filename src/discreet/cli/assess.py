"""`discreet assess`: measure the risk of publishing a table."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

import discreet
from discreet.cli import console
from discreet.wording import brief_percent

if TYPE_CHECKING:
    from discreet import Assessment, Policy, Table

PROFILED = 500_000
"""Larger tables are reported without a profile of every column; `discreet profile` makes it."""


@click.command(name="assess", short_help="Measure the risk of publishing a table.")
@click.argument("source", metavar="DATA")
@click.option(
    "--policy", "policy_file", metavar="FILE", required=True, help="Policy that gives the columns their roles."
)
@click.option("--population", metavar="POP", help="The people an adversary may know of: a table, or just their number.")
@click.option(
    "--threshold", type=float, metavar="T", help="Risk above which a person counts as at risk [policy, or 0.2]."
)
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a report (HTML).")
def command(
    source: str, policy_file: str, population: str | None, threshold: float | None, as_json: bool, out: Path | None
) -> int:
    """Measure the risk of publishing DATA: a CSV or Parquet file, or a PostgreSQL URL with ?table= or ?query=.

    \b
    Examples:
      discreet assess people.csv --policy policy.toml
      discreet assess people.csv --policy policy.toml --population voters.parquet --out report.html
      discreet assess people.csv --policy policy.toml --population 3500000 --json
      discreet assess 'postgresql://host/db?table=people' --policy policy.toml

    Ends with exit code 1 when more people are at risk than the policy's [limits] at_risk allows (none, unless it
    says so), so that a pipeline can stop there.
    """
    policy = discreet.Policy.load(policy_file)
    table = discreet.read(source, policy=policy)
    with console.working(f"Counting people who look alike in {table.name}"):
        assessment = discreet.assess(table, population=_population(population, policy), threshold=threshold)
    if table.undeclared:
        console.say(f"Note: {_columns(table.undeclared)} no role in the policy and did not count as quasi-identifiers.")
    console.note_repeated(table)
    if as_json:
        console.data(assessment.to_dict())
    else:
        _tell(assessment, table)
    if out is not None:
        _write_report(out, assessment, table)
    return int(assessment.exceeded)


def _population(given: str | None, policy: Policy) -> Table | int | None:
    if given is None:
        return None
    plain = given.replace(",", "").replace("_", "")
    if plain.isdigit():
        return int(plain)
    return discreet.read(given, policy=policy.for_population())


def _columns(names: tuple[str, ...]) -> str:
    listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"columns {listed} have" if len(names) > 1 else f"column {listed} has"


def _tell(assessment: Assessment, table: Table) -> None:
    from discreet.report import findings

    console.heading(f"Risk of {table.name}: {assessment.records:,} people by {', '.join(assessment.columns)}")
    console.findings(findings(assessment, source=table.name))
    click.echo()
    rows = [
        (f"{band.label}", f"{band.classes:,}", f"{band.records:,}", brief_percent(band.records / assessment.records))
        for band in assessment.bands
        if band.records
    ]
    console.table(["people who look alike", "classes", "people", "share"], rows, numeric=(0, 1, 2, 3))


def _write_report(out: Path, assessment: Assessment, table: Table) -> None:
    from discreet.report import assessment_page

    console.refuse_other_than_html(out)
    page = assessment_page(
        assessment,
        title=f"Risk of {table.name}",
        source=table.name,
        created=datetime.datetime.now(datetime.UTC),
        command=console.command_line(),
        version=discreet.__version__,
        policy=table.policy,
        profile=discreet.profile(table, largest=3) if assessment.records <= PROFILED else None,
    )
    console.write_text(out, page)
    console.say(f"\nReport: {out}")
