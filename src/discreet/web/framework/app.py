"""Application: routes behind the guard, security headers, answers to errors, the server."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from time import monotonic
from types import FrameType
from urllib.parse import urlencode

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet import __version__
from discreet.errors import DiscreetError, IntegrityError, StoreError, UsageError
from discreet.ledger import Ledger
from discreet.operations.event_log import EventLog
from discreet.operations.monitoring_port import MonitoringPort
from discreet.web.accounts import credentials
from discreet.web.accounts.accounts import Hasher
from discreet.web.framework.context import CONTENT_POLICY, Context, GuardedRoute
from discreet.web.framework.permissions import menu
from discreet.web.framework.problems import Problem, bug, not_found, place_of, problem_of
from discreet.web.framework.request_events import request_id
from discreet.web.framework.route import Route, Undeclared, complaints
from discreet.web.framework.settings import Settings
from discreet.web.framework.shared_state import Site
from discreet.web.jobs.supervisor import Supervisor
from discreet.web.operations.figures import gauges, lacks
from discreet.web.operations.watch import StoreWatch
from discreet.web.routes import ROUTES

log = logging.getLogger("discreet.web")

NO_TELEMETRY = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
"""Newer versions of FastAPI report requests and exceptions to OpenTelemetry, words included; this one does not."""


def create_app(settings: Settings | None = None, *, routes: Sequence[Route] = ROUTES) -> FastAPI:
    """The application on a store; refuses an incomplete row of the route table."""
    if faults := complaints(routes):
        raise Undeclared(f"Routes are not complete: {'; '.join(faults)}.", remedy="Complete discreet.web.routes.")
    settings = settings or Settings()
    ledger = Ledger.open(settings.store, clock=settings.clock)
    site = Site(settings, ledger, Hasher(settings.hashing), {route.key: route for route in routes})
    try:
        answers = ErrorAnswers(site)
        app = site.app = FastAPI(
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
        app.router.routes.extend(served_route(route) for route in routes)
        app.add_middleware(Shell, site=site, answer=answers.problem)
        refuse_undeclared(app, routes)
    except BaseException:
        site.close()
        raise
    return app


served_route = cache(GuardedRoute)
"""A row of the table as FastAPI serves it: built once, and shared by all applications of a process."""


def refuse_undeclared(app: FastAPI, routes: Sequence[Route]) -> None:
    """Everything that is served must be in the table, with its permission."""
    declared = {route.key for route in routes}
    for served in app.router.routes:
        keys = {(method, getattr(served, "path", "")) for method in getattr(served, "methods", None) or {"?"}}
        if not isinstance(served, GuardedRoute) or not keys <= declared:
            raise Undeclared(
                f"{getattr(served, 'path', 'Something')} is served but is not in the table of routes.",
                remedy="Add it to discreet.web.routes, with its permission.",
            )


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


class Shell:
    """Around every request: security headers, host names, and answers to bugs."""

    def __init__(self, app: ASGIApp, site: Site, answer: Callable[[Request, Problem], Response]) -> None:
        self.app = app
        self.answer = answer
        self.names = site.settings.hosts
        self.events = site.events
        transport = {"Strict-Transport-Security": "max-age=31536000"} if site.settings.secure else {}
        self.headers = {**HEADERS, **transport}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, begun, fault = 0, monotonic(), None
        identified = request_id(scope)

        async def with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = identified
                for header, value in self.headers.items():
                    headers.setdefault(header, value)
            await send(message)

        # Another domain must not be pointed at this server (DNS rebinding).
        hosts = [value.decode("latin-1").lower() for header, value in scope["headers"] if header == b"host"]
        host = hosts[0] if len(hosts) == 1 else ""
        name, colon, port = host.rpartition(":")
        try:
            if (name if colon and port.isdigit() else host) in self.names:
                await self.app(scope, receive, with_headers)
                return
            remedy = "Use the address that was given to you; the operator of this server sets it."
            problem = Problem(400, "This server goes by another name.", remedy=remedy)
            await self.answer(Request(scope), problem)(scope, receive, with_headers)
        except Exception as error:
            fault = place_of(error)  # its words may hold a person's value
            log.error("%s", fault)
            if not started:
                await self.answer(Request(scope), bug())(scope, receive, with_headers)
        finally:
            self.events.answered(scope, identified, started, monotonic() - begun, fault)


class ErrorAnswers:
    """Answers to errors: a page for people, `application/problem+json` for programs."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def problem(self, request: Request, problem: Problem) -> Response:
        """The answer to a problem."""
        if request.url.path.startswith("/api/"):
            media = "application/problem+json"
            return JSONResponse(problem.to_dict(), problem.status, headers=problem.headers, media_type=media)
        context: Context | None = getattr(request.state, "context", None)
        if problem.status == 401 and context is not None:
            # Pages lead to the form; it leads back to the page that was asked for.
            wanted = request.url.path if context.route.method == "GET" and context.route.kind == "page" else "/"
            query = urlencode({"next": wanted, **({"said": "signed-out-idle"} if context.stale else {})})
            response = RedirectResponse(f"/sign-in?{query}", status_code=303)
            if context.stale:
                credentials.forget_session(response)
            return response
        permissions = context.permissions if context else frozenset()
        values = {
            "problem": problem,
            "account": context.account if context else None,
            "may": permissions.__contains__,
            "menu": menu(permissions, ""),
            "now": self.site.now(),
            "demo": self.site.settings.demo,
            "at_the_door": context is None,  # no route, so that it was not looked up who it is
            "next_step": None,
        }
        return HTMLResponse(self.site.render("problem.html", values), problem.status, headers=problem.headers)

    async def of_ours(self, request: Request, error: Exception) -> Response:
        """An error of ours; a fault of the store is logged."""
        if isinstance(error, StoreError | IntegrityError):
            log.error("%s", error.problem)
        return self.problem(request, problem_of(error))

    async def of_starlette(self, request: Request, error: Exception) -> Response:
        """No such path, or not by this method."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        if status == 404:
            return self.problem(request, not_found())
        if status != 405:
            words = "This request cannot be served."
            return self.problem(request, Problem(status, words, remedy="Begin at the dashboard."))
        served = self.site.app.router.routes if self.site.app is not None else []
        guarded = [route for route in served if isinstance(route, GuardedRoute)]
        matching = {route.declared.method for route in guarded if route.matches(request.scope)[0] != Match.NONE}
        words, remedy = "This address cannot be asked this way.", "Begin at the dashboard."
        if matching == {"POST"}:  # a GET is what a link on any site can cause
            words = "This is asked for by POST, so that a link alone does nothing."
            by_program = request.url.path.startswith("/api/")
            remedy = "Send the same request by POST." if by_program else "Go back, and use the button on the page."
        allowed = {"Allow": ", ".join(sorted(matching))}
        return self.problem(request, Problem(405, words, remedy=remedy, headers=allowed))

    async def of_validation(self, request: Request, error: Exception) -> Response:
        """A path, query or body that does not fit; never repeats it."""
        faults = error.errors() if isinstance(error, RequestValidationError) else []
        if any(fault["loc"][:1] == ("path",) for fault in faults):
            return self.problem(request, not_found())
        words = []
        for fault in faults[:5]:
            # Names that came in are not repeated: they could be anything.
            where = ".".join(str(part) for part in fault["loc"] if isinstance(part, str) and part.isidentifier())
            extra = fault["type"] == "extra_forbidden"
            unknown = f"There is something in the {fault['loc'][0]} that does not belong there"
            words.append(unknown if extra else f"{where or 'body'}: {fault['msg']}")
        problem = "; ".join(dict.fromkeys(words)) or "Something in it does not fit"
        return self.problem(request, Problem(422, f"{problem}.", remedy="Correct it and send it again."))


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    site: Site = app.state.site
    refuse_undeclared(app, list(site.table.values()))
    site.supervisor = Supervisor(site)
    site.supervisor.start()
    place, watch = site.settings.operations.monitoring, StoreWatch(site)
    port = None
    if place is not None:
        port = site.monitoring = MonitoringPort(
            place, text=lambda: site.events.text(gauges(site)), lacks=lambda: lacks(site)
        )
        await port.start()
    if site.settings.operations.watching:
        watch.start()
    yield
    watch.close()
    if port is not None:
        await port.close()
    site.close()


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


class StartInterrupted(BaseException):
    """A signal came while the server was saying that it is ready."""


class Server(uvicorn.Server):
    """Says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], rotated: EventLog | None = None) -> None:
        super().__init__(config)
        self._ready = ready
        self._rotated = rotated
        self._saying = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so."""
        await super().startup(sockets)
        if not self.started:
            return
        if self._rotated is not None and hasattr(signal, "SIGHUP"):
            # As a callback of the loop: a handler proper could come in the middle of a line.
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reopen, self._rotated)
        try:
            self._saying = True
            self._ready()
        except StartInterrupted:
            return
        finally:
            self._saying = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop soon, and at once if it is not yet ready."""
        super().handle_exit(sig, frame)
        if self._saying:
            raise StartInterrupted


def serve(app: FastAPI, ear: socket.socket, *, proxy: str | None = None, ready: Callable[[], None]) -> None:
    """Serve until it is stopped; with a log in a file, SIGHUP opens that again."""
    config = configuration(app, proxy=proxy)
    place, events = app.state.site.settings.operations.log, app.state.site.events.log
    if place is not None:  # instead of plain text, also from uvicorn
        logging.basicConfig(level=logging.WARNING, handlers=[events.handler()], force=True)
    Server(config, ready, events if isinstance(place, Path) else None).run(sockets=[ear])


def reopen(events: EventLog) -> None:
    """Open a log again that was rotated; where that cannot be, the old file goes on."""
    try:
        events.reopen()
    except UsageError as error:
        log.error("%s", error.problem)


def configuration(app: FastAPI, *, proxy: str | None = None) -> uvicorn.Config:
    """How uvicorn is run."""
    plain = app.state.site.settings.operations.log is None
    return uvicorn.Config(
        app,
        log_config=uvicorn.config.LOGGING_CONFIG if plain else None,
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
