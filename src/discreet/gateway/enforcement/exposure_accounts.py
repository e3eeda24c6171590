"""Exposure accounts of users: stored before bytes go; executions of statements.

Reserved before release: the exposure with the rows in it and the entry in the ledger are one transaction. Settled on
delivery. If the gateway dies in between, the rows count as seen. Several gateways share a store: one that decided on an
exposure that another has changed meanwhile finds out when writing, and decides again.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import Outdated, UsageError
from discreet.gateway.analysis.analyse import Reading
from discreet.gateway.analysis.cache import Understood
from discreet.gateway.analysis.disclosure import SEEN, Publication
from discreet.ledger.ledger import Ledger
from discreet.ledger.operations import Close, Hold, Note, Receipt, Request
from discreet.misuse.exposure import Exposure
from discreet.misuse.sensitivity import Sensitivity
from discreet.sql.statement_kinds import Refuse, refused
from discreet.store.gateway_limits import Exposures, write_exposure

EVENT = "gateway.answered"
PARTS = 1_000_000
"""A budget counts in millionths of a point of exposure."""
CEILING = 10**9
"""No budget is ever used up: the limit is that of the policy, which looks at what is known now."""
DAY = 86_400.0
EVER = 1e12
"""Seconds of the one bucket where nothing is ever forgotten."""
RESERVED_SECONDS = 600
SMALL, RELEASED = 2048, 2_000
"""Results of up to so many bytes are remembered, and so many of them."""


@dataclass(frozen=True)
class Granted:
    """Rows that may go: the entry that says so, and how to take it back if they certainly did not."""

    receipt: Receipt
    before: Exposure
    version: int
    """Of what is stored, with these rows in it."""


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

    def fresh(self) -> Exposure:
        """What somebody knows who has seen nothing."""
        frame = None if self.days is None else self.days * DAY
        bucket = EVER if frame is None else min(DAY, max(frame / 30, 1.0))
        return Exposure(self.sensitivity, x=self.x, frame=frame, bucket=bucket)


class ExposureAccount:
    """What one user has seen. One decision at a time, under `lock`."""

    def __init__(self, books: Books, user: str) -> None:
        self.lock = asyncio.Lock()
        self.user = user
        self.person = f"{books.database}/{user}"
        self.budget = f"gateway:{self.person}"
        self.exposure = books.fresh()
        self.version = 0
        self.loaded = False
        self.released: dict[tuple[bytes, bytes], float] = {}
        """Small results that were released, by what was asked and what came, and the bucket of time it was."""
        self.repeated = 0
        """Results that told nothing new, since the last entry about them."""
        self.debts: list[Publication] = []
        """What errors have answered and is not written down yet."""
        self.wrote: frozenset[str] = frozenset()
        """Governed tables that the user has written to since the gateway began."""
        self._books = books
        self._valued = (self.exposure, self.exposure.value)

    @property
    def value(self) -> float:
        """The exposure as a number; worked out once per exposure."""
        if self._valued[0] is not self.exposure:
            self._valued = (self.exposure, self.exposure.value)
        return self._valued[1]

    def with_debts(self, at: float) -> Exposure:
        """What the user knows, with what is not written down yet."""
        exposure = self.exposure
        for one in self.debts:
            exposure = exposure.learn(one.knowledge(), at=at)
        return exposure

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

    def remember(self, asked: bytes, came: bytes, at: float) -> None:
        """This result was released; the same again in the same bucket of time tells nothing new."""
        if len(came) <= SMALL:
            if len(self.released) >= RELEASED:
                self.released.clear()
            self.released[asked, came] = self._bucket(at)

    def has_released(self, asked: bytes, came: bytes, at: float) -> bool:
        """Whether the same question had the same answer, not long ago."""
        return self.released.get((asked, came)) == self._bucket(at)

    def _bucket(self, at: float) -> float:
        width = self.exposure.bucket
        return at // float(width) if isinstance(width, float) else 0.0

    def forget(self) -> None:
        """Read it again next time: somebody else has changed it."""
        self.loaded = False

    def as_written(self, told: Publication, tables: frozenset[str]) -> Publication:
        """What tables tell that the user has written to: people may be marked there, so none hides in a crowd."""
        return replace(told, crowds=np.ones_like(told.crowds)) if self.wrote & tables else told

    async def grant(self, after: Exposure, details: Mapping[str, Any]) -> Granted | None:
        """Write down that the user knows more; None if what is stored was not what was decided on."""
        before, seen = self.exposure, self.version
        growth = max(Fraction(0), _amount(after.value) - _amount(before.value))
        content = after.to_bytes()
        try:
            receipt = await self._books.submit(
                self.user,
                key=secrets.token_hex(16),
                risk_before=_amount(before.value),
                risk_after=_amount(after.value),
                details=details,
                step=Hold(self.budget, growth, None, None, RESERVED_SECONDS),
                along=lambda link: write_exposure(link, self.person, content, seen=seen),
            )
        except Outdated:
            self.forget()
            return None
        self.exposure, self.version = after, seen + 1
        return Granted(receipt, before, self.version)

    async def refuse(self, value: float, details: Mapping[str, Any]) -> Receipt:
        """Write down that something was not given out."""
        return await self._books.submit(
            self.user,
            key=secrets.token_hex(16),
            risk_before=_amount(self.exposure.value),
            risk_after=_amount(value),
            details=details,
            step=Note(refused=True),
        )

    async def settle(self, granted: Granted) -> None:
        """The rows were handed to the network."""
        await self._close(granted, "settled")

    async def take_back(self, granted: Granted) -> None:
        """The rows certainly reached nobody. If more was learned since, they count all the same."""
        async with self.lock:
            outcome = "settled"
            if self.loaded and self.version == granted.version:
                content, keep = granted.before.to_bytes(), self._books.exposures.keep
                try:
                    self.version = await asyncio.to_thread(keep, self.person, content, seen=granted.version)
                    self.exposure, outcome = granted.before, "released"
                except Outdated:
                    self.forget()
            await self._close(granted, outcome)

    async def _close(self, granted: Granted, outcome: str) -> None:
        number = granted.receipt.entry.sequence
        await self._books.submit(self.user, key=f"close:{number}", step=Close(number, outcome, None))

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


# Executions of statements, and the names that statements and cursors are given in a session.
NAMES = 2_000
"""So many names of a session are remembered."""
MEANINGS = 8
"""So many statements may stand behind one name."""
UNKNOWN = refused("the gateway has not seen what is behind this name.", hint="Prepare or declare it again.")
TOO_MANY = refused("too many statements have had this name.", hint="Use another name, or begin a new session.")


@dataclass(eq=False)
class Run:
    """One execution of a text: what a publication is called."""

    statements: tuple[tuple[Understood, ...], ...]
    """Per statement what may be behind it; several where a name may mean one of them."""
    digest: bytes
    """Of text and parameters: the same again tells the same again."""
    parameters: Mapping[str, Any]
    rows: int = 0
    """Rows of it that were judged already."""
    granted: list[Granted] = field(default_factory=list)
    open: bool = True
    """Whether nothing has come back yet."""

    @cached_property
    def readings(self) -> tuple[tuple[Understood, Reading], ...]:
        """Statements that give out, or ask about, what is in governed tables."""
        return tuple((one, one.reading) for some in self.statements for one in some if one.reading is not None)

    @property
    def questions(self) -> list[tuple[Understood, Reading]]:
        """Statements that ask about sensitive columns."""
        return [(one, reading) for one, reading in self.readings if reading.asked]

    @property
    def writes(self) -> bool:
        """Whether it changes anything, which a denial has to undo."""
        return any(reading.writes for _, reading in self.readings)


class SessionNames:
    """What the names of a session may stand for.

    Nothing is forgotten when a name is given anew: whether that succeeded is not known here, so a name stands for all
    statements that ever had it.
    """

    def __init__(self) -> None:
        self._known: dict[str, list[Understood]] = {}

    def give(self, name: str, statements: Sequence[Understood]) -> None:
        """A name is given to statements."""
        known = self._known.setdefault(name, [])
        known.extend(one for one in statements if one not in known)
        while len(self._known) > NAMES:
            del self._known[next(iter(self._known))]

    def behind(self, name: str) -> tuple[Understood, ...] | Refuse:
        """What may be behind a name."""
        found = self._known.get(name)
        if found is None:
            return UNKNOWN
        return tuple(found) if len(found) <= MEANINGS else TOO_MANY


def digest_of(text: bytes, parameters: Sequence[bytes | None] = ()) -> bytes:
    """Names an execution by its text and parameters, byte by byte."""
    told = hashlib.sha256(text)
    for one in parameters:
        told.update(b"-" if one is None else b"%d:" % len(one) + one)
    return told.digest()


def renewed(digest: bytes) -> bytes:
    """Behind a name other rows stand each time: what is told is never taken for told before."""
    return hashlib.sha256(digest + secrets.token_bytes(16)).digest()
