"""Context of a request: account, permissions, form, loaded object, answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request
from sqlalchemy import Connection
from starlette.responses import HTMLResponse, RedirectResponse, Response

from discreet.errors import DiscreetError
from discreet.ledger import Receipt
from discreet.ledger.entry import Detail
from discreet.web.accounts.accounts import Account
from discreet.web.accounts.onboarding import ALONG, BROUGHT, Guide, guide_of
from discreet.web.accounts.sessions import WebSession
from discreet.web.accounts.tokens import ApiToken
from discreet.web.framework.format import remark
from discreet.web.framework.forms import Form
from discreet.web.framework.permissions import menu
from discreet.web.framework.problems import Problem, problem_of
from discreet.web.framework.route import Loads, Route, numbered
from discreet.web.framework.site import Site

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

    def may(self, permission: str) -> bool:
        """Is this permitted?"""
        return permission in self.permissions

    @property
    def owner(self) -> Account:
        """The account, where the permission of the route makes sure that there is one."""
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
    ) -> Receipt:
        """Write down what is done, and do it (`along`) in the same transaction: both happen, or neither."""
        who = actor if actor is not None else self.owner.name
        if self.token is not None:
            details["token"] = self.token.id
        return self.site.ledger.record(actor=who, event=event, subject=subject, key=key, along=along, details=details)

    def page(self, template: str, *, status: int = 200, problem: Problem | None = None, **values: Any) -> Response:
        """A page; after a form that cannot be accepted it has the status of the problem."""
        content = self.site.render(template, {**self._frame(), "problem": problem, **values})
        return HTMLResponse(
            content, problem.status if problem else status, headers=problem.headers if problem else None
        )

    def _frame(self) -> Mapping[str, Any]:
        return {
            "account": self.account,
            "may": self.may,
            "menu": menu(self.permissions, self.request.url.path),
            "now": self.site.now(),
            "demo": self.site.settings.demo,
            "said": remark(self.request.query_params.get("said")),
            "at_the_door": self.route.path in AT_THE_DOOR,
            "next_step": self._next_step(),
            "path": self.request.url.path,
        }

    def _next_step(self) -> Guide | None:
        """Shown above the pages from a data set to its report, until that is read or the guide hidden."""
        along = self.route.path.split("/")[1] in ALONG and self.may("datasets.change")
        if self.account is None or not self.account.guided or not along:
            return None
        with self.site.store.reading() as connection:
            guide = guide_of(connection, self.account)
        return None if guide.complete or guide.number <= BROUGHT else guide


def again(
    act: Callable[[], Response],
    page: Callable[[Problem], Response],
    in_words: Callable[[Exception], Problem] = problem_of,
) -> Response:
    """Do what a form asks for; if that cannot be accepted, its page again with the problem."""
    try:
        return act()
    except DiscreetError as error:
        problem = in_words(error)
        if problem.status == 401 or problem.status >= 500:  # to the sign-in page, or a fault of ours
            raise
        return page(problem)


def or_again(
    page: Callable[..., Response], in_words: Callable[[Exception], Problem] = problem_of
) -> Callable[[Callable[[Context], Response]], Callable[[Context], Response]]:
    """Decorates the handler of a form: what cannot be accepted shows this page again."""

    def decorate(handler: Callable[[Context], Response]) -> Callable[[Context], Response]:
        @wraps(handler)
        def answer(context: Context) -> Response:
            return again(lambda: handler(context), lambda problem: page(context, problem=problem), in_words)

        return answer

    return decorate


def go(path: str, *, said: str = "") -> Response:
    """To another page, after a POST; `said` names a flash message of that page (`format.REMARKS`)."""
    return RedirectResponse(path + (f"?said={quote(said)}" if said else ""), status_code=303)


def by_number(
    name: str,
    find: Callable[[Connection, int], Any],
    may: Callable[[Context, Any], bool] = lambda context, _: context.may(context.route.permission),
) -> Loads[Context]:
    """The object whose number is in the path; unless said otherwise, all with the permission share it."""

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
