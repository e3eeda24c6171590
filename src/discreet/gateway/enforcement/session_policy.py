"""Session policy of a governed user: what may run, which rows may go."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from discreet.errors import StoreError
from discreet.gateway.analysis.assess import Publishing
from discreet.gateway.analysis.cache import Text, Texts, Understood
from discreet.gateway.analysis.column_origin import ShownColumn, told
from discreet.gateway.analysis.disclosure import Publication
from discreet.gateway.enforcement.audit import CANNOT_WRITE, Notes, notice_of, redacted
from discreet.gateway.enforcement.decide import (
    EnforcementOutcome,
    ExposureLimit,
    ExposureLimits,
    adds_nothing,
    decide,
    linked,
)
from discreet.gateway.enforcement.exposure_accounts import (
    ExposureAccount,
    Granted,
    Run,
    SessionNames,
    digest_of,
    renewed,
)
from discreet.gateway.enforcement.verdicts import (
    STUMBLED,
    Allow,
    Bind,
    Decision,
    Execute,
    HoldRows,
    Keep,
    MaskCells,
    Parse,
    QueryText,
    ReleaseRows,
    Request,
    Verdict,
    Who,
)
from discreet.gateway.protocol.messages import ResultColumn
from discreet.gateway.session.held_rows import HeldResult
from discreet.misuse.scorer import within
from discreet.sql import statement_kinds as kinds
from discreet.sql.statement_kinds import Refuse, refused

READ_BY = ("DateStyle", "IntervalStyle", "TimeZone")
"""Settings with which a session begins and that decide how a text is read."""
MANY = 5_000
"""From so many rows on, scoring is done beside the loop that serves everybody."""
ATTEMPTS = 50
PENDING = 100
"""So many questions of a session may be unanswered at the same time."""
_NO_FUNCTIONS = refused("functions cannot be called by number.", hint="Call them with SELECT.")
_MOVE = refused("MOVE tells how many rows there are.", hint="Use FETCH.")
_STRINGS = refused("texts are read otherwise with this setting.", hint="SET standard_conforming_strings TO on.")


class SessionJudge(Protocol):
    """What the sessions of a gateway share: texts, limits, notes and exposures."""

    asked: dict[str, list[Run]]
    """Per user the executions whose conditions ask about sensitive values."""
    clock: Callable[[], float]
    limits: ExposureLimits
    notes: Notes
    texts: Texts

    @property
    def enforces(self) -> bool:
        """Whether decisions are acted on, and not only written down."""

    def publishing(self, limit: ExposureLimit) -> Publishing:
        """What says what results tell, in the context of a limit."""

    async def described(self, one: Understood, held: HeldResult) -> tuple[tuple[ShownColumn, ...], HeldResult] | Refuse:
        """Where the columns of a result come from, and its rows as rows."""


class SessionPolicy:
    """Decides about one session."""

    def __init__(self, governor: SessionJudge, who: Who, roles: frozenset[str], account: ExposureAccount) -> None:
        self._governor, self._who, self._roles, self._account = governor, who, roles, account
        self._names = SessionNames()
        self._running: list[Run] = []
        self._read = False
        """Whether anything was read of governed tables."""
        self._settings = digest_of(repr([who.parameters.get(name) for name in READ_BY]).encode())
        """Stands for the settings of the session, and all that has changed them."""
        self._strings = who.parameters.get("standard_conforming_strings", "on") == "on"

    def statement(self, request: Request) -> Verdict | Awaitable[Verdict]:
        """May this run, and must what it gives out be held?"""
        if not self._strings:
            return self._would(_STRINGS)
        if isinstance(request, Bind):
            return self._bind(request)
        if isinstance(request, Execute):
            # What may be behind the portal, by what was bound to it and by what was declared under its name.
            bound = self._understand(request.bound.text) if request.bound and request.bound.text is not None else None
            found = self._names.behind(request.portal)
            if isinstance(found, Refuse):
                if bound is None or request.portal:
                    return self._would(found)
                found = ()
            behind = tuple(dict.fromkeys((*found, *(bound.statements if bound else ()))))
            return self._hold(Run((behind,), renewed(b"portal"), told(request.bound) if request.bound else {}))
        if not isinstance(request, QueryText | Parse):
            return self._would(_NO_FUNCTIONS)
        text = self._understand(request.text)
        if text.refuse is not None:
            return self._would(text.refuse)
        if isinstance(request, Parse):
            if request.name:
                self._names.give(request.name, text.statements)
            return Allow()
        if text.passes:
            self._passed(text, request.text)
            return Allow()
        return self._run(text.statements, self._digest(text, request.text), {})

    def _limit(self) -> ExposureLimit:
        """What holds for the user now."""
        return self._governor.limits.now(self._who, self._roles)

    def _understand(self, text: str) -> Text:
        return self._governor.texts.understand(text)

    def _would(self, refuse: Refuse) -> Verdict | Awaitable[Verdict]:
        """A refusal, or in shadow mode the note that it would have been one."""
        if not self._governor.enforces:
            self._governor.notes.note_shadow(self._account, refuse)
            return Allow()
        return self._governor.notes.note_refusal(self._account, refuse)

    def _passed(self, text: Text, written: str) -> None:
        """What has to be remembered of a text that passes: `written` is it, and not one like it."""
        if text.written:
            self._account.wrote |= text.written
        if text.sets:
            self._settings = digest_of(self._settings, [written.encode("utf-8", "surrogatepass")])

    def _digest(self, text: Text, written: str, parameters: Sequence[bytes | None] = ()) -> bytes:
        """Names an execution by text, parameters, and whatever was set before."""
        self._passed(text, written)
        return digest_of(text.digest + self._settings, parameters)

    def _bind(self, request: Bind) -> Verdict | Awaitable[Verdict]:
        if request.text is None:
            # A statement that was prepared in SQL, or of which the gateway has lost sight.
            found = self._names.behind(request.statement)
            if isinstance(found, Refuse):
                return self._would(found)
            if request.portal:
                self._names.give(request.portal, found)
            return self._hold(Run((found,), renewed(b"name"), told(request)))
        text = self._understand(request.text)
        if text.refuse is not None:
            return self._would(text.refuse)
        if request.portal:
            self._names.give(request.portal, text.statements)
        if text.passes:
            self._passed(text, request.text)
            return Allow()
        return self._run(text.statements, self._digest(text, request.text, request.values.parameters), told(request))

    def _run(
        self, statements: tuple[Understood, ...], digest: bytes, parameters: Mapping[str, Any]
    ) -> Verdict | Awaitable[Verdict]:
        behind, changes = [], False
        for one in statements:
            kind = one.kind
            # What it gives out: itself, or what a name means.
            given: tuple[Understood, ...] | Refuse = (one,)
            if kind.what == kinds.RUN and kind.body:
                self._names.give(kind.name, [one])
                given = ()
            elif kind.what == kinds.RUN:
                given = self._names.behind(kind.name)
                if kind.moves and not isinstance(given, Refuse) and any(it.reading is not None for it in given):
                    given = _MOVE
            if isinstance(given, Refuse):
                return self._would(given)
            behind.append(given)
            # The same text may be about other people next time.
            wrote = one.reading is not None and bool(one.reading.tables & self._account.wrote)
            changes = changes or kind.what == kinds.RUN or one.shifts or wrote
        return self._hold(Run(tuple(behind), renewed(digest) if changes else digest, parameters))

    def _hold(self, run: Run) -> Verdict | Awaitable[Verdict]:
        self._account.wrote = self._account.wrote.union(*(one.written for some in run.statements for one in some))
        if not run.readings:
            return Allow()
        self._read = True
        hold = HoldRows(run, undo=run.writes)
        return self._asking(run, hold) if run.questions else hold

    async def _asking(self, run: Run, hold: HoldRows) -> Verdict:
        """A statement whose conditions speak of sensitive values tells something even if nothing comes back."""
        await self._account.load()
        limit, at = self._limit(), self._governor.clock()
        exposure = self._account.with_debts(at)
        # What this statement asks, and what others of this user ask at the same time.
        found = self._governor.asked.setdefault(self._account.user, [])
        found[:] = [one for one in found if one.open]
        found.append(run)
        open_questions = [question for one in found for question in self._questions(one)]
        for question in open_questions:
            exposure = exposure.learn(question.knowledge(), at=at)
        self._running = [*[one for one in self._running if one.open][-PENDING:], run]
        if within(exposure.value, limit.value) or limit.action == "alert" or not self._governor.enforces:
            return hold
        columns = [leaf[1] for _, reading in run.questions for leaf in sorted(reading.asked)]
        run.open = False
        return await self._governor.notes.refuse(self._account, limit, exposure.value, columns, rows=0)

    def _questions(self, run: Run) -> list[Publication]:
        publishing = self._governor.publishing(self._limit())
        found = []
        for one, reading in run.questions:
            question = publishing.question(reading, digest=run.digest, fixed=one.fixed(run.parameters))
            if question is not None:
                found.append(self._account.as_written(question, reading.tables))
        return found

    def described(self, token: Run, columns: tuple[ResultColumn, ...]) -> None:
        """Columns are looked at together with the rows."""

    def result(self, token: Run, held: HeldResult) -> Decision | Awaitable[Decision]:
        """May these rows go?"""
        token.open = False
        place = held.number if len(token.statements) > 1 else 0
        if place >= len(token.statements):
            return STUMBLED
        behind = [one for one in token.statements[place] if one.reading is not None]
        # The user had this very answer to this very question, and is within their limit.
        account = self._account
        repeated = account.has_released(token.digest, held.data, self._governor.clock()) if behind else False
        if repeated and within(account.value, self._limit().value):
            account.repeated += 1
            return ReleaseRows()
        return self._weighed(token, behind, held) if behind else ReleaseRows()

    def delivered(self, token: Run, rows: int) -> Awaitable[None] | None:
        """Released rows were handed to the network."""
        granted, token.granted = token.granted, []
        return _each(self._account.settle, granted) if granted else None

    def lost(self, token: Run, rows: int) -> Awaitable[None] | None:
        """Released rows were certainly not sent."""
        granted, token.granted = token.granted, []
        return _each(self._account.take_back, granted[::-1]) if granted else None

    def report(self, fields: Mapping[str, str], notice: bool) -> Mapping[str, str] | None:
        """An error or notice of the server as the user may see it; an error answers a question, too."""
        if not notice:
            asked = [question for run in self._running if run.open for question in self._questions(run)]
            for run in self._running:
                run.open = False
            self._running.clear()
            if asked:
                self._governor.notes.owe(self._account, asked)
        return redacted(fields, notice, read=self._read) if self._governor.enforces else fields

    def changed(self, name: str, value: str) -> None:
        """The server reports that a parameter of the session changed."""
        if name == "standard_conforming_strings":
            self._strings = value == "on"

    def closed(self) -> None:
        """The session is over."""
        for run in self._running:
            run.open = False

    async def _weighed(self, run: Run, behind: list[Understood], held: HeldResult) -> Decision:
        try:
            limit = self._limit()
            publications: list[Publication] = []
            refuse: Refuse | None = None
            for one in behind:  # what the rows tell, by each of the statements that may be behind them
                ready = await self._governor.described(one, held)
                if isinstance(ready, Refuse):
                    refuse = ready
                    break
                columns, rows = ready
                assert one.reading is not None  # noqa: S101 - those without were left out
                work = partial(
                    self._governor.publishing(limit).of_rows,
                    rows,
                    columns,
                    one.reading,
                    digest=run.digest,
                    fixed=one.fixed(run.parameters),
                    before=run.rows,
                )
                told_by = await asyncio.to_thread(work) if rows.rows > MANY else work()
                if told_by is not None:
                    publications.append(self._account.as_written(told_by, one.reading.tables))
            run.rows += held.rows
            if refuse is not None and self._governor.enforces:
                return await self._governor.notes.note_refusal(self._account, refuse)
            if refuse is not None:
                self._governor.notes.note_shadow(self._account, refuse)
                return ReleaseRows()
            return await self._decided(run, publications, held, limit)
        except StoreError:
            return CANNOT_WRITE if self._governor.enforces else ReleaseRows()

    async def _decided(
        self, run: Run, publications: list[Publication], held: HeldResult, limit: ExposureLimit
    ) -> Decision:
        if not publications:
            return ReleaseRows()
        account = self._account
        async with account.lock:
            for _ in range(ATTEMPTS):
                await account.load()
                outcome, after = await self._outcome(publications, limit, held)
                if outcome.what == "deny" and self._governor.enforces:
                    # The score that is said is that of the worst values, so that a refusal tells nothing of the real ones.
                    exposure, at = account.exposure, self._governor.clock()
                    for one in publications:
                        exposure, linked_one = linked(exposure, one, at=at)
                        exposure = exposure.learn(linked_one.worst(), at=at)
                    columns = [name.rpartition(".")[2] for one in publications for name in one.weights]
                    return await self._governor.notes.refuse(account, limit, exposure.value, columns, rows=held.rows)
                if adds_nothing(account.exposure, after):
                    account.repeated += 1
                    return self._answered(run, outcome, publications[0], held)
                granted = await account.grant(
                    after, self._governor.notes.details(outcome, publications[0], held, limit)
                )
                if granted is not None:
                    run.granted.append(granted)
                    return self._answered(run, outcome, publications[0], held)
        return STUMBLED

    async def _outcome(
        self, publications: list[Publication], limit: ExposureLimit, held: HeldResult
    ) -> tuple[EnforcementOutcome, Any]:
        """What would become of the rows, and what the user knows when they went as they do in this mode."""
        at = self._governor.clock()
        exposure = self._account.with_debts(at)
        if len(publications) > 1 and limit.action != "alert":
            limit = replace(limit, action="deny")
        first = publications[0]
        for other in publications[1:]:
            exposure = exposure.learn(other.knowledge(), at=at)

        def work() -> tuple[EnforcementOutcome, Any]:
            outcome = decide(exposure, first, limit, at=at)
            if self._governor.enforces or outcome.what in ("release", "alert"):
                return outcome, outcome.after
            known, told = linked(exposure, first, at=at)
            return outcome, known.learn(told.knowledge(), at=at)

        return await asyncio.to_thread(work) if held.rows > MANY else work()

    def _answered(self, run: Run, outcome: EnforcementOutcome, publication: Publication, held: HeldResult) -> Decision:
        if outcome.what == "release" and held.chunk == 0 and held.complete:
            self._account.remember(run.digest, held.data, self._governor.clock())
        if not self._governor.enforces or outcome.what in ("release", "alert"):
            return ReleaseRows()
        if outcome.what == "subset" and outcome.rows is not None:
            rows = outcome.rows
            if held.rows > len(rows):  # the header of a COPY
                rows = np.concatenate([np.ones(held.rows - len(rows), dtype=np.bool_), rows])
            return Keep(rows, notice_of(outcome, held.rows))
        if outcome.masked is None or held.copy:
            return STUMBLED
        cells = np.zeros((len(held.columns or ()), held.rows), dtype=np.bool_)
        for name, rows in outcome.masked.items():
            for place in publication.cells[name]:
                cells[place] |= rows
        return MaskCells(cells, notice_of(outcome, held.rows))


async def _each(step: Callable[[Granted], Awaitable[None]], granted: list[Granted]) -> None:
    for one in granted:
        await step(one)
