"""Session policy of a governed user: which statements the gateway answers itself, and how.

A text that names no governed table passes to the server under the user's own role, which may not read any. What names one
is looked up on the user's session, since only that knows what the name means there, and is then answered from the
gateway's own connection; the server never sees it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Mapping
from itertools import islice
from typing import Any

from discreet.errors import SourceNotFound, StoreError
from discreet.gateway.analysis.block_parts import Resolved
from discreet.gateway.analysis.plan import Exact, RowList, StatementPlanner, asks_for_nothing
from discreet.gateway.analysis.relations import Setting
from discreet.gateway.analysis.resolve import Resolver
from discreet.gateway.analysis.statements import AskedStatement, asked
from discreet.gateway.enforcement import audit
from discreet.gateway.enforcement.answers import Answering, AnsweringRules, Asking, Denied, Served
from discreet.gateway.enforcement.cells import StatisticRefused
from discreet.gateway.enforcement.exposure_accounts import ExposureAccount, adds_nothing
from discreet.gateway.enforcement.exposure_limits import ExposureLimit
from discreet.gateway.enforcement.session_host import (
    OwnPortal,
    OwnStatement,
    SessionHost,
    close_each,
    fetched,
    plans_in,
    shaped,
    with_formats,
)
from discreet.gateway.enforcement.session_lookup import columns_of, lookup_sql, oids_of, setting_of
from discreet.gateway.enforcement.verdicts import (
    STUMBLED,
    Allow,
    Bind,
    Describe,
    Fetch,
    OwnAnswer,
    Parse,
    QueryText,
    Request,
    SessionLookup,
    Verdict,
    Who,
)
from discreet.gateway.own_connection import OwnError, OwnRun
from discreet.gateway.protocol.data_rows import DataRows
from discreet.gateway.protocol.messages import ResultColumn, complete, error
from discreet.gateway.refusals import Refuse, refused
from discreet.gateway.session import result_messages as wire
from discreet.gateway.session.parameters import filled
from discreet.sql.fragment import NotCovered, Parameter, walk
from discreet.sql.printer import printed

ATTEMPTS = 50
SHORT = 2_000
"""Texts of fewer characters are read at once."""
READ = 1_000_000
"""Longer ones are not read at all: the server refuses what the user may not read."""
FEW = 400
"""Statements of fewer parts are planned at once."""
SMALL = 1_000
"""Results of fewer rows are written at once."""
CURSORS = 100
STATIC = ("42", "0A", "54", "57014")
"""Errors that speak of the statement, and not of what is in a table."""


class RefusedWithin(Exception):
    """A refusal behind a part that was released: why would tell of what was released."""


class SessionPolicy:
    """Decides about one session."""

    def __init__(self, host: SessionHost, who: Who, roles: frozenset[str], account: ExposureAccount) -> None:
        self._host, self._who, self._roles, self._account = host, who, roles, account
        self._cursors: dict[str, OwnPortal] = {}
        self._running: OwnRun | None = None
        """What runs for the session on a connection of the gateway's own."""
        self._cancelled = False
        self._wrote = False
        """Whether something was sent on that may have written to a governed table in this transaction."""

    # Requests ---------------------------------------------------------------------------------------------------------

    def statement(self, request: Request) -> Verdict | Awaitable[Verdict]:
        """May this pass, or does the gateway answer it?"""
        if isinstance(request, QueryText | Parse):
            self._wrote = self._wrote or len(request.text) > READ
            if len(request.text) > READ or not self._host.relations.may_concern(request.text):
                return Allow()
            if len(request.text) > SHORT:
                return self._read(request)
            return self._text(asked(request.text), request)
        if isinstance(request, Bind):
            return self._bind(request)
        if isinstance(request, Describe):
            return self._describe(request)
        if isinstance(request, Fetch):
            return self._fetch(request.token, request.limit)
        return Allow()

    async def _read(self, request: QueryText | Parse) -> Verdict:
        """Read a long text beside the event loop, which serves others meanwhile."""
        verdict = self._text(await asyncio.to_thread(asked, request.text), request)
        return await verdict if isinstance(verdict, Awaitable) else verdict

    def _text(self, ask: AskedStatement, request: QueryText | Parse) -> Verdict | Awaitable[Verdict]:
        if ask.kind == "show":
            return self._show(ask, request)
        if ask.kind in ("fetch", "close") and ask.name in self._cursors:
            if isinstance(request, Parse):
                return OwnAnswer(wire.PARSED, OwnStatement(ask, Setting({}), request.types))
            return self._cursor_step(ask)
        mentioned = ask.mentions & self._host.relations.names
        if not mentioned or ask.kind in ("other", "fetch", "close"):
            self._wrote = self._wrote or (bool(mentioned) and ask.writes)
            return Allow()
        names = sorted(ask.names)
        return SessionLookup(lookup_sql(names), lambda row: self._named(ask, names, row, request))

    def _named(self, ask: AskedStatement, names: list[tuple[str, str]], row: Any, request: QueryText | Parse) -> Any:
        """What to do now that the names are known."""
        if row is None:
            return audit.ABORTED
        setting = setting_of(names, row, self._who.user)
        known = self._host.relations.by_oid
        tables = [known[oid] for oid in oids_of(setting) if oid in known]
        leading = [one for one in tables if one.leads]
        if not leading:
            self._wrote = self._wrote or ask.writes
            return Allow()
        if not setting.wrote:
            self._wrote = False
        return self._governed(ask, setting, request)

    async def _governed(self, ask: AskedStatement, setting: Setting, request: QueryText | Parse) -> Verdict:
        refuse: Refuse | None = None
        if ask.kind == "several":
            refuse = audit.SEVERAL
        elif ask.problem is not None:
            refuse = audit.not_covered(ask.problem.construct, ask.problem.instead)
        elif self._wrote:
            refuse = audit.OWN_WRITES
        elif isinstance(request, Parse):
            refuse = await self._barred(setting)
        if refuse is not None:
            return await self._refuse(refuse)
        prepared = OwnStatement(ask, setting, request.types if isinstance(request, Parse) else ())
        if isinstance(request, Parse):
            if not self._host.enforces:
                return Allow()
            return OwnAnswer(wire.PARSED, prepared)
        opened = OwnPortal(prepared)
        if ask.kind == "declare":
            return await self._declare(opened)
        served = await self._serve(opened)
        if isinstance(served, Refuse | Allow):
            return served
        messages = self._notice(served) + await self._written(ask, served)
        return OwnAnswer(messages, opened, max(len(served.rows), 1))

    async def _barred(self, setting: Setting) -> Refuse | None:
        """Why nothing is answered now: rights may have changed since the statement was prepared."""
        return await self._host.refused_table(self._who.user, self._host.relations.governed(oids_of(setting)))

    async def _refuse(self, refuse: Refuse) -> Refuse | Allow:
        """A refusal, written down and counted; in shadow mode only a note."""
        self._host.observe("refused", user=self._who.user)
        if not self._host.enforces:
            self._host.notes.note_shadow(self._account, refuse)
            return Allow()
        too_many = await self._host.denied(self._account)
        return too_many or await self._host.notes.note_refusal(self._account, refuse)

    async def _written(self, ask: AskedStatement, served: Served) -> bytes:
        if len(served.rows) < SMALL:
            return shaped(ask, served)
        return await asyncio.to_thread(shaped, ask, served)

    @staticmethod
    def _notice(served: Served) -> bytes:
        return error(severity="NOTICE", sqlstate="00000", message=served.notice) if served.notice else b""

    # The extended protocol --------------------------------------------------------------------------------------------

    def _bind(self, request: Bind) -> Verdict:
        values = request.values
        return OwnAnswer(
            wire.BOUND, OwnPortal(request.token, values.parameter_formats, values.parameters, values.result_formats)
        )

    async def _describe(self, request: Describe) -> Verdict:
        token = request.token
        prepared: OwnStatement = token.prepared if isinstance(token, OwnPortal) else token
        if prepared.ask.kind in ("declare", "close") and not isinstance(token, OwnPortal):
            return OwnAnswer(wire.parameter_description(()) + wire.NO_DATA)
        if prepared.ask.kind in ("close", "copy") or (prepared.ask.kind == "declare" and token.served is None):
            return OwnAnswer(wire.NO_DATA)
        if prepared.ask.kind == "fetch":
            prepared = self._cursors[prepared.ask.name].prepared
        if isinstance(token, OwnPortal) and token.served is not None:
            return OwnAnswer(wire.row_description(token.served.columns))
        try:
            types, columns = await asyncio.to_thread(self._described, prepared)
        except Exception as problem:
            return await self._problem(problem)
        if request.kind == "S":
            return OwnAnswer(wire.parameter_description(types) + wire.row_description(columns))
        formats = token.results if isinstance(token, OwnPortal) else ()
        return OwnAnswer(wire.row_description(with_formats(columns, formats)))

    def _described(self, prepared: OwnStatement) -> tuple[tuple[int, ...], tuple[ResultColumn, ...]]:
        """Types of parameters and columns, as the server finds them in the same statement."""
        if prepared.known is None:
            resolved = self._resolved(prepared.ask.tree, prepared.setting)
            types, columns = columns_of(self._host.own, prepared.setting, printed(resolved.query), prepared.types)
            prepared.known = types, columns
        return prepared.known

    def _resolved(self, tree: Any, setting: Setting) -> Resolved:
        return Resolver(self._host.relations, setting, self._host.salt()).resolve(tree)

    async def _fetch(self, opened: OwnPortal, limit: int) -> Verdict:
        ask = opened.prepared.ask
        if ask.kind in ("fetch", "close"):
            return self._cursor_step(ask, described=False, formats=opened.results)
        if ask.kind == "declare" and opened.served is None:
            return await self._declare(opened)
        before = b""
        if opened.served is None:
            served = await (self._left() if ask.kind == "show" else self._serve(opened))
            if isinstance(served, Refuse | Allow):
                return served if isinstance(served, Refuse) else STUMBLED
            opened.served = served
            before = self._notice(served)
        if ask.kind == "copy":
            return OwnAnswer(before + await self._written(ask, opened.served), opened, max(len(opened.served.rows), 1))
        rows = opened.served.rows[opened.at : opened.at + limit] if limit else opened.served.rows[opened.at :]
        opened.at += len(rows)
        suspended = limit and len(rows) == limit
        ended = wire.SUSPENDED if suspended else complete(f"SELECT {len(rows)}")
        return OwnAnswer(b"".join((before, rows.content, ended)), opened, max(len(rows), 1))

    # Cursors ----------------------------------------------------------------------------------------------------------

    async def _declare(self, opened: OwnPortal) -> Verdict:
        if len(self._cursors) >= CURSORS:
            return refused("there are too many cursors.", hint="CLOSE those that are done.")
        served = await self._serve(opened)
        if isinstance(served, Refuse | Allow):
            return served
        opened.served, opened.hold = served, opened.prepared.ask.hold
        self._cursors[opened.prepared.ask.name] = opened
        return OwnAnswer(self._notice(served) + complete("DECLARE CURSOR"), opened, 1)

    def cursor(self, name: str) -> Any:
        """The cursor of this name, if the gateway answers it."""
        return self._cursors.get(name)

    def _cursor_step(self, ask: AskedStatement, *, described: bool = True, formats: tuple[int, ...] = ()) -> Verdict:
        opened = self._cursors[ask.name]
        if ask.kind == "close" or opened.served is None:
            del self._cursors[ask.name]
            return OwnAnswer(complete("CLOSE CURSOR"))
        return fetched(opened, ask.count, described=described, formats=formats)

    def transaction_ended(self) -> None:
        """The server is outside of any transaction: cursors without HOLD are gone."""
        self._wrote = False
        if self._cursors:
            self._cursors = {name: one for name, one in self._cursors.items() if one.hold}

    # Answers ----------------------------------------------------------------------------------------------------------

    async def _serve(self, opened: OwnPortal) -> Served | Refuse | Allow:
        """Decide, run and write down; in shadow mode the statement passes whatever was found."""
        barred = await self._barred(opened.prepared.setting)
        if barred is not None:
            return await self._refuse(barred)
        task = asyncio.ensure_future(self._decided(opened))
        try:
            found = await asyncio.shield(task)
        except asyncio.CancelledError:  # it took too long: what it has told is written down all the same
            self.cancel()
            self._host.notes.keep(task)
            raise
        except Exception as problem:
            return await self._problem(problem)
        return found if self._host.enforces else Allow()

    async def _problem(self, problem: Exception) -> Refuse | Allow:
        if isinstance(problem, StoreError):
            return audit.CANNOT_WRITE if self._host.enforces else Allow()
        if isinstance(problem, NotCovered):
            if "temporary, new" in problem.construct:
                await self._host.look_again()
            return await self._refuse(audit.not_covered(problem.construct, problem.instead))
        if isinstance(problem, StatisticRefused):
            refused_by = problem.refused
            reason = refused_by.reason[0].upper() + refused_by.reason[1:]
            return await self._refuse(Refuse(f"Refused: {reason}", hint=refused_by.hint))
        if isinstance(problem, Denied):
            self._host.observe("denied", user=self._who.user)
            if self._host.enforces:
                too_many = await self._host.denied(self._account)
                if too_many is not None:
                    return too_many
            limit = self._limit()
            return await self._host.notes.refuse(
                self._account, limit, problem.value, problem.columns, rows=problem.rows, inside=problem.inside
            )
        if isinstance(problem, OwnError):
            if not self._host.enforces:
                return Allow()
            if problem.code.startswith(STATIC):
                return Refuse(problem.message, hint="", sqlstate=problem.code)
            return await self._host.denied(self._account) or audit.ON_DATA
        if isinstance(problem, SourceNotFound):
            return audit.CANNOT_ASK if self._host.enforces else Allow()
        return await self._refuse(audit.WITHIN if isinstance(problem, RefusedWithin) else STUMBLED)

    def _limit(self) -> ExposureLimit:
        """What holds for the user now."""
        return self._host.limits.now(self._who, self._roles)

    async def _decided(self, opened: OwnPortal) -> Served:
        prepared, self._cancelled = opened.prepared, False
        tree = prepared.ask.tree
        if any(isinstance(one, Parameter) for one in walk(tree)):
            types, _ = await asyncio.to_thread(self._described, prepared)
            tree = filled(tree, types, opened.formats, opened.values)
        rules = self._host.rules(self._limit())
        few = sum(1 for _ in islice(walk(tree), FEW)) < FEW
        given = tree, prepared.setting, rules
        resolved, plan = self._planned(*given) if few else await asyncio.to_thread(self._planned, *given)
        if asks_for_nothing(tree):
            _, columns = await asyncio.to_thread(self._described, prepared)
            return Served(with_formats(columns, opened.wanted), DataRows.of(()))
        listed = any(isinstance(one, RowList) for one in plans_in(plan))
        if not listed:
            served, _ = await self._host.work(self._account, self._run, resolved, plan, opened, rules)
            if isinstance(served, Exception):
                raise served
            self._host.observe("answered", user=self._who.user)
            return served
        async with self._account.lock:
            for _ in range(ATTEMPTS):
                await self._account.load()
                served, asking = await self._host.work(self._account, self._run, resolved, plan, opened, rules)
                told = asking.told
                if isinstance(served, Exception) and asking.learned is not None:
                    # However it ends, it may have answered a question: it counts as answered.
                    asking.exposure, asking.told = asking.learned, True
                if await self._granted(opened, asking):
                    if isinstance(served, Exception):
                        raise RefusedWithin if told and not isinstance(served, OwnError | SourceNotFound) else served
                    self._host.observe("answered", user=self._who.user)
                    return served
        raise SourceNotFound("The exposure of this user changes all the time.", remedy="Ask again in a moment.")

    def _planned(self, tree: Any, setting: Setting, rules: AnsweringRules) -> tuple[Resolved, Any]:
        resolved = self._resolved(tree, setting)
        return resolved, StatementPlanner(resolved, rules.answers.settings).plan(resolved.query)

    def cancel(self) -> None:
        """The client cancels or has gone: what runs for it here ends."""
        self._cancelled, running = True, self._running
        if running is not None:
            threading.Thread(target=running.cancel, daemon=True).start()

    def _run(
        self, resolved: Resolved, plan: Any, opened: OwnPortal, rules: AnsweringRules
    ) -> tuple[Served | Exception, Asking]:
        """On a connection of the gateway's own, in one snapshot."""
        asking = Asking(
            self._who.user,
            self._roles,
            self._limit(),
            self._account.exposure,
            max(self._host.clock(), self._account.exposure.newest),
            self._host.enforces,
        )
        alone = isinstance(plan, Exact) and not plan.before and len(set(opened.wanted)) < 2
        try:
            with self._host.own.run(opened.prepared.setting.settings, snapshot=not alone) as run:
                self._running = run
                if self._cancelled:
                    raise OwnError("57014", "canceling statement due to user request")
                return Answering(rules, resolved, run, asking).serve(plan, opened.wanted), asking
        except Exception as problem:
            return problem, asking
        finally:
            self._running = None

    async def _granted(self, opened: OwnPortal, asking: Asking) -> bool:
        """Write down what the rows tell, before they go."""
        if not asking.told or adds_nothing(self._account.exposure, asking.exposure):
            self._account.repeated += 1
            return True
        decision = "alert" if asking.over else "release"
        details: Mapping[str, Any] = self._host.notes.details(
            rows=asking.rows, columns=[*asking.columns], limit=asking.limit, decision=asking.decision or decision
        )
        granted = await self._account.grant(asking.exposure, details)
        if granted is None:
            return False
        opened.granted.append(granted)
        return True

    def _show(self, ask: AskedStatement, request: QueryText | Parse) -> Verdict | Awaitable[Verdict]:
        if ask.name != "exposure":
            return refused(f"SHOW discreet.{ask.name}", hint="Use SHOW discreet.exposure.")
        if isinstance(request, Parse):
            return OwnAnswer(wire.PARSED, OwnStatement(ask, Setting({}), (), ((), audit.LEFT)))
        return self._shown()

    async def _shown(self) -> Verdict:
        served = await self._left()
        return OwnAnswer(wire.selected(served.columns, served.rows))

    async def _left(self) -> Served:
        """What is left to the user."""
        await self._account.load()
        limit = self._limit()
        left = await asyncio.to_thread(self._host.rules(limit).answers.left, self._who.user, self._roles)
        rows = audit.left_of(self._account.value, limit, left)
        return Served(audit.LEFT, DataRows.of([cell.encode() for cell in row] for row in rows))

    def delivered(self, token: Any, rows: int) -> Awaitable[None] | None:
        """Released rows were handed to the network."""
        return close_each(self._account.settle, token)

    def lost(self, token: Any, rows: int) -> Awaitable[None] | None:
        """The client has gone before the first byte of its rows."""
        return close_each(self._account.settle, token)

    def closed(self) -> None:
        """The session is over."""
        self._cursors.clear()
        self.cancel()
