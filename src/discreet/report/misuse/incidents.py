"""Incident report as one HTML file."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from discreet.misuse.incidents import Incident
from discreet.report.charts.bars import Bar, Group
from discreet.report.misuse.charts import CONFIDENTIAL, HAREL, reproduced
from discreet.report.toolkit.page import (
    Figure,
    Finding,
    Part,
    Pill,
    Table,
    document,
    evidence_part,
    findings_part,
    method_part,
    remains_part,
    section,
    table,
)
from discreet.report.toolkit.words import listed, moment, plural
from discreet.wording import measure

DRAWN = 12
REMAINS = (
    "The score weighs what was in the results, not what somebody did with it.",
    "What a user learned outside of this log, and what she learned together with others, is not counted.",
    "Results that do not say about whom they are count by themselves only; the score is then a lower bound.",
    CONFIDENTIAL,
)
METHOD = (
    (
        "Everything a user received is joined person by person. For every set of columns, all people of whom at least these "
        "are known are scored as one table (Harel et al. 2012); the largest score counts."
    ),
    (
        "A row weighs what is known of its person over the people who look alike; a column weighs what the score would "
        "fall by if nobody had seen it. Rows are counted from 1, in the order of the result."
    ),
)


def incident_findings(found: Sequence[Incident]) -> tuple[Finding, ...]:
    """What was found, in words."""
    return tuple(finding for _, finding in by_topic(found))


def by_topic(found: Sequence[Incident]) -> Iterator[tuple[str, Finding]]:
    """Findings with the figure that proves each."""
    if not found:
        yield (
            "ranking",
            Finding(
                "No result was let through with an alert, and none was named.",
                "Name what leaked: `discreet misuse incidents LOG --leaked ID`.",
            ),
        )
        return
    worst = found[0]
    yield (
        "ranking",
        Finding(
            f"The worst of {plural(len(found), 'incident', 'incidents')} is {worst.result.id}, received by "
            f"{worst.result.user}: with what she held before it scores {measure(worst.score)}, by itself "
            f"{measure(worst.result.score)}.",
            "Begin there.",
        ),
    )
    if worst.rows:
        yield "weights", _weights(worst)
    joined = [one for one in found if one.score > 1.5 * one.result.score]
    if joined:
        yield (
            "ranking",
            Finding(
                f"{plural(len(joined), 'incident is', 'incidents are')} much worse than the leaked result shows, because "
                "its reader held more already.",
                "Ask these users what they still have.",
            ),
        )


def _weights(worst: Incident) -> Finding:
    rows = listed([f"{row.row:,}" for row in worst.rows[:3]])
    columns = listed([column.column for column in worst.columns if column.weight > 0][:3])
    return Finding(
        f"In {worst.result.id} rows {rows} weigh most"
        + (f", and among all columns that the user has seen {columns}." if columns else "."),
        "Warn the people behind these rows first.",
    )


def incidents_page(
    found: Sequence[Incident],
    *,
    whole: int,
    frame: int | None,
    source: str,
    created: datetime.datetime,
    command: str,
    version: str,
) -> str:
    """The report: findings, pictures, the incidents, what remains, method, command."""
    figures = list(_pictures(found))
    parts = [
        findings_part(list(by_topic(found)), figures, elsewhere={}),
        evidence_part(figures) if figures else Part("evidence", "Evidence", None),
        Part("listed", "Incidents", section("listed", "The incidents", table(_table(found)))) if found else _none(),
        remains_part("A score is no verdict:", REMAINS),
        method_part((*METHOD, _memory(frame)), (HAREL,)),
        reproduced(command),
    ]
    return document(
        parts,
        kicker="Incident triage",
        title=f"Incidents in {source}",
        about=[source, plural(whole, "incident", "incidents")],
        pills=[
            Pill("▲", plural(whole, "incident", "incidents"), "danger") if whole else Pill("✓", "No incident", "good")
        ],
        created=created,
        version=version,
    )


def _none() -> Part:
    return Part("listed", "Incidents", None)


def _memory(frame: int | None) -> str:
    held = "for ever" if frame is None else f"for {plural(frame, 'day', 'days')}"
    return f"Users are taken to keep what they received {held}."


def _pictures(found: Sequence[Incident]) -> Iterator[Figure]:
    if not found:
        return
    yield _ranking(found)
    if found[0].rows:
        yield _heavy(found[0])


def _ranking(found: Sequence[Incident]) -> Figure:
    most = max(one.score for one in found) or 1.0
    return Figure(
        key="ranking",
        title="The worst first",
        about=f"The worst scores {measure(found[0].score)}.",
        reading=(
            (
                "The bar is the score of the leaked result with all that its reader held; the thin bar above is the result "
                "by itself."
            ),
            "Where the two differ, the damage lies in what she had already.",
        ),
        groups=(
            Group(
                tuple(
                    Bar(
                        f"{one.result.id} · {one.result.user}",
                        measure(one.score),
                        one.score / most,
                        note=f"{plural(one.result.rows, 'row', 'rows')}, held before: {plural(one.held, 'result', 'results')}",
                        before=one.result.score / most,
                    )
                    for one in found[:DRAWN]
                )
            ),
        ),
        table=_table(found[:DRAWN]),
    )


def _heavy(worst: Incident) -> Figure:
    columns = tuple(Bar(one.column, measure(one.weight), one.weight / max(worst.score, 1e-12)) for one in worst.columns)
    rows = tuple(
        Bar(f"row {one.row:,}", measure(one.score), one.score, note=f"known: {', '.join(one.columns)}")
        for one in worst.rows
    )
    return Figure(
        key="weights",
        title=f"What weighs most in {worst.result.id}",
        about=f"Row {worst.rows[0].row:,} weighs most.",
        reading=(
            (
                "A column weighs what the score would fall by had nobody seen it; a row what is known of its person over the "
                "people who look alike."
            ),
            "Rows are positions in the leaked result; no value is shown.",
        ),
        groups=(Group(columns, title="Columns"), Group(rows, title="Rows")),
        table=Table(
            f"Rows and columns of {worst.result.id}",
            ("What", "Weight"),
            (
                *((f"column {one.column}", measure(one.weight)) for one in worst.columns),
                *((f"row {one.row:,}", measure(one.score)) for one in worst.rows),
            ),
            (1,),
        ),
    )


def _table(found: Sequence[Incident]) -> Table:
    head = (
        "Result",
        "User",
        "Role",
        "Received",
        "Score",
        "By itself",
        "Rows",
        "Held",
        "Heaviest rows",
        "Heaviest columns",
    )
    return Table("Incidents, the worst first", head, tuple(_row(one) for one in found), (4, 5, 6, 7))


def _row(one: Incident) -> tuple[str, ...]:
    bound = "at least " if one.unknown else ""
    return (
        one.result.id,
        one.result.user,
        one.result.role,
        moment(one.result.time),
        f"{bound}{measure(one.score)}",
        measure(one.result.score),
        f"{one.result.rows:,}",
        f"{one.held:,}",
        ", ".join(f"{row.row:,}" for row in one.rows) or "not known",
        ", ".join(column.column for column in one.columns if column.weight > 0) or "not known",
    )
