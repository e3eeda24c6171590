"""A case study after a paper: five statements with their numbers, six figures, and printed thresholds that do not come out."""

from discreet.report.case_study.findings import case_study_findings
from discreet.report.case_study.page import case_study_page

__all__ = ["case_study_findings", "case_study_page"]
