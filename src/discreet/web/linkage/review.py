"""Review pages: one pair at a time, opened step by step, decided, undone.

Nothing about a mode or a price is taken from the form: it names a cell, the click, and the state it was clicked in.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from starlette.responses import HTMLResponse, Response

from discreet.errors import DiscreetError
from discreet.linkage import MARKS
from discreet.linkage.progress import summary
from discreet.linkage.project import Project
from discreet.linkage.review import decisions, reveal
from discreet.linkage.review.views import CHOICES, PairView
from discreet.web.framework import format as formats
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.problems import Problem, page_problem, problem_of
from discreet.web.framework.route import Loads, numbered
from discreet.web.linkage import store as linkage_store
from discreet.web.linkage.pair_view import SHORT_MARKS, ShownPair, shown, written

NONCE = re.compile(r"[0-9a-f]{32}")
MOST_VERSIONS = 10**6


@dataclass(frozen=True)
class ReviewTarget:
    """A reviewer's project, and, on the page of a pair, which pair."""

    project: Project
    worker: str
    pair: int = 0

    @property
    def address(self) -> str:
        """The page of the pair."""
        return f"/linkage/{self.project.id}/pairs/{self.pair}"


def _find(context: Context, path: dict[str, str]) -> ReviewTarget | None:
    number, worker = numbered(path["number"]), context.owner.name
    with context.site.store.reading() as connection:
        project = linkage_store.find(connection, number)
        reviews = project is not None and linkage_store.takes_part(connection, number, worker)
    return ReviewTarget(project, worker) if project is not None and reviews else None


def _find_pair(context: Context, path: dict[str, str]) -> ReviewTarget | None:
    number, pair, worker = numbered(path["number"]), numbered(path["pair"]), context.owner.name
    with context.site.store.reading() as connection:
        project = linkage_store.find(connection, number)
        given = project is not None and linkage_store.has_pair(connection, number, worker, pair)
    return ReviewTarget(project, worker, pair) if project is not None and given else None


TASK = Loads("linkage task", find=_find, may=lambda context, mine: mine.worker == context.owner.name)
PAIR = Loads("linkage pair", find=_find_pair, may=lambda context, mine: mine.worker == context.owner.name)
"""Pairs exist only for the reviewers to whom they are assigned."""


def next_pair(context: Here) -> Response:
    """To the first pair that is not decided, or to the summary."""
    mine: ReviewTarget = context.loaded
    pair = decisions.next_pair(context.site.store, mine.project, mine.worker)
    return go(f"/linkage/{mine.project.id}/done" if pair is None else f"/linkage/{mine.project.id}/pairs/{pair}")


def pair_page(context: Here) -> Response:
    """One pair as far as it is open."""
    return _page(context)


def open_cell(context: Here) -> Response:
    """Open one cell by one step; a refusal is shown on the page."""
    mine: ReviewTarget = context.loaded
    live = context.form.text("live") == "1"
    try:
        view, place = _opened(context, mine)
    except DiscreetError as error:
        problem = page_problem(error)
        return _fragment(context, problem=problem) if live else _page(context, problem=problem)
    if live:
        return _fragment(context, view=view, place=place)
    return go(f"{mine.address}#cell-{place}")


def _opened(context: Context, mine: ReviewTarget) -> tuple[PairView, int]:
    form, names = context.form, mine.project.attributes
    place = form.whole("cell", least=0, most=len(names) - 1)
    nonce, seen = form.text("key", most=32), form.whole("seen", least=0, most=MOST_VERSIONS)
    if not NONCE.fullmatch(nonce):
        raise Problem(422, "The form is not valid.", remedy="Reload the page and choose the cell again.")
    ledger, key = context.site.ledger, f"review-{nonce}-{place}"
    view = reveal.reveal(ledger, mine.project, mine.worker, mine.pair, names[place], key=key, seen=seen)
    return view, place


def decide(context: Here) -> Response:
    """Save an answer, and continue with the next pair that is not decided."""
    mine: ReviewTarget = context.loaded
    choice = int(context.form.choice("choice", tuple(str(one) for one in CHOICES)))
    try:
        decisions.decide(context.site.store, mine.project, mine.worker, mine.pair, choice)
    except DiscreetError as error:
        return _page(context, problem=problem_of(error))
    with context.site.store.reading() as connection:
        following = linkage_store.next_open(connection, mine.project.id, mine.worker, mine.pair)
    if following is None:
        return go(f"/linkage/{mine.project.id}/done")
    return go(f"/linkage/{mine.project.id}/pairs/{following}")


def undo(context: Here) -> Response:
    """Undo the decision on this pair, or else the last one; opened cells stay open, and charged."""
    mine: ReviewTarget = context.loaded
    store = context.site.store
    view = reveal.view(context.site.ledger, mine.project, mine.worker, mine.pair)
    pair: int | None = mine.pair
    if view.choice is None:
        pair = decisions.last_decided(store, mine.project, mine.worker)
    if pair is None:
        return go(mine.address, said="nothing-to-undo")
    try:
        decisions.undo(store, mine.project, mine.worker, pair)
    except DiscreetError as error:
        return _page(context, problem=problem_of(error))
    return go(f"/linkage/{mine.project.id}/pairs/{pair}", said="decision-undone")


def done_page(context: Here) -> Response:
    """The reviewer's decisions, what was shown for them, and thanks."""
    mine: ReviewTarget = context.loaded
    progress = summary(context.site.ledger, mine.project, mine.worker)
    with context.site.store.reading() as connection:
        first = linkage_store.first_pair(connection, mine.project.id, mine.worker)
    return context.page(
        "review_done.html",
        project=mine.project,
        mine=progress,
        first=first,
        written=written,
        time=formats.span(timedelta(seconds=progress.seconds)),
    )


def _page(context: Context, *, problem: Problem | None = None) -> Response:
    mine: ReviewTarget = context.loaded
    view = reveal.view(context.site.ledger, mine.project, mine.worker, mine.pair)
    undoable = decisions.last_decided(context.site.store, mine.project, mine.worker) is not None
    return context.page("review.html", undoable=undoable, marks=MARKS, **_parts(mine, shown(view), problem))


def _fragment(
    context: Context, *, view: PairView | None = None, place: int = 0, problem: Problem | None = None
) -> Response:
    """Only what changes, for the page's own script."""
    mine: ReviewTarget = context.loaded
    seen = view or reveal.view(context.site.ledger, mine.project, mine.worker, mine.pair)
    pair = shown(seen)
    values = _parts(mine, pair, problem, announce=problem.problem if problem else _announced(pair, place))
    markup = context.site.render("review_pair.html", values)
    return HTMLResponse(markup, status_code=problem.status if problem else 200)


def _announced(pair: ShownPair, place: int) -> str:
    meters = ", ".join(f"{meter.label.lower()} {meter.used}" for meter in pair.meters)
    cell = pair.cells[place]
    opened = [cell, *(other for other in pair.cells if other.view.together == cell.view.attribute)]
    return f"{'. '.join(cell.announced for cell in opened)}. {meters}."


def _parts(mine: ReviewTarget, pair: ShownPair, problem: Problem | None, *, announce: str = "") -> dict[str, Any]:
    return {
        "project": mine.project,
        "pair": pair,
        "nonce": secrets.token_hex(16),
        "problem": problem,
        "announce": announce,
        "short": SHORT_MARKS,
        "written": written,
    }
