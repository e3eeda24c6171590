"""The report about candidate pairs: who decides which of them, and what other thresholds would cost."""

from discreet.report.linked.findings import pairs_findings
from discreet.report.linked.page import pairs_page

__all__ = ["pairs_findings", "pairs_page"]
