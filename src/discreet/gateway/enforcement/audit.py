"""Audit of answers and refusals: entries of the ledger, and what users are told."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from discreet.errors import StoreError
from discreet.gateway.enforcement.exposure_accounts import Books, ExposureAccount
from discreet.gateway.enforcement.exposure_limits import ExposureLimit
from discreet.gateway.protocol.messages import ResultColumn
from discreet.gateway.refusals import Refuse
from discreet.gateway.statistics import AnswersLeft
from discreet.ledger.operations import Note

MANY_DENIALS = "53400"


class Notes:
    """Writes down, some of it a moment later."""

    def __init__(self, books: Books, *, enforces: bool) -> None:
        self._books, self._enforces = books, enforces
        self._debts: set[asyncio.Future[Any]] = set()

    async def close(self) -> None:
        """Write what is still to be written."""
        while self._debts:
            await asyncio.wait(self._debts)

    def details(self, *, rows: int, columns: Sequence[str], limit: ExposureLimit, decision: str) -> dict[str, Any]:
        """What an entry says about a result: how many rows and columns, never a value."""
        told: dict[str, Any] = {
            "rows": rows,
            "columns": ", ".join(sorted(columns))[:400],
            **_limited(limit),
            "sensitivity": self._books.sensitivity.version,
            "decision": decision,
        }
        return told if self._enforces else {**told, "enforced": False}

    async def refuse(
        self,
        account: ExposureAccount,
        limit: ExposureLimit,
        value: float,
        columns: Sequence[str],
        *,
        rows: int,
        inside: bool,
    ) -> Refuse:
        """Write down that a result is refused, and say so."""
        named = ", ".join(dict.fromkeys(columns))[:400]
        details = {"rows": rows, "columns": named, **_limited(limit), "decision": "deny"}
        receipt = await account.refuse(value, details)
        message = message_of(value, limit.value, columns, rows=rows, reference=f"{receipt.sequence:04X}")
        return Refuse(message, hint=INSIDE if inside else STATISTICS)

    async def note_refusal(self, account: ExposureAccount, refuse: Refuse, *, enforced: bool = True) -> Refuse:
        """Write down that a statement was not run, by the reason and not by its text; gives what to say, with a reference."""
        details = {"reason": refuse.message[:400], **({} if enforced else {"enforced": False})}
        try:
            receipt = await self._books.submit(account.user, details=details, step=Note(refused=enforced))
        except StoreError:
            return refuse
        return replace(refuse, hint=f"{refuse.hint} (reference {receipt.sequence:04X})".strip())

    def note_shadow(self, account: ExposureAccount, refuse: Refuse) -> None:
        """Write down that a statement would not have been run."""
        self.keep(asyncio.get_running_loop().create_task(self.note_refusal(account, refuse, enforced=False)))

    def keep(self, task: asyncio.Future[Any]) -> None:
        """Something that must be finished before the gateway ends, whatever comes of it."""
        self._debts.add(task)
        task.add_done_callback(self._settled)

    def _settled(self, task: asyncio.Future[Any]) -> None:
        self._debts.discard(task)
        if not task.cancelled():
            task.exception()


def _limited(limit: ExposureLimit) -> Mapping[str, Any]:
    """The limit that held, and what set it."""
    told = {"limit": f"{limit.value:.6g}", "rule": limit.rule}
    return {**told, "application": limit.application[:100]} if limit.application else told


# What the gateway says to people.
INSIDE = (
    "Rows of a sub-select with a window, UNION, LIMIT or a condition that cannot be joined are a list of people, whatever is "
    "counted of them: put the aggregate into the sub-select."
)
STATISTICS = "Counts and averages by group are not charged to people: SELECT ..., count(*) ... GROUP BY ..."
CANNOT_WRITE = Refuse(
    "Refused: the gateway cannot write down what it gives out, so it gives out nothing.",
    hint="Try again; if it stays like this, tell the operator of the gateway.",
    sqlstate="58000",
)
CANNOT_ASK = Refuse(
    "The gateway could not ask the server, so nothing was given out.",
    hint="Try again; if it stays like this, tell the operator of the gateway.",
    sqlstate="57P03",
)
ABORTED = Refuse("current transaction is aborted, commands ignored until end of transaction block", sqlstate="25P02")
ON_DATA = Refuse("The statement failed on the data.", hint="It counts as answered.", sqlstate="22000")
OWN_WRITES = Refuse(
    "Refused: this transaction has written to a governed table, and the gateway reads what is committed.",
    hint="COMMIT first, then ask.",
    sqlstate="25001",
)
WITHIN = Refuse(
    "Refused: a part of the statement was answered, and the rest is not.",
    hint="The part counts as answered. Ask for it by itself, then for the rest with its values.",
)
SEVERAL = Refuse(
    "Refused: a statement about governed tables stands in a text of several statements.", hint="Send it by itself."
)


LEFT = tuple(ResultColumn(title, 0, 0, 25, -1, -1, 0) for title in ("what", "value"))
"""Columns of SHOW discreet.exposure."""


def left_of(value: float, limit: ExposureLimit, left: Mapping[str, AnswersLeft]) -> list[tuple[str, str]]:
    """What SHOW discreet.exposure says: exposure, limit, and what is left of both and of answers by column."""
    rows = [
        ("exposure", f"{value:.3f}"),
        ("limit", f"{limit.value:.3f}"),
        ("left", f"{max(limit.value - value, 0.0):.3f}"),
    ]
    for column, its in sorted(left.items()):
        rows.append((f"answers left, {column}", str(its.answers)))
        rows.append((f"uncertainty removed, {column}", f"{its.reduction:.3f}"))
    return rows


def not_covered(construct: str, instead: str) -> Refuse:
    """A statement outside of what the gateway understands: the construct, and a form that works."""
    hint = (
        f"{instead[0].upper()}{instead[1:]}."
        if instead
        else "discreet gateway explain shows what a statement would cost."
    )
    return Refuse(f"Refused: the gateway does not answer {construct} about governed tables.", hint=hint)


def message_of(value: float, limit: float, columns: Sequence[str], *, rows: int, reference: str) -> str:
    """A refusal: what, why, and what to do.

    >>> message_of(2.314, 2.0, ["diagnosis"], rows=7, reference="4F2A")
    'Refused: this result could bring your exposure to 2.32; your limit is 2.00. Ask for fewer people, drop `diagnosis`, or request a higher limit (reference 4F2A).'
    """
    shown = f"{math.ceil(value * 100) / 100:.2f}"
    names = ", ".join(f"`{name.rpartition('.')[2]}`" for name in dict.fromkeys(columns))
    advice = [*(["ask for fewer people"] if rows > 1 else []), *([f"drop {names}"] if names else [])]
    advice.append(f"request a higher limit (reference {reference})")
    *others, last = advice
    words = ", ".join(others) + ("," if len(others) > 1 else "") + " or " * bool(others) + last
    return (
        f"Refused: this result could bring your exposure to {shown}; your limit is {limit:.2f}. "
        f"{words[0].upper()}{words[1:]}."
    )
