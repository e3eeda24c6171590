"""An assessment as one HTML file: no script, nothing loaded, opens offline, prints."""

from __future__ import annotations

import datetime

from discreet.policy import Policy
from discreet.report.assessment.report import method, references, remains
from discreet.report.charts import pictures
from discreet.report.columns import columns_table
from discreet.report.components import card, cards, section, table
from discreet.report.findings import by_topic, profile_findings
from discreet.report.measures import measured, parameters
from discreet.report.toolkit.html import element
from discreet.report.toolkit.page import (
    Part,
    document,
    evidence_part,
    findings_part,
    method_part,
    remains_part,
    reproduce_part,
    verdict,
)
from discreet.report.toolkit.words import people
from discreet.risk import Assessment, Profile

ELSEWHERE = {"economics": ("measured", "See the measures"), "population": ("remains", "See what remains")}
"""Where a finding without a picture leads."""


def assessment_page(
    assessment: Assessment,
    *,
    title: str,
    source: str,
    created: datetime.datetime,
    command: str,
    version: str,
    policy: Policy | None = None,
    profile: Profile | None = None,
) -> str:
    """The report: findings, the picture behind each, measures, what remains, parameters, method, command."""
    parts = assessment_parts(assessment, source=source, command=command, policy=policy, profile=profile)
    return document(
        parts,
        kicker="Risk assessment",
        title=title,
        about=[source, people(assessment.records)],
        pills=[verdict(exceeded=assessment.exceeded)],
        created=created,
        version=version,
    )


def assessment_parts(
    assessment: Assessment,
    *,
    source: str,
    command: str,
    policy: Policy | None = None,
    profile: Profile | None = None,
) -> list[Part]:
    """The sections of the report, for pages that have a frame of their own."""
    figures = pictures(assessment, profile)
    return [
        findings_part(by_topic(assessment, source), figures, elsewhere=ELSEWHERE),
        evidence_part(figures),
        _columns(profile),
        _measured(assessment),
        remains_part("These measures do not say everything:", remains(assessment)),
        _parameters(assessment, policy),
        method_part(method(assessment), references(assessment)),
        reproduce_part(command, policy),
    ]


def _columns(profile: Profile | None) -> Part:
    if profile is None:
        return Part("columns", "Columns", None)
    found = cards([card(finding) for finding in profile_findings(profile)], pairs=True)
    note = "Shapes show how people spread over values or ranges. Values are left out, so that this report can be passed on."
    content = section("columns", "The columns", found, element("p", note), columns_table(profile))
    return Part("columns", "Columns", content)


def _measured(assessment: Assessment) -> Part:
    return Part("measured", "Measures", section("measured", "What was measured", table(measured(assessment))))


def _parameters(assessment: Assessment, policy: Policy | None) -> Part:
    content = section("parameters", "Parameters", table(parameters(assessment, policy=policy)))
    return Part("parameters", "Parameters", content)
