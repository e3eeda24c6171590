"""Governor: the judge that knows policy, database and exposure of every user."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from discreet.errors import DiscreetError, PolicyError, StoreError
from discreet.gateway.analysis.analyse import NotUnderstood, as_rows, query_of, style_of
from discreet.gateway.analysis.assess import Publishing
from discreet.gateway.analysis.cache import Texts, Understood
from discreet.gateway.analysis.column_origin import ShownColumn, needs_plan, shown
from discreet.gateway.analysis.disclosure import Entities
from discreet.gateway.enforcement.audit import Notes
from discreet.gateway.enforcement.decide import AgreedLimits, ExposureLimit, ExposureLimits
from discreet.gateway.enforcement.exposure_accounts import Books, ExposureAccount, Run, with_seen
from discreet.gateway.enforcement.session_policy import SessionPolicy
from discreet.gateway.enforcement.verdicts import Closed, Who
from discreet.gateway.introspection import find_governed, read_catalog, refuse_none, refuse_silence
from discreet.gateway.session.held_rows import HeldResult
from discreet.gateway.upstream_queries import Histograms, Own, Plans
from discreet.ledger.ledger import Ledger
from discreet.misuse.sensitivity import Sensitivity
from discreet.policy import Policy
from discreet.policy.gateway_section import GatewayPolicy
from discreet.sql.catalog import Catalog
from discreet.sql.statement_kinds import Refuse, refused
from discreet.store import Exposures

_LOG = logging.getLogger("discreet.gateway")
CATALOG_SECONDS = 10.0
"""How long definitions of the database are taken for unchanged."""
HOUSEKEEPING_SECONDS = 2.0
DESCRIBED = 1_000
"""Descriptions of results that are remembered."""
NO_COPY = refused(
    "COPY of governed tables is scored in text and CSV format only.", hint="Leave out other options, or use SELECT."
)
UNDESCRIBED = refused("the gateway could not find out what this COPY gives out.", hint="Use SELECT.")


class Governor:
    """Governs everybody but those whom the policy exempts."""

    def __init__(
        self,
        policy: Policy,
        *,
        own: str,
        ledger: Ledger,
        mode: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        refuse_silence(policy)
        self.policy, self.section = policy, policy.gateway or GatewayPolicy()
        self.mode = mode or self.section.mode
        if self.enforces:
            policy.refuse_unconfirmed()
        self.limits = ExposureLimits.of(policy)
        self.clock = clock
        self.asked: dict[str, list[Run]] = {}
        self.histograms: Histograms
        self.texts: Texts
        self._own = Own(own)
        self._ledger = ledger
        self.accounts: dict[str, ExposureAccount] = {}
        self._publishing: dict[str | None, Publishing] = {}
        self._described: dict[Any, tuple[ShownColumn, ...]] = {}
        self._house: asyncio.Task[None] | None = None
        self.observe: Callable[..., None] = lambda event, **labels: None
        """Is called with each decision."""

    @property
    def enforces(self) -> bool:
        """Whether decisions are acted on, and not only written down."""
        return self.mode == "enforce"

    @property
    def catalog(self) -> Catalog:
        """What is known of the database."""
        return self.texts.catalog

    async def start(self) -> None:
        """Look at the database, count its governed tables, and write down that the gateway begins."""
        try:
            await asyncio.to_thread(self._prepare)
        except BaseException:
            self._own.close()
            raise
        self._house = asyncio.get_running_loop().create_task(self._keep_house())

    def _prepare(self) -> None:
        self.database, self._tables = self._own.database(), dict(self.section.tables)
        if not self._tables:
            with self._own.cursor() as cursor:
                self._tables = find_governed(cursor, self.policy)
            refuse_none(self._tables, self.policy)
        self.texts = Texts(self._read_catalog())
        self.histograms = Histograms(self._own, self.section)
        self.histograms.unique = self.catalog.unique
        self.histograms.refresh(self.catalog.governed, self._oids())
        self._sensitivity = self._weights()
        for rule in self.section.limits:
            if rule.context is not None and rule.context not in self._sensitivity.contexts:
                raise PolicyError(
                    f"a limit names the context '{rule.context}', for which no column has weights.",
                    remedy=f"Add [sensitivity.COLUMN.contexts.{rule.context}], or leave `context` out.",
                    file=self.policy.file,
                )
        entities = (table.entity for table in self.catalog.governed.values())
        self._entities = Entities.of(entities, hashlib.sha256(self._ledger.keys.values).digest())
        self._books = Books(
            self._ledger,
            Exposures(self._ledger.store),
            self._sensitivity,
            self.policy.misuse.x,
            self.section.days,
            self.database,
            self.policy.digest,
        )
        self._agreed = AgreedLimits(self._ledger.store, self.database)
        self._agreed.read()
        self.limits = replace(self.limits, agreed=self._agreed)
        self._plans = Plans(self._own)
        self.notes = Notes(self._books, enforces=self.enforces, clock=self.clock)
        self._ledger.expire()
        self._ledger.record(
            actor="gateway",
            event="gateway.started",
            subject=f"database:{self.database}",
            policy=self.policy.digest,
            details={
                "mode": self.mode,
                "tables": len(self.catalog.governed),
                "sensitivity": self._sensitivity.version,
                "x": f"{self.policy.misuse.x:g}",
            },
        )

    def _read_catalog(self) -> Catalog:
        trusted, file = self.section.functions, self.policy.file
        with self._own.cursor() as cursor:
            newcomers = () if self.section.tables else find_governed(cursor, self.policy).keys() - self._tables.keys()
            return read_catalog(cursor, self._tables, trusted=trusted, file=file, newcomers=newcomers)

    def _oids(self) -> dict[str, list[int]]:
        tables = [one for one in self.catalog.relations.values() if one.kind in "rp"]
        return {name: [one.oid for one in tables if name in one.roots] for name in self.catalog.governed}

    def _weights(self) -> Sensitivity:
        """What the values of each sensitive column weigh; a column of which the policy does not say it weighs 1."""
        said = self.policy.sensitivity
        weights: dict[str, Any] = {}
        for table in self.catalog.governed.values():
            for column in table.sensitive:
                names = (f"{table.name}.{column}", f"{table.name.rpartition('.')[2]}.{column}", column)
                weights[names[0]] = next((said[name] for name in names if name in said), {"otherwise": 1.0})
        return with_seen(weights)

    async def close(self) -> None:
        """Write what is still to be written."""
        if self._house is not None:
            self._house.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._house
        await self.notes.close()
        for account in self.accounts.values():
            with contextlib.suppress(StoreError):
                await account.write_repeated()
        self._own.close()

    async def _keep_house(self) -> None:
        """Now and then: definitions, counts, reservations that nobody settled, results that told nothing new."""
        looked = time.monotonic()
        while True:
            await asyncio.sleep(HOUSEKEEPING_SECONDS)
            try:
                await asyncio.to_thread(self._agreed.read)
                for account in list(self.accounts.values()):
                    await account.write_repeated()
                if time.monotonic() - looked >= CATALOG_SECONDS:
                    looked = time.monotonic()
                    await asyncio.to_thread(self._look_again)
            except DiscreetError as problem:
                _LOG.warning("the gateway could not look again: %s", problem.problem)
            except Exception:
                _LOG.warning("the gateway could not look again")

    def _look_again(self) -> None:
        catalog = self._read_catalog()
        if catalog != self.catalog:
            self.texts = Texts(catalog)
            self._publishing, self._described = {}, {}
            self.histograms.unique = catalog.unique
        self.histograms.refresh(self.catalog.governed, self._oids())
        self._ledger.expire()

    async def admit(self, who: Who) -> SessionPolicy | Closed | None:
        """The watch over a session; None for those who are exempt."""
        if who.user in self.section.exempt:
            return None
        if who.database != self.database:
            return Closed(refused("this gateway governs another database.", hint=f"Connect to {self.database}."))
        roles = await asyncio.to_thread(self._own.roles, who.user)
        await asyncio.to_thread(self._agreed.read)
        account = self.accounts.setdefault(who.user, ExposureAccount(self._books, who.user))
        await account.load()
        return SessionPolicy(self, who, roles, account)

    def publishing(self, limit: ExposureLimit) -> Publishing:
        """What says what results tell, in the context of a limit."""
        found = self._publishing.get(limit.context)
        if found is None:
            found = self._publishing[limit.context] = Publishing(
                self.catalog,
                self._sensitivity.within(limit.context),
                self.histograms.of,
                self._entities,
                self.section.smallest_group,
                self.section.unnamed_rows == "alone",
            )
        return found

    async def described(self, one: Understood, held: HeldResult) -> tuple[tuple[ShownColumn, ...], HeldResult] | Refuse:
        """Where the columns of a result come from, and its rows as rows."""
        if one.reading is None:
            return refused("this result is not understood.")
        rows = held
        if held.copy:
            style = style_of(one.copied) if one.copied is not None else None
            if one.copied is None or style is None or any(held.formats):
                return NO_COPY
            query = query_of(one.copied).text
            columns = await asyncio.to_thread(self._plans.columns, query, one.reading, self.catalog)
            if columns is None:
                return UNDESCRIBED
            try:
                rows = as_rows(held, columns, style)
            except (NotUnderstood, ValueError):
                return UNDESCRIBED
        if any(self.catalog.is_new(column.table) for column in rows.columns or ()):
            await asyncio.to_thread(self._look_again)
        key = (one, rows.columns)
        found = self._described.get(key)
        if found is None:
            reading, shown_columns, explained = one.reading, rows.columns or (), None
            if needs_plan(shown_columns, reading) and not reading.writes:
                explained = await asyncio.to_thread(self._plans.explained, reading, self.catalog)
            found = shown(shown_columns, reading, self.catalog, explained)
            if len(self._described) >= DESCRIBED:
                self._described.clear()
            self._described[key] = found
        return found, rows
