"""Guard of every route: identity, permission, same origin, ownership, in this order."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from discreet.web.accounts import sessions, tokens
from discreet.web.framework.context import Context
from discreet.web.framework.forms import read_body
from discreet.web.framework.middleware import CONTENT_POLICY, LIVE
from discreet.web.framework.permissions import ANYONE, GRANTED
from discreet.web.framework.problems import Problem, not_allowed, not_found
from discreet.web.framework.route import Route

Answer = Callable[[Request], Coroutine[Any, Any, Response]]
OTHER_SITES = ("cross-site", "same-site")
"""What a browser says of a request that a page elsewhere caused (`Sec-Fetch-Site`)."""


class GuardedRoute(APIRoute):
    """A route of the table, as FastAPI serves it: nothing of the request is looked at before the guard has agreed."""

    def __init__(self, declared: Route, **options: Any) -> None:
        self.declared = declared
        super().__init__(declared.path, declared.handler, methods=[declared.method], **options)

    def get_route_handler(self) -> Answer:
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
    """Both steps in one thread: an account without the permission learns nothing about what there is."""
    admit(context)
    load(context)


def admit(context: Context) -> None:
    """Who is it, may they, and did a page of ours send it?"""
    identify(context)
    stranger = context.account is None and context.route.permission != ANYONE
    if stranger and context.route.kind == "api":
        raise _please_sign_in(context)  # a program that forgot its token learns that first
    if context.route.method == "POST" and context.token is None:
        require_own_page(context)
    if context.token is not None:
        require_no_other_page(context)
    if stranger:
        raise _please_sign_in(context)
    if context.route.permission != ANYONE and not context.may(context.route.permission):
        raise not_allowed()
    if context.route.records:
        require_own_link(context)


def identify(context: Context) -> None:
    """By the token of a program at the API, else by the cookie of a session; a wrong token is not a matter of cookies."""
    given = context.request.headers.get("authorization")
    if given is not None and context.route.kind == "api":
        kind, _, secret = given.partition(" ")
        recognised = tokens.recognise(context.site, secret.strip()) if kind.lower() == "bearer" else None
        if recognised is None:
            raise Problem(
                401,
                "The token is unknown, has expired or was revoked.",
                remedy="Send 'Authorization: Bearer TOKEN' with a token from the page Tokens.",
                headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
            )
        context.token, context.account = recognised
        context.permissions = tokens.permissions(*recognised)
    elif (cookie := sessions.token_of(context.request)) is not None:
        session = sessions.find(context.site, cookie)
        context.stale = session is None
        if session is not None:
            context.session, context.account = session
            context.permissions = GRANTED[context.account.role]


def require_own_page(context: Context) -> None:
    """Against requests that other sites have a browser send (CSRF): the browser says where it comes from."""
    headers, origin = context.request.headers, context.site.settings.origin
    site = headers.get("sec-fetch-site")
    own = {origin, f"{origin.partition(':')[0]}://{headers.get('host', '')}"}
    if site == "same-origin" or (site is None and headers.get("origin") in own):
        return
    raise Problem(
        403,
        "This did not come from a page of this server.",
        remedy="Open the page here and send it again. Programs send a token instead of a cookie.",
    )


def require_no_other_page(context: Context) -> None:
    """A token is for programs; a page of another site has no business with it."""
    if context.request.headers.get("sec-fetch-site") in OTHER_SITES:
        raise Problem(403, "A page of another site sent this.", remedy="Use tokens in programs, not in pages.")


def require_own_link(context: Context) -> None:
    """A link on another site must not make the ledger say that a person looked at this; a link of ours may."""
    if context.request.headers.get("sec-fetch-site") in OTHER_SITES:
        raise Problem(
            403,
            "A link on another site led here, and readers of this page are recorded.",
            remedy="Open the page from here if you want to read it.",
            title="Do you want to open this page?",
            path=context.request.url.path,
        )


def load(context: Context) -> None:
    """The object that the path names, if there is one and it is theirs; for all else the same answer."""
    loads = context.route.loads
    if loads is None:
        return
    try:
        context.loaded = loads.find(context, context.request.path_params)
    except ValueError:
        context.loaded = None
    if context.loaded is None or not loads.may(context, context.loaded):
        raise not_found()


def _please_sign_in(context: Context) -> Problem:
    if context.stale:
        words = f"You were signed out: sessions end after {int(context.site.settings.idle.total_seconds() // 60)} minutes without use, and after a working day."
    else:
        words = "This page is for people with an account."
    return Problem(401, words, remedy="Sign in, then try again.", headers={"WWW-Authenticate": "Bearer"})
