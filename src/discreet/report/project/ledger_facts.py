"""Ledger facts of a project: copies, traces, reviewed pairs, query results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import IntegrityError, UsageError
from discreet.kernel.serialise import json_of
from discreet.report.project.measurement import ProjectFile

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from discreet.ledger import Entry
    from discreet.linkage.progress import Progress
    from discreet.store import Store

OF = re.compile(r".*/version:(\d+)/recipient:(.+)")


@dataclass(frozen=True)
class Handed:
    """One recipient's copy of a version, as the ledger says it was handed over."""

    version: int
    recipient: str
    state: str
    rows: int | None
    file: str | None
    time: str | None
    """When it was handed over last; None if it never was."""

    to_dict = json_of()


@dataclass(frozen=True)
class Traced:
    """What one trace said."""

    time: str
    kind: str
    source: str
    accused: tuple[str, ...]
    recipients: int
    rows: int
    marks: int
    alpha: str

    to_dict = json_of()


@dataclass(frozen=True)
class Released:
    """One release: its copies, on whose word it rests, and the traces."""

    name: str
    k: int | None
    sign_off: str
    copies: tuple[Handed, ...]
    traces: tuple[Traced, ...]

    @property
    def holders(self) -> tuple[str, ...]:
        """Recipients to whom a copy was handed over."""
        return tuple(dict.fromkeys(copy.recipient for copy in self.copies if copy.time is not None))

    @property
    def accused(self) -> tuple[str, ...]:
        """Recipients whom some trace accused."""
        return tuple(dict.fromkeys(who for trace in self.traces for who in trace.accused))

    to_dict = json_of()


def known_releases(connection: Connection) -> list[str]:
    """The names of all releases in the store."""
    from discreet.releases.delivery import repository

    return [kept.name for kept in repository.every_one(connection)]


def read_release(connection: Connection, name: str) -> Released:
    """A release by its entries; refused if the store says otherwise than the ledger."""
    from discreet.ledger import queries
    from discreet.releases.delivery import repository

    subject = repository.subject_of(name)
    by_event: dict[str, list[Entry]] = {}
    for entry in queries.entries(connection, room="releases", subject=subject):
        by_event.setdefault(entry.event, []).append(entry)
    delivered: dict[tuple[int, str], Entry] = {}
    for entry in by_event.get("releases.delivered", []):
        if of := OF.fullmatch(entry.subject):
            delivered[int(of[1]), of[2]] = entry
    versions = [repository.require(connection, name, version) for version in repository.versions(connection, name)]
    stored = {(kept.version, copy.recipient): copy for kept in versions for copy in kept.copies}
    for version, recipient in delivered.keys() - stored.keys():
        raise _differs(version, recipient)
    copies = []
    for (version, recipient), copy in stored.items():
        file = rows = time = None
        if (version, recipient) in delivered:
            entry = delivered[version, recipient]
            said, time = entry.details, entry.time
            digest, count = said.get("file"), said.get("rows")
            file, rows = None if digest is None else str(digest), count if isinstance(count, int) else None
            if (copy.file, copy.rows) != (file, rows):
                raise _differs(version, recipient)
        elif copy.state == "delivered":
            raise _differs(version, recipient)
        copies.append(Handed(version, recipient, copy.state, rows, file, time))
    traces = []
    for entry in by_event.get("releases.traced", []):
        said = entry.details
        kind, source, alpha = (str(said.get(key, "")) for key in ("kind", "source", "alpha"))
        recipients, traced_rows, marks = (_whole(said.get(key)) for key in ("recipients", "rows", "marks_hit"))
        accused = tuple(who for who in str(said.get("accused") or "").split(", ") if who)
        traces.append(Traced(entry.time, kind, source, accused, recipients, traced_rows, marks, alpha))
    sealed: Mapping[str, Any] = by_event["releases.sealed"][-1].details if "releases.sealed" in by_event else {}
    return Released(name, sealed.get("k"), str(sealed.get("sign_off", "")), tuple(copies), tuple(traces))


def _differs(version: int, recipient: str) -> IntegrityError:
    return IntegrityError(
        f"The store and its ledger differ about the copy of '{recipient}' (version {version}); nothing is reported from them.",
        remedy="Run: discreet ledger verify, and restore a backup of the store.",
    )


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


# What users of databases behind a gateway have learned, by what its entries say.
@dataclass(frozen=True)
class GatewayUser:
    """One user of one database."""

    database: str
    user: str
    exposure: float = 0.0
    """What the user had learned after the last result, as the gateway weighed it then."""
    limit: float | None = None
    """The limit that held then."""
    answers: int = 0
    rows: int = 0
    refused: int = 0
    overlooked: int = 0
    """Results and statements that a gateway in shadow mode let through although it would refuse them."""
    repeated: int = 0
    last: str = ""

    @property
    def used(self) -> float | None:
        """The exposure as a share of the limit."""
        if self.limit is None:
            return None
        return self.exposure / self.limit if self.limit else float(self.exposure > 0)

    @property
    def exceeded(self) -> bool:
        """Whether the user has learned more than the limit allows."""
        return self.limit is not None and self.exposure > self.limit + 1e-9

    to_dict = json_of("database user exposure limit answers rows refused overlooked repeated last exceeded")


def gateway_users(entries: Iterable[Entry]) -> tuple[list[str], list[GatewayUser]]:
    """Databases, and users by the share of their limit, the largest first."""
    databases: dict[str, None] = {}
    users: dict[tuple[str, str], GatewayUser] = {}
    reserved: dict[int, Entry] = {}
    for entry in entries:
        database, slash, name = entry.subject.removeprefix("database:").rpartition("/user:")
        databases.setdefault(database if slash else name)
        if not slash:
            continue
        user = replace(users.get((database, name), GatewayUser(database, name)), last=entry.time)
        said, rows = entry.details, _whole(entry.details.get("rows"))
        if entry.event == "gateway.repeated":
            users[database, name] = replace(user, repeated=user.repeated + _whole(said.get("results")))
            continue
        if "limit" in said:
            user = replace(user, limit=float(str(said["limit"])))
        if said.get("enforced") is False and (said.get("decision") in ("deny", "alert") or "reason" in said):
            user = replace(user, overlooked=user.overlooked + 1)
        if entry.outcome == "refused":
            user = replace(user, refused=user.refused + 1)
        elif entry.outcome == "reserved":
            reserved[entry.sequence] = entry
            exposure = user.exposure if entry.risk_after is None else float(Fraction(entry.risk_after))
            user = replace(user, answers=user.answers + 1, rows=user.rows + rows, exposure=exposure)
        elif entry.outcome == "released":
            # Rows that certainly reached nobody count for nothing.
            grant = reserved.get(-1 if entry.budget is None else entry.budget.reservation or -1)
            if grant is not None:
                exposure = user.exposure if grant.risk_before is None else float(Fraction(grant.risk_before))
                rows = _whole(grant.details.get("rows"))
                user = replace(user, answers=user.answers - 1, rows=user.rows - rows, exposure=exposure)
        users[database, name] = user
    by_share = sorted(users.values(), key=lambda user: (-(user.used or 0.0), -user.exposure, user.database, user.user))
    return list(databases), by_share


# What the ledger says was disclosed: copies and traces, pairs that were reviewed, results that users got.
#
# Reads only, needs no keys, and refuses to tell anything from a ledger that is not what was written.
@dataclass(frozen=True)
class LedgerState:
    """The ledger as it was found, after it was verified."""

    address: str
    head: Mapping[str, Any]
    heads: int
    """Heads stored elsewhere that it was held against."""
    events: Mapping[str, int]
    """How often each event was written down."""
    refused: int
    """Entries that say no."""

    @property
    def size(self) -> int:
        return int(self.head["size"])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"holds": True, "heads": self.heads, "head": dict(self.head), "events": dict(self.events),
                "refused": self.refused}  # fmt: skip


@dataclass(frozen=True)
class Disclosed:
    """Everything that one store says about a project."""

    releases: tuple[Released, ...]
    linkage: tuple[Progress, ...]
    users: tuple[GatewayUser, ...]
    ledger: LedgerState

    to_dict = json_of("releases linkage queries=users ledger")


def disclosed(project: ProjectFile, address: str, *, heads: Sequence[Mapping[str, Any]] = ()) -> Disclosed:
    """Verify the ledger behind an address, and read what it says about the project."""
    from discreet.store import Store  # first: says in words if the extra is missing

    with Store.open(address, create=False) as store:
        return disclosed_in(store, project, heads=heads)


def disclosed_in(store: Store, project: ProjectFile, *, heads: Sequence[Mapping[str, Any]] = ()) -> Disclosed:
    """The same in a store that is open already."""
    from discreet.ledger import queries
    from discreet.linkage.progress import progress_in
    from discreet.linkage.project import list_projects

    with store.reading() as connection:
        state = _verified(connection, str(store.address), heads)
        names = _wanted(known_releases(connection), project.releases, "release", "discreet release list")
        releases = tuple(read_release(connection, name) for name in names)
        watched, users = gateway_users(queries.entries(connection, room="gateway"))
    listing = "discreet ledger show --room gateway"
    databases = set(_wanted(watched, project.databases, "database behind a gateway", listing))
    known = {linkage.name: linkage for linkage in list_projects(store)}
    linked = _wanted(list(known), project.linkage, "linkage project", "discreet link status")
    return Disclosed(
        releases=releases,
        linkage=tuple(progress_in(store, known[name]) for name in linked),
        users=tuple(user for user in users if user.database in databases),
        ledger=state,
    )


def _verified(connection: Connection, address: str, heads: Sequence[Mapping[str, Any]]) -> LedgerState:
    """The ledger as it is, refused if it is not what was written."""
    from sqlalchemy import func, select

    from discreet.ledger.merkle import MerkleTree
    from discreet.ledger.queries import check_store
    from discreet.store.tables.ledger import ENTRY

    if not MerkleTree.read(connection).opened:
        raise UsageError(
            f"Nothing was ever written down in {address}.",
            remedy="Give the address of another store, or leave `store` out of the project.",
        )
    verdict = check_store(connection, heads=heads)
    if not verdict.holds:
        more = f" and {len(verdict.problems) - 1} more" if len(verdict.problems) > 1 else ""
        raise IntegrityError(
            f"The ledger in {address} is not what was written, so nothing is reported from it: {verdict.problems[0]}{more}",
            remedy="Run: discreet ledger verify, with a head that was stored elsewhere.",
        )
    # Rows of a verified ledger say what its entries say, so that they can be counted by the database.
    named = ENTRY.c.event, ENTRY.c.outcome
    events: Counter[str] = Counter()
    refused = 0
    for row in connection.execute(select(*named, func.count().label("number")).group_by(*named)):
        events[row.event] += row.number
        refused += row.number if row.outcome == "refused" else 0
    head = MerkleTree.read(connection).head()
    return LedgerState(address, head, verdict.heads, dict(sorted(events.items())), refused)


def _wanted(known: Sequence[str], wanted: Sequence[str] | None, what: str, listing: str) -> Sequence[str]:
    """Names to report on: all, or those of the project file, which must exist."""
    for name in wanted or ():
        if name not in known:
            raise UsageError(f"The store has no {what} '{name}'.", remedy=f"List them: {listing}")
    return known if wanted is None else wanted
