"""Monitoring: counters, an event log in JSON, and a port that answers /metrics, /healthz and /readyz.

Neither holds a text of a statement or a value of a row: a statement is known by its fingerprint, a decision by its kind.

>>> events = GatewayEvents()
>>> events.observe("answered", user="ann", seconds=0.02)
>>> events.counts["decisions", "answered"]
1
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from discreet.errors import UsageError

CONNECTIONS = frozenset(("login", "login_failed", "turned_away", "ended"))
"""Events that are about a connection; all others are decisions."""
LOGGED = frozenset(
    (
        "user",
        "database",
        "address",
        "application",
        "encrypted",
        "governed",
        "reason",
        "seconds",
        "fingerprint",
        "session",
    )
)
"""What an event may say; anything else is left out of the log, so that no value gets there by mistake."""
BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds at which the histogram of decisions is cut."""
PREFIX = "discreet_gateway_"
_LONGEST = 8192
_PATIENCE = 5.0


class GatewayEvents:
    """Counts events, and writes them down where there is a file."""

    def __init__(self, log: Path | TextIO | None = None) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self._seconds: Counter[tuple[str, float]] = Counter()
        self._spent: dict[str, float] = {}
        self._lock = threading.Lock()
        self._path = log if isinstance(log, Path) else None
        self._file: TextIO | None = None if isinstance(log, Path) else log
        self.reopen()

    def observe(self, event: str, **labels: Any) -> None:
        """Something has happened; from any thread."""
        kind = "connections" if event in CONNECTIONS else "decisions"
        seconds = labels.get("seconds")
        with self._lock:
            self.counts[kind, event] += 1
            if kind == "decisions" and isinstance(seconds, float):
                self._spent[event] = self._spent.get(event, 0.0) + seconds
                for bound in BOUNDS:
                    self._seconds[event, bound] += seconds <= bound
            if self._file is None:
                return
            said = {name: value for name, value in labels.items() if name in LOGGED}
            line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **said}
            try:
                self._file.write(json.dumps(line, default=str) + "\n")
                self._file.flush()
            except OSError:  # a full disk must not end sessions; the ledger has what must not be lost
                self.counts["log", "failed"] += 1

    def reopen(self) -> None:
        """Open the file again, as after its rotation."""
        if self._path is None:
            return
        try:
            opened = self._path.open("a", encoding="utf-8")
        except OSError as problem:
            raise UsageError(f"The log cannot be written ({problem.strerror}).", remedy="Check --log.") from None
        with self._lock:
            before, self._file = self._file, opened
        if before is not None:
            before.close()

    def text(self, gauges: Mapping[str, float]) -> str:
        """All figures in the format that Prometheus reads."""
        lines = []
        with self._lock:
            for kind in ("connections", "decisions"):
                found = sorted((event, count) for (name, event), count in self.counts.items() if name == kind)
                lines.append(f"# TYPE {PREFIX}{kind}_total counter")
                lines += [f'{PREFIX}{kind}_total{{event="{event}"}} {count}' for event, count in found]
            lines.append(f"# TYPE {PREFIX}decision_seconds histogram")
            for event in sorted(self._spent):
                total = self.counts["decisions", event]
                lines += [
                    f'{PREFIX}decision_seconds_bucket{{event="{event}",le="{bound:g}"}} {self._seconds[event, bound]}'
                    for bound in BOUNDS
                ]
                lines.append(f'{PREFIX}decision_seconds_bucket{{event="{event}",le="+Inf"}} {total}')
                lines.append(f'{PREFIX}decision_seconds_sum{{event="{event}"}} {self._spent[event]:.6f}')
                lines.append(f'{PREFIX}decision_seconds_count{{event="{event}"}} {total}')
        for name, value in sorted(gauges.items()):
            lines += [f"# TYPE {PREFIX}{name} gauge", f"{PREFIX}{name} {value:g}"]
        return "\n".join(lines) + "\n"


class MonitoringPort:
    """A small HTTP server, apart from the port of the data."""

    def __init__(
        self,
        address: tuple[str, int],
        events: GatewayEvents,
        *,
        gauges: Callable[[], Mapping[str, float]],
        lacks: Callable[[], Awaitable[list[str]]],
    ) -> None:
        self._address, self._events, self._gauges, self._lacks = address, events, gauges, lacks
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.sockets[0].getsockname()[1]) if self._server is not None else self._address[1]

    async def start(self) -> None:
        """Listen."""
        try:
            self._server = await asyncio.start_server(self._answer, *self._address, limit=_LONGEST)
        except OSError as problem:
            raise UsageError(
                f"Nothing can listen on {self._address[0]}:{self._address[1]} ({problem.strerror}).",
                remedy="Choose another address with --monitoring.",
            ) from None

    async def close(self) -> None:
        """Answer no more."""
        if self._server is not None:
            self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                request = await reader.readuntil(b"\r\n\r\n")
                status, kind, body = await self._respond(request.split(b" ", 2)[:2])
                head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
                writer.write(f"{head}Cache-Control: no-store\r\nConnection: close\r\n\r\n".encode())
                writer.write(b"" if request.startswith(b"HEAD ") else body)
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _respond(self, words: list[bytes]) -> tuple[str, str, bytes]:
        plain = "text/plain"
        if words[0] not in (b"GET", b"HEAD"):
            return "405 Method Not Allowed", plain, b"Only GET.\n"
        path = words[1].partition(b"?")[0] if len(words) > 1 else b""
        if path == b"/healthz":
            return "200 OK", plain, b"ok\n"
        if path == b"/readyz":
            lacks = await self._lacks()
            return (
                ("503 Service Unavailable" if lacks else "200 OK"),
                plain,
                ("\n".join(lacks or ["ready"]) + "\n").encode(),
            )
        if path == b"/metrics":
            gauges = await asyncio.to_thread(self._gauges)
            return "200 OK", f"{plain}; version=0.0.4", self._events.text(gauges).encode()
        return "404 Not Found", plain, b"There are /metrics, /healthz and /readyz.\n"
