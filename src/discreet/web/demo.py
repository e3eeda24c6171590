"""A demonstration: an account per role and a second custodian, with random passwords, and whatever the places bring along."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from discreet.demo.web import bring_gateway, write_past
from discreet.web import accounts
from discreet.web.accounts import Act
from discreet.web.datasets.demo import bring_hospital
from discreet.web.linkage.demo import bring_linkage
from discreet.web.permissions import ROLES
from discreet.web.releasing.demo import bring_releases
from discreet.web.sensitivity.demo import bring_study
from discreet.web.settings import Settings
from discreet.web.site import Site

NAMES = {**{role: role for role in ROLES}, "deputy": "custodian"}
"""Who can sign in, and in which role: a release needs a second custodian."""


@dataclass(frozen=True)
class Visitor:
    """Somebody who can sign in to the demonstration."""

    name: str
    role: str
    password: str


def begin(settings: Settings) -> None:
    """Write what happened before anybody opened the store: the ledger takes entries in the order of time."""
    write_past(settings.store, settings.clock())


def furnish(site: Site) -> list[Visitor]:
    """Fill an empty store; gives who can sign in."""
    visitors = [_visitor(site, name, role) for name, role in NAMES.items()]
    for bring in STEPS:
        bring(site)
    return visitors


def _visitor(site: Site, name: str, role: str) -> Visitor:
    password = "-".join(secrets.token_hex(2) for _ in range(4))
    hashed = site.hasher.hash(password)
    site.ledger.record(
        actor="demo",
        event="web.account",
        subject=f"account:{name}",
        details={"act": Act.MADE.value, "role": role},
        along=lambda connection: accounts.add(connection, name=name, role=role, now=site.stamp(), password=hashed),
    )
    return Visitor(name, role, password)


STEPS: tuple[Callable[[Site], None], ...] = (bring_hospital, bring_study, bring_releases, bring_linkage, bring_gateway)
"""What further places bring: data sets, projects, recipients."""
