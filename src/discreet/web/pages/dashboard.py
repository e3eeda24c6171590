"""The dashboard: what needs attention, what was disclosed, and whether the ledger is whole."""

from __future__ import annotations

from starlette.responses import Response

from discreet.web.context import Here


def dashboard_page(context: Here) -> Response:
    """What needs attention."""
    return context.page("dashboard.html")
