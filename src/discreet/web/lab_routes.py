"""The part of the table of routes that is about the attacker lab."""

from __future__ import annotations

from discreet.web.api import attack
from discreet.web.pages import lab
from discreet.web.route import Route

LAB_ROUTES: tuple[Route, ...] = (
    Route("GET", "/lab", "attack.plan", lab.lab_page, live=True),
    Route("GET", "/lab/result", "attack.plan", lab.lab_result, kind="fragment"),
    Route(
        "POST",
        "/api/v1/attack",
        "attack.plan",
        attack.attack,
        kind="api",
        body="json",
        returns=attack.AttackModel,
    ),
)
