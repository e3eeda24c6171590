"""Database users behind a gateway: exposure against limits, days, incidents.

What a day added follows from exposures alone: with M in the morning and M' in the evening, (M'^x - M^x)^(1/x) is what the
new results weigh as one table. Days are unusual as `discreet.misuse` finds it: by the user's other days and by their peers.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, field
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from fastapi import Query
from sqlalchemy import (
    BigInteger,
    Connection,
    Engine,
    Row,
    Select,
    Table,
    and_,
    case,
    cast,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from discreet.ledger import Entry
from discreet.misuse.anomalies import find_anomalies
from discreet.misuse.log import Scored
from discreet.report.toolkit.words import plural
from discreet.store import Store
from discreet.store.gateway_limits import EVERYBODY, PARTS
from discreet.store.tables.gateway import DAY, LIMIT, READ, REFUSAL, USER, WATCHED
from discreet.store.tables.ledger import ENTRY
from discreet.web.gateway.entry_view import GatewayResult, database_of, limit_words, points, result_of, subject_of
from discreet.web.ledger import entry_of

# Running totals, brought up to date when read. The ledger stays the source: totals can be computed from its entries
# again. Entries are numbered in the order in which they are committed, so a reader up to a number has missed nothing.
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


PAGE = 50
NEARLY = 80
"""Per cent of a limit from which on a user is worth a look."""
FRAME = 30
"""Days that are searched for incidents."""
ROW = 5
"""Refusals in a row that make an incident."""
MOST_INCIDENTS = 50
Text = Annotated[str, Query(max_length=200)]
Number = Annotated[int | None, Query(ge=0, le=10**17)]
PageNumber = Annotated[int, Query(ge=1, le=10**6)]


def printable(text: str) -> str:
    """A text that every database accepts; what cannot be printed matches no entry."""
    return text if text.isprintable() else "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True)
class User:
    """A database user as the ledger records them, and the limit in force."""

    id: int
    database: str
    name: str
    exposure: int
    """After the last result, in millionths."""
    limit: int | None
    """The approved one, or else the one in force at the last result."""
    rule: str
    answers: int
    repeated: int
    refused: int
    would: int
    over: int
    seen: str

    @property
    def share(self) -> int | None:
        """Used share of the limit in per cent, rounded up; None without a limit."""
        if self.limit is None:
            return None
        return -(-100 * self.exposure // self.limit) if self.limit else (0 if not self.exposure else 100)

    @property
    def state(self) -> str:
        """In a word, so that it does not depend on colour."""
        if self.share is None:
            return "unknown"
        return "above" if self.share > 100 else "near" if self.share >= NEARLY else "within"

    @property
    def used(self) -> str:
        """The exposure in words."""
        return points(self.exposure)

    @property
    def allowed(self) -> str:
        """The limit in words."""
        return limit_words(self.limit)

    @property
    def subject(self) -> str:
        """The subject of ledger entries about this user."""
        return subject_of(self.database, self.name)


@dataclass(frozen=True)
class Watched:
    """A database, and how its gateway was started the last time."""

    name: str
    since: str
    mode: str
    users: int
    seen: str | None
    """The last sign of any user."""


@dataclass(frozen=True)
class UserPage:
    """Some users, the most exposed first."""

    users: tuple[User, ...]
    number: int
    pages: int
    total: int


def _whole(now: str) -> Select[Any]:
    """Users with the limit in force: their own, everybody's, or the last recorded."""
    own, everybody = LIMIT.alias("own"), LIMIT.alias("everybody")

    def holding(limit: Any, name: Any) -> Any:
        alive = or_(limit.c.until.is_(None), limit.c.until > now)
        return and_(limit.c.database == USER.c.database, limit.c.name == name, limit.c.state == "approved", alive)

    limit = func.coalesce(own.c.allowed, everybody.c.allowed, USER.c.allowed)
    agreed = func.coalesce(own.c.id, everybody.c.id)
    return (
        select(USER, limit.label("limit_now"), agreed.label("agreed"))
        .outerjoin(own, holding(own, USER.c.name))
        .outerjoin(everybody, holding(everybody, EVERYBODY))
    )


def _share(limit: Any) -> Any:
    """What to rank by; a limit of nothing is passed by anything."""
    exposure = cast(USER.c.exposure, BigInteger)
    return case((limit.is_(None), -1.0), (limit == 0, 1e9 * exposure), else_=1.0 * exposure / limit)


def ranked(connection: Connection, *, now: str, database: str = "", name: str = "", page: int = 1) -> UserPage:
    """Users by exposure, the highest first; `name` is part of their names."""
    whole = _whole(now)
    if database:
        whole = whole.where(USER.c.database == database)
    if name:
        whole = whole.where(USER.c.name.contains(name, autoescape=True))
    total = connection.execute(select(func.count()).select_from(whole.subquery())).scalar_one()
    pages = max(1, -(-total // PAGE))
    number = min(max(1, page), pages)
    limit = whole.selected_columns["limit_now"]
    wanted = whole.order_by(_share(limit).desc(), USER.c.exposure.desc(), USER.c.id).limit(PAGE)
    rows = connection.execute(wanted.offset((number - 1) * PAGE)).all()
    return UserPage(tuple(_user(row) for row in rows), number, pages, total)


def near_limit(connection: Connection, *, now: str) -> tuple[int, User | None]:
    """How many users are near or above their limit, and the first of them."""
    whole = _whole(now)
    near = whole.where(_share(whole.selected_columns["limit_now"]) > NEARLY / 100)
    number = connection.execute(select(func.count()).select_from(near.subquery())).scalar_one()
    first = connection.execute(near.order_by(_share(near.selected_columns["limit_now"]).desc()).limit(1)).first()
    return number, None if first is None else _user(first)


def find(connection: Connection, number: int, *, now: str) -> User | None:
    """By number."""
    row = connection.execute(_whole(now).where(USER.c.id == number)).one_or_none()
    return None if row is None else _user(row)


def named(connection: Connection, database: str, name: str, *, now: str) -> User | None:
    """By name."""
    row = connection.execute(_whole(now).where(USER.c.database == database, USER.c.name == name)).one_or_none()
    return None if row is None else _user(row)


def _user(row: Row[Any]) -> User:
    rule = row.rule if row.agreed is None else f"agreed {row.agreed}"
    plain = [name for name in User.__dataclass_fields__ if name not in ("limit", "rule")]
    return User(**{name: getattr(row, name) for name in plain}, limit=row.limit_now, rule=rule)


def watched(connection: Connection) -> list[Watched]:
    """Every database that a gateway was started for, by name."""
    counted = (
        select(USER.c.database, func.count().label("users"), func.max(USER.c.seen).label("seen"))
        .group_by(USER.c.database)
        .subquery()
    )
    users = func.coalesce(counted.c.users, 0)
    wanted = select(WATCHED.c.name, WATCHED.c.since, WATCHED.c.mode, users, counted.c.seen)
    wanted = wanted.outerjoin(counted, counted.c.database == WATCHED.c.name).order_by(WATCHED.c.name)
    return [Watched(*row) for row in connection.execute(wanted)]


# -- incidents: days worth a look, by what the user held in the evening, since that is what could leak ------------------


@dataclass(frozen=True)
class UserIncident:
    """A day of a user, and what was unusual about it in words."""

    user: int
    database: str
    name: str
    day: str
    exposure: int
    """In the evening, in millionths."""
    reasons: tuple[str, ...]

    @property
    def held(self) -> str:
        """The exposure in words."""
        return points(self.exposure)


_KNOWN: WeakKeyDictionary[Engine, tuple[tuple[int, str], list[UserIncident]]] = WeakKeyDictionary()
"""Per store the incidents found last, and up to which entry: days change only with entries."""


def incidents(connection: Connection, now: datetime.datetime, *, user: int | None = None) -> list[UserIncident]:
    """Incidents of the last days, the worst first, measured against all users."""
    since = (now - datetime.timedelta(days=FRAME)).date().isoformat()
    key = (connection.execute(select(READ.c.upto)).scalar_one(), since)
    cached = _KNOWN.get(connection.engine)
    if cached is None or cached[0] != key:
        cached = (key, _ranked_incidents(connection, since))
        _KNOWN[connection.engine] = cached
    return [incident for incident in cached[1] if user in (None, incident.user)][:MOST_INCIDENTS]


def _ranked_incidents(connection: Connection, since: str) -> list[UserIncident]:
    wanted = (
        select(DAY, USER.c.database, USER.c.name, func.coalesce(WATCHED.c.x, "2").label("x"))
        .join(USER, USER.c.id == DAY.c.user)
        .outerjoin(WATCHED, WATCHED.c.name == USER.c.database)
        .where(DAY.c.day >= since)
        .order_by(DAY.c.user, DAY.c.day)
    )
    days = connection.execute(wanted).all()
    scored: dict[str, list[Scored]] = {}  # by database: each has its own exponent and its own peers
    for day in days:
        if day.answers:
            when, x = datetime.datetime.fromisoformat(day.day).replace(tzinfo=datetime.UTC), float(day.x)
            weight = added(day.opened, day.closed, x)
            result = Scored(f"{day.user}/{day.day}", when, str(day.user), "", weight, x, day.rows, (), "", "")
            scored.setdefault(day.database, []).append(result)
    anomalies = [anomaly for results in scored.values() for anomaly in find_anomalies(results).unusual]
    unusual = {(int(anomaly.user), anomaly.day.isoformat()): anomaly for anomaly in anomalies}
    incidents = []
    for day in days:
        reasons = []
        if (anomaly := unusual.get((day.user, day.day))) is not None:
            weight = added(day.opened, day.closed, float(day.x))
            reasons.append(
                f"The day added {weight:.2f} to what was known before; {anomaly.usual:.2f} was to be expected of this user "
                "and others."
            )
        if day.over:
            results = plural(day.over, "result was", "results were")
            reasons.append(f"{results} let through although the exposure was above the limit.")
        if day.streak >= ROW:
            reasons.append(f"{day.streak:,} refusals in a row, with no new information given out in between.")
        if reasons:
            incidents.append(UserIncident(day.user, day.database, day.name, day.day, day.closed, tuple(reasons)))
    return sorted(incidents, key=lambda incident: (-incident.exposure, incident.day, incident.user))


def added(opened: int, closed: int, x: float) -> float:
    """Weight of the results of a day as one table, from its exposures.

    >>> added(3_000_000, 5_000_000, 2.0)
    4.0
    """
    if closed <= opened:
        return 0.0
    whole = closed / PARTS
    return whole if math.isinf(x) else float(whole * (1 - (opened / closed) ** x) ** (1 / x))
