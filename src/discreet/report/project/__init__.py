"""A whole data-sharing project in one report: data set, risk, adversary, recipients, linkage, queries, ledger."""

from discreet.report.project.measurement import ProjectFile, draft_project
from discreet.report.project.report import project_page
from discreet.report.project.statements import Statement, Story, project_findings, statements, tell

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
