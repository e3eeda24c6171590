"""A browser for tests: speaks ASGI to the real application, keeps its cookie, and says where its requests come from."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from discreet.web.accounts import accounts, credentials
from discreet.web.accounts.accounts import Act
from discreet.web.framework.permissions import ROLES
from discreet.web.framework.settings import Hashing

ORIGIN = "http://127.0.0.1:8000"
CHEAP = Hashing(passes=1, memory_kib=8, lanes=1)
"""argon2id at the least cost, where a test is not about its cost."""
PASSWORD = "a sentence only tests know"
BOTH_STORES = pytest.mark.parametrize("store_kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
"""For tests of what the store has to keep."""
MOSTLY_SQLITE = pytest.mark.parametrize(
    "store_kind", ["sqlite", pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.slow])]
)
"""For tests that start many processes: on PostgreSQL in long runs."""
OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """One event loop for all tests of a worker, in a thread of its own."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="tests-web", daemon=True).start()
    return loop


@dataclass
class Clock:
    """Time that passes when it is told to."""

    now: datetime = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def wait(self, **length: float) -> None:
        """Let time pass."""
        self.now += timedelta(**length)


@dataclass
class Browser:
    """One browser; `headers` go with every request."""

    app: FastAPI
    headers: dict[str, Any] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **options: Any) -> httpx.Response:
        """Ask for a page."""
        return self.send("GET", path, **options)

    def post(self, path: str, data: dict[str, Any] | None = None, **options: Any) -> httpx.Response:
        """Send a form from one of our own pages, unless `headers` say otherwise."""
        options["headers"] = {**OWN_PAGE, **options.get("headers", {})}
        return self.send("POST", path, data=data or {}, **options)

    def send(
        self, method: str, path: str, *, headers: dict[str, str | None] | None = None, **options: Any
    ) -> httpx.Response:
        """Any request; a header that is None is left out."""
        wanted = {**self.headers, **(headers or {})}
        given = {name: value for name, value in wanted.items() if value is not None}
        if self.cookies and "Cookie" not in given:
            given["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        response = asyncio.run_coroutine_threadsafe(
            self._send(method, path, headers=given, **options), _loop()
        ).result()
        for name, value in response.cookies.items():
            self.cookies[name] = value
        if 'discreet=""' in response.headers.get("set-cookie", ""):
            self.cookies.pop(credentials.COOKIE, None)
        return response

    async def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        async with self._client() as client:
            return await client.request(method, path, **options)

    def _client(self) -> httpx.AsyncClient:
        """Without cookies of its own: it would not send a Secure one back without TLS, as browsers do on loopback."""
        transport = httpx.ASGITransport(app=self.app, client=("127.0.0.1", 4711))
        return httpx.AsyncClient(transport=transport, base_url=ORIGIN, trust_env=False)

    def sign_in(self, name: str, password: str = PASSWORD) -> httpx.Response:
        """Sign in by the form."""
        return self.post("/sign-in", {"name": name, "password": password, "next": "/"})


def make_accounts(app: FastAPI, *names: str) -> None:
    """Accounts with the test's password; each name is a role, or a role and a number: `worker2`. Nobody invited them."""
    site = app.state.site
    hashed = site.hasher.hash(PASSWORD)
    for name in names or tuple(ROLES):
        role = name.rstrip("0123456789")
        about = {"name": name, "role": role, "now": site.stamp(), "password": hashed}
        site.ledger.record(
            actor="test",
            event="web.account",
            subject=f"account:{name}",
            details={"act": Act.MADE.value, "role": role},
            along=lambda connection, about=about: accounts.add(connection, **about),
        )


def signed_in(app: FastAPI, name: str) -> Browser:
    """A browser in which this account has signed in."""
    browser = Browser(app)
    assert browser.sign_in(name).status_code == 303
    return browser
