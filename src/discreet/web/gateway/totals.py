"""Running totals per database user, brought up to date when read.

The ledger stays the source: totals can be computed from its entries again. Entries are numbered in the order in which they
are committed, so a reader up to a number has missed nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from discreet.ledger import Entry
from discreet.store import Store
from discreet.store.tables.gateway import DAY, READ, REFUSAL, USER, WATCHED
from discreet.store.tables.ledger import ENTRY
from discreet.web.gateway.entry_view import GatewayResult, database_of, result_of
from discreet.web.ledger import entry_of

CHUNK = 2_000
"""Entries that are summed up in one transaction."""
MOST = 100
"""Transactions per call; the next call continues."""
FAR = 10_000
"""Entries of other rooms that are skipped at once, so that they are not searched at every call."""


def follow(store: Store) -> bool:
    """Sum up new entries; says whether the totals are complete."""
    for _ in range(MOST):
        if not _is_behind(store):
            return True
        with store.writing() as connection:
            _continue(connection)
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


def _continue(connection: Connection) -> None:
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
    """Users and days with their totals, changed by entries and saved together."""

    connection: Connection
    users: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    days: dict[tuple[int, str], dict[str, Any]] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        """Count one more entry."""
        if entry.event == "gateway.started":
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
        elif entry.event == "gateway.repeated":
            database, number = database_of(entry), entry.details.get("results")
            if database is not None and isinstance(number, int):
                user = self._user(database, entry.actor, entry.time)
                user["repeated"] += number
                user["seen"] = entry.time
        elif entry.outcome == "released":
            self._take_back(entry)
        elif (result := result_of(entry)) is not None:
            self._count(result)

    def save(self) -> None:
        """Write what has changed."""
        for user in self.users.values():
            self.connection.execute(update(USER).where(USER.c.id == user["id"]).values(_but(user, "id")))
        for day in self.days.values():
            mine = (DAY.c.user == day["user"], DAY.c.day == day["day"])
            self.connection.execute(update(DAY).where(*mine).values(_but(day, "user", "day")))

    def _count(self, result: GatewayResult) -> None:
        user, day = self._change(result, 1)
        user["exposure"] = user["exposure"] if result.exposure is None else result.exposure
        if result.limit is not None:
            user["allowed"], user["rule"] = result.limit, result.rule
        user["streak"] = user["streak"] + 1 if result.refused else 0 if result.answered else user["streak"]
        user["seen"] = result.entry.time
        day["closed"], day["streak"] = user["exposure"], max(day["streak"], user["streak"])
        if result.is_refusal:
            values = {"sequence": result.entry.sequence, "user": user["id"], "enforced": result.refused}
            self.connection.execute(insert(REFUSAL).values(values))

    def _take_back(self, entry: Entry) -> None:
        """A released reservation reached nobody, so its result does not count."""
        number = entry.budget.reservation if entry.budget is not None else None
        body = self.connection.execute(select(ENTRY.c.body).where(ENTRY.c.sequence == number)).scalar()
        result = result_of(entry_of(number, body)) if number is not None and body is not None else None
        if result is None:
            return
        user, day = self._change(result, -1)
        if result.before is not None:
            user["exposure"] = day["closed"] = result.before
        self.connection.execute(delete(REFUSAL).where(REFUSAL.c.sequence == result.entry.sequence))

    def _change(self, result: GatewayResult, by: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Count a result in, or out again; gives its user and its day."""
        user = self._user(result.database, result.user, result.entry.time)
        day = self._day(user, result.entry.time)
        counts = {"answers": result.answered, "refused": result.refused, "would": result.would, "over": result.over}
        for name, counted in counts.items():
            user[name] += by * counted
            day[name] += by * counted
        day["rows"] += by * result.rows * result.answered
        return user, day

    def _user(self, database: str, name: str, time: str) -> dict[str, Any]:
        known = self.users.get((database, name))
        if known is None:
            mine = (USER.c.database == database, USER.c.name == name)
            row = self.connection.execute(select(USER).where(*mine)).one_or_none()
            known = dict(row._mapping) if row is not None else self._new_user(database, name, time)
            self.users[database, name] = known
        return known

    def _new_user(self, database: str, name: str, time: str) -> dict[str, Any]:
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
            known = dict(row._mapping) if row is not None else self._new_day(user, key)
            self.days[key] = known
        return known

    def _new_day(self, user: dict[str, Any], key: tuple[int, str]) -> dict[str, Any]:
        nothing = dict.fromkeys(("answers", "rows", "refused", "would", "over", "streak"), 0)
        new = {"user": key[0], "day": key[1], **nothing, "opened": user["exposure"], "closed": user["exposure"]}
        self.connection.execute(insert(DAY).values(new))
        return new


def _but(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}
