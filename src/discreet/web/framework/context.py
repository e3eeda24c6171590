"""Context of a request: account, permissions, form, loaded object; and the guard that sets it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import wraps
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from discreet.errors import DiscreetError
from discreet.ledger.entry import Detail
from discreet.web.accounts import credentials
from discreet.web.accounts.accounts import Account
from discreet.web.accounts.credentials import ApiToken, WebSession
from discreet.web.accounts.onboarding import ALONG, BROUGHT, guide_of
from discreet.web.framework.forms import PROBLEMS, Form, read_body
from discreet.web.framework.permissions import ANYONE, GRANTED, menu
from discreet.web.framework.problems import Problem, not_allowed, not_found, problem_of
from discreet.web.framework.route import Loads, Route, numbered
from discreet.web.framework.shared_state import REMARKS, Site

AT_THE_DOOR = ("/sign-in", "/sign-in/code", "/sign-in/passkey", "/welcome/{secret}")
"""Pages that need no link to the sign-in page."""


@dataclass
class Context:
    """One request."""

    request: Request
    site: Site
    route: Route
    account: Account | None = None
    permissions: frozenset[str] = frozenset()
    session: WebSession | None = None
    token: ApiToken | None = None
    form: Form = field(default_factory=Form)
    loaded: Any = None
    """The object that the path names; its ownership is checked."""
    stale: bool = False
    """Did the browser send a session that has ended?"""
    problem: Problem | None = None
    """Why the form that was sent is shown again (`or_again`)."""
    shown_once: dict[str, Any] = field(default_factory=dict, repr=False)
    """Values of this answer alone, such as the secret of a new link."""

    def may(self, permission: str) -> bool:
        """Is this permitted?"""
        return permission in self.permissions

    @property
    def owner(self) -> Account:
        """The account, where the route makes sure that there is one."""
        if self.account is None:
            raise Problem(401, "This needs an account.", remedy="Sign in.")
        return self.account

    @property
    def address(self) -> str:
        """Where the request came from."""
        return self.request.client.host if self.request.client else "unknown"

    def act(
        self,
        event: str,
        subject: str,
        *,
        along: Callable[[Connection], object] | None = None,
        actor: str | None = None,
        key: str | None = None,
        **details: Detail,
    ) -> Any:
        """Write down what is done, and do it (`along`); gives what that made.

        Both are one transaction: both happen, or neither.
        """
        made: list[Any] = [None]

        def do(connection: Connection) -> None:
            if along is not None:
                made.append(along(connection))

        if self.token is not None:
            details["token"] = self.token.id
        self.site.ledger.record(
            actor=actor if actor is not None else self.owner.name,
            event=event,
            subject=subject,
            key=key,
            along=None if along is None else do,
            details=details,
        )
        return made[-1]

    def note_reading(self, dataset: int, job: int, what: str, *, kind: str) -> None:
        """Write down that figures of a job are shown, once a day per reader and place, before they are."""
        key = f"{what}:{job}:{self.site.stamp()[:10]}"
        self.act("web.shown", f"dataset:{dataset}/job:{job}/{what}", key=key, act="read", what=what, kind=kind)

    def page(self, template: str, *, status: int = 200, problem: Problem | None = None, **values: Any) -> Response:
        """A page; with a problem it has the status of that."""
        problem = problem or self.problem
        # The next step of the guide is shown on the way from a data set to its report, until that is read.
        guide = None
        along = self.route.path.split("/")[1] in ALONG and self.may("datasets.change")
        if self.account is not None and self.account.guided and along:
            with self.site.store.reading() as connection:
                guide = guide_of(connection, self.account)
        frame = {
            "account": self.account,
            "may": self.may,
            "menu": menu(self.permissions, self.request.url.path),
            "now": self.site.now(),
            "demo": self.site.settings.demo,
            "said": REMARKS.get(self.request.query_params.get("said", ""), ""),
            "at_the_door": self.route.path in AT_THE_DOOR,
            "next_step": None if guide is None or guide.complete or guide.number <= BROUGHT else guide,
            "path": self.request.url.path,
            "problem": problem,
        }
        content = self.site.render(template, {**frame, **values, **self.shown_once})
        return HTMLResponse(
            content, problem.status if problem else status, headers=problem.headers if problem else None
        )


def or_again(
    page: Callable[[Context], Response], in_words: Callable[[Exception], Problem] = problem_of
) -> Callable[[Callable[[Context], Response]], Callable[[Context], Response]]:
    """Decorates the handler of a form: what cannot be accepted shows this page again."""

    def decorate(handler: Callable[[Context], Response]) -> Callable[[Context], Response]:
        @wraps(handler)
        def answer(context: Context) -> Response:
            try:
                return handler(context)
            except DiscreetError as error:
                problem = in_words(error)
                if problem.status == 401 or problem.status >= 500:  # to the sign-in page, or a fault of ours
                    raise
                context.problem = problem
                return page(context)

        return answer

    return decorate


def go(path: str, *, said: str = "") -> Response:
    """To another page, after a POST; `said` names a flash message (`site.REMARKS`)."""
    return RedirectResponse(path + (f"?said={quote(said)}" if said else ""), status_code=303)


def by_number(
    name: str,
    find: Callable[[Connection, int], Any],
    may: Callable[[Context, Any], bool] = lambda context, _: context.may(context.route.permission),
) -> Loads[Context]:
    """The object whose number is in the path, shared by default."""

    def load(context: Context, path: dict[str, str]) -> Any:
        with context.site.store.reading() as connection:
            return find(connection, numbered(path["number"]))

    return Loads(name, load, may)


def current(request: Request) -> Context:
    """The context that the guard made."""
    context: Context = request.state.context
    return context


Here = Annotated[Context, Depends(current)]
"""How a handler asks for its context: `def page(context: Here) -> Response`."""


# The guard of every route: identity, permission, same origin, ownership, in this order.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
LIVE = "; connect-src 'self'"
"""Added for pages whose own script asks this server for more."""
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
