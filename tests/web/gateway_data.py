"""What a gateway would have written: results, refusals and starts in the ledger, without a gateway."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from discreet.ledger import Entry, Ledger
from discreet.store import gateway_limits
from discreet.web.accounts import second_approver
from discreet.web.gateway.users import follow
from tests.web.samples import account_number

MILLION = 1_000_000


def started(ledger: Ledger, database: str = "clinic", *, mode: str = "enforce", **more: Any) -> None:
    """A gateway begins."""
    details = {"mode": mode, "tables": 2, "sensitivity": "1", "x": "2", **more}
    ledger.record(actor="gateway", event="gateway.started", subject=f"database:{database}", details=details)


def _about(user: str, database: str, before: str, after: str, details: dict[str, Any]) -> dict[str, Any]:
    subject = f"database:{database}/user:{user}"
    risks = {"risk_before": before, "risk_after": after}
    return {"actor": user, "event": "gateway.answered", "subject": subject, "details": details, **risks}


def told(rows: int, decision: str, *, limit: str = "2", rule: str = "misuse.limit", **more: Any) -> dict[str, Any]:
    """What an entry says of a result."""
    said = {"rows": rows, "columns": "public.patients.diagnosis", "limit": limit, "rule": rule, "decision": decision}
    return {**said, **more}


def answered(
    ledger: Ledger,
    user: str,
    before: str,
    after: str,
    *,
    database: str = "clinic",
    rows: int = 3,
    decision: str = "release",
    taken_back: bool = False,
    **more: Any,
) -> Entry:
    """A result that was given out, or certainly not received after all."""
    budget = f"gateway:{database}/{user}"
    ledger.set_budget(budget, limit=10**9, parts=MILLION, actor="gateway", key=budget)
    key = f"{user}/{ledger.head()['size']}"
    about = _about(user, database, before, after, told(rows, decision, **more))
    receipt = ledger.reserve(budget, "0.000001", key=key, **about)
    (ledger.release if taken_back else ledger.settle)(receipt)
    return receipt.entry


def refused(
    ledger: Ledger, user: str, before: str, after: str, *, database: str = "clinic", rows: int = 9, **more: Any
) -> Entry:
    """A result that was refused."""
    return ledger.refuse(**_about(user, database, before, after, told(rows, "deny", **more))).entry


def not_run(ledger: Ledger, user: str, reason: str, *, database: str = "clinic", enforced: bool = True) -> Entry:
    """A statement that was not run, or in shadow mode would not have been."""
    about = {"actor": user, "event": "gateway.answered", "subject": f"database:{database}/user:{user}"}
    details = {"reason": reason, **({} if enforced else {"enforced": False})}
    return (ledger.refuse if enforced else ledger.record)(**about, details=details).entry


def repeated(ledger: Ledger, user: str, results: int, *, database: str = "clinic") -> None:
    """Results that told nothing new."""
    subject = f"database:{database}/user:{user}"
    ledger.record(actor=user, event="gateway.repeated", subject=subject, details={"results": results})


def proposed(app: FastAPI, owner: str, *, name: str = "eve", database: str = "clinic", **more: Any) -> int:
    """A limit that somebody proposed, as it stands in the store."""
    site = app.state.site
    values: dict[str, Any] = {"allowed": 3 * MILLION, "action": "deny", "until": None, "reason": "for a study", **more}
    with site.store.writing() as connection:
        account = account_number(app, owner)
        values |= {"account": account, "entry": second_approver.moment(connection)}
        return gateway_limits.propose(connection, database=database, name=name, now=site.stamp(), **values)


def somebody(app: FastAPI, name: str = "eve") -> int:
    """A database user with a result and a refusal; gives her number."""
    from discreet.web.gateway import users

    site = app.state.site
    with site.store.reading() as connection:
        known = users.named(connection, "clinic", name, now=site.stamp())
    if known is None:
        started(site.ledger)
        answered(site.ledger, name, "0", "1.5")
        refused(site.ledger, name, "1.5", "2.31")
        assert follow(site.store)
        with site.store.reading() as connection:
            known = users.named(connection, "clinic", name, now=site.stamp())
    assert known is not None
    return known.id
