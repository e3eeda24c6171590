"""Routes of linkage."""

from __future__ import annotations

from functools import partial

from discreet.web.datasets import dataset_page
from discreet.web.framework.route import Route
from discreet.web.linkage import api, review
from discreet.web.linkage import new_project as making
from discreet.web.linkage import pages as changes
from discreet.web.linkage import pages as managing

Read = partial(Route, "GET")
Send = partial(Route, "POST", body="form")
Ask = partial(Route, "GET", kind="api")

MANAGERS: tuple[Route, ...] = (
    Read("/linkage", "linkage.read", managing.linkage_page),
    Read("/linkage/new", "linkage.manage", making.new_page),
    Route("POST", "/linkage/new", "linkage.manage", making.begin, body="upload"),
    Read("/linkage/work/{number}", "linkage.manage", making.work_page, live=True, loads=making.WORK),
    Read("/linkage/work/{number}/state", "linkage.manage", making.work_state, kind="fragment", loads=making.WORK),
    Send("/linkage/work/{number}", "linkage.manage", making.declare, loads=making.WORK),
    Send("/linkage/work/{number}/discard", "linkage.manage", making.discard, loads=making.WORK),
    Read("/linkage/{number}", "linkage.manage", managing.project_page, live=True, loads=managing.PROJECT),
    Read("/linkage/{number}/zones", "linkage.manage", changes.zones_page, loads=managing.PROJECT),
    Send("/linkage/{number}/zones", "linkage.manage", changes.cut_zones, loads=managing.PROJECT),
    Send("/linkage/{number}/assign", "linkage.manage", changes.assign, loads=managing.PROJECT),
    Send("/linkage/{number}/withdraw", "linkage.manage", changes.withdraw, loads=managing.PROJECT),
    Send("/linkage/{number}/settle", "linkage.manage", changes.settle, loads=managing.PROJECT),
    Send("/linkage/{number}/learn", "linkage.manage", changes.learn, loads=managing.PROJECT),
    Send("/linkage/{number}/export", "linkage.take", changes.take_away, loads=managing.PROJECT),
    Send("/linkage/{number}/close", "linkage.manage", changes.close, loads=managing.PROJECT),
    Send("/datasets/{number}/lend", "datasets.take", making.lend, loads=dataset_page.DATASET),
)

REVIEWERS: tuple[Route, ...] = (
    Read("/linkage/{number}/review", "linkage.review", review.next_pair, loads=review.TASK),
    Read("/linkage/{number}/done", "linkage.review", review.done_page, loads=review.TASK),
    Read("/linkage/{number}/pairs/{pair}", "linkage.review", review.pair_page, live=True, loads=review.PAIR),
    Send("/linkage/{number}/pairs/{pair}/reveal", "linkage.review", review.open_cell, loads=review.PAIR),
    Send("/linkage/{number}/pairs/{pair}/decide", "linkage.review", review.decide, loads=review.PAIR),
    Send("/linkage/{number}/pairs/{pair}/undo", "linkage.review", review.undo, loads=review.PAIR),
)

PROGRAMS: tuple[Route, ...] = (
    Ask("/api/v1/linkage", "linkage.manage", api.project_list, returns=api.Projects),
    Ask("/api/v1/linkage/{number}", "linkage.manage", api.project, loads=managing.PROJECT, returns=api.ProgressModel),
)

LINKAGE_ROUTES = (*MANAGERS, *REVIEWERS, *PROGRAMS)
