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
    shown = [
        Group(group.name, tuple(_seen(place, path) for place in group.places if place.permission in permissions))
        for group in GROUPS
    ]
    return [group for group in shown if group.places]


def _seen(place: Place, path: str) -> Place:
    here = path == place.path or (place.path != "/" and path.startswith(f"{place.path}/"))
    return replace(place, here=here)
