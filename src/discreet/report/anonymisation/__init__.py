"""What came of anonymising a table: in words, in pictures, on one page."""

from discreet.report.anonymisation.findings import anonymised_findings
from discreet.report.anonymisation.report import anonymised_page

__all__ = ["anonymised_findings", "anonymised_page"]
