"""Bars of shares, alike in every chart."""

from __future__ import annotations

from discreet.report.charts.bars import Bar, Fill
from discreet.wording import brief_percent


def share_bar(label: str, share: float, *, mark: float | None = None, fill: Fill = "plain") -> Bar:
    """A share that is its own length."""
    return Bar(label, brief_percent(share), share, mark=mark, fill=fill)


def marked_bar(label: str, share: float, mark: float) -> Bar:
    """A share held against a limit."""
    return share_bar(label, share, mark=mark, fill="risk" if share > mark else "plain")
