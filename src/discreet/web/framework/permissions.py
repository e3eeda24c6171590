"""Permissions by role, and the menu they open."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

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
    """What a token of an account with this role may be allowed, in the order of the table."""
    return [name for name in PERMISSIONS if name in GRANTED[role] - SESSIONS_ONLY]


@dataclass(frozen=True)
class MenuPlace:
    """An entry of the menu."""

    name: str
    path: str
    permission: str
    here: bool = False
    """Is the page that is shown in this place?"""


@dataclass(frozen=True)
class MenuGroup:
    """Places that belong together."""

    name: str
    places: tuple[MenuPlace, ...]


GROUPS = (
    MenuGroup("Overview", (MenuPlace("Dashboard", "/", "dashboard.read"),)),
    MenuGroup(
        "Data",
        (
            MenuPlace("Data sets", "/datasets", "datasets.read"),
            MenuPlace("Jobs", "/jobs", "datasets.read"),
            MenuPlace("Reports", "/reports", "reports.read"),
        ),
    ),
    MenuGroup(
        "Risk",
        (
            MenuPlace("Attacker lab", "/lab", "attack.plan"),
            MenuPlace("Sensitivity", "/sensitivity", "sensitivity.answer"),
        ),
    ),
    MenuGroup(
        "Disclosures",
        (
            MenuPlace("Releases", "/releases", "releases.read"),
            MenuPlace("Linkage", "/linkage", "linkage.read"),
            MenuPlace("Gateway", "/gateway", "gateway.read"),
            MenuPlace("Why refused", "/gateway/why", "gateway.explain"),
        ),
    ),
    MenuGroup(
        "Oversight",
        (
            MenuPlace("Ledger", "/ledger", "ledger.read"),
            MenuPlace("Accounts", "/accounts", "accounts.change"),
            MenuPlace("Tokens", "/tokens", "tokens.own"),
        ),
    ),
)
"""In this order."""


def menu(permissions: Collection[str], path: str) -> list[MenuGroup]:
    """The menu of an account with these permissions.

    >>> [(group.name, [place.name for place in group.places]) for group in menu({"dashboard.read", "ledger.read"}, "/")]
    [('Overview', ['Dashboard']), ('Oversight', ['Ledger'])]
    """
    inside = [
        place.path
        for group in GROUPS
        for place in group.places
        if path == place.path or (place.path != "/" and path.startswith(f"{place.path}/"))
    ]
    here = max(inside, key=len, default="")
    shown = [
        MenuGroup(
            group.name,
            tuple(replace(place, here=place.path == here) for place in group.places if place.permission in permissions),
        )
        for group in GROUPS
    ]
    return [group for group in shown if group.places]
