"""Releases as the ledger knows them: who was handed which copy, and what traces said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import IntegrityError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from discreet.ledger import Entry
    from discreet.releases.delivery.repository import Kept

OF = re.compile(r".*/version:(\d+)/recipient:(.+)")


@dataclass(frozen=True)
class Handed:
    """One recipient's copy of a version; what was handed over is what the ledger says."""

    version: int
    recipient: str
    state: str
    rows: int | None
    file: str | None
    time: str | None
    """When it was handed over last; None if it never was."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dict(self.__dict__)


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

    @classmethod
    def of(cls, entry: Entry) -> Traced:
        """From its entry."""
        said = entry.details
        accused = str(said.get("accused") or "")
        return cls(
            time=entry.time,
            kind=str(said.get("kind", "")),
            source=str(said.get("source", "")),
            accused=tuple(accused.split(", ")) if accused else (),
            recipients=_whole(said.get("recipients")),
            rows=_whole(said.get("rows")),
            marks=_whole(said.get("marks_hit")),
            alpha=str(said.get("alpha", "")),
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**self.__dict__, "accused": list(self.accused)}


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

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "k": self.k,
            "sign_off": self.sign_off,
            "copies": [copy.to_dict() for copy in self.copies],
            "traces": [trace.to_dict() for trace in self.traces],
        }


def known_releases(connection: Connection) -> list[str]:
    """The names of all releases in the store."""
    from discreet.releases.delivery import repository

    return [kept.name for kept in repository.every_one(connection)]


def read_release(connection: Connection, name: str) -> Released:
    """A release by its entries; refused if the store says otherwise than the ledger."""
    from discreet.ledger import queries
    from discreet.releases.delivery import repository

    subject = repository.subject_of(name)
    entries = list(queries.entries(connection, room="releases", subject=subject))
    sealed = [entry.details for entry in entries if entry.event == "releases.sealed"]
    said: Mapping[str, Any] = sealed[-1] if sealed else {}
    kept = [repository.require(connection, name, one) for one in repository.versions(connection, name)]
    return Released(
        name=name,
        k=said.get("k"),
        sign_off=str(said.get("sign_off", "")),
        copies=_copies(kept, [entry for entry in entries if entry.event == "releases.delivered"]),
        traces=tuple(Traced.of(entry) for entry in entries if entry.event == "releases.traced"),
    )


def _copies(versions: Sequence[Kept], delivered: Sequence[Entry]) -> tuple[Handed, ...]:
    given: dict[tuple[int, str], Entry] = {}
    for entry in delivered:
        if found := OF.fullmatch(entry.subject):
            given[int(found[1]), found[2]] = entry
    stored = {(kept.version, copy.recipient): copy for kept in versions for copy in kept.copies}
    for place, entry in given.items():
        if place not in stored or (stored[place].file, stored[place].rows) != _file(entry):
            raise _differs(place)
    for place, copy in stored.items():
        if copy.state == "delivered" and place not in given:
            raise _differs(place)
    return tuple(_handed(*place, copy.state, given.get(place)) for place, copy in stored.items())


def _handed(version: int, recipient: str, state: str, entry: Entry | None) -> Handed:
    if entry is None:
        return Handed(version, recipient, state, None, None, None)
    file, rows = _file(entry)
    return Handed(version, recipient, state, rows, file, entry.time)


def _file(entry: Entry) -> tuple[str | None, int | None]:
    file, rows = entry.details.get("file"), entry.details.get("rows")
    return (None if file is None else str(file)), (rows if isinstance(rows, int) else None)


def _differs(place: tuple[int, str]) -> IntegrityError:
    return IntegrityError(
        f"The store and its ledger differ about the copy of '{place[1]}' (version {place[0]}); nothing is reported from them.",
        remedy="Run: discreet ledger verify, and restore a backup of the store.",
    )


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
