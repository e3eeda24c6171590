"""The demonstration has two weeks behind it: an analyst, a hoarder who was stopped, and a database in shadow mode.

What users know is worked out by the misuse room from results about people who do not exist, and written down in the order
and the words of a gateway: the exposure and its entry in one transaction, then that the rows were handed over.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np
from fastapi import Request

from discreet.ledger import Ledger
from discreet.ledger.entry import Detail
from discreet.misuse import Exposure, Sensitivity
from discreet.store.exposures import write
from discreet.store.gateway_limits import PARTS
from discreet.web import accounts
from discreet.web.context import Context
from discreet.web.gateway import limiting
from discreet.web.gateway.limiting import NewLimit
from discreet.web.gateway.told import ANSWERED, subject_of
from discreet.web.permissions import GRANTED
from discreet.web.route import Route
from discreet.web.site import Site

DAYS = 14
COLUMN = "public.patients.diagnosis"
WEIGHTS = {"values": {"B20": 1.0, "F32": 0.8, "J45": 0.3, "I10": 0.2}, "otherwise": 0.2}
USUAL = ("I10", "J45", "I10", "F32")
POLICY = "d" * 64
LIMIT = 2.0
ANALYST, HOARDER, MANAGER, NEWCOMER = "r.okafor", "m.lindqvist", "manager", "k.brandt"


@dataclass
class Past:
    """A clock that is set by hand."""

    now: datetime

    def __call__(self) -> datetime:
        """What it shows."""
        return self.now


@dataclass
class Somebody:
    """A database user, as a gateway would keep her account."""

    ledger: Ledger
    clock: Past
    database: str
    name: str
    enforced: bool = True
    version: int = 0
    exposure: Exposure = field(default_factory=lambda: Exposure(Sensitivity.from_dict({COLUMN: WEIGHTS}), x=2.0))

    @property
    def _subject(self) -> str:
        return subject_of(self.database, self.name)

    def ask(self, people: range, diagnoses: tuple[str, ...], *, alike: int = 1) -> None:
        """Ask for some people; the answer is given or refused as a gateway would."""
        values = [diagnoses[place % len(diagnoses)] for place in people]
        at = self.clock.now.timestamp()
        known: dict[str, Any] = {"entities": list(people), "distinguishing": [alike] * len(people), "at": at}
        after = self.exposure.after(values={COLUMN: values}, **known)
        above = after.value > LIMIT
        told = self._told(len(people), "deny" if above else "release")
        if above and self.enforced:
            worst = self.exposure.after(values={COLUMN: ["B20"] * len(people)}, **known)
            self.ledger.refuse(**self._about(worst.value, {**told, "columns": COLUMN.rpartition(".")[2]}))
        else:
            self._give(after, told)
        self.clock.now += timedelta(minutes=7)

    def try_to(self, reason: str) -> None:
        """Send a statement that is not run."""
        about: dict[str, Any] = {"actor": self.name, "event": ANSWERED, "subject": self._subject}
        self.ledger.refuse(**about, policy=POLICY, details={"reason": f"Refused: {reason}"})
        self.clock.now += timedelta(minutes=2)

    def _told(self, rows: int, decision: str) -> dict[str, Detail]:
        told: dict[str, Detail] = {"rows": rows, "columns": COLUMN, "limit": f"{LIMIT:.6g}", "rule": "misuse.limit"}
        return {**told, "decision": decision, **({} if self.enforced else {"enforced": False})}

    def _about(self, value: float, told: dict[str, Detail]) -> dict[str, Any]:
        risks = {"risk_before": _amount(self.exposure.value), "risk_after": _amount(value)}
        about: dict[str, Any] = {"actor": self.name, "event": ANSWERED, "subject": self._subject}
        return {**about, **risks, "policy": POLICY, "details": told}

    def _give(self, after: Exposure, told: dict[str, Detail]) -> None:
        budget, person = f"gateway:{self.database}/{self.name}", f"{self.database}/{self.name}"
        if not self.version:
            self.ledger.set_budget(budget, limit=10**9, parts=PARTS, actor="gateway", key=budget)
        cost = max(Fraction(0), _amount(after.value) - _amount(self.exposure.value))
        seen, content = self.version, after.to_bytes()
        receipt = self.ledger.reserve(
            budget,
            cost,
            key=f"{person}/{seen}",
            along=lambda link: write(link, person, content, seen=seen),
            **self._about(after.value, told),
        )
        self.ledger.settle(receipt)
        self.exposure, self.version = after, seen + 1


def _amount(value: float) -> Fraction:
    return Fraction(Decimal(f"{value:.6f}"))


def write_past(store: str | os.PathLike[str] | None, now: datetime) -> None:
    """Two weeks of a gateway, into a store that nobody has used yet: entries are in the order of time."""
    clock = Past(_morning(now, DAYS))
    with Ledger.open(store, clock=clock) as ledger:
        _started(ledger, "clinic", "enforce", tables=2)
        _started(ledger, "registry", "shadow", tables=1)
        who = {name: Somebody(ledger, clock, "clinic", name) for name in (ANALYST, HOARDER, MANAGER)}
        newcomer = Somebody(ledger, clock, "registry", NEWCOMER, enforced=False)
        for ago in range(DAYS, 0, -1):
            clock.now = max(clock.now, _morning(now, ago))
            _day(who, newcomer, DAYS - ago)


def _morning(now: datetime, ago: int) -> datetime:
    return datetime.combine((now - timedelta(days=ago)).date(), time(9), UTC)


def _started(ledger: Ledger, database: str, mode: str, *, tables: int) -> None:
    details: dict[str, Detail] = {"mode": mode, "tables": tables, "x": "2"}
    ledger.record(
        actor="gateway", event="gateway.started", subject=f"database:{database}", policy=POLICY, details=details
    )


def _day(who: dict[str, Somebody], newcomer: Somebody, day: int) -> None:
    """The analyst's groups; the hoarder's few, then far too many; somebody in shadow mode."""
    chosen = np.random.default_rng(day)
    for _ in range(2):
        start = int(chosen.integers(0, 4_000))
        who[ANALYST].ask(range(start, start + int(chosen.integers(40, 160))), USUAL, alike=45)
    if day < DAYS - 1:
        who[HOARDER].ask(range(10 * day, 10 * day + 3), USUAL, alike=25)
    if day == DAYS - 2:
        _hoard(who[HOARDER])
    if day == 5:
        who[MANAGER].ask(range(30), USUAL, alike=12)
        who[MANAGER].ask(range(5_000, 5_040), ("B20", "F32"))
    if day % 4 == 1:
        newcomer.ask(range(100 * day, 100 * day + 12), ("B20", "I10"), alike=3 if day > 8 else 15)


def _hoard(somebody: Somebody) -> None:
    """A few patients of one small place after the other, until the limit stops it; then whatever else might work."""
    for number in range(7_000, 7_112, 8):
        somebody.ask(range(number, number + 8), ("F32", "I10"), alike=5)
    for number in range(8_000, 8_005):
        somebody.ask(range(number, number + 40), ("B20",), alike=2)
    somebody.try_to("values of governed tables cannot be copied.")
    somebody.try_to("EXPLAIN tells of values of governed tables.")


def bring_gateway(site: Site) -> None:
    """A limit that one custodian proposed and the other has not looked at yet."""
    with site.store.reading() as connection:
        found = accounts.by_name(connection, "deputy")
    if found is None:
        raise LookupError("deputy")
    route = Route("POST", "/gateway/limits", "gateway.limit", bring_gateway)
    context = Context(cast(Request, None), site, route, account=found[0], permissions=GRANTED["custodian"])
    until: date = (site.now() + timedelta(days=30)).date()
    reason = "Yearly report of the wards; the groups are large, but there are many of them."
    wanted = NewLimit(
        database="clinic", name=ANALYST, limit="3", action="subset", until=until.isoformat(), reason=reason
    )
    limiting.propose(context, wanted)
