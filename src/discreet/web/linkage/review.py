"""Review of pairs: pages, and the view of one pair.

Nothing about a mode or a price is taken from the form: it names a cell, the click, and the state it was clicked in.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from typing import Any

from starlette.responses import HTMLResponse, Response

from discreet.errors import DiscreetError
from discreet.linkage import MARKS, study
from discreet.linkage.progress import summary
from discreet.linkage.project import Project
from discreet.linkage.review import decisions, reveal
from discreet.linkage.review.views import CHOICES, REFUSALS, CellView, Gauge, PairView, percent
from discreet.web.framework.context import Context, Here, go, or_again
from discreet.web.framework.problems import Problem, page_problem
from discreet.web.framework.route import Loads, numbered
from discreet.web.framework.shared_state import span
from discreet.web.linkage import store as linkage_store

NONCE = re.compile(r"[0-9a-f]{32}")
MOST_VERSIONS = 10**6
SHEET = 4
"""Pairs on a page, as in the paper on MINDFIRL."""
MOST_LOOKED = 20_000
"""Characters of the hovers that a page of a study sends."""


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
    pair = numbered(path["pair"]) if "pair" in path else None
    with context.site.store.reading() as connection:
        project = linkage_store.find(connection, number)
        if project is None or not linkage_store.reviews(connection, number, worker, pair):
            return None
    return ReviewTarget(project, worker, pair or 0)


TASK = Loads("linkage task", find=_find, may=lambda context, target: target.worker == context.owner.name)
PAIR = Loads("linkage pair", find=_find, may=lambda context, target: target.worker == context.owner.name)
"""Pairs exist only for the reviewers to whom they are assigned."""


def next_pair(context: Here) -> Response:
    """To the first pair that is not decided, or to the summary."""
    target: ReviewTarget = context.loaded
    taking = study.participant(context.site.store, target.project, target.worker) if target.project.study else None
    if taking is not None and taking.stage != "pairs":
        return go(f"/linkage/{target.project.id}/study")
    return _to_pair(target, decisions.next_pair(context.site.store, target.project, target.worker))


def _to_pair(target: ReviewTarget, pair: int | None, *, said: str = "") -> Response:
    return go(f"/linkage/{target.project.id}/done" if pair is None else replace(target, pair=pair).address, said=said)


def pair_page(context: Here) -> Response:
    """One pair as far as it is open."""
    target: ReviewTarget = context.loaded
    view = reveal.view(context.site.ledger, target.project, target.worker, target.pair)
    undoable = decisions.last_decided(context.site.store, target.project, target.worker) is not None
    shown: dict[str, Any] = {"undoable": undoable, "marks": MARKS, "choices": CHOICES, "answer_words": answer_words}
    return context.page("review.html", **shown, **_parts(target, view, context.problem))


def open_cell(context: Here) -> Response:
    """Open one cell by one step; a refusal is shown on the page."""
    target: ReviewTarget = context.loaded
    form, ledger, names = context.form, context.site.ledger, target.project.attributes
    live, whose = form.text("live") == "1", (target.project, target.worker, target.pair)
    problem: Problem | None = None
    try:
        place = form.whole("cell", least=0, most=len(names) - 1)
        nonce, seen = form.text("key", most=32), form.whole("seen", least=0, most=MOST_VERSIONS)
        if not NONCE.fullmatch(nonce):
            raise Problem(422, "The form is not valid.", remedy="Reload the page and choose the cell again.")
        view = reveal.reveal(ledger, *whose, names[place], key=f"review-{nonce}-{place}", seen=seen)
    except DiscreetError as error:
        problem = page_problem(error)
        if not live:
            context.problem = problem
            return pair_page(context)
        view, announce = reveal.view(ledger, *whose), problem.problem
    else:
        if not live:
            return go(_sheet(context, target) or f"{target.address}#cell-{place}")
        opened = [view.cells[place], *(cell for cell in view.cells if cell.together == names[place])]
        meters_now = ", ".join(f"{meter.label.lower()} {meter.used}" for meter in meters(view))
        announce = f"{'. '.join(announced(cell) for cell in opened)}. {meters_now}."
    markup = context.site.render("review_pair.html", _parts(target, view, problem, announce=announce))
    return HTMLResponse(markup, status_code=problem.status if problem else 200)


def sheet_page(context: Here) -> Response:
    """Four pairs at once, in the reviewer's order, as Figure 1 of the paper on MINDFIRL shows them."""
    target: ReviewTarget = context.loaded
    if target.project.study:
        return go(f"/linkage/{target.project.id}/review")
    asked = context.request.query_params.get("from", "")
    first = int(asked) if asked.isascii() and asked.isdigit() and len(asked) <= 9 else None
    with context.site.store.reading() as connection:
        listed = linkage_store.sheet_of(connection, target.project.id, target.worker, first, SHEET + 1)
    if not listed:
        return _to_pair(target, None)
    views = [reveal.view(context.site.ledger, target.project, target.worker, pair) for _, pair in listed[:SHEET]]
    return context.page(
        "review_sheet.html",
        project=target.project,
        views=views,
        first=listed[0][0],
        following=listed[SHEET][0] if len(listed) > SHEET else None,
        meters=meters(views[0]),
        nonces=[secrets.token_hex(16) for _ in views],
        choices=CHOICES,
        answer_words=answer_words,
        written=written,
        label_of=label_of,
        row_words=row_words,
        open_kinds=open_kinds,
        refusals=REFUSALS,
    )


def _sheet(context: Context, target: ReviewTarget) -> str:
    """The address of the sheet from which a form was sent; empty for the page of one pair."""
    if not context.form.text("sheet"):
        return ""
    return (
        f"/linkage/{target.project.id}/sheet?from={context.form.whole('sheet', least=0, most=10**9)}#pair-{target.pair}"
    )


@or_again(pair_page)
def decide(context: Here) -> Response:
    """Save an answer, and continue with the next pair that is not decided."""
    target: ReviewTarget = context.loaded
    choice = int(context.form.choice("choice", tuple(str(choice) for choice in CHOICES)))
    store, form, whose = context.site.store, context.form, (target.project, target.worker)
    decisions.decide(store, *whose, target.pair, choice)
    if target.project.study:
        looked = study.acts_of(form.verbatim("looked", most=MOST_LOOKED), target.project.attributes)
        since = form.whole("since", least=0, most=study.LONGEST_ACT) if form.text("since") else None
        study.log(store, *whose, target.pair, [*looked, study.LoggedAct("decided", since=since)])
    if sheet := _sheet(context, target):
        return go(sheet)
    with context.site.store.reading() as connection:
        following = linkage_store.next_open(connection, target.project.id, target.worker, target.pair)
    return _to_pair(target, following, said="too-fast" if decisions.hurrying(store, *whose) else "")


@or_again(pair_page)
def undo(context: Here) -> Response:
    """Undo the decision on this pair, or the last one; opened cells stay open."""
    target: ReviewTarget = context.loaded
    store, whose = context.site.store, (target.project, target.worker)
    pair: int | None = target.pair
    if reveal.view(context.site.ledger, *whose, target.pair).choice is None:
        pair = decisions.last_decided(store, *whose)
    if pair is None:
        return go(target.address, said="nothing-to-undo")
    decisions.undo(store, *whose, pair)
    return go(replace(target, pair=pair).address, said="decision-undone")


def done_page(context: Here) -> Response:
    """The reviewer's decisions, what was shown for them, and thanks."""
    target: ReviewTarget = context.loaded
    progress = summary(context.site.ledger, target.project, target.worker)
    with context.site.store.reading() as connection:
        first = linkage_store.first_pair(connection, target.project.id, target.worker)
    return context.page(
        "review_done.html",
        project=target.project,
        mine=progress,
        first=first,
        written=written,
        time=span(timedelta(seconds=progress.seconds)),
    )


def _parts(target: ReviewTarget, view: PairView, problem: Problem | None, *, announce: str = "") -> dict[str, Any]:
    return {
        "project": target.project,
        "view": view,
        "meters": meters(view),
        "nonce": secrets.token_hex(16),
        "problem": problem,
        "announce": announce,
        "refusals": REFUSALS,
        "written": written,
        "label_of": label_of,
        "row_words": row_words,
        "announced": announced,
        "open_kinds": open_kinds,
    }


# -- words and meters of a pair; a `PairView` holds nothing that was not paid for -----------------------------------------

ROWS = ("A", "B")
ROOM = Fraction(5, 4)
"""A meter reaches a quarter further than its limit."""


@dataclass(frozen=True)
class ShownMeter:
    """A meter: the share used, the limit, and the scale of the bar."""

    key: str
    label: str
    gauge: Gauge

    def along(self, value: Fraction) -> str:
        """Where a share is on the bar, in per cent of its length."""
        whole = min(Fraction(1), self.gauge.limit * ROOM) if self.gauge.limit else Fraction(1)
        return f"{min(100.0, float(100 * value / whole)):.3f}"

    @property
    def used(self) -> str:
        """In words."""
        return written(self.gauge.used)

    @property
    def limit(self) -> str:
        """In words."""
        return "no limit" if self.gauge.limit is None else f"limit {written(self.gauge.limit)}"

    @property
    def now(self) -> float:
        """The number, for a screen reader."""
        return percent(self.gauge.used)


def meters(row: Any) -> tuple[ShownMeter, ShownMeter]:
    """The two meters of a pair, a reviewer or a project."""
    return ShownMeter("characters", "Characters shown", row.characters), ShownMeter(
        "risk", "Privacy risk (KAPR)", row.risk
    )


def written(share: Fraction) -> str:
    """A share in per cent; one above zero never looks like zero.

    >>> written(Fraction(41, 1000)), written(Fraction(0)), written(Fraction(1, 100_000)), written(Fraction(3, 10))
    ('4.1 %', '0 %', '0.001 %', '30 %')
    """
    value = float(100 * share)
    if value == 0 or value >= 100:
        return f"{value:.0f} %"
    digits = 1 if value >= 1 else 2
    while digits < 6 and round(value, digits) == 0:
        digits += 1
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") + " %"


def label_of(attribute: str) -> str:
    """The name of a column as people read it.

    >>> label_of("birth_date")
    'birth date'
    """
    return attribute.replace("_", " ").strip() or attribute


def answer_words(choice: int) -> str:
    """An answer in words.

    >>> answer_words(6), answer_words(0)
    ('same, high confidence', "can't tell")
    """
    answer, sure = CHOICES[choice]
    return f"{answer}, {sure} confidence" if sure else answer


def row_words(cell: CellView, place: int) -> str:
    """A value for a screen reader: attribute, row, and what is known."""
    row = cell.rows[place]
    words = [f"{label_of(cell.attribute)}, row {ROWS[place]}: {row.words}"]
    if cell.together is not None:
        words.append(f"swapped with {label_of(cell.together)} of row {ROWS[1 - place]}")
    elif row.words != "missing":
        words += [mark.words for mark in cell.marks if mark.name != "missing"]
    if row.frequency is not None:
        words.append(row.frequency.words)
    return "; ".join(words)


def announced(cell: CellView) -> str:
    """Both values for a screen reader."""
    return f"{row_words(cell, 0)}. {row_words(cell, 1)}"


def open_kinds(cell: CellView) -> set[str]:
    """Kinds of pieces that are open."""
    kinds: set[str] = {piece.kind for row in cell.rows for piece in row.pieces} - {"separator", "missing"}
    return kinds if cell.mode == "full" else kinds - {"same"} if cell.mode == "partial" else set()
