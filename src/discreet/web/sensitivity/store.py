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
        """The subject of ledger entries about it."""
        return f"study:{self.name}"

    @property
    def columns(self) -> list[str]:
        """The columns that values belong to."""
        return list(dict.fromkeys(item.column for item in self.items))


@dataclass(frozen=True)
class StoredInterview:
    """One expert's interview, and its version when it was read."""

    study: int
    account: int
    name: str
    talk: Interview
    version: int
    changed: str

    @property
    def percent(self) -> int:
        """The share of questions that are answered."""
        return percent_answered(self.talk)

    @property
    def finished(self) -> bool:
        """Was enough asked?"""
        return self.talk.left == 0


@dataclass(frozen=True)
class SensitivityVersion:
    """A version of the sensitivity function."""

    id: int
    study: int
    study_name: str
    digest: str
    content: dict[str, Any]
    owner: str
    made: str


def percent_answered(talk: Interview) -> int:
    """The share of an interview's questions that are answered."""
    answered = len(talk.answers)
    return round(100 * answered / max(1, answered + talk.left))


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


def _interview_of(row: Row[Any]) -> StoredInterview:
    talk = Interview.from_dict(json.loads(row.content))
    return StoredInterview(row.study, row.account, row.name, talk, row.version, row.changed)


def _version_of(row: Row[Any]) -> SensitivityVersion:
    return SensitivityVersion(
        row.id, row.study, row.study_name, row.digest, json.loads(row.content), row.owner, row.made
    )


def find(connection: Connection, number: int) -> Study | None:
    """By number."""
    row = connection.execute(_STUDIES.where(STUDY.c.id == number)).one_or_none()
    return None if row is None else _study_of(row)


def everything(connection: Connection) -> list[Study]:
    """All studies, the newest first."""
    return [_study_of(row) for row in connection.execute(_STUDIES.order_by(STUDY.c.id.desc()))]


def of_expert(connection: Connection, account: int) -> list[tuple[Study, StoredInterview]]:
    """The open studies to which an expert is invited, the newest first."""
    mine = select(INTERVIEW.c.study).where(INTERVIEW.c.account == account)
    open_ones = _STUDIES.where(STUDY.c.id.in_(mine), STUDY.c.closed.is_(None)).order_by(STUDY.c.id.desc())
    invited = [(_study_of(row), interview(connection, row.id, account)) for row in connection.execute(open_ones)]
    return [(study, talk) for study, talk in invited if talk is not None]


def interview(connection: Connection, study: int, account: int) -> StoredInterview | None:
    """One expert's interview; None if they are not invited."""
    mine = (INTERVIEW.c.study == study, INTERVIEW.c.account == account)
    row = connection.execute(_TALKS.where(*mine)).one_or_none()
    return None if row is None else _interview_of(row)


def interviews(connection: Connection, study: int) -> list[StoredInterview]:
    """All experts of a study, by name."""
    return [
        _interview_of(row)
        for row in connection.execute(_TALKS.where(INTERVIEW.c.study == study).order_by(ACCOUNT.c.name))
    ]


def add(connection: Connection, *, name: str, items: Sequence[Item], ratings: int, account: int, now: str) -> Study:
    """A new study, with a name that no other has."""
    if connection.execute(select(STUDY.c.id).where(STUDY.c.name == name)).scalar() is not None:
        raise Problem(409, "There is a study with this name already.", remedy="Choose another name.")
    content = json.dumps([item.to_dict() for item in items])
    values = {"name": name, "items": content, "ratings": ratings, "account": account, "made": now}
    number = connection.execute(insert(STUDY).values(values).returning(STUDY.c.id)).scalar_one()
    return _study_of(connection.execute(_STUDIES.where(STUDY.c.id == number)).one())


def invite(connection: Connection, study: Study, account: int, now: str) -> bool:
    """Invite one more expert; False if they were invited already.

    Each expert gets the questions in an order of their own.
    """
    if interview(connection, study.id, account) is not None:
        return False
    name = connection.execute(select(ACCOUNT.c.name).where(ACCOUNT.c.id == account)).scalar_one()
    talk = Interview.begin(name, study.items, ratings=study.ratings, seed=account)
    values = {"study": study.id, "account": account, "content": json.dumps(talk.to_dict())}
    connection.execute(insert(INTERVIEW).values(**values, version=0, changed=now))
    return True


def save(connection: Connection, read: StoredInterview, talk: Interview, now: str) -> bool:
    """Store the interview in place of the version that was read; False if another request was quicker."""
    mine = (INTERVIEW.c.study == read.study, INTERVIEW.c.account == read.account, INTERVIEW.c.version == read.version)
    values = {"content": json.dumps(talk.to_dict()), "version": read.version + 1, "changed": now}
    return update_one(connection, INTERVIEW, *mine, **values)


def ask_again(connection: Connection, study: int, items: Sequence[int], *, most: int, now: str) -> int:
    """Repeat the last questions about these items to all experts who answered some; gives to how many."""
    asked = 0
    for stored in interviews(connection, study):
        talk = stored.talk.ask_again(items, most=most)
        if talk.again and save(connection, stored, talk, now):
            asked += 1
    return asked


def close(connection: Connection, number: int, now: str | None) -> None:
    """Take no further answers; or, without a moment, take them again."""
    connection.execute(update(STUDY).where(STUDY.c.id == number).values(closed=now))


def keep_version(connection: Connection, study: int, *, digest: str, content: Any, account: int, now: str) -> int:
    """Store a version; gives its number, or that of the same version if it is stored already."""
    mine = (SENSITIVITY.c.study == study, SENSITIVITY.c.digest == digest)
    known = connection.execute(select(SENSITIVITY.c.id).where(*mine)).scalar()
    if known is not None:
        return int(known)
    values = {"study": study, "digest": digest, "content": json.dumps(content), "account": account, "made": now}
    return int(connection.execute(insert(SENSITIVITY).values(values).returning(SENSITIVITY.c.id)).scalar_one())


def versions(connection: Connection, study: int) -> list[SensitivityVersion]:
    """The versions of a study, the newest first."""
    mine = _VERSIONS.where(SENSITIVITY.c.study == study).order_by(SENSITIVITY.c.id.desc())
    return [_version_of(row) for row in connection.execute(mine)]


def version(connection: Connection, number: int) -> SensitivityVersion | None:
    """By number."""
    row = connection.execute(_VERSIONS.where(SENSITIVITY.c.id == number)).one_or_none()
    return None if row is None else _version_of(row)
