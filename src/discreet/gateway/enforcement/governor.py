"""Governor: the judge that knows policy, database and exposure of every user."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from discreet.errors import DiscreetError, PolicyError, StoreError
from discreet.gateway.analysis.entities import Entities
from discreet.gateway.analysis.relations import Relations
from discreet.gateway.database_relations import full, read_relations
from discreet.gateway.enforcement.answers import AnsweringRules
from discreet.gateway.enforcement.audit import MANY_DENIALS, Notes
from discreet.gateway.enforcement.exposure_accounts import Books, ExposureAccount, with_seen
from discreet.gateway.enforcement.exposure_limits import AgreedLimits, ExposureLimit, ExposureLimits
from discreet.gateway.enforcement.session_host import Result
from discreet.gateway.enforcement.session_policy import SessionPolicy
from discreet.gateway.enforcement.verdicts import Closed, Who
from discreet.gateway.introspection import find_governed, refuse_none, refuse_silence
from discreet.gateway.own_connection import OwnConnections, ResultRoom
from discreet.gateway.refusals import Refuse, refused
from discreet.gateway.rights import Hole, entitled, holes, ungovernable
from discreet.gateway.statistics import Answers
from discreet.ledger.ledger import Ledger
from discreet.misuse.sensitivity import Sensitivity
from discreet.policy import Policy
from discreet.policy.gateway_section import GatewayPolicy
from discreet.store import Exposures

_LOG = logging.getLogger("discreet.gateway")
WORKERS = 64
"""So many statements are answered at a time."""
CATALOG_SECONDS = 10.0
"""How long definitions of the database and rights of users are taken for unchanged."""
HOUSEKEEPING_SECONDS = 2.0


def ledger_time() -> Callable[[], float]:
    """A clock that nobody can set: what was seen is neither forgotten by a step forward nor counted twice by one back."""
    began, at = time.time(), time.monotonic()
    return lambda: began + time.monotonic() - at


class Governor:
    """Governs everybody but those whom the policy exempts."""

    def __init__(
        self,
        policy: Policy,
        *,
        own: str,
        ledger: Ledger,
        mode: str | None = None,
        clock: Callable[[], float] | None = None,
        room: ResultRoom | None = None,
    ) -> None:
        refuse_silence(policy)
        self.policy, self.section = policy, policy.gateway or GatewayPolicy()
        self.mode = mode or self.section.mode
        if self.enforces:
            policy.refuse_unconfirmed()
        self.limits = ExposureLimits.of(policy)
        self.clock = clock or ledger_time()
        self.relations = Relations({})
        self.own = OwnConnections(own, room=room)
        self.holes: tuple[Hole, ...] = ()
        """Ways past the gateway that the rights of users leave."""
        self.observe: Callable[..., None] = lambda event, **labels: None
        """Called with every decision; for metrics and logs."""
        self.accounts: dict[str, ExposureAccount] = {}
        self._ledger = ledger
        self._rules: dict[str | None, AnsweringRules] = {}
        self._entitled: dict[str, tuple[float, frozenset[str]]] = {}
        self._house: asyncio.Task[None] | None = None
        self._looking = asyncio.Lock()
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="statement")

    @property
    def enforces(self) -> bool:
        """Whether decisions are acted on, and not only written down."""
        return self.mode == "enforce"

    async def start(self) -> None:
        """Look at the database and the rights of its users, and write down that the gateway begins."""
        try:
            await asyncio.to_thread(self._prepare)
        except BaseException:
            self.own.close()
            raise
        self._house = asyncio.get_running_loop().create_task(self._keep_house())

    def _prepare(self) -> None:
        self.database, self._tables = self.own.database(), dict(self.section.tables)
        if not self._tables:
            with self.own.cursor() as cursor:
                self._tables = find_governed(cursor, self.policy)
            refuse_none(self._tables, self.policy)
        self._look()
        if self.holes:
            listed = "; ".join(one.problem for one in self.holes[:3])
            more = f" (and {len(self.holes) - 3} more)" if len(self.holes) > 3 else ""
            raise PolicyError(
                f"the gateway does not enforce limits that the rights of users undermine: {listed}{more}",
                remedy=f"{self.holes[0].remedy} See `discreet gateway grants`, or use --mode shadow.",
                file=self.policy.file,
            )
        self._sensitivity = self._weights()
        for rule in self.section.limits:
            if rule.context is not None and rule.context not in self._sensitivity.contexts:
                raise PolicyError(
                    f"a limit names the context '{rule.context}', for which no column has weights.",
                    remedy=f"Add [sensitivity.COLUMN.contexts.{rule.context}], or leave `context` out.",
                    file=self.policy.file,
                )
        values = self._ledger.keys.values
        self._entities = Entities.of(
            (table.entity for table in self.relations.tables.values()), hashlib.sha256(values).digest()
        )
        self._answers = Answers(
            self._ledger, self.database, hashlib.sha256(b"noise" + values).digest(), self.section.aggregates
        )
        self._seed = int.from_bytes(hashlib.sha256(b"order" + values).digest()[:8], "big", signed=True)
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
        self.notes = Notes(self._books, enforces=self.enforces)
        self._ledger.expire()
        self._ledger.record(
            actor="gateway",
            event="gateway.started",
            subject=f"database:{self.database}",
            policy=self.policy.digest,
            details={
                "mode": self.mode,
                "tables": len(self.relations.tables),
                "sensitivity": self._sensitivity.version,
                "x": f"{self.policy.misuse.x:g}",
            },
        )

    def _look(self) -> None:
        """Read the catalog, and the rights of users where they matter."""
        with self.own.cursor() as cursor:
            tables = dict(self._tables)
            if not self.section.tables:
                tables = find_governed(cursor, self.policy) | tables
            self.relations = read_relations(cursor, tables, file=self.policy.file, exempt=self.section.exempt)
        if self.enforces:
            with self.own.cursor() as cursor:
                self.holes = holes(
                    cursor, [*self.relations.tables], exempt=self.section.exempt, trusted=self.section.functions
                )

    def _weights(self) -> Sensitivity:
        """What values of each sensitive column weigh; 1 where the policy does not say."""
        said = self.policy.sensitivity
        weights: dict[str, Any] = {}
        for table in self.relations.tables.values():
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
        self._workers.shutdown(wait=False, cancel_futures=True)
        await self.notes.close()
        for account in self.accounts.values():
            with contextlib.suppress(StoreError):
                await account.write_repeated()
        self.own.close()

    async def _keep_house(self) -> None:
        """Now and then: definitions, rights, reservations that nobody settled, results that told nothing new."""
        looked = time.monotonic()
        while True:
            await asyncio.sleep(HOUSEKEEPING_SECONDS)
            try:
                await asyncio.to_thread(self._agreed.read)
                for account in list(self.accounts.values()):
                    await account.write_repeated()
                if time.monotonic() - looked >= CATALOG_SECONDS:
                    looked = time.monotonic()
                    await self.look_again()
                    await asyncio.to_thread(self._ledger.expire)
            except DiscreetError as problem:
                _LOG.warning("the gateway could not look again: %s", problem.problem)
            except Exception:
                _LOG.warning("the gateway could not look again")

    async def look_again(self) -> None:
        """Read definitions and rights again."""
        async with self._looking:
            before = self.holes
            await asyncio.to_thread(self._look)
            self._entitled.clear()
            for one in self.holes:
                if one not in before:
                    _LOG.warning("rights of users undermine the limits: %s", one.problem)

    async def admit(self, who: Who) -> SessionPolicy | Closed | None:
        """The watch over a session; None for those who are exempt."""
        if who.user in self.section.exempt:
            return None
        if who.database != self.database:
            return Closed(refused("this gateway governs another database.", hint=f"Connect to {self.database}."))
        roles = await asyncio.to_thread(self.own.roles, who.user)
        if self.enforces:
            why = await asyncio.to_thread(self._ungovernable, who.user)
            if why is not None:
                return Closed(Refuse(f"Refused: {why}", hint="Log in as another user, or name this one in `exempt`."))
        account = self.accounts.setdefault(who.user, ExposureAccount(self._books, who.user))
        return SessionPolicy(self, who, roles, account)

    def _ungovernable(self, user: str) -> str | None:
        with self.own.cursor() as cursor:
            return ungovernable(cursor, user)

    # What sessions ask ------------------------------------------------------------------------------------------------

    def rules(self, limit: ExposureLimit) -> AnsweringRules:
        """What answering needs, with the weights of a limit's context."""
        found = self._rules.get(limit.context)
        if found is None:
            found = self._rules[limit.context] = AnsweringRules(
                self._sensitivity.within(limit.context), self._entities, self._answers, self._seed
            )
        return found

    async def work(self, account: ExposureAccount, task: Callable[..., Result], *given: Any) -> Result:
        """Do something for a user on a thread; a user has a few of them at a time, so that others have some left."""
        async with account.places:
            return await asyncio.get_running_loop().run_in_executor(self._workers, task, *given)

    def salt(self) -> str:
        """A suffix for hidden names, which no statement can guess."""
        return secrets.token_hex(4)

    async def refused_table(self, user: str, tables: frozenset[str]) -> Refuse | None:
        """Why nothing about these tables is answered to a user: no right, or a hole in the grants."""
        if not self.enforces:
            return None
        if self.holes:
            return Refuse(
                "The gateway answers nothing about governed tables: the rights of users undermine its limits.",
                hint="Tell the operator of the gateway; the log names the hole.",
                sqlstate="57P03",
            )
        known = self._entitled.get(user)
        if known is None or time.monotonic() - known[0] > CATALOG_SECONDS:
            known = time.monotonic(), await asyncio.to_thread(self._entitlements, user)
            self._entitled[user] = known
        missing = sorted(tables - known[1])
        if missing:
            return Refuse(
                f"permission denied for table {missing[0].rpartition('.')[2]}",
                hint="An administrator grants the right to ask with `discreet gateway grants`.",
            )
        return None

    def _entitlements(self, user: str) -> frozenset[str]:
        places = {f"{one.schema}.{one.name}": oid for oid, one in self.relations.by_oid.items() if one.governed}
        with self.own.cursor() as cursor:
            return entitled(cursor, user, {name: places[full(name)] for name in self.relations.tables})

    async def denied(self, account: ExposureAccount) -> Refuse | None:
        """Count a denial; a refusal where there were too many within an hour, in all gateways of this store."""
        number = await asyncio.to_thread(self._books.count_denial, account.person, self.clock())
        if number <= self.section.denials_per_hour:
            return None
        return Refuse(
            f"Refused: there were more than {self.section.denials_per_hour} refusals within an hour.",
            hint="Statements about governed tables are answered again when the hour is over.",
            sqlstate=MANY_DENIALS,
        )
