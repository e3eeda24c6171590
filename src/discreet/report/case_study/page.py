"""The case study as one HTML file."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from discreet.policy import Policy
from discreet.reference.case_study import CaseStudy
from discreet.reference.charts import penalties, people, prices
from discreet.reference.report import misses_part
from discreet.report.attack.findings import Case
from discreet.report.attack.report import REFERENCES, method, parameters, remains
from discreet.report.case_study.by_size import chances, exploits, gambles
from discreet.report.case_study.findings import by_topic
from discreet.report.case_study.words import OWN
from discreet.report.toolkit.html import element
from discreet.report.toolkit.page import (
    Figure,
    Part,
    Pill,
    bullets,
    document,
    evidence_part,
    findings_part,
    method_part,
    remains_part,
    reproduce_part,
    section,
    table,
)
from discreet.report.toolkit.words import listed
from discreet.report.toolkit.words import people as so_many

THRESHOLD = 0.2


def case_study_page(
    study: CaseStudy,
    *,
    source: str,
    registry: str,
    created: datetime.datetime,
    command: str,
    version: str,
    policy: Policy | None = None,
) -> str:
    """Five statements, six figures, printed thresholds that do not come out; `registry` says in words what the list is."""
    figures = pictures(study)
    case = Case(study.attacked, THRESHOLD)
    parts = [
        findings_part(by_topic(study), figures, elsewhere={}),
        evidence_part(figures),
        misses_part(),
        _done(study, registry),
        remains_part("The adversaries are models:", remains(case)),
        Part("parameters", "Parameters", section("parameters", "Parameters", table(parameters(case, policy=policy)))),
        method_part(method(case), REFERENCES),
        reproduce_part(command, policy),
    ]
    return document(
        parts,
        kicker="Case study",
        title="A planning adversary: a case study after a paper",
        about=[source, so_many(study.people), f"against a registry of {so_many(study.attacked.external_size)}"],
        pills=[Pill("○", "Not a reproduction", "plain")],
        created=created,
        version=version,
    )


def pictures(study: CaseStudy) -> Sequence[Figure]:
    """Six figures."""
    return (exploits(), chances(), gambles(study), people(study), prices(study), penalties(study))


def _done(study: CaseStudy, registry: str) -> Part:
    names = study.attacked.sample.names
    points = (
        f"{so_many(study.people)} in {len(study.attacked.sample):,} classes by {listed(names, most=len(names) + 1)}.",
        registry,
        (
            "Three adversaries with the published gain, costs and penalty: detection constant and penalties unlimited; one "
            "penalty only; detection rising with every exploit (h1 = 0.18)."
        ),
        (
            "One guess here is one random candidate for everybody. The paper's baseline is another: it stops attacking at a "
            "threshold of its own, so that it is never above the planning adversary."
        ),
        "The six figures are our own, and their numbers are not those of the paper's figures.",
    )
    lead = element("p", OWN)
    return Part("done", "What was done", section("done", "What was done", lead, bullets(points)))
