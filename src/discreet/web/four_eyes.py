"""Two people decide: what keeps one person from being both of them."""

from __future__ import annotations

from sqlalchemy import select

from discreet.ledger.entry import Detail
from discreet.store.tables.ledger import ENTRY
from discreet.web.context import Context
from discreet.web.problems import Problem

TITLE = "Two people decide"


def refuse(context: Context, event: str, subject: str, problem: str, remedy: str, **details: Detail) -> Problem:
    """Write down that somebody tried, and say why not."""
    context.site.ledger.refuse(actor=context.owner.name, event=event, subject=subject, details=details)
    return Problem(403, problem, remedy=remedy, title=TITLE)


def touched(context: Context, *, by: str, since: str) -> int | None:
    """The entry that says that somebody opened or changed the account of who decides, since a moment; None if there is none.

    Whoever asks must not make himself the second pair of eyes: by opening an account, or by a new link to one.
    """
    mine = (
        ENTRY.c.event == "web.account",
        ENTRY.c.actor == by,
        ENTRY.c.subject == f"account:{context.owner.name}",
        ENTRY.c.time >= since,
    )
    with context.site.store.reading() as connection:
        return connection.execute(select(ENTRY.c.sequence).where(*mine).limit(1)).scalar()
