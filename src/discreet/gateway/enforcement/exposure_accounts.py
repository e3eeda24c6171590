"""Exposure accounts of users: stored before bytes go.

What a statement tells is decided and written before it is given out: the exposure with the rows in it and the entry in the
ledger are one transaction. If the gateway dies in between, the rows count as seen. Several gateways share a store: one that
decided on an exposure that another has changed meanwhile finds out when writing, and decides again.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import Outdated, UsageError
from discreet.gateway.analysis.entities import SEEN
from discreet.kernel.arrays import Floats, Ints
from discreet.ledger.ledger import Ledger
from discreet.ledger.operations import Close, Hold, Note, Receipt, Request
from discreet.misuse.exposure import Exposure
from discreet.misuse.knowledge import EntityPlaces, Knowledge, numbers_of, published, spread
from discreet.misuse.sensitivity import Sensitivity
from discreet.store.gateway_limits import Exposures, count_denial, write_exposure

EVENT = "gateway.answered"
PARTS = 1_000_000
"""A budget counts in millionths of a point of exposure."""
CEILING = 10**9
"""No budget is ever used up: the limit is that of the policy, which looks at what is known now."""
DAY = 86_400.0
EVER = 1e12
"""Seconds of the one bucket where nothing is ever forgotten."""
RESERVED_SECONDS = 600
MANY = 10_000
"""Knowledge of more people is weighed beside the event loop."""
PLACES = 4
"""So many statements of one user are answered at a time."""


@dataclass(frozen=True)
class Granted:
    """Rows that may go: the number of the entry that says so."""

    sequence: int


@dataclass(frozen=True, eq=False)
class Books:
    """Where accounts are kept, and how they are read."""

    ledger: Ledger
    exposures: Exposures
    sensitivity: Sensitivity
    x: float
    days: float | None
    database: str
    policy: str
    """Hash of the policy."""

    async def submit(self, user: str, event: str = EVENT, **more: Any) -> Receipt:
        """Write an entry about a user."""
        subject = f"database:{self.database}/user:{user}"
        request = Request.of(actor=user, event=event, subject=subject, policy=self.policy, **more)
        return await asyncio.wrap_future(self.ledger.submit(request))

    def count_denial(self, person: str, at: float) -> int:
        """Count a refusal; how many there were within an hour."""
        return count_denial(self.exposures.store, person, at)

    def fresh(self) -> Exposure:
        """What somebody knows who has seen nothing."""
        frame = None if self.days is None else self.days * DAY
        bucket = EVER if frame is None else min(DAY, max(frame / 30, 1.0))
        return Exposure(self.sensitivity, x=self.x, frame=frame, bucket=bucket)


class ExposureAccount:
    """What one user has seen. One decision at a time, under `lock`."""

    def __init__(self, books: Books, user: str) -> None:
        self.lock = asyncio.Lock()
        self.places = asyncio.Semaphore(PLACES)
        self.user = user
        self.person = f"{books.database}/{user}"
        self.budget = f"gateway:{self.person}"
        self.exposure = books.fresh()
        self.version = 0
        self.loaded = False
        self.repeated = 0
        """Results that told nothing new, since the last entry about them."""
        self._books = books
        self._valued = (self.exposure, 0.0)

    @property
    def value(self) -> float:
        """The amount that decides; worked out once per exposure."""
        if self._valued[0] is not self.exposure:
            self._valued = (self.exposure, amount(self.exposure.knowledge))
        return self._valued[1]

    async def load(self) -> None:
        """Read what is stored, unless that was done."""
        if not self.loaded:
            await asyncio.to_thread(self._load)

    def _load(self) -> None:
        kept = self._books.exposures.of(self.person)
        fresh = self._books.fresh()
        if kept is None:
            self.exposure, self.version = fresh, 0
        else:
            stored = Exposure.from_bytes(kept.content, sensitivity=self._books.sensitivity)
            self.exposure = replace(stored, x=fresh.x, frame=fresh.frame, bucket=fresh.bucket)
            self.version = kept.version
        try:
            self._books.ledger.budget(self.budget)
        except UsageError:
            self._books.ledger.set_budget(self.budget, limit=CEILING, parts=PARTS, actor="gateway", key=self.budget)
        self.loaded = True

    def forget(self) -> None:
        """Read it again next time: somebody else has changed it."""
        self.loaded = False

    async def grant(self, after: Exposure, details: Mapping[str, Any]) -> Granted | None:
        """Write down that the user knows more; None if what is stored was not what was decided on."""
        seen = self.version
        if len(after.knowledge.entities()) > MANY:  # others are served meanwhile
            now, then, content = await asyncio.to_thread(self._weighed, after)
        else:
            now, then, content = self._weighed(after)
        try:
            receipt = await self._books.submit(
                self.user,
                key=secrets.token_hex(16),
                risk_before=now,
                risk_after=then,
                details=details,
                step=Hold(self.budget, max(Fraction(0), then - now), None, None, RESERVED_SECONDS),
                along=lambda link: write_exposure(link, self.person, content, seen=seen),
            )
        except Outdated:
            self.forget()
            return None
        self.exposure, self.version = after, seen + 1
        return Granted(receipt.entry.sequence)

    def _weighed(self, after: Exposure) -> tuple[Fraction, Fraction, bytes]:
        """The amounts before and after, and what is stored."""
        return _amount(self.value), _amount(amount(after.knowledge)), after.to_bytes()

    async def refuse(self, value: float, details: Mapping[str, Any]) -> Receipt:
        """Write down that something was not given out."""
        return await self._books.submit(
            self.user,
            key=secrets.token_hex(16),
            risk_before=_amount(self.value),
            risk_after=_amount(value),
            details=details,
            step=Note(refused=True),
        )

    async def settle(self, granted: Granted) -> None:
        """The rows were handed to the network, or their client has gone.

        They count either way: what they weigh was there to be read, by SHOW in another session, before the first byte went.
        """
        number = granted.sequence
        await self._books.submit(self.user, key=f"close:{number}", step=Close(number, "settled", None))

    async def write_repeated(self) -> None:
        """Write down how many results told nothing new."""
        number, self.repeated = self.repeated, 0
        if number:
            await self._books.submit(self.user, "gateway.repeated", details={"results": number})


def _amount(value: float) -> Fraction:
    """An exposure to the millionth, so that entries stay readable."""
    return Fraction(Decimal(f"{value:.6f}"))


def with_seen(sensitivity: Mapping[str, Any]) -> Sensitivity:
    """A sensitivity function that also knows what weighs nothing."""
    return Sensitivity.from_dict({**sensitivity, SEEN: {"otherwise": 0.0}})


# The amount that decides: the square root of the sum, over people, of their squared weights.
#
# A person weighs what is known of their sensitive columns, at most 1. The M-score of the paper multiplies the heaviest person by
# the root of how many there are, so a decision before anything is known would end at a handful of people whatever is shown; this
# sum lets light values count as light. The M-score is kept for what is reported beside it.
def people_of(knowledge: Knowledge) -> tuple[Ints, Floats]:
    """Everybody of whom anything is known, and their weight."""
    entities = knowledge.entities()
    numbers = numbers_of(entities)
    places, total = EntityPlaces(numbers), np.zeros(len(numbers))
    for name, levels in knowledge.weights.items():
        if name == SEEN:
            continue
        found = spread(levels, entities, places)
        if found is not None:
            total += np.maximum(found, 0.0)
    return numbers.astype(np.int64), np.minimum(total, 1.0)


def amount(knowledge: Knowledge) -> float:
    """The amount of all that is known.

    >>> amount(learned(np.array([1, 2]), {"dx": np.array([1.0, 0.5])}))
    1.118033988749895
    """
    return float(np.sqrt(np.square(people_of(knowledge)[1]).sum()))


def learned(entities: Ints, weights: Mapping[str, Floats]) -> Knowledge:
    """Knowledge about some people, each by themselves."""
    if not len(entities):
        return Knowledge()
    levels = {name: sorted(set(np.unique(its).tolist())) for name, its in weights.items()}
    return published(entities, weights, np.ones(len(entities), dtype=np.int64), levels)


def adds_nothing(before: Exposure, after: Exposure) -> bool:
    """Whether nothing was learned, not even again in a later time."""
    starts = [start for start, part in after.buckets.items() if not _same(before.buckets.get(start), part)]
    return not starts and len(before.buckets) == len(after.buckets) and _same(before.knowledge, after.knowledge)


def _same(one: Knowledge | None, other: Knowledge) -> bool:
    if one is None or one.weights.keys() != other.weights.keys():
        return False
    return all(its is other.weights[name] or its == other.weights[name] for name, its in one.weights.items())
