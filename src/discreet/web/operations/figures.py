"""Figures for /metrics, and what is lacking for /readyz, read when asked."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, select

from discreet.errors import DiscreetError
from discreet.ledger import queries
from discreet.ledger.entry import timestamp
from discreet.ledger.merkle import MerkleTree
from discreet.operations.metrics import labelled
from discreet.store.tables.ledger import ENTRY
from discreet.store.tables.web import JOB, SESSION
from discreet.web.dashboard import NEARLY, first_since, used
from discreet.web.framework.shared_state import Site
from discreet.web.gateway import users
from discreet.web.ledger import last_check
from discreet.web.operations.notices import waiting

STORE_SECONDS = 2.0
"""How long /readyz waits for the store."""
DAY = timedelta(days=1)


def gauges(site: Site) -> dict[str, float]:
    """All gauges; only that the store cannot be read, if it cannot."""
    try:
        users.follow(site.store)
        with site.store.reading() as connection:
            return {"store_readable": 1, "log_failed": site.events.log.failed, **read_figures(site, connection)}
    except DiscreetError:
        return {"store_readable": 0, "log_failed": site.events.log.failed}


def read_figures(site: Site, connection: Connection) -> dict[str, float]:
    """What the store says of the ledger, decisions that wait, jobs and exposures."""
    now, stamp = site.now(), site.stamp()
    tree, check = MerkleTree.read(connection), last_check(connection)
    refused = select(func.count()).where(
        ENTRY.c.sequence >= first_since(connection, timestamp(now - DAY)), ENTRY.c.outcome == "refused"
    )
    states = {
        row.state: row.jobs
        for row in connection.execute(select(JOB.c.state, func.count().label("jobs")).group_by(JOB.c.state))
    }
    kinds = Counter(notice.kind for notice in waiting(connection, stamp))
    near, first = users.near_limit(connection, now=stamp)
    return {
        "ledger_entries": tree.size,
        "ledger_age_seconds": _age(tree.time, now),
        "ledger_verify_age_seconds": math.nan if check is None else _age(check.time, now),
        "ledger_faults": math.nan if check is None else check.problems,
        "refusals_day": connection.execute(refused).scalar_one(),
        "budgets_near_limit": sum(used(budget) >= NEARLY for budget in queries.budgets(connection)),
        "gateway_users_near_limit": near,
        "gateway_exposure_highest_percent": 0 if first is None or first.share is None else first.share,
        "sessions": connection.execute(select(func.count()).select_from(SESSION)).scalar_one(),
        **{labelled("jobs", (("state", state),)): states.get(state, 0) for state in ("queued", "running", "failed")},
        **{labelled("waiting", (("kind", kind),)): kinds[kind] for kind in ("release", "limit", "withdrawal", "role")},
    }


def _age(moment: str, now: datetime) -> float:
    return (now - datetime.fromisoformat(moment)).total_seconds()


async def lacks(site: Site) -> list[str]:
    """Why no requests should come here, in words; nothing if it is ready."""
    try:
        async with asyncio.timeout(STORE_SECONDS):
            await asyncio.to_thread(site.ledger.head)
    except (DiscreetError, TimeoutError):
        return ["the store cannot be read"]
    return []
