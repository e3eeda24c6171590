"""Pairs on which reviewers differ go to an adjudicator, who begins with all that they have opened."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, select

from discreet.errors import UsageError
from discreet.ledger import Ledger
from discreet.linkage.dispatch import give
from discreet.linkage.masking.comparison import MODES, Mode
from discreet.linkage.project import Project
from discreet.linkage.review import reveal
from discreet.linkage.review.assignments import Limits
from discreet.linkage.review.decisions import Answered, answers_of
from discreet.store import Store
from discreet.store.tables.linkage import ASSIGNMENT, CELL


def disputes(store: Store, project: Project) -> list[Answered]:
    """Pairs that all their reviewers have decided, differently or not at all, and that no adjudicator has yet."""
    return [one for one in answers_of(store, project) if one.disputed and not one.adjudications]


def adjudicate(
    ledger: Ledger,
    project: Project,
    adjudicator: str,
    *,
    actor: str,
    limits: Limits | None = None,
    pairs: Iterable[int] | None = None,
) -> int:
    """Give disputed pairs to an adjudicator: all of them, or these. Gives how many.

    She is shown the union of what the reviewers have opened, and it is charged to a budget of her own. Nobody
    adjudicates a pair that she has reviewed.
    """
    open_ones = {one.pair: one for one in disputes(ledger.store, project)}
    wanted = list(open_ones) if pairs is None else list(pairs)
    if any(number not in open_ones for number in wanted):
        raise UsageError("A pair is not disputed, or is adjudicated already.", remedy="See: discreet link status")
    chosen = [open_ones[number] for number in wanted if adjudicator not in open_ones[number].reviews]
    if wanted and not chosen:
        raise UsageError(
            f"All of these pairs were reviewed by '{adjudicator}'.",
            remedy="Choose an adjudicator who has not seen them.",
        )
    with ledger.store.reading() as connection:
        union = _union(connection, project)
    measured = [(one.pair, reveal.measure_opened(project, one.records, union.get(one.pair, {}))) for one in chosen]
    give(ledger, project, adjudicator, measured, actor=actor, limits=limits, role="adjudication")
    return len(chosen)


def _union(connection: Connection, project: Project) -> Mapping[int, Mapping[str, Mode]]:
    """By pair the furthest mode in which anybody has opened each cell."""
    rows = connection.execute(
        select(ASSIGNMENT.c.pair, CELL.c.attribute, CELL.c.mode)
        .join(ASSIGNMENT, ASSIGNMENT.c.id == CELL.c.assignment)
        .where(ASSIGNMENT.c.project == project.id)
    )
    found: dict[int, dict[str, Mode]] = defaultdict(dict)
    for row in rows:
        if MODES.index(row.mode) > MODES.index(found[row.pair].get(row.attribute, "masked")):
            found[row.pair][row.attribute] = row.mode
    return found
