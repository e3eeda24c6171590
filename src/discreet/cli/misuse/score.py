"""`discreet misuse score`: what a result could do in the wrong hands."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import click

from discreet.cli import console
from discreet.errors import UsageError
from discreet.misuse import Score, Sensitivity, score
from discreet.misuse.scorer import within
from discreet.policy import Policy
from discreet.sources import Table, read
from discreet.wording import percent


@click.command(name="score", short_help="Measure what a result could do in the wrong hands.")
@click.argument("result", metavar="RESULT")
@click.option("--source", metavar="SRC", required=True, help="The table that the result was taken from.")
@click.option("--policy", "policy_file", metavar="FILE", required=True, help="Policy with roles and sensitivity.")
@click.option("--x", type=float, metavar="X", help="How little the number of rows matters: 1 to inf [policy, or 2].")
@click.option("--limit", type=float, metavar="L", help="Largest score allowed [policy, or none].")
@click.option("--context", metavar="NAME", help="Context whose sensitivity applies.")
@click.option("--entity", metavar="COLUMN", help="Column that says whom a row is about; its rows then count as one.")
@click.option(
    "--request", metavar="SQL", help="The query that asked for the result: what it gives away counts as known."
)
@click.option(
    "--dialect", type=click.Choice(["postgres", "duckdb"]), default="postgres", help="SQL of --request [postgres]."
)
@click.option("--json", "as_json", is_flag=True, help="Print the score as JSON.")
def command(
    result: str,
    source: str,
    policy_file: str,
    x: float | None,
    limit: float | None,
    context: str | None,
    entity: str | None,
    request: str | None,
    dialect: str,
    as_json: bool,
) -> int:
    """Measure what RESULT could do in the wrong hands: a CSV or Parquet file, or a PostgreSQL URL.

    \b
    Examples:
      discreet misuse score result.csv --source customers.parquet --policy policy.toml
      discreet misuse score result.csv --source customers.parquet --policy policy.toml --limit 1.5 --json
      discreet misuse score 'postgresql://host/db?query=SELECT ...' --source 'postgresql://host/db?table=customers' --policy policy.toml

    Ends with exit code 1 when the score is above the limit, so that a pipeline can stop there.
    """
    policy = Policy.load(policy_file)
    limit = policy.misuse.limit if limit is None else limit
    if limit is not None and not limit >= 0:
        raise UsageError(f"The limit is a score from 0 up, not {limit}.", remedy="--limit 1.5, for example.")
    sensitivity = Sensitivity.from_policy(policy, context)
    people = read(
        source, policy=replace(policy, rules={})
    )  # values are compared as they are, whatever they generalise to
    given = read(result, policy=_how_written(policy))
    with console.working(f"Counting people who look alike in {people.name}"):
        found = score(
            given,
            source=people,
            quasi=policy.quasi,
            sensitivity=sensitivity,
            x=policy.misuse.x if x is None else x,
            entity=entity,
            request=request,
            dialect=dialect,
        )
    exceeded = limit is not None and not within(found.value, limit)
    if as_json:
        console.data({**found.to_dict(), "limit": {"value": _finite(limit), "exceeded": exceeded}})
    else:
        _tell(found, given, people, limit)
    _warn([name for name in policy.sensitive if name in given.columns], sensitivity)
    return int(exceeded)


def _how_written(policy: Policy) -> Policy:
    """A result is written like the data, but need not have all their columns."""
    return Policy(delimiter=policy.delimiter, encoding=policy.encoding)


def _finite(limit: float | None) -> float | str | None:
    return "inf" if limit == math.inf else limit


def _warn(sensitive: list[str], sensitivity: Sensitivity) -> None:
    weightless = [name for name in sensitive if name not in sensitivity.weights]
    if weightless:
        console.say(f"Note: no [sensitivity.COLUMN] for {', '.join(weightless)}, which weighed nothing.")


def _tell(found: Score, result: Table, source: Table, limit: float | None) -> None:
    console.heading(f"Misuse score of {result.name}: {found.value:.4g}")
    click.echo()
    for line in _sentences(found, source, limit):
        click.echo(click.wrap_text(console.plain(line), width=96, initial_indent="• ", subsequent_indent="  "))
    if found.top:
        click.echo()
        rows: list[Any] = [
            (f"{heavy.row + 1:,}", f"{heavy.record_score:.4g}", f"{heavy.crowd:,}", ", ".join(heavy.columns))
            for heavy in found.top
        ]
        console.table(["row", "score", "people alike", "columns that weigh most"], rows, numeric=(0, 1, 2))


def _sentences(found: Score, source: Table, limit: float | None) -> list[str]:
    share = "" if found.normalised is None else f", {percent(found.normalised)} of what the whole table could do"
    unit = "rows" if found.weighed.rows is None else "entities"
    said = [
        f"{found.rows:,} {unit}; the heaviest scores {found.record_score:.4g}, all together {found.value:.4g}{share}."
    ]
    if not found.plan.quasi:
        said.append(
            f"It has no quasi-identifier of {source.name}: each row hides among the {found.rows:,} of the result."
        )
    if not found.plan.sensitive:
        said.append("It has no column that weighs anything.")
    if found.added:
        said.append(f"Its request gives away {', '.join(found.added)}, which counted as known of every row.")
    if limit is not None:
        verdict = "within" if within(found.value, limit) else "above"
        said.append(f"This is {verdict} the limit of {limit:.4g}.")
    return said
