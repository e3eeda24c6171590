"""Settings of the web application."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from discreet.errors import UsageError
from discreet.ledger.ledger import utc_now
from discreet.operations.channels import Channel
from discreet.store import default_folder

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True)
class Hashing:
    """The cost of argon2id: RFC 9106's second recommendation, 64 MiB and three passes."""

    passes: int = 3
    memory_kib: int = 64 * 1024
    lanes: int = 4


@dataclass(frozen=True)
class Provider:
    """A provider of single sign-on (OpenID Connect), and which of its groups has which role."""

    issuer: str
    """Its name, which is an address: https, except on this machine."""
    client: str
    """What it calls this application."""
    secret: str = field(repr=False)
    roles: Mapping[str, str]
    """Role by group; of several, the first in this order counts."""
    claim: str = "groups"
    """Where it names the groups of a person."""
    title: str = "your organisation"
    """What the button on the sign-in page says."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.issuer)
        if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
            raise UsageError(
                "The provider of single sign-on has no https address.", remedy="Give its issuer as https://..."
            )
        if not self.roles:
            raise UsageError("No group of the provider has a role.", remedy="Name at least one: GROUP=ROLE.")

    def role_of(self, claims: Mapping[str, Any]) -> str | None:
        """The role of a person by their groups; None if none of them has one.

        >>> known = Provider("https://id.example", "discreet", "x", {"data-office": "custodian", "it": "administrator"})
        >>> known.role_of({"groups": ["it", "staff"]}), known.role_of({"groups": "staff"}), known.role_of({})
        ('administrator', None, None)
        """
        given = claims.get(self.claim, [])
        groups = [given] if isinstance(given, str) else given if isinstance(given, list) else []
        return next((role for group, role in self.roles.items() if group in groups), None)


@dataclass(frozen=True)
class Operations:
    """What an operator has the server do beside serving: monitoring, a log, and messages."""

    monitoring: tuple[str, int] | None = None
    """Where /healthz, /readyz and /metrics are answered, apart from the pages."""
    log: Path | Literal["-"] | None = None
    """The file of the event log; - for stderr."""
    notify: tuple[Channel, ...] = ()
    """Who is told what waits for people, and what went wrong;"""
    digest: time | None = None
    """also once a day at this time (UTC), all of it."""
    heads: tuple[Channel, ...] = ()
    """Where the signed head of the ledger goes,"""
    heads_every: timedelta = timedelta(hours=1)
    """so often at most, and only if something was written."""
    verify_every: timedelta = timedelta(days=1)
    """How old a verification of the ledger may be, where somebody is told what it finds."""

    @property
    def watching(self) -> bool:
        """Is there anything to be told or sent?"""
        return bool(self.notify or self.heads)


@dataclass(frozen=True)
class Settings:
    """Where the state is, the address of the server, and its limits."""

    store: str | None = None
    """The address of the store; None for DISCREET_STORE or the default file."""
    data: Path = field(default_factory=lambda: default_folder() / "data")
    """The folder for what people upload and what jobs write."""
    origin: str = "http://127.0.0.1:8000"
    """What people type: scheme, host and port. Anything but loopback must be https."""
    clock: Callable[[], datetime] = utc_now
    hashing: Hashing = Hashing()
    idle: timedelta = timedelta(minutes=15)
    """A session ends when nothing was asked for so long,"""
    absolute: timedelta = timedelta(hours=8)
    """and in any case so long after signing in."""
    link_life: timedelta = timedelta(hours=24)
    largest_form: int = 64 * 1024
    largest_upload: int = 1024 * 1024 * 1024
    folders: tuple[Path, ...] = ()
    """Folders whose files may be registered where they are; none unless the operator allowed some."""
    servers: tuple[str, ...] = ()
    """PostgreSQL servers whose tables may be registered, as `host` or `host:port`; none unless allowed."""
    largest_table: int = 16 * 1024 * 1024 * 1024
    """Most bytes of an uploaded table once it is decompressed."""
    most_columns: int = 500
    jobs_at_once: int = 2
    """Jobs that run at the same time, over all processes on one store."""
    lease: timedelta = timedelta(seconds=15)
    """A job whose process has not been heard of for so long counts as dead"""
    most_attempts: int = 3
    """and is taken up again, until it was begun so often."""
    provider: Provider | None = None
    """Where people of the organisation sign in, if not here."""
    second_factor: frozenset[str] = frozenset()
    """Roles that need a second factor to sign in."""
    operations: Operations = Operations()
    demo: bool = False
    """Is this a demonstration on generated people? Pages say so."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.origin)
        whole = parts.hostname and self.origin == f"{parts.scheme}://{parts.netloc}" and "@" not in parts.netloc
        if not whole or parts.scheme not in ("http", "https"):
            raise UsageError("The origin is not a web address.", remedy="Give it as https://discreet.example.")
        if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
            raise UsageError(
                "Passwords and sessions would cross the network in the clear.",
                remedy="Put a proxy with TLS in front and give its address: --origin https://discreet.example",
            )

    @property
    def secure(self) -> bool:
        """Is the address https?"""
        return self.origin.startswith("https://")

    @property
    def hosts(self) -> frozenset[str]:
        """The names in the Host header that are ours."""
        parts = urlsplit(self.origin)
        name = parts.netloc.rpartition(":")[0] if parts.port is not None else parts.netloc
        return frozenset({name.lower(), *(LOOPBACK_NAMES if is_loopback(parts.hostname or "") else ())})


def is_loopback(host: str) -> bool:
    """Does this name mean the machine itself?

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("127.0.0.1.example")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
