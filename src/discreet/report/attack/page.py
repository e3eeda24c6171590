"""A table under attack as one HTML file: whom the adversary attacks, how far he goes, and what deters him."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from discreet.attacker import Attacked
from discreet.policy import Policy
from discreet.report.attack.case import Case
from discreet.report.attack.chance import chance
from discreet.report.attack.charts import strip
from discreet.report.attack.fates import fates
from discreet.report.attack.findings import by_topic
from discreet.report.attack.measures import measured, parameters
from discreet.report.attack.method import REFERENCES, method, remains
from discreet.report.attack.report import by_fine, by_price
from discreet.report.components import Figure, section, table
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

ELSEWHERE = {"harmed": ("measured", "See the measures"), "loss": ("measured", "See the measures")}
"""Where a finding without a picture leads."""


def attack_page(
    struck: Attacked,
    *,
    title: str,
    source: str,
    threshold: float,
    exceeded: bool,
    created: datetime.datetime,
    command: str,
    version: str,
    policy: Policy | None = None,
) -> str:
    """The report: findings, the picture behind each, measures, what remains, parameters, method, command."""
    case = Case(struck, threshold)
    parts = attack_parts(case, source=source, command=command, policy=policy)
    return document(
        parts,
        kicker="Planning adversary",
        title=title,
        about=[source, people(case.records), f"against a list of {people(struck.external_size)}"],
        pills=[verdict(exceeded=exceeded)],
        created=created,
        version=version,
    )


def attack_parts(case: Case, *, source: str, command: str, policy: Policy | None = None) -> list[Part]:
    """The sections of the report, for pages that have a frame of their own."""
    figures = tuple(pictures(case))
    return [
        findings_part(by_topic(case, source), figures, elsewhere=ELSEWHERE),
        evidence_part(figures),
        _measured(case),
        remains_part("This adversary is a model:", remains(case)),
        Part("parameters", "Parameters", section("parameters", "Parameters", table(parameters(case, policy=policy)))),
        method_part(method(case), REFERENCES),
        reproduce_part(command, policy),
    ]


def pictures(case: Case) -> Iterator[Figure]:
    """Every figure that there are numbers for, in the order of the findings."""
    yield strip(case)
    yield chance(case)
    yield fates(case)
    fine = by_fine(case)
    if fine is not None:
        yield fine
    yield by_price(case)


def _measured(case: Case) -> Part:
    lead = "Amounts and numbers of people are expected values over his plan; people who look alike run the same risk."
    content = section("measured", "What was measured", element("p", lead), table(measured(case)))
    return Part("measured", "Measures", content)
