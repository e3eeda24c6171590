"""Routes of releases and traces."""

from __future__ import annotations

from functools import partial
from typing import Any

from discreet.web.datasets.dataset_page import DATASET
from discreet.web.framework.route import Route
from discreet.web.releases import api, pages

Read = partial(Route, "GET")
Send = partial(Route, "POST", body="form")
Upload = partial(Route, "POST", body="upload")
Ask = partial(Route, "GET", kind="api")
Tell = partial(Route, "POST", kind="api")

_PLAN: dict[str, Any] = {"loads": pages.PLAN}
_RELEASE: dict[str, Any] = {"loads": pages.RELEASE}
_TRACE: dict[str, Any] = {"loads": pages.TRACE}
_NEW_PLAN: dict[str, Any] = {"body": "json", "returns": api.PlanModel, "status": 201}
_NEW_TRACE: dict[str, Any] = {"body": "upload", "returns": api.TraceModel, "status": 201, **_RELEASE}
_AT = "/releases/plans/{number}"
_NAMED = "/releases/named/{name}"
_API = "/api/v1/releases"

RELEASE_ROUTES: tuple[Route, ...] = (
    Read("/releases", "releases.read", pages.releases_page),
    Read("/releases/new", "releases.change", pages.new_page),
    Send("/releases/new", "releases.change", pages.begin),
    Read(_AT, "releases.read", pages.plan_page, live=True, **_PLAN),
    Read(f"{_AT}/change", "releases.change", pages.change_page, **_PLAN),
    Send(f"{_AT}/change", "releases.change", pages.change, **_PLAN),
    Send(f"{_AT}/look", "releases.change", pages.look, **_PLAN),
    Send(f"{_AT}/approve", "releases.approve", pages.approve, **_PLAN),
    Send(f"{_AT}/reject", "releases.approve", pages.reject, **_PLAN),
    Send(f"{_AT}/withdraw", "releases.change", pages.withdraw, **_PLAN),
    Send(f"{_AT}/make", "releases.change", pages.make, **_PLAN),
    Read(_NAMED, "releases.read", pages.release_page, **_RELEASE),
    Send(f"{_NAMED}/recipients", "releases.change", pages.add_recipients, **_RELEASE),
    Send(f"{_NAMED}/retire", "releases.change", pages.retire, **_RELEASE),
    Send(f"{_NAMED}/deliver", "releases.take", pages.deliver, **_RELEASE),
    Upload(f"{_NAMED}/claims", "releases.trace", pages.trace_claims, **_RELEASE),
    Upload(f"{_NAMED}/leak", "releases.trace", pages.trace_leak, **_RELEASE),
    Read("/releases/traces/{number}", "releases.read", pages.trace_page, records=True, **_TRACE),
    Send("/releases/traces/{number}/file", "releases.read", pages.take_report, **_TRACE),
    Read("/datasets/{number}/releases", "datasets.read", pages.releases_tab, live=True, loads=DATASET),
    Ask(_API, "releases.read", api.release_list, returns=api.Releases),
    Tell(_API, "releases.change", api.begin, **_NEW_PLAN),
    Ask(f"{_API}/{{name}}", "releases.read", api.release, returns=api.ReleaseModel, **_RELEASE),
    Tell(f"{_API}/{{name}}/recipients", "releases.change", api.more, **_NEW_PLAN, **_RELEASE),
    Tell(f"{_API}/{{name}}/claims", "releases.trace", api.trace_claims, **_NEW_TRACE),
    Tell(f"{_API}/{{name}}/leak", "releases.trace", api.trace_leak, **_NEW_TRACE),
    Ask("/api/v1/plans/{number}", "releases.read", api.plan, returns=api.PlanModel, **_PLAN),
    Tell("/api/v1/traces/{number}", "releases.read", api.trace, returns=api.TraceModel, **_TRACE),
)
