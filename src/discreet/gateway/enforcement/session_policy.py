"""Session policy of a governed user: which statements the gateway answers itself, and how.

A text that names no governed table passes to the server under the user's own role, which may not read any. What names one
is looked up on the user's session, since only that knows what the name means there, and is then answered from the
gateway's own connection; the server never sees it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from discreet.errors import SourceNotFound, StoreError
from discreet.gateway.analysis.plan import Exact, RowList, StatementPlanner, asks_for_nothing
from discreet.gateway.analysis.relations import Setting
from discreet.gateway.analysis.resolve import Resolved, Resolver
from discreet.gateway.analysis.statements import AskedStatement, asked
from discreet.gateway.enforcement import audit
from discreet.gateway.enforcement.amounts import adds_nothing
from discreet.gateway.enforcement.answers import Answering, AnsweringRules, Asking, Denied, Served
from discreet.gateway.enforcement.cells import StatisticRefused
from discreet.gateway.enforcement.exposure_accounts import ExposureAccount, Granted
from discreet.gateway.enforcement.exposure_limits import ExposureLimit
from discreet.gateway.enforcement.session_host import OwnPortal, OwnStatement, SessionHost, plans_in, with_formats
from discreet.gateway.enforcement.session_lookup import lookup_sql, oids_of, setting_of
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
from discreet.gateway.own_connection import OwnError
from discreet.gateway.protocol.messages import ResultColumn, complete, error
from discreet.gateway.refusals import Refuse, refused
from discreet.gateway.session import result_messages as wire
from discreet.gateway.session.parameters import filled
from discreet.sql.fragment import NotCovered, Parameter, walk
from discreet.sql.printer import printed

ATTEMPTS = 50
CURSORS = 100
STATIC = ("42", "0A", "57014")
"""Errors that speak of the statement, and not of what is in a table."""


class SessionPolicy:
    """Decides about one session."""

    def __init__(self, host: SessionHost, who: Who, roles: frozenset[str], account: ExposureAccount) -> None:
        self._host, self._who, self._roles, self._account = host, who, roles, account
        self._cursors: dict[str, OwnPortal] = {}
        self._wrote = False
        """Whether something was sent on that may have written to a governed table in this transaction."""

    # Requests ---------------------------------------------------------------------------------------------------------

    def statement(self, request: Request) -> Verdict | Awaitable[Verdict]:
        """May this pass, or does the gateway answer it?"""
        if isinstance(request, QueryText | Parse):
            if not self._host.relations.may_concern(request.text):
                return Allow()
            return self._text(asked(request.text), request)
        if isinstance(request, Bind):
            return self._bind(request)
        if isinstance(request, Describe):
            return self._describe(request)
        if isinstance(request, Fetch):
            return self._fetch(request.token, request.limit)
        return Allow()

    def _text(self, ask: AskedStatement, request: QueryText | Parse) -> Verdict | Awaitable[Verdict]:
        if ask.kind == "show":
            return self._show(ask.name) if isinstance(request, QueryText) else Allow()
        if ask.kind in ("fetch", "close") and ask.name in self._cursors:
            return self._cursor_step(ask) if isinstance(request, QueryText) else self._own(ask, request)
        mentioned = ask.mentions & self._host.relations.names
        if not mentioned or ask.kind in ("other", "fetch", "close"):
            self._wrote = self._wrote or (bool(mentioned) and ask.writes)
            return Allow()
        names = sorted(ask.names)
        return SessionLookup(lookup_sql(names), lambda row: self._named(ask, names, row, request))

    def _own(self, ask: AskedStatement, request: Parse) -> Verdict:
        return OwnAnswer(wire.PARSED, OwnStatement(ask, Setting({}), request.types))

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
        else:
            tables = self._tables(setting)
            refuse = await self._host.refused_table(self._who.user, tables)
        if refuse is not None:
            return await self._refuse(refuse)
        prepared = OwnStatement(ask, setting, request.types if isinstance(request, Parse) else ())
        if isinstance(request, Parse):
            if not self._host.enforces:
                return Allow()
            return OwnAnswer(wire.PARSED, prepared)
        opened = OwnPortal(prepared)
        if ask.kind == "declare":
            return await self._declare(opened, simple=True)
        served = await self._serve(opened)
        if isinstance(served, Refuse | Allow):
            return served
        messages = self._notice(served) + self._shaped(ask, served)
        return OwnAnswer(messages, opened, max(len(served.rows), 1))

    def _tables(self, setting: Setting) -> frozenset[str]:
        """Governed tables that a statement names, or that views in it read."""
        known = self._host.relations.by_oid
        found = set()
        for oid in oids_of(setting):
            relation = known.get(oid)
            if relation is not None and relation.governed is not None:
                found.add(relation.governed.name)
        return frozenset(found)

    async def _refuse(self, refuse: Refuse) -> Verdict:
        """A refusal that is written down and counted, or in shadow mode the note that it would have been one."""
        self._host.observe("refused", user=self._who.user)
        if not self._host.enforces:
            self._host.notes.note_shadow(self._account, refuse)
            return Allow()
        too_many = await self._host.denied(self._account)
        return too_many or await self._host.notes.note_refusal(self._account, refuse)

    @staticmethod
    def _shaped(ask: AskedStatement, served: Served) -> bytes:
        if ask.kind == "copy":
            return wire.copied(served.columns, served.rows, csv=ask.csv, header=ask.header)
        return wire.selected(served.columns, served.rows)

    @staticmethod
    def _notice(served: Served) -> bytes:
        return error(severity="NOTICE", sqlstate="00000", message=served.notice) if served.notice else b""

    # The extended protocol --------------------------------------------------------------------------------------------

    def _bind(self, request: Bind) -> Verdict:
        if request.token is None:
            return Allow()
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
        except (NotCovered, OwnError, SourceNotFound) as problem:
            return await self._problem(problem)
        if request.kind == "S":
            return OwnAnswer(wire.parameter_description(types) + wire.row_description(columns))
        formats = token.results if isinstance(token, OwnPortal) else ()
        return OwnAnswer(wire.row_description(with_formats(columns, formats)))

    def _described(self, prepared: OwnStatement) -> tuple[tuple[int, ...], tuple[ResultColumn, ...]]:
        """Types of parameters and columns, as the server finds them in the same statement."""
        if prepared.known is None:
            resolved = self._resolved(prepared.ask.tree, prepared.setting)
            given = prepared.types
            with self._host.own.run(prepared.setting.settings, snapshot=False) as run:
                found = run.described(printed(resolved.query), given)
            types = tuple(found.param_type(place) for place in range(found.nparams))
            columns = tuple(
                ResultColumn(
                    (found.fname(place) or b"").decode("utf-8", "replace"),
                    0,
                    0,
                    found.ftype(place),
                    found.fsize(place),
                    found.fmod(place),
                    0,
                )
                for place in range(found.nfields)
            )
            prepared.known = types, columns
        return prepared.known

    def _resolved(self, tree: Any, setting: Setting) -> Resolved:
        return Resolver(self._host.relations, setting, self._host.salt()).resolve(tree)

    async def _fetch(self, opened: OwnPortal, limit: int) -> Verdict:
        ask = opened.prepared.ask
        if ask.kind in ("fetch", "close"):
            return self._cursor_step(ask, described=False, formats=opened.results)
        if ask.kind == "declare":
            return await self._declare(opened, simple=False)
        before = b""
        if opened.served is None:
            served = await self._serve(opened)
            if isinstance(served, Refuse | Allow):
                return served if isinstance(served, Refuse) else STUMBLED
            opened.served = served
            before = self._notice(served)
        if ask.kind == "copy":
            return OwnAnswer(before + self._shaped(ask, opened.served), opened, max(len(opened.served.rows), 1))
        rows = opened.served.rows[opened.at : opened.at + limit] if limit else opened.served.rows[opened.at :]
        opened.at += len(rows)
        suspended = limit and len(rows) == limit
        ended = wire.SUSPENDED if suspended else complete(f"SELECT {len(rows)}")
        return OwnAnswer(before + wire.data_rows(rows) + ended, opened, max(len(rows), 1))

    # Cursors ----------------------------------------------------------------------------------------------------------

    async def _declare(self, opened: OwnPortal, *, simple: bool) -> Verdict:
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
        served = opened.served
        if ask.kind == "close" or served is None:
            del self._cursors[ask.name]
            return OwnAnswer(complete("CLOSE CURSOR"))
        if ask.count == -1:
            return refused("this form of FETCH or MOVE.", hint="Use FETCH n, FETCH FORWARD n or FETCH ALL.")
        if any(formats):
            return refused("rows of a cursor in binary format.", hint="Ask for text.")
        rows = served.rows[opened.at :] if ask.count is None else served.rows[opened.at : opened.at + ask.count]
        opened.at += len(rows)
        begin = wire.row_description(served.columns) if described else b""
        return OwnAnswer(begin + wire.data_rows(rows) + complete(f"FETCH {len(rows)}"))

    def transaction_ended(self) -> None:
        """The server is outside of any transaction: cursors without HOLD are gone."""
        self._wrote = False
        if self._cursors:
            self._cursors = {name: one for name, one in self._cursors.items() if one.hold}

    # Answers ----------------------------------------------------------------------------------------------------------

    async def _serve(self, opened: OwnPortal) -> Served | Refuse | Allow:
        """Decide, run and write down; in shadow mode the statement passes whatever was found."""
        try:
            found = await self._decided(opened)
        except (NotCovered, Denied, StatisticRefused, OwnError, SourceNotFound) as problem:
            verdict = await self._problem(problem)
            return verdict if isinstance(verdict, Refuse | Allow) else STUMBLED
        except StoreError:
            return audit.CANNOT_WRITE if self._host.enforces else Allow()
        return found if self._host.enforces else Allow()

    async def _problem(self, problem: Exception) -> Verdict:
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
                self._account, limit, problem.value, problem.columns, rows=problem.rows
            )
        if isinstance(problem, OwnError):
            if not self._host.enforces:
                return Allow()
            if problem.code.startswith(STATIC):
                return Refuse(problem.message, hint="", sqlstate=problem.code)
            return audit.ON_DATA
        return audit.CANNOT_ASK if self._host.enforces else Allow()

    def _limit(self) -> ExposureLimit:
        """What holds for the user now."""
        return self._host.limits.now(self._who, self._roles)

    async def _decided(self, opened: OwnPortal) -> Served:
        prepared = opened.prepared
        tree = prepared.ask.tree
        if any(isinstance(one, Parameter) for one in walk(tree)):
            types, _ = await asyncio.to_thread(self._described, prepared)
            tree = filled(tree, types, opened.formats, opened.values)
        resolved = self._resolved(tree, prepared.setting)
        rules = self._host.rules(self._limit())
        plan = StatementPlanner(resolved, rules.answers.settings).plan(resolved.query)
        if asks_for_nothing(tree):
            _, columns = await asyncio.to_thread(self._described, prepared)
            return Served(with_formats(columns, opened.results), [])
        listed = any(isinstance(one, RowList) for one in plans_in(plan))
        if not listed:
            served, _ = await asyncio.to_thread(self._run, resolved, plan, opened, rules)
            if isinstance(served, OwnError):
                raise served
            self._host.observe("answered", user=self._who.user)
            return served
        async with self._account.lock:
            for _ in range(ATTEMPTS):
                await self._account.load()
                served, asking = await asyncio.to_thread(self._run, resolved, plan, opened, rules)
                if isinstance(served, OwnError) and asking.learned is not None:
                    # An error may answer a question: it counts as answered.
                    asking.exposure, asking.told = asking.learned, True
                if await self._granted(opened, asking):
                    if isinstance(served, OwnError):
                        raise served
                    self._host.observe("answered", user=self._who.user)
                    return served
        raise SourceNotFound("The exposure of this user changes all the time.", remedy="Ask again in a moment.")

    def _run(
        self, resolved: Resolved, plan: Any, opened: OwnPortal, rules: AnsweringRules
    ) -> tuple[Served | OwnError, Asking]:
        """On a connection of the gateway's own, in one snapshot."""
        asking = Asking(
            self._who.user,
            self._roles,
            self._limit(),
            self._account.exposure,
            max(self._host.clock(), self._account.exposure.newest),
            self._host.enforces,
        )
        alone = isinstance(plan, Exact) and not plan.before and len(set(opened.results)) < 2
        with self._host.own.run(opened.prepared.setting.settings, snapshot=not alone) as run:
            try:
                return Answering(rules, resolved, run, asking).serve(plan, opened.results), asking
            except OwnError as problem:
                return problem, asking

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

    # What the session reports -----------------------------------------------------------------------------------------

    def _show(self, name: str) -> Verdict | Awaitable[Verdict]:
        if name != "exposure":
            return refused(f"SHOW discreet.{name}", hint="Use SHOW discreet.exposure.")
        return self._shown()

    async def _shown(self) -> Verdict:
        """What is left to the user."""
        await self._account.load()
        limit = self._limit()
        rows = [("exposure", f"{self._account.value:.3f}"), ("limit", f"{limit.value:.3f}")]
        rows.append(("left", f"{max(limit.value - self._account.value, 0.0):.3f}"))
        left = await asyncio.to_thread(self._host.rules(limit).answers.left, self._who.user, self._roles)
        for column, its in sorted(left.items()):
            rows.append((f"answers left, {column}", str(its.answers)))
            rows.append((f"uncertainty removed, {column}", f"{its.reduction:.3f}"))
        columns = [ResultColumn(title, 0, 0, 25, -1, -1, 0) for title in ("what", "value")]
        return OwnAnswer(wire.selected(columns, [tuple(cell.encode() for cell in row) for row in rows]))

    def described(self, token: Any, columns: tuple[ResultColumn, ...]) -> None:
        """Nothing that passes is held."""

    def result(self, token: Any, held: Any) -> Any:
        """Nothing that passes is held."""
        return STUMBLED

    def delivered(self, token: Any, rows: int) -> Awaitable[None] | None:
        """Released rows were handed to the network."""
        return self._closed_each(self._account.settle, token)

    def lost(self, token: Any, rows: int) -> Awaitable[None] | None:
        """Released rows were certainly not sent."""
        return self._closed_each(self._account.take_back, token)

    @staticmethod
    def _closed_each(step: Callable[[Granted], Awaitable[None]], token: Any) -> Awaitable[None] | None:
        granted, token.granted = token.granted[::-1], []

        async def each() -> None:
            for one in granted:
                await step(one)

        return each() if granted else None

    def report(self, fields: Mapping[str, str], notice: bool) -> Mapping[str, str] | None:
        """Errors and notices of the server pass: the user cannot read anything governed there."""
        return fields

    def changed(self, name: str, value: str) -> None:
        """Settings are looked up with each statement."""

    def closed(self) -> None:
        """The session is over."""
        self._cursors.clear()
