"""The pictures of an assessment: what each shows, in which words, and the table of the same numbers."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.report.assessment.charts import adversaries, crowds
from discreet.report.charts.combinations import combinations
from discreet.report.charts.inference import sensitive
from discreet.report.charts.population import population
from discreet.report.components import Figure
from discreet.risk import Assessment, Profile

__all__ = ["pictures"]


def pictures(assessment: Assessment, profile: Profile | None) -> tuple[Figure, ...]:
    """Every figure that the numbers allow, in the order of the findings."""
    return tuple(_pictures(assessment, profile))


def _pictures(assessment: Assessment, profile: Profile | None) -> Iterator[Figure]:
    yield crowds(assessment)
    yield adversaries(assessment)
    if assessment.population_uniqueness is not None:
        yield population(assessment, assessment.population_uniqueness)
    if assessment.inference:
        yield sensitive(assessment)
    if profile is not None and profile.telling:
        yield combinations(profile)
