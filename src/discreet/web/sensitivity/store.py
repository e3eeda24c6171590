"""Studies and interviews in the store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from discreet.misuse.elicitation import Interview, Item
from discreet.store.tables.web import ACCOUNT, INTERVIEW, SENSITIVITY, STUDY
from discreet.store.transitions import update_one
from discreet.web.framework.problems import Problem


@dataclass(frozen=True)
class Study:
    """Values that experts are asked about."""

    id: int
    name: str
    items: tuple[Item, ...]
    ratings: int
    owner: str
    made: str
    closed: str | None

    @property
    def subject(self) -> str:
        """What the ledger calls it."""
        return f"study:{self.name}"

    @property
    def columns(self) -> list[str]:
        """The columns that values belong to."""
        return list(dict.fromkeys(item.column for item in self.items))


@dataclass(frozen=True)
class Kept:
    """One expert's interview, and at which state it was read."""

    study: int
    account: int
    name: str
    talk: Interview
    version: int
    changed: str

    @property
    def percent(self) -> int:
        """How much was answered."""
        answered = len(self.talk.answers)
        return round(100 * answered / max(1, answered + self.talk.left))

    @property
    def finished(self) -> bool:
        """Was enough asked?"""
        return self.talk.left == 0


@dataclass(frozen=True)
class Version:
    """A version of the sensitivity function."""

    id: int
    study: int
    study_name: str
    digest: str
    content: dict[str, Any]
    owner: str
    made: str


_STUDIES = select(STUDY, ACCOUNT.c.name.label("owner")).join(ACCOUNT, ACCOUNT.c.id == STUDY.c.account)
_TALKS = select(INTERVIEW, ACCOUNT.c.name).join(ACCOUNT, ACCOUNT.c.id == INTERVIEW.c.account)
_VERSIONS = (
    select(SENSITIVITY, ACCOUNT.c.name.label("owner"), STUDY.c.name.label("study_name"))
    .join(ACCOUNT, ACCOUNT.c.id == SENSITIVITY.c.account)
    .join(STUDY, STUDY.c.id == SENSITIVITY.c.study)
)


def _study_of(row: Row[Any]) -> Study:
    items = tuple(
        Item(one["column"], one["label"], tuple(one["values"]), one["upper"]) for one in json.loads(row.items)
    )
    return Study(row.id, row.name, items, row.ratings, row.owner, row.made, row.closed)


def _kept_of(row: Row[Any]) -> Kept:
    talk = Interview.from_dict(json.loads(row.content))
    return Kept(row.study, row.account, row.name, talk, row.version, row.changed)


def _version_of(row: Row[Any]) -> Version:
    return Version(row.id, row.study, row.study_name, row.digest, json.loads(row.content), row.owner, row.made)


def find(connection: Connection, number: int) -> Study | None:
    """By number."""
    row = connection.execute(_STUDIES.where(STUDY.c.id == number)).one_or_none()
    return None if row is None else _study_of(row)


def everything(connection: Connection) -> list[Study]:
    """All studies, the newest first."""
    return [_study_of(row) for row in connection.execute(_STUDIES.order_by(STUDY.c.id.desc()))]


def of_expert(connection: Connection, account: int) -> list[tuple[Study, Kept]]:
    """The open studies to which somebody is invited, the newest first."""
    mine = select(INTERVIEW.c.study).where(INTERVIEW.c.account == account)
    open_ones = _STUDIES.where(STUDY.c.id.in_(mine), STUDY.c.closed.is_(None)).order_by(STUDY.c.id.desc())
    found = [(_study_of(row), interview(connection, row.id, account)) for row in connection.execute(open_ones)]
    return [(study, kept) for study, kept in found if kept is not None]


def interview(connection: Connection, study: int, account: int) -> Kept | None:
    """What one expert said; None if not invited."""
    mine = (INTERVIEW.c.study == study, INTERVIEW.c.account == account)
    row = connection.execute(_TALKS.where(*mine)).one_or_none()
    return None if row is None else _kept_of(row)


def interviews(connection: Connection, study: int) -> list[Kept]:
    """All experts of a study, by name."""
    return [
        _kept_of(row) for row in connection.execute(_TALKS.where(INTERVIEW.c.study == study).order_by(ACCOUNT.c.name))
    ]


def add(connection: Connection, *, name: str, items: Sequence[Item], ratings: int, account: int, now: str) -> Study:
    """A new study; its name is its own."""
    if connection.execute(select(STUDY.c.id).where(STUDY.c.name == name)).scalar() is not None:
        raise Problem(409, "There is a study with this name already.", remedy="Choose another name.")
    content = json.dumps([item.to_dict() for item in items])
    values = {"name": name, "items": content, "ratings": ratings, "account": account, "made": now}
    number = connection.execute(insert(STUDY).values(values).returning(STUDY.c.id)).scalar_one()
    return _study_of(connection.execute(_STUDIES.where(STUDY.c.id == number)).one())


def invite(connection: Connection, study: Study, account: int, now: str) -> bool:
    """Ask one more expert; False if they were asked already. Everybody's questions come in an order of their own."""
    if interview(connection, study.id, account) is not None:
        return False
    name = connection.execute(select(ACCOUNT.c.name).where(ACCOUNT.c.id == account)).scalar_one()
    talk = Interview.begin(name, study.items, ratings=study.ratings, seed=account)
    values = {"study": study.id, "account": account, "content": json.dumps(talk.to_dict())}
    connection.execute(insert(INTERVIEW).values(**values, version=0, changed=now))
    return True


def save(connection: Connection, kept: Kept, talk: Interview, now: str) -> bool:
    """Put the interview as it is now in place of the one that was read; False if somebody else was quicker."""
    mine = (INTERVIEW.c.study == kept.study, INTERVIEW.c.account == kept.account, INTERVIEW.c.version == kept.version)
    values = {"content": json.dumps(talk.to_dict()), "version": kept.version + 1, "changed": now}
    return update_one(connection, INTERVIEW, *mine, **values)


def ask_again(connection: Connection, study: int, items: Sequence[int], *, most: int, now: str) -> int:
    """Put the last questions about these items once more to everybody who answered some; gives to how many."""
    asked = 0
    for kept in interviews(connection, study):
        talk = kept.talk.ask_again(items, most=most)
        if talk.again and save(connection, kept, talk, now):
            asked += 1
    return asked


def close(connection: Connection, number: int, now: str | None) -> None:
    """Nobody answers any more; or, with no moment, everybody may again."""
    connection.execute(update(STUDY).where(STUDY.c.id == number).values(closed=now))


def keep_version(connection: Connection, study: int, *, digest: str, content: Any, account: int, now: str) -> int:
    """A version; the number of the one that there is if it is the same."""
    mine = (SENSITIVITY.c.study == study, SENSITIVITY.c.digest == digest)
    found = connection.execute(select(SENSITIVITY.c.id).where(*mine)).scalar()
    if found is not None:
        return int(found)
    values = {"study": study, "digest": digest, "content": json.dumps(content), "account": account, "made": now}
    return int(connection.execute(insert(SENSITIVITY).values(values).returning(SENSITIVITY.c.id)).scalar_one())


def versions(connection: Connection, study: int) -> list[Version]:
    """The versions of a study, the newest first."""
    mine = _VERSIONS.where(SENSITIVITY.c.study == study).order_by(SENSITIVITY.c.id.desc())
    return [_version_of(row) for row in connection.execute(mine)]


def version(connection: Connection, number: int) -> Version | None:
    """By number."""
    row = connection.execute(_VERSIONS.where(SENSITIVITY.c.id == number)).one_or_none()
    return None if row is None else _version_of(row)
