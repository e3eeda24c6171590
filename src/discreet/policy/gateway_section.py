"""Gateway section of a policy: governed tables, and limits by user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import time
from ipaddress import ip_address, ip_network
from types import MappingProxyType
from typing import Any

from discreet.policy.schema import Action, GatewaySection, PolicyFile


@dataclass(frozen=True)
class GovernedTable:
    """A table whose results are scored; roles from [columns] may name other columns."""

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
        if (
            (self.users and user not in self.users)
            or (self.roles and not self.roles & roles)
            or (self.applications and application not in self.applications)
        ):
            return False
        if self.networks:
            try:
                place = ip_address(address.partition("%")[0])
            except ValueError:
                return False
            if not any(place in network for network in self.networks):
                return False
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
    """Gateway section of a policy file; [columns] holds where a table names no roles."""
    section = parsed.gateway
    if section is None:
        return None
    tables: dict[str, GovernedTable] = {}
    for name, its in section.tables.items():
        given = {"identifier": its.identifiers, "quasi": its.quasi, "sensitive": its.sensitive}
        named = {*its.key, *(column for columns in given.values() for column in columns or ())}
        roles: dict[str, tuple[str, ...]] = {}
        for role, columns in given.items():
            default = (
                other for other, column in parsed.columns.items() if column.plain_role == role and other not in named
            )
            roles[role] = tuple(default if columns is None else columns)
        by_default = frozenset(column for columns in roles.values() for column in columns) - named
        identifiers, quasi, sensitive = roles.values()
        tables[name] = GovernedTable(
            name, tuple(its.key), its.entity or name, identifiers, quasi, sensitive, by_default
        )
    limits = []
    for rule in section.limits:
        begin, _, end = (rule.hours or "").partition("-")
        first = time.fromisoformat(begin) if begin else None
        last = time.fromisoformat("00:00" if end.startswith("24") else end) if end else None
        networks = tuple(ip_network(network, strict=False) for network in rule.addresses)
        users, members, programs = frozenset(rule.users), frozenset(rule.roles), frozenset(rule.applications)
        limits.append(LimitRule(users, members, programs, networks, first, last, rule.limit, rule.action, rule.context))
    converted = {"tables", "limits", "exempt", "functions"}
    return GatewayPolicy(
        **{name: getattr(section, name) for name in GatewaySection.model_fields if name not in converted},
        tables=MappingProxyType(tables),
        limits=tuple(limits),
        exempt=frozenset(section.exempt),
        functions=frozenset(name.rpartition(".")[2] for name in section.functions),
    )
