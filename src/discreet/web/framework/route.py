"""Routes: permissions by role, the menu they open, the rows of the route table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Generic, Literal, TypeVar

from discreet.errors import DiscreetError

# Permissions are named verbs, a role is a set of them, and everything else is refused.
ANYONE = "anyone"
"""Not a permission but the lack of one: the few routes that work before signing in."""

PERMISSIONS = {
    "account.own": "see one's own account, change one's password, sign out",
    "tokens.own": "make and revoke one's own API tokens",
    "dashboard.read": "see the dashboard: budgets, disclosures by room, the head of the ledger",
    "ledger.read": "read the entries of the ledger and its head",
    "ledger.verify": "have the ledger verified",
    "ledger.export": "take away the whole ledger",
    "datasets.read": "see data sets, their columns, policies and results",
    "datasets.change": "bring and remove data sets, change policies, start and cancel jobs",
    "datasets.take": "take away anonymised tables",
    "attack.plan": "use the attacker lab: what an adversary would do, and what deters them",
    "sensitivity.answer": "answer how sensitive values are, where one is invited",
    "sensitivity.change": "choose values and experts, combine answers, make versions of the sensitivity function",
    "releases.read": "see releases, their recipients and copies, and the evidence of traces; no values",
    "releases.change": "plan releases, have approved copies made, add and retire recipients",
    "releases.approve": "approve or reject what another person has planned",
    "releases.take": "take away a recipient's copy",
    "releases.trace": "trace claims of re-identified people and leaked files",
    "linkage.read": "see linkage projects: as a manager all, as a reviewer those with pairs for oneself",
    "linkage.review": "look at the pairs one was given, open cells within one's limits, decide",
    "linkage.manage": "make linkage projects, give out pairs, see progress and meters, have disputes settled; no values",
    "linkage.take": "take away linked, de-identified tables and the log of who saw what",
    "gateway.read": "see users of databases behind a gateway: exposure, refusals, incidents, limits; no values",
    "gateway.explain": "look up why something was refused to a database user of one's own name, by its reference",
    "gateway.limit": "propose limits of database users, and their withdrawal",
    "gateway.approve": "approve or reject limits and withdrawals that another person has proposed",
    "reports.read": "read reports on data sets: numbers of people and names of columns, no values",
    "accounts.change": "invite people, close accounts and open them again, end sessions",
    "api.describe": "read the description of the API",
}
"""Meaning by permission; the documentation has the same table, and a test compares them."""

ROLES = {
    "custodian": "decides on policies, data sets, releases, budgets and accounts",
    "manager": "runs linkage projects",
    "worker": "reviews pairs of records",
    "auditor": "reads the ledger and reports",
}
"""Meaning by role."""

_EVERYBODY = frozenset({"account.own", "dashboard.read", "sensitivity.answer", "gateway.explain"})
_RELEASES = frozenset({"releases.read", "releases.change", "releases.approve", "releases.take", "releases.trace"})
_GATEWAY = frozenset({"gateway.read", "gateway.limit", "gateway.approve"})
_DATASETS = frozenset({"datasets.read", "datasets.change", "datasets.take", "reports.read"})

GRANTED: dict[str, frozenset[str]] = {
    "custodian": _EVERYBODY | _DATASETS | _RELEASES | _GATEWAY | {"attack.plan", "sensitivity.change", "tokens.own", "ledger.read", "ledger.verify", "ledger.export", "accounts.change", "api.describe"},
    "manager": _EVERYBODY | {"linkage.read", "linkage.manage", "linkage.take", "attack.plan", "tokens.own", "api.describe"},
    "worker": _EVERYBODY | {"linkage.read", "linkage.review"},
    "auditor": _EVERYBODY | {"attack.plan", "releases.read", "gateway.read", "reports.read", "tokens.own", "ledger.read", "ledger.verify", "ledger.export", "api.describe"},
}  # fmt: skip
"""The permissions of each role."""

SESSIONS_ONLY = frozenset({"account.own", "accounts.change", "releases.approve", "releases.take", "gateway.approve"})
"""Never given to a token: decisions on who may sign in, or on what may be released, need a person who has signed in."""


def scopes_of(role: str) -> list[str]:
    """Permissions that a token may get from an account with this role, in order."""
    return [name for name in PERMISSIONS if name in GRANTED[role] - SESSIONS_ONLY]


@dataclass(frozen=True)
class MenuPlace:
    """An entry of the menu."""

    group: str
    name: str
    path: str
    permission: str
    purpose: str
    """What its pages are for."""
    here: bool = False
    """Is the page that is shown in this place?"""


@dataclass(frozen=True)
class MenuGroup:
    """Places that belong together."""

    name: str
    places: tuple[MenuPlace, ...]


PLACES = (
    MenuPlace("Overview", "Dashboard", "/", "dashboard.read", "what needs attention, recent disclosures, integrity of the ledger"),
    MenuPlace("Data", "Data sets", "/datasets", "datasets.read", "tables of people: roles of columns, risk, protection"),
    MenuPlace("Data", "Jobs", "/jobs", "datasets.read", "long-running work: progress, results, cancelling"),
    MenuPlace("Data", "Reports", "/reports", "reports.read", "results on a data set or a whole project, to read, print and mail"),
    MenuPlace("Risk", "Attacker lab", "/lab", "attack.plan", "would an adversary attack, how far would they go, and what would deter them; move the sliders"),
    MenuPlace("Risk", "Sensitivity", "/sensitivity", "sensitivity.answer", "experts say how bad it would be if a value became known; their answers become weights"),
    MenuPlace("Disclosures", "Releases", "/releases", "releases.read", "one copy per recipient: plan, approve, hand over; trace a leak to a copy"),
    MenuPlace("Disclosures", "Linkage", "/linkage", "linkage.read", "do two records belong to the same person? Clear pairs are decided automatically; reviewers decide the rest on masked data"),
    MenuPlace("Disclosures", "Gateway", "/gateway", "gateway.read", "database users: exposure, limits, refusals, incidents; it limits excessive querying, but does not stop a determined attacker"),
    MenuPlace("Disclosures", "Why refused", "/gateway/why", "gateway.explain", "look up a refusal of the gateway by its reference"),
    MenuPlace("Oversight", "Ledger", "/ledger", "ledger.read", "every disclosure, refusal and decision; verify it, export it"),
    MenuPlace("Oversight", "Accounts", "/accounts", "accounts.change", "who may sign in, and in which role"),
    MenuPlace("Oversight", "Tokens", "/tokens", "tokens.own", "for programs that use the API"),
)  # fmt: skip
"""The menu, in its order."""


def menu(permissions: Collection[str], path: str) -> list[MenuGroup]:
    """The menu of an account with these permissions.

    >>> [(group.name, [place.name for place in group.places]) for group in menu({"dashboard.read", "ledger.read"}, "/")]
    [('Overview', ['Dashboard']), ('Oversight', ['Ledger'])]
    """
    paths = [place.path for place in PLACES]
    inside = [place for place in paths if path == place or (place != "/" and path.startswith(f"{place}/"))]
    here = max(inside, key=len, default="")
    shown = [replace(place, here=place.path == here) for place in PLACES if place.permission in permissions]
    return [MenuGroup(name, tuple(places)) for name, places in groupby(shown, key=attrgetter("group"))]


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
    """Is it written into the ledger who looks at this page (`web.shown`)? Nothing else that is asked for by GET changes
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
        page = (route.method, route.kind) == ("GET", "page")
        checks = (
            (route.permission not in (*PERMISSIONS, ANYONE), "has no permission that exists"),
            ("{" in route.path and route.loads is None, "has parameters but does not say what it loads and who may have it"),
            (route.method not in ("GET", "POST"), "is neither GET nor POST"),
            (route.method == "GET" and route.body != "none", "is a GET with a body"),
            (route.records and not page, "only a page says that it writes down who looks at it; what is handed out is asked for by POST"),
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
