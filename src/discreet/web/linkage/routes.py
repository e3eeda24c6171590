"""Routes of linkage."""

from __future__ import annotations

from functools import partial
from typing import Any

from discreet.web.datasets import dataset_page
from discreet.web.framework.route import Route
from discreet.web.linkage import api, new_project, pages, review

Read = partial(Route, "GET")
Send = partial(Route, "POST", body="form")
Ask = partial(Route, "GET", kind="api")

_WORK: dict[str, Any] = {"loads": new_project.WORK}
_PROJECT: dict[str, Any] = {"loads": pages.PROJECT}
_TASK: dict[str, Any] = {"loads": review.TASK}
_PAIR: dict[str, Any] = {"loads": review.PAIR}
_WORK_AT = "/linkage/work/{number}"
_AT = "/linkage/{number}"
_PAIR_AT = "/linkage/{number}/pairs/{pair}"

LINKAGE_ROUTES: tuple[Route, ...] = (
    Read("/linkage", "linkage.read", pages.linkage_page),
    Read("/linkage/new", "linkage.manage", new_project.new_page),
    Route("POST", "/linkage/new", "linkage.manage", new_project.begin, body="upload"),
    Read(_WORK_AT, "linkage.manage", new_project.work_page, live=True, **_WORK),
    Read(f"{_WORK_AT}/state", "linkage.manage", new_project.work_state, kind="fragment", **_WORK),
    Send(_WORK_AT, "linkage.manage", new_project.declare, **_WORK),
    Send(f"{_WORK_AT}/discard", "linkage.manage", new_project.discard, **_WORK),
    Read(_AT, "linkage.manage", pages.project_page, live=True, **_PROJECT),
    Read(f"{_AT}/zones", "linkage.manage", pages.zones_page, **_PROJECT),
    Send(f"{_AT}/zones", "linkage.manage", pages.cut_zones, **_PROJECT),
    Send(f"{_AT}/assign", "linkage.manage", pages.assign, **_PROJECT),
    Send(f"{_AT}/withdraw", "linkage.manage", pages.withdraw, **_PROJECT),
    Send(f"{_AT}/settle", "linkage.manage", pages.settle, **_PROJECT),
    Send(f"{_AT}/learn", "linkage.manage", pages.learn, **_PROJECT),
    Send(f"{_AT}/export", "linkage.take", pages.take_away, **_PROJECT),
    Send(f"{_AT}/close", "linkage.manage", pages.close, **_PROJECT),
    Send("/datasets/{number}/lend", "datasets.take", new_project.lend, loads=dataset_page.DATASET),
    Read(f"{_AT}/review", "linkage.review", review.next_pair, **_TASK),
    Read(f"{_AT}/done", "linkage.review", review.done_page, **_TASK),
    Read(_PAIR_AT, "linkage.review", review.pair_page, live=True, **_PAIR),
    Send(f"{_PAIR_AT}/reveal", "linkage.review", review.open_cell, **_PAIR),
    Send(f"{_PAIR_AT}/decide", "linkage.review", review.decide, **_PAIR),
    Send(f"{_PAIR_AT}/undo", "linkage.review", review.undo, **_PAIR),
    Ask("/api/v1/linkage", "linkage.manage", api.project_list, returns=api.Projects),
    Ask("/api/v1/linkage/{number}", "linkage.manage", api.project, returns=api.ProgressModel, **_PROJECT),
)
