"""The report on whether decoys can be put into a table."""

from discreet.report.feasibility.report import feasibility_findings, feasibility_page

__all__ = ["feasibility_findings", "feasibility_page"]
