"""Middleware around every response: security headers, Host check, last resort."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.web.framework.problems import Problem, bug
from discreet.web.framework.settings import Settings

log = logging.getLogger("discreet.web")

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
LIVE = "; connect-src 'self'"
"""Added for pages whose own script asks this server for more."""

HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cache-Control": "no-store",
}
"""On every answer, also on errors; an answer that says otherwise itself keeps its word."""

Answer = Callable[[Request, Problem], Awaitable[Response] | Response]


class Headers:
    """Adds what is missing of the headers."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        transport = {"Strict-Transport-Security": "max-age=31536000"} if settings.secure else {}
        self.headers = {**HEADERS, **transport}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, with_headers)


class Shield:
    """The last resort: a bug is reported by its place only, since its words may hold a person's value."""

    def __init__(self, app: ASGIApp, answer: Callable[[Request, Problem], Response]) -> None:
        self.app = app
        self.answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except Exception as error:
            if scope["type"] != "http":
                raise
            log.error("%s", place_of(error))
            if not started:
                await self.answer(Request(scope), bug())(scope, receive, send)


class Hosts:
    """Refuses names that are not ours, so that no other domain can be pointed at this server (DNS rebinding)."""

    def __init__(self, app: ASGIApp, settings: Settings, answer: Callable[[Request, Problem], Response]) -> None:
        self.app = app
        self.names = settings.hosts
        self.answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and _host(scope) not in self.names:
            problem = Problem(
                400,
                "This server goes by another name.",
                remedy="Use the address that was given to you; the operator sets it with --origin.",
            )
            await self.answer(Request(scope), problem)(scope, receive, send)
            return
        await self.app(scope, receive, send)


def _host(scope: Scope) -> str:
    """The name in the Host header, without the port; empty if there is none, or more than one."""
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    if len(hosts) != 1:
        return ""
    text: str = hosts[0].decode("latin-1").lower()
    name, colon, port = text.rpartition(":")
    return name if colon and port.isdigit() else text


def place_of(error: BaseException) -> str:
    """What kind of error, and where; never its words.

    >>> place_of(ValueError("a name"))
    'ValueError at an unknown place. This is a bug.'
    """
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"
    return f"{type(error).__name__} at {where}. This is a bug."
