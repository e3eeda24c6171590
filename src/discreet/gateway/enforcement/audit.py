"""What the gateway writes down about answers and refusals: how many, how much, why; never a value or a text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from discreet.errors import StoreError
from discreet.gateway.enforcement.decide import Outcome
from discreet.gateway.enforcement.exposure_accounts import Account
from discreet.gateway.limits import Limit
from discreet.gateway.publication import Publication
from discreet.gateway.session.held_rows import Held
from discreet.gateway.words import hint_of, message_of
from discreet.ledger.ledger import Ledger
from discreet.ledger.operations import Note
from discreet.ledger.request import Request
from discreet.sql.statement_kinds import Refuse

ATTEMPTS = 50


class Notes:
    """Writes down, some of it a moment later."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        database: str,
        policy: str,
        sensitivity: str,
        enforces: bool,
        clock: Callable[[], float],
    ) -> None:
        self._ledger, self._database, self._policy = ledger, database, policy
        self._sensitivity, self._enforces, self._clock = sensitivity, enforces, clock
        self._debts: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Write what is still to be written."""
        while self._debts:
            await asyncio.wait(self._debts)

    def details(self, outcome: Outcome, publication: Publication, held: Held, limit: Limit) -> dict[str, Any]:
        """What an entry says about a result: how many rows and columns, never a value."""
        columns = sorted(name for name in publication.weights if not name.startswith("("))
        told: dict[str, Any] = {
            "rows": held.rows,
            "columns": ", ".join(columns)[:400],
            **_limited(limit),
            "sensitivity": self._sensitivity,
            "decision": outcome.what,
        }
        return told if self._enforces else {**told, "enforced": False}

    async def refuse(
        self, account: Account, limit: Limit, value: float, columns: Sequence[str], *, rows: int
    ) -> Refuse:
        """Write down that a result is refused, and say so."""
        told = {
            "rows": rows,
            "columns": ", ".join(dict.fromkeys(columns))[:400],
            **_limited(limit),
            "decision": "deny",
        }
        receipt = await account.refuse(value, told)
        message = message_of(value, limit.value, columns, rows=rows, reference=f"{receipt.sequence:04X}")
        return Refuse(message, hint=hint_of(rows))

    async def note_refusal(self, account: Account, refuse: Refuse, *, enforced: bool = True) -> Refuse:
        """Write down that a statement was not run, by the reason and not by its text; gives what to say, with a reference."""
        request = Request.of(
            actor=account.user,
            event="gateway.answered",
            subject=f"database:{self._database}/user:{account.user}",
            policy=self._policy,
            details={"reason": refuse.message[:400], **({} if enforced else {"enforced": False})},
            step=Note(refused=enforced),
        )
        try:
            receipt = await asyncio.wrap_future(self._ledger.submit(request))
        except StoreError:
            return refuse
        return replace(refuse, hint=f"{refuse.hint} (reference {receipt.sequence:04X})".strip())

    def note_shadow(self, account: Account, refuse: Refuse) -> None:
        """Write down that a statement would not have been run."""
        self._later(self.note_refusal(account, refuse, enforced=False))

    def owe(self, account: Account, asked: list[Publication]) -> None:
        """An error has answered questions: count them, at once here and soon in the store."""
        account.debts.extend(asked)
        self._later(self._pay(account, asked))

    async def _pay(self, account: Account, asked: list[Publication]) -> None:
        async with account.lock:
            await self._write_debts(account, asked)
            account.debts = [one for one in account.debts if one not in asked]

    async def _write_debts(self, account: Account, asked: list[Publication]) -> None:
        for _ in range(ATTEMPTS):
            await account.load()
            after = account.exposure
            for one in asked:
                after = after.learn(one.knowledge(), at=self._clock())
            if after.ensembles is account.exposure.ensembles:
                return
            told = {"rows": 0, "decision": "error", **({} if self._enforces else {"enforced": False})}
            granted = await account.grant(after, told)
            if granted is not None:
                await account.settle(granted)
                return

    def _later(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._debts.add(task)
        task.add_done_callback(self._debts.discard)


def _limited(limit: Limit) -> dict[str, Any]:
    """The limit that held, and what set it."""
    told = {"limit": f"{limit.value:.6g}", "rule": limit.rule}
    return {**told, "application": limit.application[:100]} if limit.application else told
