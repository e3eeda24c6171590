"""Error handlers: a page for people, `application/problem+json` for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard
from urllib.parse import urlencode

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Match

from discreet.errors import IntegrityError, StoreError
from discreet.web.accounts import sessions
from discreet.web.framework.context import Context
from discreet.web.framework.guard import GuardedRoute
from discreet.web.framework.middleware import log
from discreet.web.framework.permissions import menu
from discreet.web.framework.problems import Problem, not_found, problem_of
from discreet.web.framework.site import Site


class Answers:
    """Turns whatever was raised into an answer."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def problem(self, request: Request, problem: Problem) -> Response:
        """The answer to a problem."""
        if request.url.path.startswith("/api/"):
            media = "application/problem+json"
            return JSONResponse(problem.to_dict(), problem.status, headers=problem.headers, media_type=media)
        context: Context | None = getattr(request.state, "context", None)
        if problem.status == 401 and context is not None:
            return self._to_sign_in(request, context)
        return HTMLResponse(self._page(request, context, problem), problem.status, headers=problem.headers)

    def _page(self, request: Request, context: Context | None, problem: Problem) -> str:
        permissions = context.permissions if context else frozenset()
        values = {
            "problem": problem,
            "account": context.account if context else None,
            "may": permissions.__contains__,
            "menu": menu(permissions, ""),
            "now": self.site.now(),
            "demo": self.site.settings.demo,
            "at_the_door": context is None,  # no route, so that nobody looked who it is
            "next_step": None,
        }
        return self.site.templates.page("problem.html", values)

    def _to_sign_in(self, request: Request, context: Context) -> Response:
        """Pages lead to the form; it leads back to where somebody wanted to go."""
        wanted = request.url.path if context.route.method == "GET" and context.route.kind == "page" else "/"
        query = urlencode({"next": wanted, **({"said": "signed-out-idle"} if context.stale else {})})
        response = RedirectResponse(f"/sign-in?{query}", status_code=303)
        if context.stale:
            sessions.take_back(response)
        return response

    async def of_ours(self, request: Request, error: Exception) -> Response:
        """An error of ours; what ails the store is logged, without a value or a password."""
        if isinstance(error, StoreError | IntegrityError):
            log.error("%s", error.problem)
        return self.problem(request, problem_of(error))

    async def of_starlette(self, request: Request, error: Exception) -> Response:
        """No such path, or not by this method."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        if status == 404:
            return self.problem(request, not_found())
        if status == 405:
            return self.problem(request, _other_method(request, self._methods(request)))
        return self.problem(
            request, Problem(status, "This request cannot be served.", remedy="Begin at the dashboard.")
        )

    def _methods(self, request: Request) -> list[str]:
        """By which methods this path is served."""
        served = self.site.app.router.routes if self.site.app is not None else []
        found = {route.declared.method for route in served if _is_of(route, request)}
        return sorted(found)

    async def of_validation(self, request: Request, error: Exception) -> Response:
        """A path, a query or a body that does not fit; says where, never what came."""
        found = error.errors() if isinstance(error, RequestValidationError) else []
        if any(one["loc"][:1] == ("path",) for one in found):
            return self.problem(request, not_found())
        return self.problem(request, Problem(422, _what_does_not_fit(found), remedy="Correct it and send it again."))


def _other_method(request: Request, methods: Sequence[str]) -> Problem:
    """What is served by POST alone says so: a GET is what a link on any site can cause."""
    headers = {"Allow": ", ".join(methods)}
    if methods != ["POST"]:
        return Problem(405, "This address cannot be asked this way.", remedy="Begin at the dashboard.", headers=headers)
    by_program = request.url.path.startswith("/api/")
    remedy = "Send the same request by POST." if by_program else "Go back, and use the button on the page."
    return Problem(405, "This is asked for by POST, so that a link alone does nothing.", remedy=remedy, headers=headers)


def _is_of(route: BaseRoute, request: Request) -> TypeGuard[GuardedRoute]:
    return isinstance(route, GuardedRoute) and route.matches(request.scope)[0] != Match.NONE


def _what_does_not_fit(found: Sequence[Any]) -> str:
    places = dict.fromkeys(_place(one) for one in found[:5])
    return "; ".join(places) + "." if places else "Something in it does not fit."


def _place(one: Any) -> str:
    """Where it is and what was expected. Names that came in are not repeated: they could be anything."""
    if one["type"] == "extra_forbidden":
        return "There is something in the " + str(one["loc"][0]) + " that does not belong there"
    where = ".".join(str(part) for part in one["loc"] if isinstance(part, str) and part.isidentifier())
    return f"{where or 'body'}: {one['msg']}"
