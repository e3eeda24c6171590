"""An anonymised table as one HTML file: what it achieved, what it cost, and why nothing better exists."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from discreet.anonymity import Anonymised, Point, Seen
from discreet.policy import Policy
from discreet.report.anonymisation.charts import drawable
from discreet.report.anonymisation.charts import frontier as frontier_figure
from discreet.report.anonymisation.findings import by_topic
from discreet.report.anonymisation.lattice import lattice as lattice_figure
from discreet.report.anonymisation.report import method, references, remains
from discreet.report.anonymised.case import Case
from discreet.report.anonymised.certificate import certificate
from discreet.report.anonymised.change import crowds, risks
from discreet.report.anonymised.columns import kept
from discreet.report.anonymised.measures import chosen, compared, left_out, published
from discreet.report.charts.inference import sensitive
from discreet.report.components import Figure, bullets, prose, section, table
from discreet.report.toolkit.html import element, join
from discreet.report.toolkit.page import (
    Part,
    Pill,
    document,
    evidence_part,
    findings_part,
    method_part,
    remains_part,
    reproduce_part,
    verdict,
)
from discreet.report.toolkit.words import people
from discreet.risk import Assessment

ELSEWHERE = {"certificate": ("method", "See the method")}
"""Where a finding without a picture leads."""


def anonymised_page(
    result: Anonymised,
    *,
    before: Assessment,
    after: Assessment | None,
    title: str,
    source: str,
    created: datetime.datetime,
    command: str,
    version: str,
    policy: Policy | None = None,
    frontier: Sequence[Point] = (),
    lattice: Sequence[Seen] = (),
) -> str:
    """The report: findings, the picture behind each, what was done, what remains, parameters, method, command.

    `after` is None where nobody is left; without a frontier or a lattice their pictures are left out.
    """
    case = Case.of(result, before, after)
    parts = anonymised_parts(case, source=source, command=command, policy=policy, frontier=frontier, lattice=lattice)
    return document(
        parts,
        kicker="Anonymised table",
        title=title,
        about=[source, f"{case.published:,} of {people(case.records)} published"],
        pills=_pills(case),
        created=created,
        version=version,
    )


def anonymised_parts(
    case: Case,
    *,
    source: str,
    command: str,
    policy: Policy | None = None,
    frontier: Sequence[Point] = (),
    lattice: Sequence[Seen] = (),
) -> list[Part]:
    """The sections of the report, for pages that have a frame of their own."""
    figures = tuple(pictures(case, frontier, lattice))
    return [
        findings_part(by_topic(case, source), figures, elsewhere=ELSEWHERE),
        evidence_part(figures),
        _done(case),
        remains_part("This table does not protect from everything:", remains(case)),
        Part("parameters", "Parameters", section("parameters", "Parameters", table(chosen(case, policy=policy)))),
        method_part(method(case), references(case)),
        reproduce_part(command, policy),
    ]


def pictures(case: Case, frontier: Sequence[Point], lattice: Sequence[Seen]) -> Iterator[Figure]:
    """Every figure that there are numbers for, in the order of the findings."""
    yield crowds(case)
    yield kept(case)
    if case.after is not None:
        yield risks(case, case.after)
    if any(map(drawable, frontier)):
        yield frontier_figure(case, frontier)
    if lattice:
        yield lattice_figure(case, lattice)
    if case.result.certificate is not None:
        yield certificate(case.result.certificate)
    if case.after is not None and case.after.inference:
        yield sensitive(case.after)


def _pills(case: Case) -> list[Pill]:
    found = case.result.certificate
    if case.after is None:
        return [Pill("▲", "Nobody is published", "danger")]
    if found is None:
        proof = Pill("≈", "Recoded class by class", "plain")
    elif found.optimal:
        proof = Pill("✓", "Nothing better exists", "good")
    else:
        proof = Pill("≈", "Best found, not proven", "plain")
    return [verdict(exceeded=case.exceeded), proof]


def _done(case: Case) -> Part:
    lead = element("p", "This was required of every published class (people who look alike):")
    wanted = bullets([join(words) for words in case.result.requirements])
    rest = element("p", prose(left_out(case)))
    tables = table(published(case)), table(compared(case))
    return Part("done", "What was done", section("done", "What was done", lead, wanted, rest, *tables))
