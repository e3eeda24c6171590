"""Rate limits, counted in the store."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import Connection, case, delete, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from discreet.store.tables.web import LIMIT
from discreet.web.framework import format as formats
from discreet.web.framework.problems import Problem

if TYPE_CHECKING:
    from discreet.web.framework.site import Site

WINDOW = timedelta(minutes=15)


@dataclass(frozen=True)
class Allowance:
    """So many times within the window."""

    key: str
    most: int


def sign_in_allowances(site: Site, name: str, address: str) -> list[Allowance]:
    """Few per account and address; more per account, so that nobody is locked out from elsewhere; more per address.

    Names are kept as keyed hashes: people type passwords there.
    """
    who = site.ledger.fingerprint(f"sign-in name {name}")
    where = site.ledger.fingerprint(f"sign-in address {address}")
    return [Allowance(f"both:{who}:{where}", 5), Allowance(f"name:{who}", 50), Allowance(f"address:{where}", 30)]


def take(site: Site, allowances: list[Allowance]) -> None:
    """Count one attempt before it is made; a problem, and nothing counted, if that is one too many."""
    now, begin = site.stamp(), site.stamp(ago=WINDOW)
    with site.store.writing() as connection:
        for allowance in sorted(allowances, key=lambda one: one.key):
            _make(connection, allowance.key, now)
            if not _count(connection, allowance, now, begin):
                raise _too_many(connection, site, allowance)


def forgive(site: Site, allowances: list[Allowance]) -> None:
    """The attempt was a good one and does not count. What is over is swept out on the way."""
    keys = sorted(allowance.key for allowance in allowances)
    with site.store.writing() as connection:
        for key in keys:
            left = case((LIMIT.c.key.startswith("both:"), 0), else_=LIMIT.c.count - 1)
            connection.execute(update(LIMIT).where(LIMIT.c.key == key, LIMIT.c.count > 0).values(count=left))
    with site.store.writing() as connection:
        connection.execute(delete(LIMIT).where(LIMIT.c.since <= site.stamp(ago=WINDOW)))


def _make(connection: Connection, key: str, now: str) -> None:
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    connection.execute(insert(LIMIT).values(key=key, since=now, count=0).on_conflict_do_nothing())


def _count(connection: Connection, allowance: Allowance, now: str, begin: str) -> bool:
    """One statement looks and counts, so that many at once get no more than the limit."""
    over = LIMIT.c.since <= begin
    counted = (
        update(LIMIT)
        .where(LIMIT.c.key == allowance.key, or_(over, LIMIT.c.count < allowance.most))
        .values(count=case((over, 1), else_=LIMIT.c.count + 1), since=case((over, now), else_=LIMIT.c.since))
    )
    return connection.execute(counted).rowcount == 1


def _too_many(connection: Connection, site: Site, allowance: Allowance) -> Problem:
    since = connection.execute(select(LIMIT.c.since).where(LIMIT.c.key == allowance.key)).scalar_one()
    wait = datetime.fromisoformat(since) + WINDOW - site.now()
    seconds = max(1, math.ceil(wait.total_seconds()))
    return Problem(
        429,
        "There were too many attempts.",
        remedy=f"Try again in {formats.span(timedelta(seconds=seconds + 59))}. If you have forgotten your password, ask a custodian for a link.",
        headers={"Retry-After": str(seconds)},
    )
