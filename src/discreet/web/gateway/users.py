"""Users of databases, ranked by how much of their limit is used, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import BigInteger, Connection, Row, Select, and_, case, cast, func, or_, select

from discreet.store.gateway_limits import EVERYBODY
from discreet.store.tables.gateway import DAY, LIMIT, USER, WATCHED
from discreet.web.gateway.entry_view import limit_words, points, rule_words, subject_of

PAGE = 50
NEARLY = 80
"""Per cent of a limit from which on somebody is worth a look."""


@dataclass(frozen=True)
class User:
    """What the ledger tells of one database user, and the limit that holds now."""

    id: int
    database: str
    name: str
    exposure: int
    """After the last result, in millionths."""
    limit: int | None
    """That which was agreed on, or else the one that held at the last result."""
    rule: str
    answers: int
    repeated: int
    refused: int
    would: int
    over: int
    streak: int
    seen: str

    @property
    def share(self) -> int | None:
        """How much of the limit is used, in per cent, rounded up; None where no limit is known."""
        if self.limit is None:
            return None
        return -(-100 * self.exposure // self.limit) if self.limit else (0 if not self.exposure else 100)

    @property
    def now(self) -> int:
        """The same for a meter, which ends at 100."""
        return min(100, self.share or 0)

    @property
    def state(self) -> str:
        """In a word, so that colour is not all that tells it."""
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
    def why(self) -> str:
        """What set the limit."""
        return rule_words(self.rule)

    @property
    def subject(self) -> str:
        """What the ledger calls her."""
        return subject_of(self.database, self.name)

    @property
    def repeats(self) -> str:
        """The address at which a limit for her is proposed."""
        return "/gateway/limits?" + urlencode({"database": self.database, "name": self.name}) + "#propose"


@dataclass(frozen=True)
class Watched:
    """A database, and how its gateway was started the last time."""

    name: str
    since: str
    mode: str
    tables: int
    users: int
    seen: str | None
    """The last sign of any user."""
    entry: int


@dataclass(frozen=True)
class Page:
    """Some users, the most exposed first."""

    users: tuple[User, ...]
    number: int
    pages: int
    total: int


def _whole(now: str) -> Select[Any]:
    """Users with the limit that holds now: her own, or else that of everybody, or else the one last noted."""
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


def ranked(connection: Connection, *, now: str, database: str = "", name: str = "", page: int = 1) -> Page:
    """Those whose names hold a text, of one database or all."""
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
    return Page(tuple(_user(row) for row in rows), number, pages, total)


def near_limit(connection: Connection, *, now: str) -> tuple[int, User | None]:
    """How many users have used more than most of their limit, and the first of them."""
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
    mine = (USER.c.database == database, USER.c.name == name)
    row = connection.execute(_whole(now).where(*mine)).one_or_none()
    return None if row is None else _user(row)


def _user(row: Row[Any]) -> User:
    plain = ("id", "database", "name", "exposure", "answers", "repeated", "refused", "would", "over", "streak", "seen")
    rule = row.rule if row.agreed is None else f"agreed {row.agreed}"
    return User(**{name: getattr(row, name) for name in plain}, limit=row.limit_now, rule=rule)


def watched(connection: Connection) -> list[Watched]:
    """Every database that a gateway was started for, by name."""
    counted = (
        select(USER.c.database, func.count().label("users"), func.max(USER.c.seen).label("seen"))
        .group_by(USER.c.database)
        .subquery()
    )
    wanted = select(WATCHED, counted.c.users, counted.c.seen).outerjoin(counted, counted.c.database == WATCHED.c.name)
    rows = connection.execute(wanted.order_by(WATCHED.c.name)).all()
    return [Watched(row.name, row.since, row.mode, row.tables, row.users or 0, row.seen, row.entry) for row in rows]


@dataclass(frozen=True)
class Day:
    """One day of one user."""

    user: int
    database: str
    name: str
    day: str
    answers: int
    rows: int
    refused: int
    would: int
    over: int
    streak: int
    opened: int
    closed: int
    x: str


def days(connection: Connection, *, since: str, user: int | None = None) -> list[Day]:
    """Days of users, in order."""
    wanted = (
        select(DAY, USER.c.database, USER.c.name, WATCHED.c.x)
        .join(USER, USER.c.id == DAY.c.user)
        .outerjoin(WATCHED, WATCHED.c.name == USER.c.database)
        .where(DAY.c.day >= since)
        .order_by(DAY.c.user, DAY.c.day)
    )
    if user is not None:
        wanted = wanted.where(DAY.c.user == user)
    plain = [name for name in Day.__dataclass_fields__ if name != "x"]
    return [Day(**{name: getattr(row, name) for name in plain}, x=row.x or "2") for row in connection.execute(wanted)]
