"""Decisions about the results of one session: what they tell, whether they may go, and what is written down before."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import StoreError
from discreet.gateway.analysis.cache import Understood
from discreet.gateway.enforcement.decide import Outcome, adds_nothing, decide, linked
from discreet.gateway.enforcement.exposure_accounts import Account
from discreet.gateway.enforcement.interface import STUMBLED, Decision, Keep, Mask, Release, Who
from discreet.gateway.limits import Limit
from discreet.gateway.publication import Publication
from discreet.gateway.runs import Run
from discreet.gateway.session.held_rows import Held
from discreet.gateway.words import cannot_write, notice_of
from discreet.misuse.score import within
from discreet.sql.statement_kinds import Refuse

if TYPE_CHECKING:
    from discreet.gateway.enforcement.governor import Governor

MANY = 5_000
"""From so many rows on, scoring is done beside the loop that serves everybody."""
ATTEMPTS = 50


class Judging:
    """Decides about the results of one session."""

    def __init__(self, governor: Governor, who: Who, roles: frozenset[str], account: Account) -> None:
        self._governor, self._who, self._roles, self._account = governor, who, roles, account

    def of(self, token: Run, held: Held) -> Decision | Awaitable[Decision]:
        """May these rows go?"""
        token.open = False
        place = held.number if len(token.statements) > 1 else 0
        if place >= len(token.statements):
            return STUMBLED
        behind = [one for one in token.statements[place] if one.reading is not None]
        if behind and self._is_known(token, held):
            self._account.repeated += 1
            return Release()
        return self._weighed(token, behind, held) if behind else Release()

    def _is_known(self, run: Run, held: Held) -> bool:
        """Whether this user had this very answer to this very question, and is within her limit."""
        account = self._account
        if not account.has_released(run.digest, held.data, self._governor.clock()):
            return False
        return bool(within(account.value, self.limit().value))

    async def _weighed(self, run: Run, behind: list[Understood], held: Held) -> Decision:
        try:
            limit = self.limit()
            publications = await self._publications(run, behind, held, limit)
            run.rows += held.rows
            if isinstance(publications, Refuse):
                return await self._denied(publications)
            return await self._decided(run, publications, held, limit)
        except StoreError:
            return cannot_write() if self._governor.enforces else Release()

    async def _denied(self, refuse: Refuse) -> Decision:
        if not self._governor.enforces:
            self._governor.notes.note_shadow(self._account, refuse)
            return Release()
        return await self._governor.notes.note_refusal(self._account, refuse)

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
                found.append(self._account.as_written(told_by, one.reading.tables))
        return found

    def limit(self) -> Limit:
        """What holds for the user now."""
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
                    return self._answered(run, outcome, publications[0], held)
                granted = await account.grant(
                    after, self._governor.notes.details(outcome, publications[0], held, limit)
                )
                if granted is not None:
                    run.granted.append(granted)
                    return self._answered(run, outcome, publications[0], held)
        return STUMBLED

    async def _outcome(self, publications: list[Publication], limit: Limit, held: Held) -> tuple[Outcome, Any]:
        """What would become of the rows, and what the user knows when they went as they do in this mode."""
        at = self._governor.clock()
        exposure = self._account.with_debts(at)
        if len(publications) > 1 and limit.action != "alert":
            limit = replace(limit, action="deny")
        first = publications[0]
        for other in publications[1:]:
            exposure = exposure.learn(other.knowledge(), at=at)

        def work() -> tuple[Outcome, Any]:
            outcome = decide(exposure, first, limit, at=at)
            if self._governor.enforces or outcome.what in ("release", "alert"):
                return outcome, outcome.after
            known, told = linked(exposure, first, at=at)
            return outcome, known.learn(told.knowledge(), at=at)

        return await asyncio.to_thread(work) if held.rows > MANY else work()

    async def _deny(self, publications: list[Publication], limit: Limit, held: Held) -> Decision:
        """The score that is told is that of the worst values, so that a refusal tells nothing of the real ones."""
        exposure, at = self._account.exposure, self._governor.clock()
        for one in publications:
            exposure, told = linked(exposure, one, at=at)
            exposure = exposure.learn(told.worst(), at=at)
        columns = [name.rpartition(".")[2] for one in publications for name in one.weights]
        return await self._governor.notes.refuse(self._account, limit, exposure.value, columns, rows=held.rows)

    def _answered(self, run: Run, outcome: Outcome, publication: Publication, held: Held) -> Decision:
        if outcome.what == "release" and held.chunk == 0 and held.complete:
            self._account.remember(run.digest, held.data, self._governor.clock())
        return self._answer(outcome, publication, held)

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
