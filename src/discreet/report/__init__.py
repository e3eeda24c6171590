"""Results in words, pictures and one HTML file that can be mailed and printed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.reference.report import case_study_findings, case_study_page
    from discreet.report.anonymisation import anonymised_page
    from discreet.report.anonymisation_findings import anonymised_findings, given_words
    from discreet.report.assessment import assessment_page
    from discreet.report.assessment_findings import findings, profile_findings
    from discreet.report.attack import attack_findings, attack_page
    from discreet.report.comparison import accuracy_words, comparison_page, levels_in_words
    from discreet.report.feasibility import feasibility_findings, feasibility_page
    from discreet.report.linkage import pairs_findings, pairs_page
    from discreet.report.misuse import anomalies_page, anomaly_findings, incident_findings, incidents_page
    from discreet.report.toolkit.page import Finding
    from discreet.report.trace import traced_findings, traced_page
    from discreet.wording import formula_words

__all__ = [
    "Finding",
    "accuracy_words",
    "anomalies_page",
    "anomaly_findings",
    "anonymised_findings",
    "anonymised_page",
    "assessment_page",
    "attack_findings",
    "attack_page",
    "case_study_findings",
    "case_study_page",
    "comparison_page",
    "feasibility_findings",
    "feasibility_page",
    "findings",
    "formula_words",
    "given_words",
    "incident_findings",
    "incidents_page",
    "levels_in_words",
    "pairs_findings",
    "pairs_page",
    "profile_findings",
    "traced_findings",
    "traced_page",
]

# Each report is imported when it is asked for: a command loads its own only.
_REPORTS = {
    "discreet.reference.report": ("case_study_findings", "case_study_page"),
    "discreet.report.anonymisation": ("anonymised_page",),
    "discreet.report.anonymisation_findings": ("anonymised_findings", "given_words"),
    "discreet.wording": ("formula_words",),
    "discreet.report.assessment": ("assessment_page",),
    "discreet.report.assessment_findings": ("findings", "profile_findings"),
    "discreet.report.attack": ("attack_findings", "attack_page"),
    "discreet.report.comparison": ("accuracy_words", "comparison_page", "levels_in_words"),
    "discreet.report.feasibility": ("feasibility_findings", "feasibility_page"),
    "discreet.report.linkage": ("pairs_findings", "pairs_page"),
    "discreet.report.misuse": ("anomalies_page", "anomaly_findings", "incident_findings", "incidents_page"),
    "discreet.report.toolkit.page": ("Finding",),
    "discreet.report.trace": ("traced_findings", "traced_page"),
}


def __getattr__(name: str) -> Any:
    for report, names in _REPORTS.items():
        if name in names:
            return getattr(import_module(report), name)
    raise AttributeError(f"module 'discreet.report' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
