"""Routes of the attacker lab."""

from __future__ import annotations

from discreet.web.framework.route import Route
from discreet.web.lab import api, pages

LAB_ROUTES: tuple[Route, ...] = (
    Route("GET", "/lab", "attack.plan", pages.lab_page, live=True),
    Route("GET", "/lab/result", "attack.plan", pages.lab_result, kind="fragment"),
    Route(
        "POST",
        "/api/v1/attack",
        "attack.plan",
        api.attack,
        kind="api",
        body="json",
        returns=api.AttackModel,
    ),
)
