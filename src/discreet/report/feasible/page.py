"""Whether decoys can be put into a table, as one HTML file."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from discreet.policy import Policy
from discreet.releases import Feasibility, FeasibilityGrid
from discreet.report.components import Figure, section, table
from discreet.report.feasibility.charts import candidates, factors, largest
from discreet.report.feasibility.report import by_topic
from discreet.report.feasible.measures import anonymised, decoys, measured, parameters
from discreet.report.feasible.method import REFERENCES, method, remains
from discreet.report.toolkit.page import (
    Part,
    Pill,
    document,
    evidence_part,
    findings_part,
    method_part,
    remains_part,
    reproduce_part,
)
from discreet.report.toolkit.words import people

ELSEWHERE = {"measured": ("measured", "See the measures"), "factors": ("measured", "See the measures")}
"""Where a finding without a picture leads."""


def feasibility_page(
    found: Feasibility,
    *,
    title: str,
    source: str,
    population: str,
    created: datetime.datetime,
    command: str,
    version: str,
    policy: Policy | None = None,
    grid: FeasibilityGrid | None = None,
) -> str:
    """The report: findings, the picture behind each, measures, what remains, parameters, method, command."""
    figures = tuple(_pictures(found, grid))
    parts = [
        findings_part(by_topic(found), figures, elsewhere=ELSEWHERE),
        Part("evidence", "Evidence", evidence_part(figures).content if figures else None),
        Part("measured", "Measures", section("measured", "What was measured", table(measured(found)))),
        _grid(grid),
        remains_part("Room for decoys is not a guarantee:", remains(found)),
        Part("parameters", "Parameters", section("parameters", "Parameters", table(parameters(found, policy=policy)))),
        method_part(method(found, grid), REFERENCES),
        reproduce_part(command, policy),
    ]
    return document(
        parts,
        kicker="Can a release be traced?",
        title=title,
        about=[source, people(found.records), f"beside {population}, {people(found.population)}"],
        pills=[_pill(found)],
        created=created,
        version=version,
    )


def _pictures(found: Feasibility, grid: FeasibilityGrid | None) -> Iterator[Figure]:
    if found.candidate_classes:
        yield factors(found)
    if grid is not None and grid.feasible:
        yield candidates(grid)
        yield largest(grid)


def _grid(grid: FeasibilityGrid | None) -> Part:
    if grid is None:
        return Part("limits", "Other limits", None)
    content = section("limits", "Other limits", table(anonymised(grid)), table(decoys(grid)))
    return Part("limits", "Other limits", content)


def _pill(found: Feasibility) -> Pill:
    if found.candidate_classes:
        return Pill("✓", "There is room for decoys", "good")
    return Pill("▲", "No room for decoys", "danger")
