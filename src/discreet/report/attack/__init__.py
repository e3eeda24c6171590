"""What a planning adversary would do to a table: in words, in pictures, on one page."""

from discreet.report.attack.findings import attack_findings
from discreet.report.attack.report import attack_page

__all__ = ["attack_findings", "attack_page"]
