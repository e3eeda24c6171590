"""Context of a request: account, permissions, form, loaded object, answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request
from sqlalchemy import Connection
from starlette.responses import HTMLResponse, RedirectResponse, Response

from discreet.errors import DiscreetError
from discreet.ledger.entry import Detail
from discreet.web.accounts.accounts import Account
from discreet.web.accounts.credentials import ApiToken, WebSession
from discreet.web.accounts.onboarding import ALONG, BROUGHT, guide_of
from discreet.web.framework.forms import Form
from discreet.web.framework.problems import Problem, problem_of
from discreet.web.framework.route import Loads, Route, menu, numbered
from discreet.web.framework.site import REMARKS, Site

AT_THE_DOOR = ("/sign-in", "/welcome/{secret}")
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

    def found(context: Context, path: dict[str, str]) -> Any:
        with context.site.store.reading() as connection:
            return find(connection, numbered(path["number"]))

    return Loads(name, found, may)


def current(request: Request) -> Context:
    """The context that the guard made."""
    context: Context = request.state.context
    return context


Here = Annotated[Context, Depends(current)]
"""How a handler asks for its context: `def page(context: Here) -> Response`."""


async def no_problem() -> None:
    """A page that is asked for has no problem; one that a form shows again has one."""


FormProblem = Annotated[Problem | None, Depends(no_problem)]
"""How a page takes what is wrong with its form: `def page(context: Here, problem: FormProblem = None) -> Response`."""
