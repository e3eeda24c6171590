"""`discreet misuse`: what query results could do in the wrong hands."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet import report
from discreet.cli.main import Verbs
from discreet.cli.options import FILE, PATH, Decorator, option, options, policy_option, target_option
from discreet.cli.output import CommandResult, bullet, finding_lines, heading, output, table, working, write_text
from discreet.errors import EmptySource, UsageError
from discreet.policy import Policy
from discreet.wording import percent

if TYPE_CHECKING:
    from discreet.misuse.log import Scored
    from discreet.sources import Table


@click.group(
    name="misuse",
    cls=Verbs,
    verbs={
        "anomalies": ("misuse", "anomalies", "Find unusual days in a log."),
        "compare": ("misuse_elicit", "compare", "Compare record ranking with pairwise comparison."),
        "combine": ("misuse_elicit", "combine", "Combine experts' answers into one sensitivity function."),
        "elicit": ("misuse_elicit", "elicit", "Ask an expert how sensitive values are."),
        "evaluate": ("misuse", "evaluate", "Compare the score with experts who rank tables."),
        "fit": ("misuse_elicit", "fit", "Learn sensitivity from a column of customer value."),
        "generate": ("help_and_demo", "generate", "Generate a sample log and experts' answers."),
        "incidents": ("misuse", "incidents", "Rank leaked results by severity."),
        "reduce": ("misuse", "reduce", "Give the largest part of a result within a limit."),
        "score": ("misuse", "score", "Measure what a result could do in the wrong hands."),
    },
    short_help="Measure what query results could do in the wrong hands.",
)
def command() -> None:
    """Measure what query results could do in the wrong hands: their misuseability weight (M-score).

    \b
    Examples:
      discreet misuse score result.csv --source customers.parquet --policy policy.toml
      discreet misuse elicit customers.csv --policy policy.toml --expert ann --out ann.json
      discreet misuse combine ann.json ben.json --out sensitivity.toml
      discreet misuse anomalies log.jsonl
      discreet misuse incidents log.jsonl --leaked r000123
    """


ALIKE = {"k": "people alike", "l-diversity": "different values", "alpha-k": "1/alpha"}
"""Headings of the distinguishing factors."""
factor_option = option(
    "--factor",
    type=click.Choice(["k", "l-diversity", "alpha-k"]),
    default="k",
    help="Distinguishing factor D: people alike, different values among them, or 1/alpha of the most frequent one.",
)


@click.command(name="score", short_help="Measure what a result could do in the wrong hands.")
@click.argument("result", metavar="RESULT")
@option("--source", metavar="SRC", required=True, help="The table that the result was taken from.")
@policy_option("Policy with roles and sensitivity.")
@option("--x", type=float, metavar="X", help="The larger, the less the number of rows counts: 1 to inf [policy, or 2].")
@option("--limit", type=float, metavar="L", help="Largest score allowed [policy, or none].")
@option("--context", metavar="NAME", help="Context whose sensitivity applies.")
@factor_option
@option("--entity", metavar="COLUMN", help="Column that identifies whom a row is about; its rows count as one.")
@option("--request", metavar="SQL", help="The query that asked for the result: what it gives away counts as known.")
@option("--dialect", type=click.Choice(["postgres", "duckdb"]), default="postgres", help="SQL dialect of --request.")
@output("Print the score as JSON.")
def score(
    result: str,
    source: str,
    policy_file: str,
    x: float | None,
    limit: float | None,
    context: str | None,
    factor: str,
    entity: str | None,
    request: str | None,
    dialect: str,
) -> CommandResult:
    """Measure what RESULT could do in the wrong hands (M-score): a CSV or Parquet file, or a PostgreSQL URL.

    \b
    Examples:
      discreet misuse score result.csv --source customers.parquet --policy policy.toml
      discreet misuse score result.csv --source customers.parquet --policy policy.toml --limit 1.5 --json
      discreet misuse score 'postgresql://host/db?query=SELECT ...' --source 'postgresql://host/db?table=customers' --policy policy.toml

    Ends with exit code 1 when the score is above the limit, so that a pipeline can stop there.
    """
    from discreet.misuse import score as misuse_score
    from discreet.misuse.reduction import as_written
    from discreet.misuse.scorer import settings_by_policy, within
    from discreet.sources import read

    policy, people = people_of(source, policy_file)
    limit = policy.misuse.limit if limit is None else limit
    if limit is not None and not limit >= 0:
        raise UsageError(f"The limit is a score from 0 up, not {limit}.", remedy="--limit 1.5, for example.")
    given = read(result, policy=written_like(policy))
    with working(f"Counting people who look alike in {people.name}"):
        settings = settings_by_policy(people, policy, x=x, context=context, factor=factor, entity=entity)
        settings["source"] = as_written(settings["source"], given, policy.rules, settings["sensitivity"])
        scored = misuse_score(given, entity=entity, request=request, dialect=dialect, **settings)
    exceeded = limit is not None and not within(scored.value, limit)
    weightless = [
        name for name in policy.sensitive if name in given.columns and name not in settings["sensitivity"].weights
    ]
    note = f"Note: no [sensitivity.COLUMN] for {', '.join(weightless)}, which therefore counted as harmless."
    share = "" if scored.normalised is None else f", {percent(scored.normalised)} of what the whole table could do"
    unit = "rows" if scored.weighed.rows is None else "entities"
    sentences = [
        f"{scored.rows:,} {unit}; the heaviest scores {scored.record_score:.4g}, all together {scored.value:.4g}{share}."
    ]
    if not scored.plan.quasi:
        alike = f"each row hides among the {scored.rows:,} of the result"
        sentences.append(f"It has no quasi-identifier of {people.name}: {alike}.")
    if not scored.plan.sensitive:
        sentences.append("It has no sensitive column.")
    if scored.added:
        sentences.append(f"Its request gives away {', '.join(scored.added)}, which counted as known of every row.")
    if limit is not None:
        sentences.append(f"This is {'above' if exceeded else 'within'} the limit of {limit:.4g}.")
    words = [heading(f"Misuse score of {given.name}: {scored.value:.4g}"), "", *map(bullet, sentences)]
    if scored.top:
        rows = [
            (
                f"{heavy.row + 1:,}",
                f"{heavy.record_score:.4g}",
                f"{heavy.crowd:,.4g}" if factor == "alpha-k" else f"{heavy.crowd:,}",
                ", ".join(heavy.columns),
            )
            for heavy in scored.top
        ]
        words += ["", table(["row", "score", ALIKE[factor], "columns that weigh most"], rows, numeric=(0, 1, 2))]
    return CommandResult(
        lambda: {
            **scored.to_dict(),
            "limit": {"value": "inf" if limit == math.inf else limit, "exceeded": exceeded},
        },
        words,
        notes=[*([note] if weightless else []), *age_notes(policy)],
        exit_code=int(exceeded),
    )


def age_notes(policy: Policy) -> list[str]:
    """A reminder where experts' knowledge is older than the policy allows."""
    from discreet.misuse.sensitivity import reminder

    today = datetime.datetime.now(datetime.UTC).date()
    words = reminder(policy.sensitivity, today, days=policy.misuse.review_days)
    return [words] if words else []


def written_like(policy: Policy) -> Policy:
    """A result is written like the data, but need not have all their columns."""
    return Policy(delimiter=policy.delimiter, encoding=policy.encoding)


def people_of(source: str, policy_file: str) -> tuple[Policy, Table]:
    """A policy, and its source with values as they are."""
    from discreet.sources import read

    policy = Policy.load(policy_file)
    return policy, read(source, policy=replace(policy, rules={}))


@click.command(name="reduce", short_help="Give the largest part of a result within a limit.")
@click.argument("result", metavar="RESULT")
@option("--source", metavar="SRC", required=True, help="The table that the result was taken from.")
@policy_option("Policy with roles and sensitivity.")
@option("--limit", type=float, metavar="L", help="Largest score allowed [policy].")
@option("--rows", is_flag=True, help="Leave out rows: the largest part within the limit [unless another way is given].")
@option("--cells", is_flag=True, help="Keep all rows and empty the fewest sensitive cells.")
@option("--generalise", is_flag=True, help="Keep all rows and write quasi-identifiers coarser.")
@option("--x", type=float, metavar="X", help="The larger, the less the number of rows counts: 1 to inf [policy, or 2].")
@option("--context", metavar="NAME", help="Context whose sensitivity applies.")
@factor_option
@target_option("--out", type=FILE, metavar="FILE", required=True, help="Write the reduced result (CSV).")
@output("Print what was reduced as JSON.")
def reduce(
    result: str,
    source: str,
    policy_file: str,
    limit: float | None,
    rows: bool,
    cells: bool,
    generalise: bool,
    x: float | None,
    context: str | None,
    factor: str,
    out: Path,
) -> CommandResult:
    """Reduce RESULT until its misuse score is within a limit; a result that scores exactly the limit is within it.

    \b
    Examples:
      discreet misuse reduce result.csv --source customers.parquet --policy policy.toml --limit 1 --out less.csv
      discreet misuse reduce result.csv --source customers.parquet --policy policy.toml --limit 1 --cells --out less.csv
      discreet misuse reduce result.csv --source customers.parquet --policy policy.toml --limit 1 --generalise --out less.csv
    """
    from discreet.misuse.reduction import WAYS, reduced
    from discreet.misuse.result_formats import as_csv
    from discreet.misuse.scorer import settings_by_policy
    from discreet.sources import read

    ways = [way for way, chosen in zip(WAYS, (rows, cells, generalise), strict=True) if chosen] or ["rows"]
    if len(ways) > 1:
        raise UsageError(
            f"A result is reduced in one way, not by {' and '.join(f'--{way}' for way in ways)}.",
            remedy="Choose one; the result of one way can be reduced again in another.",
        )
    way = ways[0]
    policy, people = people_of(source, policy_file)
    limit = policy.misuse.limit if limit is None else limit
    if limit is None:
        raise UsageError("There is no limit to reduce to.", remedy="Give --limit, or set it in [misuse] of the policy.")
    given = read(result, policy=written_like(policy))
    with working(f"Reducing {given.name}"):
        settings = settings_by_policy(people, policy, x=x, context=context, factor=factor)
        found = reduced(given, way, limit=limit, rules=policy.rules, **settings)
    write_text(out, as_csv(found.rows, given.columns, policy.delimiter or ","))
    return CommandResult(
        lambda: {
            "way": way,
            "limit": "inf" if limit == math.inf else limit,
            "before": found.before,
            "after": found.after,
            "rows": {"given": found.given, "left": len(found.rows)},
            "empty_cells": found.empty_cells,
            "out": str(out),
        },
        [
            heading(
                f"Misuse score of {given.name}: {found.before:.4g} before, {found.after:.4g} now; "
                f"the limit is {limit:.4g}"
            ),
            bullet(found.words()),
        ],
        notes=[f"Wrote {out}.", *age_notes(policy)],
    )


@click.command(name="evaluate", short_help="Compare the score with experts who rank tables.")
@click.argument("rankings", metavar="RANKINGS", type=PATH)
@option("--source", metavar="SRC", required=True, help="The table that the ranked tables were taken from.")
@policy_option("Policy with roles and sensitivity.")
@option("--x", type=float, metavar="X", help="The larger, the less the number of rows counts: 1 to inf [policy, or 2].")
@option("--context", metavar="NAME", help="Context whose sensitivity applies.")
@factor_option
@output("Print the comparison as JSON.")
def evaluate(
    rankings: Path, source: str, policy_file: str, x: float | None, context: str | None, factor: str
) -> CommandResult:
    """Compare the order of tables by misuse score with the order that experts gave them (Kendall's tau).

    RANKINGS is a CSV with the columns expert, table, rank and, if noted, seconds: one row per expert and table. `table` is
    a file beside RANKINGS, rank 1 the table that could do most damage, `seconds` the time that the expert took for it.

    \b
    Examples:
      discreet misuse evaluate rankings.csv --source customers.parquet --policy policy.toml
    """
    from discreet.misuse import score as misuse_score
    from discreet.misuse.evaluation import evaluate as compared
    from discreet.misuse.evaluation import read_rankings
    from discreet.misuse.reduction import as_written
    from discreet.misuse.scorer import settings_by_policy
    from discreet.sources import read

    (policy, people), ranked = people_of(source, policy_file), read_rankings(rankings)
    tables = dict.fromkeys(name for one in ranked for name in one.ranks)
    with working(f"Scoring {len(tables)} tables"):
        settings = settings_by_policy(people, policy, x=x, context=context, factor=factor)
        scores = {}
        for name in tables:
            ranked_table = read(str(rankings.parent / name), policy=written_like(policy))
            source_like = as_written(settings["source"], ranked_table, policy.rules, settings["sensitivity"])
            scores[name] = misuse_score(ranked_table, **{**settings, "source": source_like}).value
    found = compared(scores, ranked)

    def tau(value: float | None) -> str:
        return "none" if value is None else f"{value:.2f}"

    rows = [
        (
            one.expert,
            tau(one.tau),
            tau(one.others),
            f"{one.tables}",
            "" if one.seconds is None else f"{one.seconds:,.0f}",
        )
        for one in found.experts
    ]
    return CommandResult(
        found.to_dict,
        [
            heading(
                f"{len(scores)} tables, {len(found.experts)} experts: tau with the mean of all experts {tau(found.overall)}"
            ),
            bullet(
                f"Mean over experts: {tau(found.mean)} with the score, {tau(found.among_experts)} with the other experts."
            ),
            "",
            table(["expert", "tau with M", "tau with others", "tables", "seconds"], rows, numeric=(1, 2, 3, 4)),
            "",
            table(
                ["table", "M"],
                [(name, f"{value:.4g}") for name, value in sorted(scores.items(), key=lambda pair: -pair[1])],
                numeric=(1,),
            ),
        ],
    )


def log_options(listed: str) -> Decorator:
    """A log of scored results, a period, and how much to list."""
    return options(
        click.argument("log", metavar="LOG", type=PATH),
        option("--since", metavar="DATE", help="Only results from this day on."),
        option("--until", metavar="DATE", help="Only results up to and including this day."),
        option("--most", type=click.IntRange(1), default=20, metavar="N", help=listed),
    )


def scored_results(log: Path, since: str | None, until: str | None) -> list[Scored]:
    """The results of a period, both days included."""
    from discreet.misuse.log import read_log

    try:
        first = datetime.date.min if since is None else datetime.date.fromisoformat(since)
        last = datetime.date.max if until is None else datetime.date.fromisoformat(until)
    except ValueError:
        raise UsageError("A day is written like 2025-03-31.", remedy="Correct --since or --until.") from None
    results = [scored for scored in read_log(log) if first <= scored.time.date() <= last]
    if not results:
        raise EmptySource("There is no result in that period.", remedy="Choose other days for --since and --until.")
    return results


@click.command(name="anomalies", short_help="Find unusual days in a log.")
@log_options("Days to list.")
@option("--threshold", type=float, default=3.5, metavar="Z", help="Smallest unusual z-score.")
@output("Print the days as JSON.", report="--out")
def anomalies(log: Path, threshold: float, since: str | None, until: str | None, most: int) -> CommandResult:
    """Find days on which a user took much more than is usual for them and their peers.

    \b
    Examples:
      discreet misuse anomalies log.jsonl
      discreet misuse anomalies log.jsonl --since 2025-03-01 --out unusual.html
      discreet misuse anomalies log.jsonl --threshold 5 --json

    Ends with exit code 1 when there is such a day.
    """
    from discreet.misuse.anomalies import find_anomalies

    found = find_anomalies(scored_results(log, since, until), threshold=threshold)
    mixed = f"Note: scores were made with {len(found.versions)} versions of the sensitivity function."

    users = len({standing.user for standing in found.standings})
    words: list[str | Iterator[str]] = [
        heading(f"Unusual days in {log.name}: {len(found.days):,} days of {users:,} users"),
        finding_lines(lambda: report.anomaly_findings(found)),
    ]
    if found.unusual:
        rows = []
        for day in found.unusual[:most]:
            numbers = f"{day.score:.2f}", f"{day.usual:.2f}", f"{day.rows:,}", f"{day.z:.1f}"
            rows.append((day.user, day.role, day.day.isoformat(), *numbers))
        words += ["", table(["user", "role", "day", "score", "usual", "rows", "z"], rows, numeric=(3, 4, 5, 6))]
    return CommandResult(
        found.to_dict,
        words,
        page=lambda **stamp: report.anomalies_page(found, source=log.name, **stamp),
        notes=[mixed] if len(found.versions) > 1 else [],
        exit_code=int(bool(found.unusual)),
    )


@click.command(name="incidents", short_help="Rank leaked results by severity.")
@log_options("Incidents to list.")
@option(
    "--leaked",
    multiple=True,
    metavar="ID",
    help="A result that leaked; may be repeated [all that passed with an alert].",
)
@option("--frame", type=click.IntRange(1), metavar="DAYS", help="How long users retain results [for ever].")
@output("Print all incidents as JSON.", report="--out")
def incidents(
    log: Path, leaked: tuple[str, ...], frame: int | None, since: str | None, until: str | None, most: int
) -> CommandResult:
    """Rank leaked results by what they could do together with everything their readers already held.

    \b
    Examples:
      discreet misuse incidents log.jsonl
      discreet misuse incidents log.jsonl --leaked r000123 --leaked r000456 --out incidents.html
      discreet misuse incidents log.jsonl --frame 90 --json

    Shows rows by position and columns by name, never a value.
    """
    from discreet.misuse.incidents import triage

    retained = None if frame is None else datetime.timedelta(days=frame)
    ranked = triage(scored_results(log, since, until), leaked=leaked or None, frame=retained)

    words: list[str | Iterator[str]] = [
        heading(f"Incidents in {log.name}"),
        finding_lines(lambda: report.incident_findings(ranked)),
    ]
    if ranked:
        rows = [
            (
                incident.result.id,
                incident.result.user,
                f"{incident.result.time:%Y-%m-%d %H:%M}",
                f"{incident.score:.2f}",
                f"{incident.result.score:.2f}",
                f"{incident.result.rows:,}",
                f"{incident.held:,}",
                ", ".join(str(row.row) for row in incident.rows[:3]),
                ", ".join(column.column for column in incident.columns[:3]),
            )
            for incident in ranked[:most]
        ]
        headers = ["id", "user", "time", "score", "alone", "rows", "held", "heaviest rows", "heaviest columns"]
        words += ["", table(headers, rows, numeric=(3, 4, 5, 6))]
    about: dict[str, Any] = {"whole": len(ranked), "frame": frame, "source": log.name}
    return CommandResult(
        lambda: {"incidents": [incident.to_dict() for incident in ranked]},
        words,
        page=lambda **stamp: report.incidents_page(ranked[:most], **about, **stamp),
    )
