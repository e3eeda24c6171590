"""Routes of database users behind a gateway."""

from __future__ import annotations

from functools import partial
from typing import Any

from discreet.web.framework.route import Route
from discreet.web.gateway import api, pages
from discreet.web.gateway import api as models
from discreet.web.gateway import pages as limits

Read = partial(Route, "GET")
Send = partial(Route, "POST", body="form")
Ask = partial(Route, "GET", kind="api")
Tell = partial(Route, "POST", kind="api")

_USER: dict[str, Any] = {"loads": pages.USER}
_LIMIT: dict[str, Any] = {"loads": limits.LIMIT}
_AT = "/gateway/limits/{number}"
_API = "/api/v1/gateway"

GATEWAY_ROUTES: tuple[Route, ...] = (
    Read("/gateway", "gateway.read", pages.gateway_page),
    Read("/gateway/users/{number}", "gateway.read", pages.user_page, **_USER),
    Read("/gateway/refusals", "gateway.read", pages.refusals_page),
    Read("/gateway/incidents", "gateway.read", pages.incidents_page),
    Read("/gateway/why", "gateway.explain", pages.why_page),
    Read("/gateway/limits", "gateway.read", limits.limits_page),
    Send("/gateway/limits", "gateway.limit", limits.propose),
    Read(_AT, "gateway.read", limits.limit_page, **_LIMIT),
    Send(f"{_AT}/approve", "gateway.approve", limits.approve, **_LIMIT),
    Send(f"{_AT}/decline", "gateway.approve", limits.decline, **_LIMIT),
    Send(f"{_AT}/withdraw", "gateway.limit", limits.withdraw, **_LIMIT),
    Send(f"{_AT}/withdrawal/approve", "gateway.approve", limits.approve_withdrawal, **_LIMIT),
    Send(f"{_AT}/withdrawal/decline", "gateway.approve", limits.decline_withdrawal, **_LIMIT),
    Ask(f"{_API}/users", "gateway.read", api.user_list, returns=models.Users),
    Ask(f"{_API}/users/{{number}}", "gateway.read", api.user, returns=models.UserHistory, **_USER),
    Ask(f"{_API}/refusals", "gateway.read", api.refusal_list, returns=models.Refusals),
    Ask(f"{_API}/incidents", "gateway.read", api.incident_list, returns=models.Incidents),
    Ask(f"{_API}/why", "gateway.explain", api.why, returns=models.Explanation),
    Ask(f"{_API}/limits", "gateway.read", api.limit_list, returns=models.Limits),
    Tell(f"{_API}/limits", "gateway.limit", api.propose, body="json", returns=models.LimitModel, status=201),
    Ask(f"{_API}/limits/{{number}}", "gateway.read", api.limit, returns=models.LimitModel, **_LIMIT),
    Tell(f"{_API}/limits/{{number}}/approve", "gateway.approve", api.approve, returns=models.LimitModel, **_LIMIT),
    Tell(
        f"{_API}/limits/{{number}}/decline",
        "gateway.approve",
        api.decline,
        body="json",
        returns=models.LimitModel,
        **_LIMIT,
    ),
    Tell(f"{_API}/limits/{{number}}/withdraw", "gateway.limit", api.withdraw, returns=models.LimitModel, **_LIMIT),
    Tell(
        f"{_API}/limits/{{number}}/withdrawal/approve",
        "gateway.approve",
        api.approve_withdrawal,
        returns=models.LimitModel,
        **_LIMIT,
    ),
    Tell(
        f"{_API}/limits/{{number}}/withdrawal/decline",
        "gateway.approve",
        api.decline_withdrawal,
        body="json",
        returns=models.LimitModel,
        **_LIMIT,
    ),
)
"""Method, path, permission, handler; then kind, body and what is loaded."""
