"""`discreet assess` and `discreet profile`: what a table risks, and what is in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

import discreet
from discreet.cli.options import listed, number_of_people, option, policy_option, repeated_notes
from discreet.cli.output import CommandResult, finding_lines, heading, output, table, working
from discreet.wording import brief_percent

if TYPE_CHECKING:
    from discreet import Assessment, Policy, Profile, Table
    from discreet.risk import ColumnProfile

PROFILED = 500_000
"""Larger tables are reported without a profile of every column; `discreet profile` makes it."""


@click.command(name="assess", short_help="Measure the risk of publishing a table.")
@click.argument("source", metavar="DATA")
@policy_option()
@option("--population", metavar="POP", help="The people an adversary may know of: a table, or their number.")
@option("--threshold", type=float, metavar="T", help="Risk above which a person counts as at risk [policy, or 0.2].")
@output("Print the figures as JSON.", report="--out")
def assess(source: str, policy_file: str, population: str | None, threshold: float | None) -> CommandResult:
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
    data = discreet.read(source, policy=policy)
    with working(f"Counting people who look alike in {data.name}"):
        assessment = discreet.assess(data, population=_population(population, policy), threshold=threshold)
    notes = repeated_notes(data)
    if data.undeclared:
        names, more = data.undeclared[:5], len(data.undeclared) - 5
        columns = ", ".join(names) + (f" and {more} more" if more > 0 else "")
        have = "columns {} have" if len(data.undeclared) > 1 else "column {} has"
        notes.insert(0, f"Note: {have.format(columns)} no role in the policy and did not count as quasi-identifiers.")

    def page(**stamp: Any) -> str:
        from discreet.report import assessment_page

        profiled = discreet.profile(data, largest=3) if assessment.records <= PROFILED else None
        title = f"Risk of {data.name}"
        return assessment_page(assessment, title=title, source=data.name, policy=data.policy, profile=profiled, **stamp)

    return CommandResult(
        assessment.to_dict,
        _assessment_words(assessment, data),
        page=page,
        notes=notes,
        exit_code=int(assessment.exceeded),
    )


def _population(given: str | None, policy: Policy) -> Table | int | None:
    if given is None:
        return None
    number = number_of_people(given)
    return listed(given, policy) if number is None else number


def _assessment_words(assessment: Assessment, data: Table) -> Iterator[str]:
    from discreet.report import findings

    yield heading(f"Risk of {data.name}: {assessment.records:,} people by {', '.join(assessment.columns)}")
    yield from finding_lines(findings(assessment, source=data.name))
    yield ""
    rows = [
        (f"{band.label}", f"{band.classes:,}", f"{band.records:,}", brief_percent(band.records / assessment.records))
        for band in assessment.bands
        if band.records
    ]
    yield table(["people who look alike", "classes", "people", "share"], rows, numeric=(0, 1, 2, 3))


@click.command(name="profile", short_help="Describe a table's columns and what they may be.")
@click.argument("source", metavar="DATA")
@policy_option("Policy that says how the data are written.", required=False)
@option("--largest", type=click.IntRange(1, 8), default=4, help="Most columns in a combination.")
@output("Print the profile as JSON.")
def profile(source: str, policy_file: str | None, largest: int) -> CommandResult:
    """Describe DATA: types, distributions, uniqueness, and which few columns single people out.

    \b
    Examples:
      discreet profile people.csv
      discreet profile people.parquet --json

    Values held by fewer than five people are not shown.
    """
    data = discreet.read(source, policy=discreet.Policy.load(policy_file) if policy_file else None)
    with working(f"Examining {len(data.columns)} columns of {data.name}"):
        profiled = discreet.profile(data, largest=largest)
    step = f"discreet policy init {source} --out policy.toml"
    return CommandResult(profiled.to_dict, _profile_words(profiled), next_step=step)


def _profile_words(profiled: Profile) -> Iterator[str]:
    from discreet.report import profile_findings

    yield heading(f"{profiled.source}: {profiled.records:,} people, {len(profiled.columns)} columns")
    yield ""
    headers = ["column", "type", "distinct", "missing", "unique", "may be", "because", "commonest"]
    yield table(headers, [_column_row(column) for column in profiled.columns], numeric=(2, 3, 4))
    yield from finding_lines(profile_findings(profiled))


def _column_row(column: ColumnProfile) -> list[str]:
    common = max(column.distribution, key=lambda share: share.records, default=None)
    return [
        column.name,
        column.looks,
        f"{column.distinct:,}",
        f"{column.missing:,}",
        brief_percent(column.share_unique),
        column.role,
        column.reason,
        "" if common is None else f"{common.label} ({common.records:,})",
    ]
