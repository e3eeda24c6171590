"""Running totals per database user, brought up to date when read.

The ledger stays the source: totals can be computed from its entries again. Entries are numbered in the order in which they
are committed, so a reader up to a number has missed nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Select, Table, delete, func, insert, select, update

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
            upto = connection.execute(select(READ.c.upto).with_for_update()).scalar_one()
            top = connection.execute(select(func.max(ENTRY.c.sequence))).scalar_one()
            rows = connection.execute(_new(upto).where(ENTRY.c.sequence <= top).limit(CHUNK)).all()
            sums = Sums(connection)
            for row in rows:
                sums.add(entry_of(row.sequence, row.body))
            sums.save()
            done = rows[-1].sequence if len(rows) == CHUNK else top
            connection.execute(update(READ).values(upto=done))
    return not _is_behind(store)


def _is_behind(store: Store) -> bool:
    with store.reading() as connection:
        upto = connection.execute(select(READ.c.upto)).scalar_one()
        top = connection.execute(select(func.max(ENTRY.c.sequence))).scalar_one()
        return top - upto > FAR or connection.execute(_new(upto).limit(1)).first() is not None


def _new(upto: int) -> Select[Any]:
    """Entries of the gateway after a number, in order."""
    new = (ENTRY.c.room == "gateway", ENTRY.c.sequence > upto)
    return select(ENTRY.c.sequence, ENTRY.c.body).where(*new).order_by(ENTRY.c.sequence)


@dataclass
class Sums:
    """Users and days with their totals, changed by entries and saved together."""

    connection: Connection
    users: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    days: dict[tuple[int, str], dict[str, Any]] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        """Count one more entry."""
        if entry.event == "gateway.started":
            name, details = entry.subject.removeprefix("database:"), entry.details
            mode, tables = str(details.get("mode") or ""), details.get("tables")
            values = {"name": name, "entry": entry.sequence, "since": entry.time, "mode": mode}
            values |= {"tables": tables if isinstance(tables, int) else 0, "x": str(details.get("x") or "2")}
            self.connection.execute(delete(WATCHED).where(WATCHED.c.name == name))
            self.connection.execute(insert(WATCHED).values(values))
        elif entry.event == "gateway.repeated":
            database, number = database_of(entry), entry.details.get("results")
            if database is not None and isinstance(number, int):
                user = self._user(database, entry.actor, entry.time)
                user["repeated"] += number
                user["seen"] = entry.time
        elif entry.outcome == "released":
            # A released reservation reached nobody, so its result does not count.
            number = entry.budget.reservation if entry.budget is not None else None
            body = self.connection.execute(select(ENTRY.c.body).where(ENTRY.c.sequence == number)).scalar()
            released = result_of(entry_of(number, body)) if number is not None and body is not None else None
            if released is not None:
                user, day = self._change(released, -1)
                if released.before is not None:
                    user["exposure"] = day["closed"] = released.before
                self.connection.execute(delete(REFUSAL).where(REFUSAL.c.sequence == number))
        elif (result := result_of(entry)) is not None:
            user, day = self._change(result, 1)
            user["exposure"] = user["exposure"] if result.exposure is None else result.exposure
            if result.limit is not None:
                user["allowed"], user["rule"] = result.limit, result.rule
            user["streak"] = user["streak"] + 1 if result.refused else 0 if result.answered else user["streak"]
            user["seen"] = entry.time
            day["closed"], day["streak"] = user["exposure"], max(day["streak"], user["streak"])
            if result.is_refusal:
                refusal = {"sequence": entry.sequence, "user": user["id"], "enforced": result.refused}
                self.connection.execute(insert(REFUSAL).values(refusal))

    def save(self) -> None:
        """Write what has changed."""
        for table, keys, rows in ((USER, ("id",), self.users.values()), (DAY, ("user", "day"), self.days.values())):
            for row in rows:
                values = {name: value for name, value in row.items() if name not in keys}
                same = [table.c[name] == row[name] for name in keys]
                self.connection.execute(update(table).where(*same).values(values))

    def _change(self, result: GatewayResult, by: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Count a result in, or out again; gives its user and its day."""
        time = result.entry.time
        user = self._user(result.database, result.user, time)
        key = (user["id"], time[:10])
        if key not in self.days:
            nothing = dict.fromkeys(("answers", "rows", "refused", "would", "over", "streak"), 0)
            new = {**nothing, "opened": user["exposure"], "closed": user["exposure"]}
            self.days[key] = self._row(DAY, {"user": key[0], "day": key[1]}, new)
        day = self.days[key]
        counts = {"answers": result.answered, "refused": result.refused, "would": result.would, "over": result.over}
        for name, counted in counts.items():
            user[name] += by * counted
            day[name] += by * counted
        day["rows"] += by * result.rows * result.answered
        return user, day

    def _user(self, database: str, name: str, time: str) -> dict[str, Any]:
        if (database, name) not in self.users:
            nothing = dict.fromkeys(("exposure", "answers", "repeated", "refused", "would", "over", "streak"), 0)
            new = {**nothing, "allowed": None, "rule": "", "seen": time}
            self.users[database, name] = self._row(USER, {"database": database, "name": name}, new)
        return self.users[database, name]

    def _row(self, table: Table, key: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
        """The row of a user or a day, written first if it is new."""
        stored = select(table).where(*(table.c[name] == value for name, value in key.items()))
        row = self.connection.execute(stored).one_or_none()
        if row is None:
            row = self.connection.execute(insert(table).values(**key, **new).returning(table)).one()
        return dict(row._mapping)
