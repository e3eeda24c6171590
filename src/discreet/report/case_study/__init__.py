"""The published case study, redone: findings that hold or do not, six figures, and what does not come out."""

from discreet.report.case_study.findings import case_study_findings
from discreet.report.case_study.page import case_study_page

__all__ = ["case_study_findings", "case_study_page"]
