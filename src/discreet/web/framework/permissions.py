"""The menu: every place with the permission that opens it, in groups."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Place:
    """An entry of the menu."""

    name: str
    path: str
    permission: str
    here: bool = False
    """Is the page that is shown in this place?"""


@dataclass(frozen=True)
class Group:
    """Places that belong together."""

    name: str
    places: tuple[Place, ...]


GROUPS = (
    Group("Overview", (Place("Dashboard", "/", "dashboard.read"),)),
    Group(
        "Data",
        (
            Place("Data sets", "/datasets", "datasets.read"),
            Place("Jobs", "/jobs", "datasets.read"),
            Place("Reports", "/reports", "reports.read"),
        ),
    ),
    Group(
        "Risk",
        (
            Place("Attacker lab", "/lab", "attack.plan"),
            Place("Sensitivity", "/sensitivity", "sensitivity.answer"),
        ),
    ),
    Group(
        "Disclosures",
        (
            Place("Releases", "/releases", "releases.read"),
            Place("Linkage", "/linkage", "linkage.read"),
            Place("Gateway", "/gateway", "gateway.read"),
            Place("Why refused", "/gateway/why", "gateway.explain"),
        ),
    ),
    Group(
        "Oversight",
        (
            Place("Ledger", "/ledger", "ledger.read"),
            Place("Accounts", "/accounts", "accounts.change"),
            Place("Tokens", "/tokens", "tokens.own"),
        ),
    ),
)
"""In this order."""


def menu(permissions: Collection[str], path: str) -> list[Group]:
    """What somebody with these permissions sees.

    >>> [(group.name, [place.name for place in group.places]) for group in menu({"dashboard.read", "ledger.read"}, "/")]
    [('Overview', ['Dashboard']), ('Oversight', ['Ledger'])]
    """
    here = max(
        (place.path for group in GROUPS for place in group.places if _holds(place.path, path)), key=len, default=""
    )
    shown = [
        Group(
            group.name,
            tuple(replace(place, here=place.path == here) for place in group.places if place.permission in permissions),
        )
        for group in GROUPS
    ]
    return [group for group in shown if group.places]


def _holds(place: str, path: str) -> bool:
    return path == place or (place != "/" and path.startswith(f"{place}/"))
