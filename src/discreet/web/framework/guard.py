"""Guard of every request: headers, host, identity, permission, same origin, ownership."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.web.accounts import credentials
from discreet.web.framework.context import Context
from discreet.web.framework.forms import PROBLEMS, read_body
from discreet.web.framework.problems import Problem, bug, not_allowed, not_found, place_of
from discreet.web.framework.route import ANYONE, GRANTED, Route
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


class Shell:
    """Around every request: security headers, host names, and answers to bugs."""

    def __init__(self, app: ASGIApp, settings: Settings, answer: Callable[[Request, Problem], Response]) -> None:
        self.app = app
        self.answer = answer
        self.names = settings.hosts
        transport = {"Strict-Transport-Security": "max-age=31536000"} if settings.secure else {}
        self.headers = {**HEADERS, **transport}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
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
            remedy = "Use the address that was given to you; the operator sets it with --origin."
            problem = Problem(400, "This server goes by another name.", remedy=remedy)
            await self.answer(Request(scope), problem)(scope, receive, with_headers)
        except Exception as error:
            log.error("%s", place_of(error))  # its words may hold a person's value
            if not started:
                await self.answer(Request(scope), bug())(scope, receive, with_headers)


OTHER_SITES = ("cross-site", "same-site")
"""What a browser says of a request that a page elsewhere caused (`Sec-Fetch-Site`)."""


class GuardedRoute(APIRoute):
    """A row of the route table, served only after the guard has agreed."""

    def __init__(self, declared: Route) -> None:
        self.declared = declared
        options: dict[str, Any] = {
            "include_in_schema": False,
            "response_class": HTMLResponse,
            "response_model": None,
        }
        if declared.kind == "api":
            name = declared.path.removeprefix("/api/v1/").replace("/", "_").replace("{", "").replace("}", "")
            options = {
                "response_model": declared.returns,
                "response_class": JSONResponse,
                "status_code": declared.status,
                "responses": PROBLEMS,
                "operation_id": f"{declared.method.lower()}_{name}",
                "openapi_extra": {"security": [{"token": []}], "x-permission": declared.permission},
            }
        super().__init__(declared.path, declared.handler, methods=[declared.method], **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler behind the guard."""
        answer = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            context = Context(request, request.app.state.site, self.declared)
            request.state.context = context
            await run_in_threadpool(enter, context)
            try:
                context.form = await read_body(request, self.declared.body, context.site.settings)
                response = await answer(request)
                if self.declared.live:
                    response.headers["Content-Security-Policy"] = CONTENT_POLICY + LIVE
                return response
            finally:
                await request.close()  # and with it the files of an upload

        return guarded


def enter(context: Context) -> None:
    """Identify, check permission and origin, then load what the path names.

    In this order, so that an account without the permission learns nothing about what there is.
    """
    identify(context)
    stranger = context.account is None and context.route.permission != ANYONE
    if stranger and context.route.kind == "api":
        raise _please_sign_in(context)  # a program that forgot its token learns that first
    # Against requests that other sites have a browser send (CSRF): browsers say where a request comes from.
    headers, origin = context.request.headers, context.site.settings.origin
    sender = headers.get("sec-fetch-site")
    own = {origin, f"{origin.partition(':')[0]}://{headers.get('host', '')}"}
    own_page = sender == "same-origin" or (sender is None and headers.get("origin") in own)
    if context.route.method == "POST" and context.token is None and not own_page:
        raise Problem(
            403,
            "This did not come from a page of this server.",
            remedy="Open the page here and send it again. Programs send a token instead of a cookie.",
        )
    elsewhere = sender in OTHER_SITES
    if context.token is not None and elsewhere:
        raise Problem(403, "A page of another site sent this.", remedy="Use tokens in programs, not in pages.")
    if stranger:
        raise _please_sign_in(context)
    if context.route.permission != ANYONE and not context.may(context.route.permission):
        raise not_allowed()
    if context.route.records and elsewhere:
        # A link on another site must not make the ledger say that a person looked at this; a link of ours may.
        raise Problem(
            403,
            "A link on another site led here, and readers of this page are recorded.",
            remedy="Open the page from here if you want to read it.",
            title="Do you want to open this page?",
            path=context.request.url.path,
        )
    loads = context.route.loads
    if loads is None:
        return
    try:
        context.loaded = loads.find(context, context.request.path_params)
    except ValueError:
        context.loaded = None
    if context.loaded is None or not loads.may(context, context.loaded):
        raise not_found()  # the same answer for what is not there and for what is another account's


def identify(context: Context) -> None:
    """Recognise the token of a program, else the cookie of a session."""
    given = context.request.headers.get("authorization")
    if given is not None and context.route.kind == "api":
        kind, _, secret = given.partition(" ")
        recognised = credentials.recognise_token(context.site, secret.strip()) if kind.lower() == "bearer" else None
        if recognised is None:
            raise Problem(
                401,
                "The token is unknown, has expired or was revoked.",
                remedy="Send 'Authorization: Bearer TOKEN' with a token from the page Tokens.",
                headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
            )
        context.token, context.account = recognised
        context.permissions = context.token.permissions(context.account)
    elif (cookie := context.request.cookies.get(credentials.COOKIE)) is not None:
        session = credentials.find_session(context.site, cookie)
        context.stale = session is None
        if session is not None:
            context.session, context.account = session
            context.permissions = GRANTED[context.account.role]


def _please_sign_in(context: Context) -> Problem:
    if context.stale:
        words = f"You were signed out: sessions end after {int(context.site.settings.idle.total_seconds() // 60)} minutes without use, and after a working day."
    else:
        words = "This page is for people with an account."
    return Problem(401, words, remedy="Sign in, then try again.", headers={"WWW-Authenticate": "Bearer"})
