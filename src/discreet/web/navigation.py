"""The menu: every place with the permission that opens it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """An entry of the menu."""

    name: str
    path: str
    permission: str
    here: bool = False
    """Is the page that is shown in this place?"""


PLACES = (
    Place("Dashboard", "/", "dashboard.read"),
    Place("Data sets", "/datasets", "datasets.read"),
    Place("Jobs", "/jobs", "datasets.read"),
    Place("Reports", "/reports", "reports.read"),
    Place("Attacker lab", "/lab", "attack.plan"),
    Place("Sensitivity", "/sensitivity", "sensitivity.answer"),
    Place("Ledger", "/ledger", "ledger.read"),
    Place("Accounts", "/accounts", "accounts.change"),
    Place("Tokens", "/tokens", "tokens.own"),
)
"""In this order."""


def menu(permissions: Collection[str], path: str) -> list[Place]:
    """What somebody with these permissions sees.

    >>> [(place.name, place.here) for place in menu({"dashboard.read", "ledger.read"}, "/ledger/3")]
    [('Dashboard', False), ('Ledger', True)]
    """
    return [
        Place(place.name, place.path, place.permission, here=_within(path, place.path))
        for place in PLACES
        if place.permission in permissions
    ]


def _within(path: str, place: str) -> bool:
    return path == place or (place != "/" and path.startswith(f"{place}/"))
