"""A whole data-sharing project in one report: data set, risk, adversary, recipients, linkage, queries, ledger."""

from discreet.report.project.page import project_page
from discreet.report.project.projectfile import ProjectFile, draft_project
from discreet.report.project.story import Story, tell
from discreet.report.project.told import Statement, project_findings, statements

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
