"""The report about candidate pairs: who decides which of them, and what other thresholds would cost."""

from discreet.report.linkage.findings import pairs_findings
from discreet.report.linkage.report import pairs_page

__all__ = ["pairs_findings", "pairs_page"]
