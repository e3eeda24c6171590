"""Running the application: one process, one socket, no access log (addresses may hold one-time links)."""

from __future__ import annotations

import socket
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn

from discreet.errors import UsageError

if TYPE_CHECKING:
    from fastapi import FastAPI

BACKLOG = 256


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio has answers sent at once; else the end of each waits 40 ms for an acknowledgement.
    ear = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        ear.bind((host, port))
        ear.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        ear.close()
        raise UsageError(
            f"Nothing can listen on {host}, port {port} ({type(error).__name__}).",
            remedy="Give another --port, or 0 for any that is free.",
        ) from None
    return ear


class Stopped(BaseException):
    """A signal came while the server was saying that it is ready."""


class Server(uvicorn.Server):
    """Says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self._saying = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so."""
        await super().startup(sockets)
        if not self.started:
            return
        try:
            self._saying = True
            self._ready()
        except Stopped:
            return
        finally:
            self._saying = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop soon; what is said when it is ready may take long, and ends at once."""
        super().handle_exit(sig, frame)
        if self._saying:
            raise Stopped


def serve(app: FastAPI, ear: socket.socket, *, proxy: str | None = None, ready: Callable[[], None]) -> None:
    """Serve until somebody stops it."""
    Server(configuration(app, proxy=proxy), ready).run(sockets=[ear])


def configuration(app: FastAPI, *, proxy: str | None = None) -> uvicorn.Config:
    """How uvicorn is run."""
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy or "",
        timeout_keep_alive=30,
        h11_max_incomplete_event_size=64 * 1024,
        limit_concurrency=1_000,
        timeout_graceful_shutdown=10,
    )
