"""Gateway section of a policy: governed tables, and limits by user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import time
from ipaddress import ip_address, ip_network
from types import MappingProxyType
from typing import Any

from discreet.policy.schema import Action, GatewayLimitSection, GatewaySection, GatewayTableSection, PolicyFile


@dataclass(frozen=True)
class GovernedTable:
    """A table whose results are scored. Roles that come from [columns] may name columns that it does not have."""

    name: str
    key: tuple[str, ...]
    entity: str
    identifiers: tuple[str, ...]
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    by_default: frozenset[str] = frozenset()
    """Columns that were not named here but in [columns]."""


@dataclass(frozen=True)
class LimitRule:
    """A limit for some users in some context."""

    users: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    applications: frozenset[str] = frozenset()
    networks: tuple[Any, ...] = ()
    begin: time | None = None
    end: time | None = None
    limit: float | None = None
    action: Action | None = None
    context: str | None = None

    def fits(self, *, user: str, roles: frozenset[str], application: str, address: str, at: time) -> bool:
        """Whether it is about this user in this context."""
        return (
            (not self.users or user in self.users)
            and (not self.roles or bool(self.roles & roles))
            and (not self.applications or application in self.applications)
            and (not self.networks or self._from(address))
            and self._now(at)
        )

    def _from(self, address: str) -> bool:
        try:
            place = ip_address(address.partition("%")[0])
        except ValueError:
            return False
        return any(place in network for network in self.networks)

    def _now(self, at: time) -> bool:
        if self.begin is None or self.end is None:
            return True
        if self.begin < self.end:
            return self.begin <= at < self.end
        return at >= self.begin or at < self.end


@dataclass(frozen=True)
class GatewayPolicy:
    """What the gateway watches, and what it does about it."""

    mode: str = "shadow"
    action: Action = "deny"
    tables: Mapping[str, GovernedTable] = field(default_factory=lambda: MappingProxyType({}))
    limits: tuple[LimitRule, ...] = ()
    exempt: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    days: float | None = None
    smallest_group: int = 10
    unnamed_rows: str = "crowd"
    refresh_seconds: float = 3600.0
    refresh_changes: int = 10_000
    largest_histogram: int = 5_000_000


def gateway_policy(parsed: PolicyFile) -> GatewayPolicy | None:
    """The section of a policy file, with what [columns] says where a table does not say it itself."""
    section = parsed.gateway
    if section is None:
        return None
    plain = {"tables", "limits", "exempt", "functions"}
    return GatewayPolicy(
        **{name: getattr(section, name) for name in GatewaySection.model_fields if name not in plain},
        tables=MappingProxyType({name: _table(name, its, parsed) for name, its in section.tables.items()}),
        limits=tuple(_rule(one) for one in section.limits),
        exempt=frozenset(section.exempt),
        functions=frozenset(name.rpartition(".")[2] for name in section.functions),
    )


def _table(name: str, section: GatewayTableSection, parsed: PolicyFile) -> GovernedTable:
    def chosen(given: list[str] | None, role: str) -> tuple[str, ...]:
        if given is not None:
            return tuple(given)
        said = (*section.key, *(section.identifiers or ()), *(section.quasi or ()), *(section.sensitive or ()))
        return tuple(column for column, its in parsed.columns.items() if its.role == role and column not in said)

    roles = {
        "identifiers": chosen(section.identifiers, "identifier"),
        "quasi": chosen(section.quasi, "quasi"),
        "sensitive": chosen(section.sensitive, "sensitive"),
    }
    named = (*section.key, *(section.identifiers or ()), *(section.quasi or ()), *(section.sensitive or ()))
    by_default = frozenset(column for columns in roles.values() for column in columns if column not in named)
    return GovernedTable(name, tuple(section.key), section.entity or name, by_default=by_default, **roles)


def _rule(section: GatewayLimitSection) -> LimitRule:
    begin, _, end = (section.hours or "").partition("-")
    return LimitRule(
        frozenset(section.users),
        frozenset(section.roles),
        frozenset(section.applications),
        tuple(ip_network(one, strict=False) for one in section.addresses),
        time.fromisoformat(begin) if begin else None,
        time.fromisoformat("00:00" if end.startswith("24") else end) if end else None,
        section.limit,
        section.action,
        section.context,
    )
