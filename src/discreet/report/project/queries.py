"""What users of databases behind a gateway have learned, by what its entries say."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.ledger import Entry


@dataclass(frozen=True)
class GatewayUser:
    """One user of one database."""

    database: str
    user: str
    exposure: float = 0.0
    """What she had learned after the last result, as the gateway weighed it then."""
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
        """Whether she has learned more than her limit allows."""
        return self.limit is not None and self.exposure > self.limit + 1e-9

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**self.__dict__, "exceeded": self.exceeded}


@dataclass
class Tally:
    """Goes through the entries of a gateway, in order."""

    found: dict[tuple[str, str], GatewayUser] = field(default_factory=dict)
    seen: dict[str, None] = field(default_factory=dict)
    held: dict[int, Entry] = field(default_factory=dict)

    @property
    def databases(self) -> list[str]:
        """Databases in the order in which they were first watched."""
        return list(self.seen)

    def users(self) -> list[GatewayUser]:
        """Everybody who asked, the largest share of a limit first."""
        return sorted(self.found.values(), key=lambda one: (-(one.used or 0.0), -one.exposure, one.database, one.user))

    def take(self, entry: Entry) -> None:
        """One entry more."""
        database, slash, user = entry.subject.removeprefix("database:").rpartition("/user:")
        if not slash:
            self.seen.setdefault(entry.subject.removeprefix("database:"))
            return
        self.seen.setdefault(database)
        before = self.found.get((database, user), GatewayUser(database, user))
        self.found[database, user] = self._after(replace(before, last=entry.time), entry)

    def _after(self, one: GatewayUser, entry: Entry) -> GatewayUser:
        said = entry.details
        if entry.event == "gateway.repeated":
            return replace(one, repeated=one.repeated + _whole(said.get("results")))
        if "limit" in said:
            one = replace(one, limit=float(str(said["limit"])))
        if said.get("enforced") is False and (said.get("decision") in ("deny", "alert") or "reason" in said):
            one = replace(one, overlooked=one.overlooked + 1)
        if entry.outcome == "refused":
            return replace(one, refused=one.refused + 1)
        if entry.outcome == "reserved":
            self.held[entry.sequence] = entry
            return self._granted(one, entry)
        if entry.outcome == "released":
            return self._taken_back(one, entry)
        return one

    def _granted(self, one: GatewayUser, entry: Entry) -> GatewayUser:
        rows = _whole(entry.details.get("rows"))
        known = one.exposure if entry.risk_after is None else float(Fraction(entry.risk_after))
        return replace(one, answers=one.answers + 1, rows=one.rows + rows, exposure=known)

    def _taken_back(self, one: GatewayUser, entry: Entry) -> GatewayUser:
        """Rows that certainly reached nobody count for nothing."""
        grant = self.held.get(-1 if entry.budget is None else entry.budget.reservation or -1)
        if grant is None:
            return one
        known = one.exposure if grant.risk_before is None else float(Fraction(grant.risk_before))
        rows = _whole(grant.details.get("rows"))
        return replace(one, answers=one.answers - 1, rows=one.rows - rows, exposure=known)


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
