"""What the ledger says was disclosed: copies and traces, pairs that were reviewed, results that users got.

Reads only, needs no keys, and refuses to tell anything from a ledger that is not what was written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import IntegrityError, UsageError
from discreet.report.project.ledger_facts import Released, known_releases, read_release
from discreet.report.project.measurement import ProjectFile
from discreet.report.project.queries import GatewayUser, Tally

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select

    from discreet.linkage.progress import Progress
    from discreet.store import Store


@dataclass(frozen=True)
class LedgerState:
    """The ledger as it was found, after it was verified."""

    address: str
    head: Mapping[str, Any]
    heads: int
    """Heads kept elsewhere that it was held against."""
    events: Mapping[str, int]
    """How often each event was written down."""
    refused: int
    """Entries that say no."""

    @property
    def size(self) -> int:
        """Entries."""
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

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "releases": [one.to_dict() for one in self.releases],
            "linkage": [one.to_dict() for one in self.linkage],
            "queries": [one.to_dict() for one in self.users],
            "ledger": self.ledger.to_dict(),
        }


def disclosed(project: ProjectFile, address: str, *, heads: Sequence[Mapping[str, Any]] = ()) -> Disclosed:
    """Verify the ledger behind an address, and read what it says about the project."""
    from discreet.store import Store  # first: says in words if the extra is missing

    with Store.open(address, create=False) as store:
        return disclosed_in(store, project, heads=heads)


def disclosed_in(store: Store, project: ProjectFile, *, heads: Sequence[Mapping[str, Any]] = ()) -> Disclosed:
    """The same in a store that is open already."""
    with store.reading() as connection:
        state = _verified(connection, str(store.address), heads)
        releases = _releases(connection, project.releases)
        users = _users(connection, project.databases)
    return Disclosed(releases, _linkage(store, project.linkage), users, state)


def _verified(connection: Connection, address: str, heads: Sequence[Mapping[str, Any]]) -> LedgerState:
    from discreet.ledger.integrity import check_store
    from discreet.ledger.tree import Tree

    if not Tree.read(connection).opened:
        raise UsageError(
            f"Nothing was ever written down in {address}.",
            remedy="Give the address of another store, or leave `store` out of the project.",
        )
    verdict = check_store(connection, heads=heads)
    if not verdict.holds:
        more = f" and {len(verdict.problems) - 1} more" if len(verdict.problems) > 1 else ""
        raise IntegrityError(
            f"The ledger in {address} is not what was written, so nothing is reported from it: {verdict.problems[0]}{more}",
            remedy="Run: discreet ledger verify, with a head that was kept elsewhere.",
        )
    events: Counter[str] = Counter()
    refused = 0
    for row in connection.execute(_counted()):
        events[row.event] += row.number
        refused += row.number if row.outcome == "refused" else 0
    head = Tree.read(connection).head()
    return LedgerState(address, head, verdict.heads, dict(sorted(events.items())), refused)


def _counted() -> Select[Any]:
    """How often each event had each outcome; rows of a verified ledger say what its entries say."""
    from sqlalchemy import func, select

    from discreet.store.tables.ledger import ENTRY

    named = ENTRY.c.event, ENTRY.c.outcome
    return select(*named, func.count().label("number")).group_by(*named)


def _releases(connection: Connection, wanted: Sequence[str] | None) -> tuple[Released, ...]:
    chosen = _chosen(known_releases(connection), wanted, "release", "discreet release list")
    return tuple(read_release(connection, name) for name in chosen)


def _linkage(store: Store, wanted: Sequence[str] | None) -> tuple[Progress, ...]:
    from discreet.linkage.progress import progress_in
    from discreet.linkage.project import list_projects

    known = {one.name: one for one in list_projects(store)}
    chosen = _chosen(list(known), wanted, "linkage project", "discreet link status")
    return tuple(progress_in(store, known[name]) for name in chosen)


def _users(connection: Connection, wanted: Sequence[str] | None) -> tuple[GatewayUser, ...]:
    from discreet.ledger import queries

    tally = Tally()
    for entry in queries.entries(connection, room="gateway"):
        tally.take(entry)
    chosen = set(_chosen(tally.databases, wanted, "database behind a gateway", "discreet ledger show --room gateway"))
    return tuple(user for user in tally.users() if user.database in chosen)


def _chosen(known: Iterable[str], wanted: Sequence[str] | None, what: str, listing: str) -> list[str]:
    """The names that are wanted, all unless said; one that is not there is a mistake in the project file."""
    names = list(known)
    if wanted is None:
        return names
    for name in wanted:
        if name not in names:
            raise UsageError(f"The store has no {what} '{name}'.", remedy=f"List them: {listing}")
    return list(wanted)
