"""What a trace found: in words, in pictures, on one page."""

from discreet.report.trace.report import traced_findings, traced_page

__all__ = ["traced_findings", "traced_page"]
