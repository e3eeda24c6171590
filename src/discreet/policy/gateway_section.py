"""Gateway section of a policy: governed tables, and limits by user."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import time
from ipaddress import ip_address, ip_network
from types import MappingProxyType
from typing import Any

from discreet.policy.schema import Action, GatewaySection, PolicyFile

_UNUSED = "has no effect by now: nobody hides in a crowd any more, every person is counted. Remove it."
EARLIER = {
    "smallest_group": "is aggregates.smallest by now, and read as that. Move it to [gateway.aggregates].",
    "unnamed_rows": _UNUSED,
    "refresh_seconds": _UNUSED,
    "refresh_changes": _UNUSED,
    "largest_histogram": _UNUSED,
}
"""Keys of earlier versions, which policies may still have, and what to say of them."""


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
class AggregateColumn:
    """Bounds of a sensitive number in statistics, and the grid of conditions on it."""

    bounds: tuple[float, float] | None = None
    step: float | None = None


@dataclass(frozen=True)
class AggregatesPolicy:
    """Statistics that touch a sensitive column: which groups are shown, with how much noise, and how many.

    >>> policy = AggregatesPolicy(columns=MappingProxyType({"income": AggregateColumn((0.0, 150_000.0), 5_000.0)}))
    >>> policy.bounds("clinic.patients.income"), policy.step("clinic.patients.income"), policy.bounds("clinic.patients.age")
    ((0.0, 150000.0), 5000.0, None)
    """

    noise: float = 2.0
    audit: float = 0.2
    answers: int = 200
    known: float = 0.5
    smallest: int = 7
    margin: int = 3
    rows: int = 4
    bins: int = 100
    columns: Mapping[str, AggregateColumn] = field(default_factory=lambda: MappingProxyType({}))
    projects: Mapping[str, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))

    def bounds(self, column: str) -> tuple[float, float] | None:
        """Least and largest value of a column that count, by the name `schema.table.column`."""
        return self._column(column).bounds

    def step(self, column: str) -> float | None:
        """Grid on which conditions and groups of a column lie, by the name `schema.table.column`."""
        return self._column(column).step

    def _column(self, name: str) -> AggregateColumn:
        """What is said of a column: by its whole name, by table and column, or by its own name."""
        names = (name, name.partition(".")[2], name.rpartition(".")[2])
        return next((self.columns[name] for name in names if name in self.columns), AggregateColumn())

    def account(self, user: str, roles: Collection[str] = ()) -> str:
        """The account of a user: a project's, where the user or a role of theirs belongs to one; else their own."""
        mine = {user, *roles}
        return next((f"project:{name}" for name in sorted(self.projects) if mine & self.projects[name]), f"user:{user}")


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
    aggregates: AggregatesPolicy = field(default_factory=AggregatesPolicy)
    denials_per_hour: int = 60
    notes: tuple[str, ...] = ()
    """What to say of keys that earlier versions read."""


def gateway_policy(parsed: PolicyFile, section: GatewaySection) -> GatewayPolicy:
    """Gateway section of a policy file; [columns] holds where a table names no roles."""
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
    converted = {"tables", "limits", "exempt", "functions", "aggregates", *EARLIER}
    return GatewayPolicy(
        **{name: getattr(section, name) for name in GatewaySection.model_fields if name not in converted},
        tables=MappingProxyType(tables),
        limits=tuple(limits),
        exempt=frozenset(section.exempt),
        functions=frozenset(name.rpartition(".")[2] for name in section.functions),
        aggregates=_aggregates(section),
        notes=tuple(f"gateway.{key} {words}" for key, words in EARLIER.items() if key in section.model_fields_set),
    )


def _aggregates(section: GatewaySection) -> AggregatesPolicy:
    """Settings of statistics; `smallest_group`, where a policy still has it, is the smallest group."""
    given = section.aggregates
    smallest = given.smallest
    if smallest is None:
        smallest = section.smallest_group or AggregatesPolicy.smallest
    columns = {
        name: AggregateColumn((float(its.bounds[0]), float(its.bounds[1])) if its.bounds else None, its.step)
        for name, its in given.columns.items()
    }
    return AggregatesPolicy(
        given.noise,
        given.audit,
        given.answers,
        given.known,
        smallest,
        given.margin,
        given.rows,
        given.bins,
        MappingProxyType(columns),
        MappingProxyType({name: frozenset(members) for name, members in given.projects.items()}),
    )
