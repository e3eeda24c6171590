"""Routes of database users behind a gateway."""

from __future__ import annotations

from functools import partial
from typing import Any

from discreet.web.framework.route import Route
from discreet.web.gateway import api, pages

Read = partial(Route, "GET")
Send = partial(Route, "POST", body="form")
Ask = partial(Route, "GET", kind="api")
Tell = partial(Route, "POST", kind="api")

_USER: dict[str, Any] = {"loads": pages.USER}
_LIMIT: dict[str, Any] = {"loads": pages.LIMIT}
_LIMIT_API: dict[str, Any] = {"loads": pages.LIMIT, "returns": api.LimitModel}
_AT = "/gateway/limits/{number}"
_API = "/api/v1/gateway"
_API_AT = f"{_API}/limits/{{number}}"

GATEWAY_ROUTES: tuple[Route, ...] = (
    Read("/gateway", "gateway.read", pages.gateway_page),
    Read("/gateway/users/{number}", "gateway.read", pages.user_page, **_USER),
    Read("/gateway/refusals", "gateway.read", pages.refusals_page),
    Read("/gateway/incidents", "gateway.read", pages.incidents_page),
    Read("/gateway/why", "gateway.explain", pages.why_page),
    Read("/gateway/limits", "gateway.read", pages.limits_page),
    Send("/gateway/limits", "gateway.limit", pages.propose),
    Read(_AT, "gateway.read", pages.limit_page, **_LIMIT),
    Send(f"{_AT}/approve", "gateway.approve", pages.approve, **_LIMIT),
    Send(f"{_AT}/decline", "gateway.approve", pages.decline, **_LIMIT),
    Send(f"{_AT}/withdraw", "gateway.limit", pages.withdraw, **_LIMIT),
    Send(f"{_AT}/withdrawal/approve", "gateway.approve", pages.approve_withdrawal, **_LIMIT),
    Send(f"{_AT}/withdrawal/decline", "gateway.approve", pages.decline_withdrawal, **_LIMIT),
    Ask(f"{_API}/users", "gateway.read", api.user_list, returns=api.Users),
    Ask(f"{_API}/users/{{number}}", "gateway.read", api.user, returns=api.UserHistory, **_USER),
    Ask(f"{_API}/refusals", "gateway.read", api.refusal_list, returns=api.Refusals),
    Ask(f"{_API}/incidents", "gateway.read", api.incident_list, returns=api.Incidents),
    Ask(f"{_API}/why", "gateway.explain", api.why, returns=api.Explanation),
    Ask(f"{_API}/limits", "gateway.read", api.limit_list, returns=api.Limits),
    Tell(f"{_API}/limits", "gateway.limit", api.propose, body="json", returns=api.LimitModel, status=201),
    Ask(_API_AT, "gateway.read", api.limit, **_LIMIT_API),
    Tell(f"{_API_AT}/approve", "gateway.approve", api.approve, **_LIMIT_API),
    Tell(f"{_API_AT}/decline", "gateway.approve", api.decline, body="json", **_LIMIT_API),
    Tell(f"{_API_AT}/withdraw", "gateway.limit", api.withdraw, **_LIMIT_API),
    Tell(f"{_API_AT}/withdrawal/approve", "gateway.approve", api.approve_withdrawal, **_LIMIT_API),
    Tell(f"{_API_AT}/withdrawal/decline", "gateway.approve", api.decline_withdrawal, body="json", **_LIMIT_API),
)
"""Method, path, permission, handler; then kind, body and what is loaded."""
