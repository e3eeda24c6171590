"""Settings of a gateway: what it is given when it starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

from discreet.gateway.enforcement.verdicts import Judge, Open
from discreet.gateway.net.transport import Upstream
from discreet.gateway.protocol.login import PasswordSecret
from discreet.gateway.session.console import ConsoleCommand
from discreet.gateway.session.state import MemoryLimits


@dataclass(frozen=True)
class GatewaySettings:
    """Everything a gateway is given when it starts."""

    upstream: Upstream
    host: str = "127.0.0.1"
    port: int = 0
    judge: Judge = field(default_factory=Open)
    certificate: Path | None = None
    key: Path | None = None
    secrets: Mapping[str, PasswordSecret] = field(default_factory=dict, repr=False)
    limits: MemoryLimits = field(default_factory=MemoryLimits)
    sessions: int = 500
    """Connections at the same time."""
    patience: float = 60.0
    """Seconds that a judge may take for an answer; then it is a refusal."""
    login_seconds: float = 60.0
    """Seconds from the first byte until the server has let the user in."""
    grace: float = 10.0
    """Seconds that sessions get to finish when the gateway ends."""
    encrypted_only: bool = False
    """Whether clients must speak TLS."""
    authorities: Path | None = None
    """Authorities of the certificates that clients must show; nobody needs one if absent."""
    named: bool = False
    """Whether the common name of a client's certificate must be the user that logs in."""
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    """Addresses of proxies that say with the PROXY protocol whom they speak for."""
    shared: bool = False
    """Whether other processes listen on the same port (SO_REUSEPORT)."""
    logins: int = 0
    """Logins that one address may begin in a minute; 0 for as many as it likes."""
    console: frozenset[str] = frozenset()
    """Users who may ask the console of the gateway."""
    console_database: str = "postgres"
    """The database to which these log in on the way."""
    commands: Mapping[str, ConsoleCommand] = field(default_factory=dict, repr=False)
    """What the console answers, besides what every gateway knows."""
    observe: Callable[..., None] = field(default=lambda event, **labels: None, repr=False)
    """Is called with what happens to connections."""
    admission: float = 10.0
    """Seconds that a judge may take for a login; then nothing is answered in that session."""
