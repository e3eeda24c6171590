"""The watch over one session of a governed user: what may run, which rows may go, what errors may say."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import StoreError
from discreet.gateway import statements as kinds
from discreet.gateway.accounts import Account, Granted
from discreet.gateway.decision import Outcome, adds_nothing, decide
from discreet.gateway.holding import Held
from discreet.gateway.judge import (
    STUMBLED,
    Allow,
    Bind,
    Decision,
    Execute,
    Hold,
    Keep,
    Mask,
    Parse,
    Query,
    Refuse,
    Release,
    Request,
    Verdict,
    Who,
)
from discreet.gateway.limits import Limit
from discreet.gateway.messages import Column
from discreet.gateway.parameters import told
from discreet.gateway.publishing import Publication
from discreet.gateway.redaction import redacted
from discreet.gateway.statements import refused
from discreet.gateway.understanding import Text, Understood
from discreet.gateway.words import cannot_write, notice_of

if TYPE_CHECKING:
    from discreet.gateway.governing import Governor

MANY = 5_000
"""From so many rows on, scoring is done beside the loop that serves everybody."""
NAMES = 10_000
"""So many cursors and prepared statements of a session are remembered."""
ATTEMPTS = 50
_NO_FUNCTIONS = refused("functions cannot be called by number.", hint="Call them with SELECT.")
_UNKNOWN = refused("the gateway has not seen what is behind this name.", hint="Prepare or declare it again.")
_MOVE = refused("MOVE tells how many rows there are.", hint="Use FETCH.")


@dataclass(eq=False)
class Run:
    """One execution of a text: what a publication is called."""

    statements: tuple[tuple[Understood, ...], ...]
    """Per statement what may be behind it; several where a name may mean one of them."""
    digest: bytes
    parameters: Mapping[str, Any]
    rows: int = 0
    """Rows of it that were judged already."""
    granted: list[Granted] = field(default_factory=list)
    open: bool = True
    """Whether nothing has come back yet."""

    def questions(self) -> list[Understood]:
        """Statements that ask about sensitive columns."""
        return [one for some in self.statements for one in some if one.reading is not None and one.reading.asked]


class Watch:
    """Decides about one session."""

    def __init__(self, governor: Governor, who: Who, roles: frozenset[str], account: Account) -> None:
        self._governor = governor
        self._who = who
        self._roles = roles
        self._account = account
        self._named: dict[str, list[Understood]] = {}
        self._running: list[Run] = []
        self._strings = who.parameters.get("standard_conforming_strings", "on") == "on"

    # Statements -------------------------------------------------------------------------------------------------------

    def statement(self, request: Request) -> Verdict | Awaitable[Verdict]:
        """May this run, and must what it gives out be held?"""
        if not self._strings:
            return self._would(kinds.refused("texts are read otherwise with this setting."))
        if isinstance(request, Query):
            return self._text(self._understand(request.text), request.text, {})
        if isinstance(request, Parse):
            return self._parse(request)
        if isinstance(request, Bind):
            return self._bind(request)
        if isinstance(request, Execute):
            return self._execute(request)
        return self._would(_NO_FUNCTIONS)

    def _understand(self, text: str) -> Text:
        return self._governor.texts.understand(text)

    def _would(self, refuse: Refuse) -> Verdict | Awaitable[Verdict]:
        """A refusal, or in shadow mode the note that it would have been one."""
        if not self._governor.enforces:
            self._governor.note_shadow(self._account, refuse)
            return Allow()
        return self._refused(refuse)

    async def _refused(self, refuse: Refuse) -> Verdict:
        await self._governor.note_refusal(self._account, refuse)
        return refuse

    def _text(self, text: Text, source: str, parameters: Mapping[str, Any]) -> Verdict | Awaitable[Verdict]:
        if text.refuse is not None:
            return self._would(text.refuse)
        if text.passes:
            return Allow()
        return self._judge(
            text, hashlib.sha256(text.digest + repr(sorted(parameters.items())).encode()).digest(), parameters
        )

    def _judge(self, text: Text, digest: bytes, parameters: Mapping[str, Any]) -> Verdict | Awaitable[Verdict]:
        behind = []
        for one in text.statements:
            found = self._behind(one)
            if isinstance(found, Refuse):
                return self._would(found)
            behind.append(found)
        if not any(one.reading is not None for some in behind for one in some):
            return Allow()
        if any(one.kind.what == kinds.RUN for one in text.statements):
            digest = _renewed(digest, behind)
        run = Run(tuple(behind), digest, parameters)
        writes = any(one.reading is not None and one.reading.writes for some in behind for one in some)
        hold = Hold(run, undo=writes)
        if run.questions():
            return self._asking(run, hold)
        return hold

    def _behind(self, one: Understood) -> tuple[Understood, ...] | Refuse:
        """What a statement gives out: itself, or what a name stands for."""
        kind = one.kind
        if kind.what != kinds.RUN:
            return (one,)
        if kind.body:
            self._name(kind.name, one)
            return ()
        found = self._named.get(kind.name)
        if found is None:
            return _UNKNOWN
        if kind.moves and any(one.reading is not None for one in found):
            return _MOVE
        return tuple(found)

    def _name(self, name: str, one: Understood) -> None:
        """Remember what a name may stand for; nothing is forgotten, so that no order of events can deceive."""
        known = self._named.setdefault(name, [])
        if one not in known:
            known.append(one)
        while len(self._named) > NAMES:
            del self._named[next(iter(self._named))]

    def _parse(self, request: Parse) -> Verdict | Awaitable[Verdict]:
        text = self._understand(request.text)
        if text.refuse is not None:
            return self._would(text.refuse)
        if request.name:
            for one in text.statements:
                self._name(request.name, one)
        return Allow()

    def _bind(self, request: Bind) -> Verdict | Awaitable[Verdict]:
        if request.text is None:
            found = self._named.get(request.statement)
            if found is None:
                return self._would(_UNKNOWN)
            text = Text(tuple(found), digest=request.statement.encode())
        else:
            text = self._understand(request.text)
        if request.portal:
            for one in text.statements:
                self._name(request.portal, one)
        parameters = {} if text.passes else told(request)
        return self._text(text, request.text or "", parameters)

    def _execute(self, request: Execute) -> Verdict | Awaitable[Verdict]:
        found = self._named.get(request.portal, [])
        bound = self._understand(request.bound.text) if request.bound and request.bound.text is not None else None
        both = tuple(dict.fromkeys((*found, *(bound.statements if bound else ()))))
        if not both and bound is None:
            return self._would(_UNKNOWN)
        behind = tuple(one for one in both if one.kind.what != kinds.PASS)
        if not any(one.reading is not None for one in behind):
            return Allow()
        digest = hashlib.sha256(b"portal" + request.portal.encode() + (bound.digest if bound else b"")).digest()
        digest = _renewed(digest, [behind])
        return Hold(Run((behind,), digest, told(request.bound) if request.bound else {}))

    async def _asking(self, run: Run, hold: Hold) -> Verdict:
        """A statement whose conditions speak of sensitive values tells something even if nothing comes back."""
        await self._account.load()
        limit = self._limit()
        exposure = self._account.with_debts(self._governor.clock())
        for question in self._open_questions(run):
            exposure = exposure.learn(question.knowledge(), at=self._governor.clock())
        self._running = [*[one for one in self._running if one.open][-100:], run]
        if exposure.value <= limit.value or limit.action == "alert" or not self._governor.enforces:
            return hold
        columns = [leaf[1] for one in run.questions() if one.reading is not None for leaf in sorted(one.reading.asked)]
        run.open = False
        return await self._governor.refuse(self._account, limit, exposure.value, columns, rows=0)

    def _open_questions(self, run: Run) -> list[Publication]:
        """What this statement asks, and what others of this user ask at the same time."""
        found = self._governor.asked.setdefault(self._account.user, [])
        found[:] = [one for one in found if one.open]
        found.append(run)
        return [question for one in found for question in self._questions(one)]

    def _questions(self, run: Run) -> list[Publication]:
        publishing = self._governor.publishing(self._limit())
        listed = [
            publishing.question(one.reading, digest=run.digest, fixed=one.fixed(run.parameters))
            for one in run.questions()
            if one.reading is not None
        ]
        return [one for one in listed if one is not None]

    # Results ----------------------------------------------------------------------------------------------------------

    def described(self, token: Run, columns: tuple[Column, ...]) -> None:
        """Columns are looked at together with the rows."""

    def result(self, token: Run, held: Held) -> Decision | Awaitable[Decision]:
        """May these rows go?"""
        token.open = False
        place = held.number if len(token.statements) > 1 else 0
        if place >= len(token.statements):
            return STUMBLED
        behind = [one for one in token.statements[place] if one.reading is not None]
        return self._weighed(token, behind, held) if behind else Release()

    async def _weighed(self, run: Run, behind: list[Understood], held: Held) -> Decision:
        try:
            limit = self._limit()
            publications = await self._publications(run, behind, held, limit)
            run.rows += held.rows
            if isinstance(publications, Refuse):
                return await self._denied(publications)
            return await self._decided(run, publications, held, limit)
        except StoreError:
            return cannot_write() if self._governor.enforces else Release()

    async def _denied(self, refuse: Refuse) -> Decision:
        if not self._governor.enforces:
            self._governor.note_shadow(self._account, refuse)
            return Release()
        await self._governor.note_refusal(self._account, refuse)
        return refuse

    async def _publications(
        self, run: Run, behind: list[Understood], held: Held, limit: Limit
    ) -> list[Publication] | Refuse:
        """What the rows tell, by each of the statements that may be behind them."""
        found = []
        for one in behind:
            ready = await self._governor.described(one, held)
            if isinstance(ready, Refuse):
                return ready
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
                found.append(told_by)
        return found

    def _limit(self) -> Limit:
        return self._governor.limits.now(self._who, self._roles)

    async def _decided(self, run: Run, publications: list[Publication], held: Held, limit: Limit) -> Decision:
        if not publications:
            return Release()
        account = self._account
        async with account.lock:
            for _ in range(ATTEMPTS):
                await account.load()
                outcome, after = await self._outcome(publications, limit, held)
                if outcome.what == "deny" and self._governor.enforces:
                    return await self._deny(publications, limit, held)
                if adds_nothing(account.exposure, after):
                    account.repeated += 1
                    return self._answer(outcome, publications[0], held)
                granted = await account.grant(after, self._governor.details(outcome, publications[0], held, limit))
                if granted is not None:
                    run.granted.append(granted)
                    return self._answer(outcome, publications[0], held)
        return STUMBLED

    async def _outcome(self, publications: list[Publication], limit: Limit, held: Held) -> tuple[Outcome, Any]:
        """What would become of the rows, and what the user knows when they went as they do in this mode."""
        at = self._governor.clock()
        exposure = self._account.with_debts(at)
        if len(publications) > 1 and limit.action != "alert":
            limit = Limit(limit.value, "deny", limit.context)
        first = publications[0]
        for other in publications[1:]:
            exposure = exposure.learn(other.knowledge(), at=at)

        def work() -> tuple[Outcome, Any]:
            outcome = decide(exposure, first, limit, at=at)
            if self._governor.enforces or outcome.what in ("release", "alert"):
                return outcome, outcome.after
            return outcome, exposure.learn(first.knowledge(), at=at)

        return await asyncio.to_thread(work) if held.rows > MANY else work()

    async def _deny(self, publications: list[Publication], limit: Limit, held: Held) -> Decision:
        """The score that is told is that of the worst values, so that a refusal tells nothing of the real ones."""
        exposure, at = self._account.exposure, self._governor.clock()
        for one in publications:
            exposure = exposure.learn(one.worst(), at=at)
        columns = [name.rpartition(".")[2] for one in publications for name in one.weights]
        return await self._governor.refuse(self._account, limit, exposure.value, columns, rows=held.rows)

    def _answer(self, outcome: Outcome, publication: Publication, held: Held) -> Decision:
        if not self._governor.enforces or outcome.what in ("release", "alert"):
            return Release()
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
        return Mask(cells, notice_of(outcome, held.rows))

    def delivered(self, token: Run, rows: int) -> Awaitable[None] | None:
        """Released rows were handed to the network."""
        granted, token.granted = token.granted, []
        return self._settle(granted) if granted else None

    async def _settle(self, granted: list[Granted]) -> None:
        for one in granted:
            await self._account.settle(one)

    def lost(self, token: Run, rows: int) -> Awaitable[None] | None:
        """Released rows were certainly not sent."""
        granted, token.granted = token.granted, []
        return self._take_back(granted) if granted else None

    async def _take_back(self, granted: list[Granted]) -> None:
        for one in reversed(granted):
            await self._account.take_back(one)

    # Everything else --------------------------------------------------------------------------------------------------

    def report(self, fields: Mapping[str, str], notice: bool) -> Mapping[str, str] | None:
        """An error or notice of the server as the user may see it; an error answers a question, too."""
        if not notice:
            self._failed()
        return redacted(fields, notice) if self._governor.enforces else fields

    def _failed(self) -> None:
        asked = [question for run in self._running if run.open for question in self._questions(run)]
        for run in self._running:
            run.open = False
        self._running.clear()
        if asked:
            self._governor.owe(self._account, asked)

    def changed(self, name: str, value: str) -> None:
        """The server reports that a parameter of the session changed."""
        if name == "standard_conforming_strings":
            self._strings = value == "on"

    def closed(self) -> None:
        """The session is over."""
        for run in self._running:
            run.open = False


def _renewed(digest: bytes, behind: Sequence[Sequence[Understood]]) -> bytes:
    """Behind a name another statement may stand each time, or other rows: what is told is never taken for told before."""
    texts = (one.reading.digest for some in behind for one in some if one.reading is not None)
    return hashlib.sha256(b"".join((digest, *texts, secrets.token_bytes(16)))).digest()
