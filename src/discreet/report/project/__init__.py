"""A whole data-sharing project in one report: data set, risk, adversary, recipients, linkage, queries, ledger."""

from discreet.report.project.findings import Statement, Story, project_findings, statements, tell
from discreet.report.project.measurement import ProjectFile, draft_project
from discreet.report.project.report import project_page

__all__ = [
    "ProjectFile",
    "Statement",
    "Story",
    "draft_project",
    "project_findings",
    "project_page",
    "statements",
    "tell",
]
