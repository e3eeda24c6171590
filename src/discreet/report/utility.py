"""Utility section of a report: what analyses find before and after."""

from __future__ import annotations

from discreet.anonymity.utility import FOLDS, GROUPS, MOST_COLUMNS, MOST_VALUES, BeforeAfter, UtilityMeasures
from discreet.report.toolkit import page
from discreet.report.toolkit.html import Child
from discreet.report.toolkit.page import Table, bullets
from discreet.report.toolkit.words import every, plural
from discreet.wording import brief_percent, measure

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
