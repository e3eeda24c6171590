"""Jobs of linkage: projects being made, models being retrained."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import Connection, Table, insert, select, update

from discreet.store.tables.linkage import WORK
from discreet.store.tables.web import ACCOUNT
from discreet.web.jobs import store as queue
from discreet.web.jobs.store import ACTIVE, Queued

ALIVE = ("declared", *ACTIVE, "failed")
"""States in which a manager may still go on with it, so that its files are needed."""


@dataclass(frozen=True, kw_only=True)
class Work(Queued):
    """A job about a project of linkage.

    The request holds the tables and what was declared about them: names of columns, no value.
    """

    table: ClassVar[Table] = WORK

    name: str
    """The name of the project, which may not exist yet."""
    project: int | None

    @property
    def tables(self) -> list[dict[str, Any]]:
        """The tables it is about: name, columns, and where each is."""
        return list(self.asked.get("tables", []))

    @property
    def files(self) -> list[dict[str, Any]]:
        """Tables and pairs that were uploaded for it."""
        given = [*self.tables, *([self.asked["pairs"]] if self.asked.get("pairs") else [])]
        return [file for file in given if file.get("upload")]

    @property
    def uploads(self) -> list[str]:
        """Our files that it still needs."""
        return [file["upload"] for file in self.files]


def find(connection: Connection, number: int) -> Work | None:
    """By number."""
    return next(iter(_works(connection, WORK.c.id == number)), None)


def unfinished(connection: Connection) -> list[Work]:
    """All that a manager may still go on with, the newest first."""
    return _works(connection, WORK.c.state.in_(ALIVE))


def of_project(connection: Connection, project: int) -> list[Work]:
    """What was done for a project, the newest first."""
    return _works(connection, WORK.c.project == project)


def _works(connection: Connection, which: Any) -> list[Work]:
    whole = select(WORK, ACCOUNT.c.name.label("asker")).join(ACCOUNT, ACCOUNT.c.id == WORK.c.account)
    return [Work.of(row) for row in connection.execute(whole.where(which).order_by(WORK.c.id.desc()))]


def add(
    connection: Connection, *, kind: str, name: str, account: int, asked: dict[str, Any], project: int | None = None
) -> int:
    """New work: a project whose columns are to be declared first, or retraining, which can begin at once."""
    values = {
        "kind": kind,
        "name": name,
        "account": account,
        "project": project,
        "asked": json.dumps({"folder": f"link-{secrets.token_hex(16)}", **asked}),
        **queue.new_row(connection, "declared" if kind == "make" else "queued"),
    }
    return int(connection.execute(insert(WORK).values(values).returning(WORK.c.id)).scalar_one())


def begin(connection: Connection, number: int, asked: dict[str, Any]) -> bool:
    """It was declared, or failed and is tried again; False if it runs already."""
    values = {"state": "queued", "asked": json.dumps(asked), "attempts": 0, "step": queue.WAITING}
    values |= {"problem": None, "remedy": None, "progress": None, "ended": None}
    waiting = (WORK.c.id == number, WORK.c.state.in_(("declared", "failed")))
    return connection.execute(update(WORK).where(*waiting).values(values)).rowcount == 1


def discard(connection: Connection, number: int) -> bool:
    """Cancel it, also before it was declared or after it failed."""
    return queue.cancel(connection, number, of=WORK, states=ALIVE)


def needed_files(connection: Connection) -> set[str]:
    """Names of our files that unfinished work still needs."""
    return {name for work in unfinished(connection) for name in work.uploads}
