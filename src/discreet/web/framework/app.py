"""Application: every row of the route table behind the guard, and its server."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse

from discreet import __version__
from discreet.errors import DiscreetError, UsageError
from discreet.ledger import Ledger
from discreet.web.accounts.passwords import Hasher
from discreet.web.framework import middleware
from discreet.web.framework.error_handlers import Answers
from discreet.web.framework.guard import GuardedRoute
from discreet.web.framework.models import PROBLEMS
from discreet.web.framework.render import Templates
from discreet.web.framework.route import Route, Undeclared, complaints
from discreet.web.framework.settings import Settings
from discreet.web.framework.site import Site
from discreet.web.jobs.foreman import Foreman
from discreet.web.routes import ROUTES

NO_TELEMETRY = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""Newer versions of FastAPI tell OpenTelemetry about requests and exceptions, words included; this one tells nobody."""


def create_app(settings: Settings | None = None, *, routes: Sequence[Route] = ROUTES) -> FastAPI:
    """Open the store and the ledger, and serve the table of routes. Refuses if a row is not complete."""
    if found := complaints(routes):
        raise Undeclared(f"Routes are not complete: {'; '.join(found)}.", remedy="Complete discreet.web.routes.")
    site = _site(settings or Settings(), routes)
    try:
        return _assemble(site, routes)
    except BaseException:
        site.close()
        raise


def _site(settings: Settings, routes: Sequence[Route]) -> Site:
    ledger = Ledger.open(settings.store, clock=settings.clock)
    table = {route.key: route for route in routes}
    return Site(settings, ledger, Hasher(settings.hashing), Templates(), table)


def _assemble(site: Site, routes: Sequence[Route]) -> FastAPI:
    answers = Answers(site)
    app = FastAPI(
        title="Discreet",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
        exception_handlers={
            DiscreetError: answers.of_ours,
            HTTPException: answers.of_starlette,
            RequestValidationError: answers.of_validation,
        },
        telemetry=NO_TELEMETRY,  # type: ignore[arg-type, unused-ignore]
    )
    app.state.site = site
    site.app = app
    app.router.routes.extend(_guarded(tuple(routes)))
    app.add_middleware(middleware.Hosts, settings=site.settings, answer=answers.problem)
    app.add_middleware(middleware.Shield, answer=answers.problem)
    app.add_middleware(middleware.Headers, settings=site.settings)
    refuse_undeclared(app, routes)
    return app


@cache
def _guarded(routes: tuple[Route, ...]) -> tuple[GuardedRoute, ...]:
    """The table as FastAPI serves it: looked into once, and shared by all applications of a process."""
    return tuple(GuardedRoute(route, **_options(route)) for route in routes)


def _options(route: Route) -> dict[str, Any]:
    if route.kind != "api":
        return {"include_in_schema": False, "response_class": HTMLResponse, "response_model": None}
    return {
        "response_model": route.returns,
        "response_class": JSONResponse,
        "status_code": route.status,
        "responses": PROBLEMS,
        "operation_id": f"{route.method.lower()}_{route.path.removeprefix('/api/v1/').replace('/', '_')}".replace("{", "").replace("}", ""),
        "openapi_extra": {"security": [{"token": []}], "x-permission": route.permission},
    }  # fmt: skip


def refuse_undeclared(app: FastAPI, routes: Sequence[Route]) -> None:
    """Whatever is served must stand in the table, with its permission."""
    declared = {route.key for route in routes}
    for served in app.router.routes:
        keys = {(method, getattr(served, "path", "")) for method in getattr(served, "methods", None) or {"?"}}
        if not isinstance(served, GuardedRoute) or not keys <= declared:
            raise Undeclared(
                f"{getattr(served, 'path', 'Something')} is served but does not stand in the table of routes.",
                remedy="Add it to discreet.web.routes, with its permission.",
            )


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    refuse_undeclared(app, list(app.state.site.table.values()))
    app.state.site.foreman = Foreman(app.state.site)
    app.state.site.foreman.start()
    yield
    app.state.site.close()


# Running the application: one process, one socket, no access log (addresses may hold one-time links).
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
