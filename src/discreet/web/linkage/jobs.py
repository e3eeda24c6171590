"""Jobs of linkage: projects in the making, models that learn from decisions."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select, update

from discreet.store.tables.linkage import WORK
from discreet.store.tables.web import ACCOUNT
from discreet.web.jobs import queue
from discreet.web.jobs.store import ACTIVE, Queued

WORDS = {"make": "make the project", "retrain": "learn from decisions"}
ALIVE = ("declared", *ACTIVE, "failed")
"""States in which somebody may still go on with it, so that its files are kept."""


@dataclass(frozen=True, kw_only=True)
class Work(Queued):
    """Something that takes its time, about a project of linkage.

    What was asked are the tables, and what was declared about them; names of columns, no value.
    """

    name: str
    """What the project is called, or will be."""
    project: int | None

    @property
    def words(self) -> str:
        """What it does."""
        return WORDS[self.kind]

    @property
    def tables(self) -> list[dict[str, Any]]:
        """The tables it is about: name, columns, and where each is."""
        return list(self.asked.get("tables", []))

    @property
    def uploads(self) -> list[str]:
        """Our files that it still needs."""
        files = [*self.tables, *([self.asked["pairs"]] if self.asked.get("pairs") else [])]
        return [one["upload"] for one in files if one.get("upload")]


_WHOLE = select(WORK, ACCOUNT.c.name.label("asker")).join(ACCOUNT, ACCOUNT.c.id == WORK.c.account)


def find(connection: Connection, number: int) -> Work | None:
    """By number."""
    row = connection.execute(_WHOLE.where(WORK.c.id == number)).one_or_none()
    return None if row is None else Work.of(row)


def unfinished(connection: Connection) -> list[Work]:
    """All that somebody may still go on with, the newest first."""
    return [
        Work.of(row) for row in connection.execute(_WHOLE.where(WORK.c.state.in_(ALIVE)).order_by(WORK.c.id.desc()))
    ]


def of_project(connection: Connection, project: int) -> list[Work]:
    """What was done for a project, the newest first."""
    return [
        Work.of(row) for row in connection.execute(_WHOLE.where(WORK.c.project == project).order_by(WORK.c.id.desc()))
    ]


def add(
    connection: Connection, *, kind: str, name: str, account: int, asked: dict[str, Any], project: int | None = None
) -> int:
    """New work: a project whose columns are to be declared first, or learning, which can begin at once."""
    values = {
        "kind": kind,
        "name": name,
        "account": account,
        "project": project,
        "asked": json.dumps({"folder": f"link-{secrets.token_hex(16)}", **asked}),
        "state": "declared" if kind == "make" else "queued",
        "made": queue.moment(connection),
        "attempts": 0,
        "step": "Waiting for its turn",
    }
    return int(connection.execute(insert(WORK).values(values).returning(WORK.c.id)).scalar_one())


def begin(connection: Connection, number: int, asked: dict[str, Any]) -> bool:
    """It was declared, or failed and is tried again; False if it runs already."""
    values = {"state": "queued", "asked": json.dumps(asked), "attempts": 0, "step": "Waiting for its turn"}
    values |= {"problem": None, "remedy": None, "progress": None, "ended": None}
    waiting = (WORK.c.id == number, WORK.c.state.in_(("declared", "failed")))
    return connection.execute(update(WORK).where(*waiting).values(values)).rowcount == 1


def discard(connection: Connection, number: int) -> bool:
    """It shall not be done."""
    alive = (WORK.c.id == number, WORK.c.state.in_(ALIVE))
    values = {
        "state": "cancelled",
        "claim": None,
        "lease": None,
        "step": "Cancelled",
        "ended": queue.moment(connection),
    }
    return connection.execute(update(WORK).where(*alive).values(values)).rowcount == 1


def finish(connection: Connection, number: int, claim: str, project: int) -> bool:
    """It is done; False if it is not ours any more."""
    mine = (WORK.c.id == number, WORK.c.claim == claim, WORK.c.state == "running")
    values = {"state": "done", "claim": None, "lease": None, "step": "Done", "progress": 1000, "project": project}
    values["ended"] = queue.moment(connection)
    return connection.execute(update(WORK).where(*mine).values(values)).rowcount == 1


def kept_files(connection: Connection) -> set[str]:
    """Names of our files that work still needs."""
    return {name for one in unfinished(connection) for name in one.uploads}
