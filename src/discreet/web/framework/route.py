"""Route: one row of the route table, and what makes it complete."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from discreet.errors import DiscreetError
from discreet.web.framework.permissions import ANYONE, PERMISSIONS

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from discreet.web.framework.context import Context

Kind = Literal["page", "fragment", "api", "asset"]
Body = Literal["none", "form", "upload", "json"]


@dataclass(frozen=True)
class Loads:
    """The object that a path names, and who may have it. Whoever may not is told that there is none."""

    name: str
    """What it is, in a word for people: "token"."""
    find: Callable[[Context, dict[str, str]], Any]
    """From the parameters of the path to the object; None if there is none. May raise ValueError for nonsense."""
    may: Callable[[Context, Any], bool]
    """Whether this account may have this object: the check of ownership."""


@dataclass(frozen=True)
class Route:
    """What is served, to whom, by which function."""

    method: Literal["GET", "POST"]
    path: str
    permission: str
    handler: Callable[..., Any]
    kind: Kind = "page"
    body: Body = "none"
    """What a POST brings: fields of a form, a file among them, or JSON."""
    loads: Loads | None = None
    """Needed where the path has parameters."""
    records: bool = False
    """Is it written into the ledger who looks at this page (`web.shown`)? Nothing else that is asked for by GET changes
    anything: what is handed out and written down is asked for by POST, so that a link on another site does nothing."""
    live: bool = False
    """May its script ask this server for more (`connect-src 'self'`)?"""
    returns: Any = None
    """The model of the answer, for the API."""
    status: int = 200

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from all others."""
        return self.method, self.path


class Undeclared(DiscreetError):
    """A route is served that the table does not have, or a row of the table is not complete."""


def complaints(routes: Sequence[Route]) -> list[str]:
    """What keeps the application from starting, in words."""
    found = [f"{route.method} {route.path}: {words}" for route in routes for words in _faults(route)]
    keys = [route.key for route in routes]
    found += [f"{method} {path}: stands there twice" for method, path in {key for key in keys if keys.count(key) > 1}]
    return found


def _faults(route: Route) -> list[str]:
    faults = []
    if route.permission not in (*PERMISSIONS, ANYONE):
        faults.append("has no permission that exists")
    if re.search(r"\{", route.path) and route.loads is None:
        faults.append("has parameters but does not say what it loads and who may have it")
    if route.method not in ("GET", "POST"):
        faults.append("is neither GET nor POST")
    if route.method == "GET" and route.body != "none":
        faults.append("is a GET with a body")
    if route.records and (route.method, route.kind) != ("GET", "page"):
        faults.append("only a page says that it writes down who looks at it; what is handed out is asked for by POST")
    if (route.kind == "api") != route.path.startswith("/api/"):
        faults.append("the API is what is below /api/, and nothing else")
    return faults


def by_number(name: str, find: Callable[[Connection, int], Any]) -> Loads:
    """The object whose number is in the path, for everybody who has the permission of the route."""

    def load(context: Context, path: dict[str, str]) -> Any:
        with context.site.store.reading() as connection:
            return find(connection, numbered(path["number"]))

    return Loads(name, find=load, may=lambda context, found: context.may(context.route.permission))


def numbered(text: str) -> int:
    """The number in a path; a ValueError for anything that a database could not keep.

    >>> numbered("12")
    12
    """
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise ValueError("not a number")
    return int(text)
