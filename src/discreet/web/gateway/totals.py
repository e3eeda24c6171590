"""Running totals per database user, brought up to date when read.

The ledger stays the truth: the sums hold nothing that its entries do not say, and can be made anew from them. Entries are
numbered in the order in which they are committed, so whoever has read up to a number has missed nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from discreet.ledger import Entry
from discreet.store import Store
from discreet.store.tables.gateway import DAY, READ, REFUSAL, USER, WATCHED
from discreet.store.tables.ledger import ENTRY
from discreet.web.gateway.entry_view import Told, database_of, told_of
from discreet.web.ledger.store import entry_of

CHUNK = 2_000
"""Entries that are summed up in one transaction."""
MOST = 100
"""Transactions that one look takes at most; the next one goes on."""
FAR = 10_000
"""Entries of other rooms behind which we need not look again and again."""
_COUNTED = ("answers", "refused", "would", "over")


def follow(store: Store) -> bool:
    """Sum up what is new; says whether all of it is."""
    for _ in range(MOST):
        if not _is_behind(store):
            return True
        with store.writing() as connection:
            _go_on(connection)
    return not _is_behind(store)


def _is_behind(store: Store) -> bool:
    with store.reading() as connection:
        upto = connection.execute(select(READ.c.upto)).scalar_one()
        top = connection.execute(select(func.max(ENTRY.c.sequence))).scalar_one()
        return top - upto > FAR or connection.execute(_new(upto).limit(1)).first() is not None


def _new(upto: int) -> Any:
    return (
        select(ENTRY.c.sequence, ENTRY.c.body)
        .where(ENTRY.c.room == "gateway", ENTRY.c.sequence > upto)
        .order_by(ENTRY.c.sequence)
    )


def _go_on(connection: Connection) -> None:
    upto = connection.execute(select(READ.c.upto).with_for_update()).scalar_one()
    top = connection.execute(select(func.max(ENTRY.c.sequence))).scalar_one()
    rows = connection.execute(_new(upto).where(ENTRY.c.sequence <= top).limit(CHUNK)).all()
    sums = Sums(connection)
    for row in rows:
        sums.add(entry_of(row.sequence, row.body))
    sums.save()
    done = rows[-1].sequence if len(rows) == CHUNK else top
    connection.execute(update(READ).values(upto=done))


@dataclass
class Sums:
    """Users and days that some entries are about."""

    connection: Connection
    users: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    days: dict[tuple[int, str], dict[str, Any]] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        """Count one more entry."""
        if entry.event == "gateway.started":
            self._start(entry)
        elif entry.event == "gateway.repeated":
            self._repeat(entry)
        elif entry.outcome == "released":
            self._take_back(entry)
        elif (told := told_of(entry)) is not None:
            self._count(told)

    def save(self) -> None:
        """Write what has changed."""
        for user in self.users.values():
            self.connection.execute(update(USER).where(USER.c.id == user["id"]).values(_but(user, "id")))
        for day in self.days.values():
            mine = (DAY.c.user == day["user"], DAY.c.day == day["day"])
            self.connection.execute(update(DAY).where(*mine).values(_but(day, "user", "day")))

    def _start(self, entry: Entry) -> None:
        name = entry.subject.removeprefix("database:")
        tables = entry.details.get("tables")
        self.connection.execute(delete(WATCHED).where(WATCHED.c.name == name))
        self.connection.execute(
            insert(WATCHED).values(
                name=name,
                entry=entry.sequence,
                since=entry.time,
                mode=str(entry.details.get("mode") or ""),
                tables=tables if isinstance(tables, int) else 0,
                x=str(entry.details.get("x") or "2"),
            )
        )

    def _repeat(self, entry: Entry) -> None:
        database, number = database_of(entry), entry.details.get("results")
        if database is not None and isinstance(number, int):
            user = self._user(database, entry.actor, entry.time)
            user["repeated"] += number
            user["seen"] = entry.time

    def _count(self, told: Told) -> None:
        user = self._user(told.database, told.user, told.entry.time)
        day = self._day(user, told.entry.time)
        self._change(user, day, told, 1)
        exposure = told.exposure
        user["exposure"] = user["exposure"] if exposure is None else exposure
        if told.limit is not None:
            user["allowed"], user["rule"] = told.limit, told.rule
        user["streak"] = user["streak"] + 1 if told.refused else 0 if told.answered else user["streak"]
        user["seen"] = told.entry.time
        day["closed"], day["streak"] = user["exposure"], max(day["streak"], user["streak"])
        if told.is_refusal:
            values = {"sequence": told.entry.sequence, "user": user["id"], "enforced": told.refused}
            self.connection.execute(insert(REFUSAL).values(values))

    def _take_back(self, entry: Entry) -> None:
        """What was reserved certainly reached nobody: as if it had not been."""
        number = entry.budget.reservation if entry.budget is not None else None
        body = self.connection.execute(select(ENTRY.c.body).where(ENTRY.c.sequence == number)).scalar()
        told = told_of(entry_of(number, body)) if number is not None and body is not None else None
        if told is None:
            return
        user = self._user(told.database, told.user, told.entry.time)
        day = self._day(user, told.entry.time)
        self._change(user, day, told, -1)
        if told.before is not None:
            user["exposure"] = day["closed"] = told.before
        self.connection.execute(delete(REFUSAL).where(REFUSAL.c.sequence == told.entry.sequence))

    def _change(self, user: dict[str, Any], day: dict[str, Any], told: Told, by: int) -> None:
        said = {"answers": told.answered, "refused": told.refused, "would": told.would, "over": told.over}
        for name in _COUNTED:
            user[name] += by * said[name]
            day[name] += by * said[name]
        day["rows"] += by * told.rows * told.answered

    def _user(self, database: str, name: str, time: str) -> dict[str, Any]:
        known = self.users.get((database, name))
        if known is None:
            mine = (USER.c.database == database, USER.c.name == name)
            row = self.connection.execute(select(USER).where(*mine)).one_or_none()
            known = dict(row._mapping) if row is not None else self._first(database, name, time)
            self.users[database, name] = known
        return known

    def _first(self, database: str, name: str, time: str) -> dict[str, Any]:
        nothing = dict.fromkeys(("exposure", "answers", "repeated", "refused", "would", "over", "streak"), 0)
        new = {"database": database, "name": name, "allowed": None, "rule": "", "seen": time, **nothing}
        number = self.connection.execute(insert(USER).values(new).returning(USER.c.id)).scalar_one()
        return {"id": number, **new}

    def _day(self, user: dict[str, Any], time: str) -> dict[str, Any]:
        key = (user["id"], time[:10])
        known = self.days.get(key)
        if known is None:
            mine = (DAY.c.user == key[0], DAY.c.day == key[1])
            row = self.connection.execute(select(DAY).where(*mine)).one_or_none()
            known = dict(row._mapping) if row is not None else self._first_of(user, key)
            self.days[key] = known
        return known

    def _first_of(self, user: dict[str, Any], key: tuple[int, str]) -> dict[str, Any]:
        nothing = dict.fromkeys(("answers", "rows", "refused", "would", "over", "streak"), 0)
        new = {"user": key[0], "day": key[1], **nothing, "opened": user["exposure"], "closed": user["exposure"]}
        self.connection.execute(insert(DAY).values(new))
        return new


def _but(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}
