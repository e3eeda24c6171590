"""Permissions by role, and the menu they open."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

# Permissions are named verbs, a role is a set of them, and everything else is refused.
ANYONE = "anyone"
"""Not a permission but the lack of one: the few routes that work before signing in."""

PERMISSIONS = {
    "account.own": "see one's own account, change one's password, sign out",
    "tokens.own": "make and revoke one's own API tokens",
    "dashboard.read": "see the dashboard: budgets, disclosures by part of Discreet, the head of the ledger",
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
    "accounts.read": "see who has an account, in which role, and whose actions led to it",
    "accounts.change": "invite people, propose roles, close accounts and open them again, end sessions",
    "accounts.approve": "approve or reject a role that an administrator has proposed for an account",
    "tokens.manage": "see and revoke the API tokens of all accounts",
    "api.describe": "read the description of the API",
}
"""Meaning by permission; the documentation has the same table, and a test compares them."""

ROLES = {
    "custodian": "decides on policies, data sets, releases and budgets",
    "manager": "runs linkage projects",
    "worker": "reviews pairs of records",
    "auditor": "reads the ledger and reports",
    "administrator": "opens accounts and looks after roles, sign-in and tokens; sees no data and approves nothing",
}
"""Meaning by role."""

_EVERYBODY = frozenset({"account.own", "dashboard.read", "sensitivity.answer", "gateway.explain"})
_RELEASES = frozenset({"releases.read", "releases.change", "releases.approve", "releases.take", "releases.trace"})
_GATEWAY = frozenset({"gateway.read", "gateway.limit", "gateway.approve"})
_DATASETS = frozenset({"datasets.read", "datasets.change", "datasets.take", "reports.read"})

GRANTED: dict[str, frozenset[str]] = {
    "custodian": _EVERYBODY | _DATASETS | _RELEASES | _GATEWAY | {"attack.plan", "sensitivity.change", "tokens.own", "ledger.read", "ledger.verify", "ledger.export", "accounts.read", "accounts.approve", "api.describe"},
    "manager": _EVERYBODY | {"linkage.read", "linkage.manage", "linkage.take", "attack.plan", "tokens.own", "api.describe"},
    "worker": _EVERYBODY | {"linkage.read", "linkage.review"},
    "auditor": _EVERYBODY | {"attack.plan", "releases.read", "gateway.read", "reports.read", "tokens.own", "ledger.read", "ledger.verify", "ledger.export", "accounts.read", "api.describe"},
    "administrator": frozenset({"account.own", "dashboard.read", "accounts.read", "accounts.change", "tokens.manage"}),
}  # fmt: skip
"""The permissions of each role."""

SESSIONS_ONLY = frozenset(
    {"account.own", "accounts.read", "accounts.change", "accounts.approve", "tokens.manage"}
    | {"releases.approve", "releases.take", "gateway.approve"}
)
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
    MenuPlace("Oversight", "Accounts", "/accounts", "accounts.read", "who may sign in, in which role, and by whom"),
    MenuPlace("Oversight", "Tokens", "/tokens", "tokens.own", "for programs that use the API"),
    MenuPlace("Oversight", "All tokens", "/accounts/tokens", "tokens.manage", "tokens of all accounts, to be revoked"),
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
