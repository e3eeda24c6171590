"""Anomaly report: unusual days as one HTML file."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator

from discreet.misuse.anomalies import Anomalies
from discreet.report.misuse.charts import CONFIDENTIAL, HAREL, date, days_table, histories, overview, reproduced
from discreet.report.toolkit.page import (
    Figure,
    Finding,
    Part,
    Pill,
    document,
    evidence_part,
    findings_part,
    method_part,
    remains_part,
    section,
    table,
)
from discreet.report.toolkit.words import agree, listed, plural
from discreet.wording import measure

REMAINS = (
    (
        "Unusual is not wrong: holidays, a new task or a new ward make unusual days. And misuse in small steps, day after "
        "day, becomes usual; then the standing among peers tells."
    ),
    "Whoever looks up single people one at a time scores little more than her colleagues who do so for good reasons.",
    (
        "A day's score takes its results as being about different people. Who asks for the same table ten times scores "
        "higher than what she learned."
    ),
    "Days are those of the log's clock. Days without results are not observed.",
    CONFIDENTIAL,
)
METHOD = (
    (
        "The score M of a result is rows^(1/x) times the worst of record score over people alike (Harel et al. 2012). A day "
        "weighs (Σ M^x)^(1/x) over its results; y is the logarithm of one plus that."
    ),
    (
        "Each day is held against the user's other days and the other users of her role. Her median is weighed against the "
        "median of her peers by how much medians differ between peers and how many days she has (empirical Bayes); z is "
        "the distance of y from there over the spread of days. Medians and median absolute deviations keep single days "
        "from hiding each other (Iglewicz & Hoaglin 1993)."
    ),
)
REFERENCES = (
    (
        "Efron, B. & Morris, C. (1975). Data analysis using Stein's estimator and its generalizations. Journal of the "
        "American Statistical Association 70."
    ),
    HAREL,
    "Iglewicz, B. & Hoaglin, D. (1993). How to detect and handle outliers. ASQC Quality Press.",
)


def anomaly_findings(found: Anomalies) -> tuple[Finding, ...]:
    """What was found, in words."""
    return tuple(finding for _, finding in by_topic(found))


def by_topic(found: Anomalies) -> Iterator[tuple[str, Finding]]:
    """Findings with the figure that proves each."""
    yield "days", _days(found)
    if found.unusual:
        yield "history-1", _worst(found)
    for one in found.high[:2]:
        yield (
            "standing",
            Finding(
                f"The usual day of {one.user} scores {measure(one.usual)}, that of {plural(one.peers, 'peer', 'peers')} "
                f"{measure(one.peers_usual)}.",
                "Check whether the role fits what the user does, or what she does fits the role.",
            ),
        )


def _days(found: Anomalies) -> Finding:
    whole = plural(len(found.days), "day", "days")
    if not found.unusual:
        return Finding(
            f"None of {whole} is unusual: no score is more than {found.threshold:g} deviations above what was to be expected.",
            "Look again when the log has grown.",
        )
    users = list(dict.fromkeys(day.user for day in found.unusual))
    return Finding(
        f"{len(found.unusual):,} of {whole} {agree(len(found.unusual), 'is', 'are')} unusual, by {listed(users)}.",
        "Ask what these days were for, the highest z first.",
    )


def _worst(found: Anomalies) -> Finding:
    worst = found.unusual[0]
    times = worst.score / worst.usual if worst.usual > 0 else math.inf
    much = f"{times:,.0f} times" if 2 <= times < 1e4 else "far more than"
    return Finding(
        f"On {date(worst.day)} {worst.user} received {plural(worst.rows, 'row', 'rows')} that score "
        f"{measure(worst.score)}: {much} what was to be expected ({measure(worst.usual)}).",
        "Rank that day's results with `discreet misuse incidents`.",
    )


def anomalies_page(found: Anomalies, *, source: str, created: datetime.datetime, command: str, version: str) -> str:
    """The report: findings, pictures, the unusual days, what remains, method, command."""
    figures: list[Figure] = [overview(found), *histories(found)]
    parts = [
        findings_part(list(by_topic(found)), figures, elsewhere={"standing": ("method", "See the method")}),
        evidence_part(figures),
        Part("listed", "Days", section("listed", "The days", table(days_table(found)))),
        remains_part("A score is no verdict:", REMAINS),
        method_part(METHOD, REFERENCES),
        reproduced(command),
    ]
    users = len({one.user for one in found.standings})
    return document(
        parts,
        kicker="Unusual days",
        title=f"Unusual days in {source}",
        about=[source, plural(len(found.days), "user-day", "user-days"), plural(users, "user", "users")],
        pills=[_pill(found)],
        created=created,
        version=version,
    )


def _pill(found: Anomalies) -> Pill:
    if found.unusual:
        return Pill("▲", plural(len(found.unusual), "unusual day", "unusual days"), "danger")
    return Pill("✓", "Nothing unusual", "good")
