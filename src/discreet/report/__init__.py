"""Results in words, pictures and one HTML file that can be mailed and printed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.report.anonymisation import anonymised_findings, anonymised_page
from discreet.report.assessment.findings import findings, profile_findings
from discreet.report.assessment.report import assessment_page
from discreet.report.attack import attack_findings, attack_page
from discreet.report.feasibility import feasibility_findings, feasibility_page
from discreet.report.linkage import pairs_findings, pairs_page
from discreet.report.misuse import anomalies_page, anomaly_findings, incident_findings, incidents_page
from discreet.report.toolkit.page import Finding
from discreet.report.trace import traced_findings, traced_page

if TYPE_CHECKING:
    from discreet.reference.report import case_study_findings, case_study_page

__all__ = [
    "Finding",
    "anomalies_page",
    "anomaly_findings",
    "anonymised_findings",
    "anonymised_page",
    "assessment_page",
    "attack_findings",
    "attack_page",
    "case_study_findings",
    "case_study_page",
    "feasibility_findings",
    "feasibility_page",
    "findings",
    "incident_findings",
    "incidents_page",
    "pairs_findings",
    "pairs_page",
    "profile_findings",
    "traced_findings",
    "traced_page",
]


def __getattr__(name: str) -> Any:
    """The report of the case study is a room of its own, imported when it is asked for."""
    if name in ("case_study_findings", "case_study_page"):
        return getattr(import_module("discreet.reference.report"), name)
    raise AttributeError(f"module 'discreet.report' has no attribute '{name}'")
