"""Pairs before reviewers' eyes, as rows: put there, taken back, and counted against every limit in one transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from discreet.errors import Outdated
from discreet.kernel import Amount, parts_down
from discreet.linkage.masking.comparison import Mode
from discreet.linkage.project import Project, now, share
from discreet.linkage.review.assignment import WITHDRAWN, count_project, count_worker, write_cells
from discreet.store.tables.linkage import ASSIGNMENT, PAIR, PROJECT, WORKER


class Measured(Protocol):
    """What a pair discloses in a state, as `reveal.measure` says it."""

    @property
    def opened(self) -> Mapping[str, Mode]: ...
    @property
    def contribution(self) -> Fraction: ...
    @property
    def characters(self) -> int: ...
    @property
    def characters_shown(self) -> int: ...


@dataclass(frozen=True)
class Limits:
    """What one reviewer may be shown, as shares of all that she is given; None where nothing limits."""

    risk: str | None = None
    characters: str | None = None

    @classmethod
    def of(cls, risk: Amount | None = None, characters: Amount | None = None) -> Limits:
        """Limits as exact text.

        >>> Limits.of("0.12")
        Limits(risk='3/25', characters=None)
        """
        return cls(share(risk), share(characters))


def records_of(connection: Connection, project: Project) -> dict[int, tuple[int, int]]:
    """The records of each pair of a project, by its number."""
    rows = connection.execute(
        select(PAIR.c.number, PAIR.c.first, PAIR.c.second).where(PAIR.c.project == project.id).order_by(PAIR.c.number)
    )
    return {row.number: (row.first, row.second) for row in rows}


def holders(
    connection: Connection, project: Project
) -> tuple[dict[int, list[str]], dict[int, list[str]], dict[str, int]]:
    """Who reviews each pair, who has ever had it, and how many pairs everybody has."""
    having: dict[int, list[str]] = defaultdict(list)
    ever: dict[int, list[str]] = defaultdict(list)
    loads: dict[str, int] = defaultdict(int)
    chosen = select(ASSIGNMENT.c.pair, ASSIGNMENT.c.worker, ASSIGNMENT.c.state, ASSIGNMENT.c.role)
    for row in connection.execute(chosen.where(ASSIGNMENT.c.project == project.id)):
        ever[row.pair].append(row.worker)
        if row.state != WITHDRAWN:
            loads[row.worker] += 1
            if row.role == "review":
                having[row.pair].append(row.worker)
    return having, ever, loads


def open_pairs(connection: Connection, project: Project, worker: str | None = None) -> Sequence[Row[Any]]:
    """What was given out and is not decided, to one worker or to all."""
    wanted = select(ASSIGNMENT).where(ASSIGNMENT.c.project == project.id, ASSIGNMENT.c.state == "open")
    return connection.execute(wanted if worker is None else wanted.where(ASSIGNMENT.c.worker == worker)).all()


def insert_pairs(
    connection: Connection,
    project: Project,
    worker: str,
    pairs: Sequence[tuple[int, Measured]],
    limits: Limits,
    *,
    parts: int,
    role: str,
) -> None:
    """Put pairs before a worker's eyes, within every limit; `parts` is what is open from the start."""
    before = worker_of(connection, project, worker)
    added = sum(one.characters for _, one in pairs)
    shown = sum(one.characters_shown for _, one in pairs)
    _grow(connection, project, displays=len(pairs), characters=added)
    row = {
        "risk_limit": limits.risk,
        "characters_limit": limits.characters,
        "displays": before["displays"] + len(pairs),
        "characters": before["characters"] + added,
        "characters_allowed": _allowed(limits.characters, before["characters"] + added, before["characters_shown"]),
    }
    mine = (WORKER.c.project == project.id, WORKER.c.worker == worker)
    if before["known"]:
        connection.execute(update(WORKER).where(*mine).values(row))
    else:
        connection.execute(insert(WORKER).values(project=project.id, worker=worker, characters_shown=0, **row))
    count_worker(connection, project, worker, characters=shown)
    count_project(connection, project, parts=parts, characters=shown)
    _insert_assignments(connection, project, worker, pairs, role)


def _insert_assignments(
    connection: Connection, project: Project, worker: str, pairs: Sequence[tuple[int, Measured]], role: str
) -> None:
    if not pairs:
        return
    last = connection.execute(_LAST, {"p": project.id, "w": worker}).scalar() or 0
    moment = now()
    connection.execute(
        insert(ASSIGNMENT),
        [
            {"project": project.id, "pair": pair, "worker": worker, "role": role, "place": place, "state": "open",
             "version": 0, "contribution": str(one.contribution), "characters": one.characters,
             "characters_shown": one.characters_shown, "made": moment}
            for place, (pair, one) in enumerate(pairs, start=last + 1)
        ],
    )  # fmt: skip
    ids = {row.pair: row.id for row in connection.execute(_IDS, {"p": project.id, "w": worker})}
    cells = [(ids[pair], name, mode) for pair, one in pairs for name, mode in one.opened.items()]
    write_cells(connection, cells, reason="initial" if role == "review" else "seen by others")


def _grow(connection: Connection, project: Project, *, displays: int, characters: int) -> None:
    """More, or less, before people's eyes: what a share of it is, in parts and characters, follows."""
    row = connection.execute(select(PROJECT).where(PROJECT.c.id == project.id)).one()
    meter = project.meter(row.displays + displays)
    allowed = None if row.risk_limit is None else int(meter.allowance(row.risk_limit) * meter.parts)
    connection.execute(
        update(PROJECT)
        .where(PROJECT.c.id == project.id)
        .values(
            displays=row.displays + displays,
            characters=row.characters + characters,
            risk_allowed=None if allowed is None else max(allowed, row.risk_spent),
            characters_allowed=_allowed(row.characters_limit, row.characters + characters, row.characters_shown),
        )
    )


def take_back(
    connection: Connection, project: Project, worker: str, mine: Sequence[Any], unseen: Sequence[Any]
) -> None:
    """Take pairs back that nobody has touched since they were read; those of which nothing was seen no longer count."""
    for row in mine:
        taken = connection.execute(_TAKE, {"i": row.id, "v": row.version})
        if taken.rowcount != 1:
            raise Outdated("A pair was opened or decided meanwhile; nothing was taken.", remedy="Do it again.")
    before = worker_of(connection, project, worker)
    characters = sum(row.characters for row in unseen)
    _grow(connection, project, displays=-len(unseen), characters=-characters)
    rest = before["characters"] - characters
    connection.execute(
        update(WORKER)
        .where(WORKER.c.project == project.id, WORKER.c.worker == worker)
        .values(
            displays=before["displays"] - len(unseen),
            characters=rest,
            characters_allowed=_allowed(before["characters_limit"], rest, before["characters_shown"]),
        )
    )


def _allowed(limit: str | None, characters: int, shown: int) -> int | None:
    """Whole characters within a share; never less than what was shown already."""
    return None if limit is None else max(parts_down(Fraction(limit), characters), shown)


def worker_of(connection: Connection, project: Project, worker: str) -> dict[str, Any]:
    """Limits and counts of a worker; zeros for one who is new."""
    row = connection.execute(_WORKER, {"p": project.id, "w": worker}).mappings().one_or_none()
    if row is not None:
        return {**row, "known": True}
    numbers = dict.fromkeys(("displays", "characters", "characters_shown"), 0)
    return {**numbers, "risk_limit": None, "characters_limit": None, "known": False}


_OF_WORKER = (ASSIGNMENT.c.project == bindparam("p"), ASSIGNMENT.c.worker == bindparam("w"))
_LAST = select(func.max(ASSIGNMENT.c.place)).where(*_OF_WORKER)
_IDS = select(ASSIGNMENT.c.pair, ASSIGNMENT.c.id).where(*_OF_WORKER)
_WORKER = select(WORKER).where(WORKER.c.project == bindparam("p"), WORKER.c.worker == bindparam("w"))
_TAKE = (
    update(ASSIGNMENT)
    .where(ASSIGNMENT.c.id == bindparam("i"), ASSIGNMENT.c.version == bindparam("v"), ASSIGNMENT.c.state == "open")
    .values(state=WITHDRAWN, version=ASSIGNMENT.c.version + 1)
)
