"""`discreet profile`: see what is in a table and what its columns may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import discreet
from discreet.cli import console
from discreet.wording import brief_percent

if TYPE_CHECKING:
    from discreet.risk import ColumnProfile, Profile


@click.command(name="profile", short_help="See what is in a table and what its columns may be.")
@click.argument("source", metavar="DATA")
@click.option("--policy", "policy_file", metavar="FILE", help="Policy that says how the data are written.")
@click.option(
    "--largest", type=click.IntRange(1, 8), default=4, show_default=True, help="Most columns in a combination."
)
@click.option("--json", "as_json", is_flag=True, help="Print the profile as JSON.")
def command(source: str, policy_file: str | None, largest: int, as_json: bool) -> None:
    """See what is in DATA: types, distributions, uniqueness, and which few columns single people out.

    \b
    Examples:
      discreet profile people.csv
      discreet profile people.parquet --json

    Values held by fewer than five people are not shown.
    """
    table = discreet.read(source, policy=discreet.Policy.load(policy_file) if policy_file else None)
    with console.working(f"Looking at {len(table.columns)} columns of {table.name}"):
        found = discreet.profile(table, largest=largest)
    if as_json:
        console.data(found.to_dict())
    else:
        _tell(found, source)


def _tell(found: Profile, source: str) -> None:
    from discreet.report import profile_findings

    console.heading(f"{found.source}: {found.records:,} people, {len(found.columns)} columns")
    click.echo()
    headers = ["column", "type", "distinct", "missing", "unique", "may be", "because", "commonest"]
    console.table(headers, [_row(column) for column in found.columns], numeric=(2, 3, 4))
    console.findings(profile_findings(found))
    console.say(f"\nNext: discreet policy init {source} --out policy.toml")


def _row(column: ColumnProfile) -> list[str]:
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
