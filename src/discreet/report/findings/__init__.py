"""What results mean: sentences with a number, a comparison and a next step.

No sentence carries a person's value: findings count people and name columns.
"""

from __future__ import annotations

from collections.abc import Callable

from discreet.report.assessment.findings import above_threshold, singled_out
from discreet.report.findings.economics import attacked
from discreet.report.findings.finding import Finding
from discreet.report.findings.inference import inferred
from discreet.report.findings.population import in_population
from discreet.report.findings.profile import profile_findings
from discreet.risk import Assessment

__all__ = ["TOPICS", "Finding", "by_topic", "findings", "profile_findings"]

Teller = Callable[[Assessment, str], tuple[Finding, ...]]

TOPICS: tuple[tuple[str, Teller], ...] = (
    ("crowd", singled_out),
    ("adversaries", above_threshold),
    ("population", in_population),
    ("sensitive", inferred),
    ("economics", attacked),
)


def findings(assessment: Assessment, *, source: str) -> tuple[Finding, ...]:
    """The findings in words, the most important first; at least three.

    >>> from discreet.kernel import Classes
    >>> from discreet.risk import assess
    >>> found = assess(Classes.of(["sex", "zip"], [("F", "1"), ("M", "1")], [1, 5]))
    >>> findings(found, source="people.csv")[0].headline
    "1 of 6 people in people.csv (16.7 %) can be singled out by sex and zip: nobody else shares that person's values."
    """
    return tuple(finding for _, finding in by_topic(assessment, source))


def by_topic(assessment: Assessment, source: str) -> tuple[tuple[str, Finding], ...]:
    """The findings in order, each with the topic that its picture has too."""
    return tuple((topic, finding) for topic, tell in TOPICS for finding in tell(assessment, source))
