"""Comparison of candidates for publication, and utility of a table before and after, as report sections."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from discreet.anonymity import Candidate, TableComparison
from discreet.anonymity.utility import FOLDS, GROUPS, MOST_COLUMNS, MOST_VALUES, BeforeAfter, UtilityMeasures
from discreet.policy import Policy
from discreet.report.anonymisation_findings import LOSSES
from discreet.report.assessment import REFERENCES
from discreet.report.charts.axes import linear
from discreet.report.charts.lines import STROKES, Axes, Line, line_chart
from discreet.report.toolkit import page
from discreet.report.toolkit.html import Child
from discreet.report.toolkit.page import Figure, Finding, Part, Pill, Row, Table, bullets
from discreet.report.toolkit.words import every, people, plural
from discreet.wording import brief_percent, fine_percent, measure

HEAD = (
    "k", "May be left out", "Search", "Loss", "Left out", "Classes", "Average risk", "Highest risk", "Detail retained",
    "Levels",
)  # fmt: skip


def levels_in_words(candidate: Candidate) -> str:
    """The levels of a candidate on one line."""
    if candidate.levels is None:
        return ""
    return ", ".join(f"{name} {level}" for name, level in candidate.levels.items()) or "class by class"


def comparison_page(
    comparison: TableComparison,
    *,
    title: str,
    source: str,
    created: datetime.datetime,
    command: str,
    version: str,
    policy: Policy | None = None,
) -> str:
    """The report: findings, a picture per metric, every candidate, method, command."""
    missing = len(comparison.candidates) - len(comparison.possible)
    pills = [Pill("=", plural(len(comparison.candidates), "candidate"), "plain")]
    if missing:
        pills.append(Pill("▲", f"{missing:,} not possible", "danger"))
    return page.document(
        comparison_parts(comparison, command=command, policy=policy),
        kicker="Candidates for publication",
        title=title,
        about=[source, people(comparison.records)],
        pills=pills,
        created=created,
        version=version,
    )


def comparison_parts(comparison: TableComparison, *, command: str, policy: Policy | None = None) -> list[Part]:
    """The sections of the report."""
    metrics = list(dict.fromkeys(one.loss_name for one in comparison.candidates))
    figures = [figure for metric in metrics for figure in _figures(comparison, metric)]
    return [
        page.findings(_findings(comparison, metrics), figures),
        page.evidence(figures),
        page.section("candidates", "Candidates", *(_table(comparison, metric) for metric in metrics)),
        page.parameters("What was compared", [("Columns", every(comparison.columns))], policy),
        page.method(
            [
                (
                    "For each combination of limits the levels of least loss were searched, or values recoded class by class "
                    "where the search says so. People were counted once for all of them."
                ),
                (
                    "The risk of a person is one over the size of the class (El Emam & Dankar 2008). Detail retained is the "
                    "share of its hierarchy that a published value leaves open, averaged over people and columns."
                ),
                *(f"Loss (`{name}`): {LOSSES[name].meaning}." for name in metrics if name in LOSSES),
            ],
            [REFERENCES["elemam"]],
        ),
        page.reproduce(command, note=page.policy_note(policy)),
    ]


def _findings(comparison: TableComparison, metrics: Sequence[str]) -> Iterator[tuple[str, Finding]]:
    """The best and the strictest candidate of each metric, and what is not possible."""
    for metric in metrics:
        possible = [one for one in comparison.possible if one.loss_name == metric]
        if not possible:
            continue
        best = min(possible, key=lambda one: one.loss or 0.0)
        safest = min(possible, key=lambda one: (one.highest_risk or 0.0, one.loss or 0.0))
        yield (
            f"loss-{metric}",
            Finding(
                f"Least is lost with k = {best.k:,} and up to {brief_percent(best.suppression)} left out: {metric} "
                f"{measure(best.loss or 0.0)}. The lowest highest risk, {fine_percent(safest.highest_risk or 0.0)}, costs "
                f"{measure(safest.loss or 0.0)} with k = {safest.k:,}.",
                "Choose the strictest candidate that the analysis can do with, and anonymise with its k and suppression.",
            ),
        )
    if refused := [one for one in comparison.candidates if not one.possible]:
        yield (
            "candidates",
            Finding(
                f"{plural(len(refused), 'candidate')} of {len(comparison.candidates):,} cannot be reached: {refused[0].why}",
                "Allow more people to be left out, or give columns a level with one value for all.",
            ),
        )


def _figures(comparison: TableComparison, metric: str) -> Iterator[Figure]:
    """Loss by k, a line for each search and share of people who may be left out."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for one in comparison.possible:
        if one.loss_name == metric and one.loss is not None:
            label = f"up to {brief_percent(one.suppression)} left out, {one.search}"
            lines.setdefault(label, []).append((float(one.k), one.loss))
    drawn = [Line(label, tuple(sorted(points)), steps=False) for label, points in lines.items()][: len(STROKES)]
    if not drawn:
        return
    sizes, losses = zip(*(point for line in drawn for point in line.points), strict=True)
    axes = Axes(linear([0.0, *sizes]), linear([0.0, *losses], zero=True), "k: smallest class", f"Loss ({metric})")
    reading = ["Further down less is lost; further right more people look alike.", "Points are joined to be followed."]
    if len(lines) > len(drawn):
        reading.append(f"The first {len(drawn)} of {len(lines)} lines are drawn; the table has all.")
    yield Figure(
        key=f"loss-{metric}",
        title=f"What more protection costs, by {metric}",
        about=f"Loss by k in {plural(len(drawn), 'line')}, from {measure(min(losses))} to {measure(max(losses))}.",
        reading=tuple(reading),
        chart=line_chart(drawn, axes),
        table=_table(comparison, metric),
    )


def _table(comparison: TableComparison, metric: str) -> Table:
    rows: list[Row] = []
    for one in comparison.candidates:
        if one.loss_name != metric:
            continue
        limits = (f"{one.k:,}", brief_percent(one.suppression), one.search)
        if one.loss is None:
            rows.append((*limits, "not possible", "", "", "", "", "", ""))
            continue
        rows.append(
            (
                *limits,
                measure(one.loss),
                f"{one.suppressed:,}",
                f"{one.classes:,}",
                fine_percent(one.average_risk or 0.0),
                fine_percent(one.highest_risk or 0.0),
                brief_percent(one.detail or 0.0),
                levels_in_words(one),
            )
        )
    return Table(f"Every candidate, by {metric}", HEAD, tuple(rows), (0, 1, 3, 4, 5, 6, 7, 8))


MEASURES = {"spearman": "Spearman's rho", "cramers_v": "Cramér's V"}
MOST_SHOWN = 20
"""Pairs of columns that a report lists; the JSON has all."""


def accuracy_words(utility: UtilityMeasures) -> str:
    """How well a classifier predicts the target before and after, as a sentence."""
    found = utility.classifier
    if found is None:
        return "No target was named."
    if found.accuracy.before is None or found.accuracy.after is None:
        return f"There are too few rows to predict {found.target}."
    return (
        f"From the other columns, naive Bayes predicts {found.target} correctly for {brief_percent(found.accuracy.before)} of "
        f"rows before and {brief_percent(found.accuracy.after)} after; always naming the most frequent value would be right "
        f"for {brief_percent(found.baseline.before or 0)} and {brief_percent(found.baseline.after or 0)}."
    )


def utility_part(utility: UtilityMeasures) -> page.Part:
    """The section: distributions and moments by column, associations of pairs, and the classifier."""
    rows = f"a random sample of {utility.rows:,} rows" if utility.sampled else f"all {plural(utility.rows, 'row')}"
    columns = tuple(
        (name, about.kind, measure(about.distance), *_change(about.mean), *_change(about.variance))
        for name, about in utility.columns.items()
    )
    ordered = sorted(utility.associations, key=lambda one: -abs(one.change.difference or 0.0))
    pairs = tuple(
        (f"{one.columns[0]} and {one.columns[1]}", MEASURES[one.measure], *_change(one.change), _signed(one.change))
        for one in ordered[:MOST_SHOWN]
    )
    content: list[Child | Table] = [
        f"Computed on {rows}, of which {utility.published:,} are published.",
        Table(
            "Each column before and after",
            ("Column", "Kind", "Distance", "Mean before", "after", "Variance before", "after"),
            columns,
            (2, 3, 4, 5, 6),
        ),
    ]
    if pairs:
        content.append(
            Table(
                "Pairs of columns, those that changed most first",
                ("Columns", "Measure", "Before", "After", "Difference"),
                pairs,
                (2, 3, 4),
            )
        )
    if utility.classifier is not None:
        content.append(accuracy_words(utility))
    content.append(bullets([*_reading(utility)]))
    return page.section("utility", "Utility", *content, title="What analyses find before and after")


def _reading(utility: UtilityMeasures) -> list[str]:
    """How the numbers were made, for those who check them."""
    reading = [
        (
            "Distance is the total variation distance between the values before and after, from 0 (the same) to 1. A published "
            "value counts as evenly spread over the values of the data that it covers."
        ),
        (
            "Of a generalised number the middle of its interval is taken, or, without an interval, the middle of the numbers that "
            "it covers."
        ),
        f"Spearman's rho compares two numbers; Cramér's V all other pairs, with numbers cut into {GROUPS} groups of equal size.",
    ]
    if utility.classifier is not None:
        reading.append(
            f"The classifier is naive Bayes with Laplace's rule, cross-validated in {FOLDS} parts. A target of numbers is "
            "predicted as the quarter of people it belongs to, and a generalised target as it is published."
        )
    if utility.left_out:
        reading.append(
            f"Not compared: {every(utility.left_out)}. At most {MOST_COLUMNS} columns are, and none with more than "
            f"{MOST_VALUES:,} different values that are no numbers."
        )
    return reading


def _change(change: BeforeAfter | None) -> tuple[str, str]:
    """Both numbers as cells."""
    if change is None:
        return "", ""
    before, after = ("none" if value is None else measure(value) for value in (change.before, change.after))
    return before, after


def _signed(change: BeforeAfter) -> str:
    return "" if change.difference is None else f"{change.difference:+.3f}"
