"""Trace report as one HTML file: accused, evidence, error rate, other explanations."""

from __future__ import annotations

import datetime

from discreet.releases.tracing.result import Said, Trace, told
from discreet.report.toolkit.html import element
from discreet.report.toolkit.page import (
    Finding,
    Part,
    Pill,
    bullets,
    document,
    evidence_part,
    findings_part,
    method_part,
    remains_part,
    section,
    table,
    without_password,
)
from discreet.report.toolkit.words import plural
from discreet.report.trace.charts import pictures, standings_table

REMAINS = (
    (
        "A recipient whose copy somebody else holds as well (a hacker, a subcontractor, an heir of its disks) cannot be told "
        "from one who leaked on purpose."
    ),
    (
        "The error rate holds for recipients whose bits had no part in what was traced. It does not hold against somebody who "
        "knows another recipient's copy and makes up claims or rows to point there."
    ),
    (
        "That nobody is accused clears nobody. In trials a leaker who left out, filled up or relabelled the classes of doubtful "
        "size was never named, nor one who kept one quasi-identifier and renamed the others, or who published tables of counts. Of "
        "three who colluded by showing what only a minority of them holds, one was named in 46 % of cases; of four or more, none."
    ),
    "Audits must be left out without looking at who holds what, and the same trace must not be repeated with other choices.",
    "Keep this report with those who must decide: it names recipients.",
)
CLAIMS = (
    (
        "Each claim is brought to its class at the published levels; one claim per class counts, and only hits on marks. For a "
        "mark that a copy holds with probability p, a hit weighs 0.98/p if the recipient's copy holds it and 0.02/(1 − p) if not; "
        "for coalitions of c = 2 and 3 recipients 1 + (1 − p)/(c p) and 1 − 1/c. The e-value is the mean over c of the products. "
        "It is 1 on average for an innocent recipient, at any time; a recipient is accused when it reaches N/alpha (Ville 1939)."
    ),
)
LEAK = (
    (
        "Columns are recognised by name, and the level of each by its labels. At that granularity the rows of every copy and of "
        "every mark fall into cells, and the likelihood of the file is worked out for each recipient's marks: for one copy, and "
        "for two or three put together by rows, by classes in turns, by union and by intersection."
    ),
    (
        "The p-value is the rank among recipients who never were, drawn by the same secret probabilities; ties count against an "
        "accusation. It is valid whatever the leaker did. A recipient is accused at alpha/N."
    ),
)
REFERENCES = (
    "Grünwald, P., de Heide, R. & Koolen, W. (2024). Safe testing. Journal of the Royal Statistical Society B 86(5).",
    "Tardos, G. (2008). Optimal probabilistic fingerprint codes. Journal of the ACM 55(2).",
    "Ville, J. (1939). Étude critique de la notion de collectif. Gauthier-Villars.",
)
CARDS = ("recipients", "error-rate", "origin")


def traced_findings(trace: Trace) -> tuple[Finding, ...]:
    """What was found, in words."""
    return tuple(finding for _, finding in by_topic(trace))


def by_topic(trace: Trace) -> list[tuple[str, Finding]]:
    """Findings with the figure that proves each."""
    return [(said.topic, Finding(said.says, said.then)) for said in told(trace) if said.topic in CARDS]


def traced_parts(trace: Trace, *, command: str) -> list[Part]:
    """The sections of the report: findings, pictures, what was read, alternative explanations, method, command."""
    figures = list(pictures(trace))
    said = told(trace)
    return [
        findings_part(by_topic(trace), figures, elsewhere={"error-rate": ("method", "See the method")}),
        evidence_part(figures),
        Part("listed", "Recipients", section("listed", "All recipients", table(standings_table(trace)))),
        _read(said),
        remains_part("This is evidence, not a verdict:", [*_alternatives(said), *REMAINS]),
        method_part(CLAIMS if trace.kind == "claims" else LEAK, REFERENCES),
        _reproduced(command),
    ]


def traced_page(trace: Trace, *, created: datetime.datetime, command: str, version: str) -> str:
    """The report as one file."""
    what = "Claims" if trace.kind == "claims" else "A leaked file"
    return document(
        traced_parts(trace, command=command),
        kicker="Trace",
        title=f"{what} against release {trace.release}",
        about=[trace.source, plural(trace.family, "recipient", "recipients"), f"alpha {trace.alpha:g}"],
        pills=[_pill(trace)],
        created=created,
        version=version,
    )


def _read(said: tuple[Said, ...]) -> Part:
    texts = [f"{one.says} {one.then}".strip() for one in said if one.topic == "read"]
    return Part("read", "What was read", section("read", "What was read", bullets(texts)))


def _alternatives(said: tuple[Said, ...]) -> list[str]:
    return [text for one in said if one.topic == "alternatives" for text in (one.says, one.then) if text]


def _reproduced(command: str) -> Part:
    lead = element(
        "p", "The same table and release give the same trace with this command; each trace stands in the ledger:"
    )
    shown = element("pre", element("code", without_password(command)))
    return Part("reproduce", "Reproduce", section("reproduce", "Reproduce", lead, shown))


def _pill(trace: Trace) -> Pill:
    if trace.accused:
        return Pill("▲", plural(len(trace.accused), "recipient accused", "recipients accused"), "danger")
    return Pill("✓", "Nobody accused", "plain")
