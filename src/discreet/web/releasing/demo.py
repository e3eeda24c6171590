"""The demonstration has one release that is handed over and traced, and one plan that waits for a second pair of eyes."""

from __future__ import annotations

import io
import zipfile
from typing import Any, cast

from fastapi import Request

from discreet.releases.delivery.repository import Kept
from discreet.releases.delivery.service import Opened, Registry
from discreet.releases.preconditions import AGREEMENT
from discreet.releases.tracing.case import Given
from discreet.releases.tracing.leaks import trace_leak
from discreet.sources import read
from discreet.web import accounts
from discreet.web.context import Context
from discreet.web.datasets import dataset as datasets
from discreet.web.datasets.demo import work_off
from discreet.web.permissions import GRANTED
from discreet.web.releasing import deciding, parcels, tracing
from discreet.web.releasing.content import NewPlan
from discreet.web.route import Route
from discreet.web.site import Site

DATA, REGISTER = "hospital.csv", "register.parquet"
LEAKER = "ministry"
SPRING = ("university", LEAKER, "insurer")
AUTUMN = ("university", "registry", "institute")
LEAKED = 0.5
"""The share of rows of a copy that turns up."""
KS = (3, 2)
"""Tried in this order: the first with enough marks is taken."""


def bring_releases(site: Site) -> None:
    """What one custodian planned, the other approved, somebody leaked; and what still waits."""
    first, second = (_as(site, name) for name in ("custodian", "deputy"))
    number = _planned(first, "spring-2026", SPRING)
    if number is None:
        return
    plan = deciding.found(second, number)
    deciding.approve(second, plan, seen=plan.seen)
    deciding.make(first, deciding.found(first, number))
    work_off(site)
    kept = Registry(site.ledger).find("spring-2026")
    if kept is not None and deciding.found(first, number).state == "made":
        _handed_over_and_leaked(first, kept)
    _planned(second, "autumn-2026", AUTUMN)


def _as(site: Site, name: str) -> Context:
    """What a custodian does before anybody is there to ask for it."""
    with site.store.reading() as connection:
        found = accounts.by_name(connection, name)
    if found is None:
        raise LookupError(name)
    route = Route("POST", "/releases/new", "releases.change", bring_releases)
    return Context(cast(Request, None), site, route, account=found[0], permissions=GRANTED["custodian"])


def _planned(context: Context, name: str, recipients: tuple[str, ...]) -> int | None:
    """A plan that can be approved; None if the table has too few marks for any."""
    with context.site.store.reading() as connection:
        numbers = {one.name: one.id for one in datasets.everything(connection)}
    for k in KS:
        wanted: dict[str, Any] = {"name": name, "dataset": numbers[DATA], "population": numbers[REGISTER], "k": k}
        wanted |= {"recipients": list(recipients), "format": "csv", "counts_only": True, "agreement": AGREEMENT}
        wanted |= {"population_source": "Register of a state that does not exist", "population_licence": "generated"}
        number = deciding.begin(context, NewPlan(**wanted, sign_off="DPO-2026-17"))
        work_off(context.site)
        if deciding.found(context, number).ready:
            return number
        deciding.withdraw(context, deciding.found(context, number))
    return None


def _handed_over_and_leaked(context: Context, kept: Kept) -> None:
    for recipient in SPRING[:2]:
        path = parcels.hand_over(context, kept, recipient)
        if recipient == LEAKER:
            leaked = path.read_bytes()
    opened = Opened(kept, Registry(context.site.ledger).open(kept))
    with context.site.places.folder.workshop() as aside, zipfile.ZipFile(io.BytesIO(leaked)) as archive:
        lines = archive.read("data.csv").splitlines(keepends=True)
        file = aside / "found-on-a-forum.csv"
        file.write_bytes(b"".join(lines[: 1 + round(LEAKED * (len(lines) - 1))]))
        given = Given.of(read(file))
        found = trace_leak(opened.traceable, Given(file.name, given.columns, given.counted))
    tracing.keep(context, opened, found)
