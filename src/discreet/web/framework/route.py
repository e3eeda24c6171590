"""Route: one row of the route table, and what makes it complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Literal, TypeVar

from discreet.errors import DiscreetError
from discreet.web.framework.permissions import ANYONE, PERMISSIONS

Asker = TypeVar("Asker")
"""The context of the request."""


@dataclass(frozen=True)
class Loads(Generic[Asker]):
    """The object that a path names, and who may have it."""

    name: str
    """What it is, in a word for people: "token"."""
    find: Callable[[Asker, dict[str, str]], Any]
    """From the parameters of the path to the object; None if there is none. May raise ValueError for nonsense."""
    may: Callable[[Asker, Any], bool]
    """Whether this account may have this object: the check of ownership."""


@dataclass(frozen=True)
class Route:
    """What is served, to whom, by which function."""

    method: Literal["GET", "POST"]
    path: str
    permission: str
    handler: Callable[..., Any]
    kind: Literal["page", "fragment", "api", "asset"] = "page"
    body: Literal["none", "form", "upload", "json"] = "none"
    """What a POST brings: fields of a form, a file among them, or JSON."""
    loads: Loads[Any] | None = None
    """Needed where the path has parameters."""
    records: bool = False
    """Is it written into the ledger who looks at the figures here (`web.shown`)? Nothing else that is asked for by GET changes
    anything: what is handed out and written down is asked for by POST, so that a link on another site does nothing."""
    live: bool = False
    """May its script ask this server for more (`connect-src 'self'`)?"""
    returns: Any = None
    """The model of the answer, for the API."""
    status: int = 200

    @property
    def key(self) -> tuple[str, str]:
        """What distinguishes it from all others."""
        return self.method, self.path


Page = partial(Route, "GET")
Submit = partial(Route, "POST", body="form")
ApiGet = partial(Route, "GET", kind="api")
ApiPost = partial(Route, "POST", kind="api", body="json")


class Undeclared(DiscreetError):
    """A served route is missing in the table, or a row is incomplete."""


def complaints(routes: Sequence[Route]) -> list[str]:
    """What stops the application from starting, in words."""
    faults = []
    for route in routes:
        read = route.method == "GET" and route.kind != "asset"
        checks = (
            (route.permission not in (*PERMISSIONS, ANYONE), "has no permission that exists"),
            ("{" in route.path and route.loads is None, "has parameters but does not say what it loads and who may have it"),
            (route.method not in ("GET", "POST"), "is neither GET nor POST"),
            (route.method == "GET" and route.body != "none", "is a GET with a body"),
            (route.records and not read, "only what is read by GET says that it writes down who looks at it; what is handed out is asked for by POST"),
            ((route.kind == "api") != route.path.startswith("/api/"), "the API is what is below /api/, and nothing else"),
        )  # fmt: skip
        faults += [f"{route.method} {route.path}: {words}" for wrong, words in checks if wrong]
    twice = (key for key, count in Counter(route.key for route in routes).items() if count > 1)
    return faults + [f"{method} {path}: is there twice" for method, path in twice]


def numbered(text: str) -> int:
    """The number in a path; a ValueError for what no database can store.

    >>> numbered("12")
    12
    """
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise ValueError("not a number")
    return int(text)
