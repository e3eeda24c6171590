"""Audit of answers and refusals: messages to users, redacted server errors."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from discreet.errors import StoreError
from discreet.gateway.analysis.disclosure import Publication
from discreet.gateway.enforcement.decide import EnforcementOutcome, ExposureLimit
from discreet.gateway.enforcement.exposure_accounts import Books, ExposureAccount
from discreet.gateway.session.held_rows import HeldResult
from discreet.ledger.operations import Note
from discreet.sql.statement_kinds import Refuse

ATTEMPTS = 50


class Notes:
    """Writes down, some of it a moment later."""

    def __init__(self, books: Books, *, enforces: bool, clock: Callable[[], float]) -> None:
        self._books, self._enforces, self._clock = books, enforces, clock
        self._debts: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Write what is still to be written."""
        while self._debts:
            await asyncio.wait(self._debts)

    def details(
        self, outcome: EnforcementOutcome, publication: Publication, held: HeldResult, limit: ExposureLimit
    ) -> dict[str, Any]:
        """What an entry says about a result: how many rows and columns, never a value."""
        columns = sorted(name for name in publication.weights if not name.startswith("("))
        told: dict[str, Any] = {
            "rows": held.rows,
            "columns": ", ".join(columns)[:400],
            **_limited(limit),
            "sensitivity": self._books.sensitivity.version,
            "decision": outcome.what,
        }
        return told if self._enforces else {**told, "enforced": False}

    async def refuse(
        self, account: ExposureAccount, limit: ExposureLimit, value: float, columns: Sequence[str], *, rows: int
    ) -> Refuse:
        """Write down that a result is refused, and say so."""
        named = ", ".join(dict.fromkeys(columns))[:400]
        details = {"rows": rows, "columns": named, **_limited(limit), "decision": "deny"}
        receipt = await account.refuse(value, details)
        message = message_of(value, limit.value, columns, rows=rows, reference=f"{receipt.sequence:04X}")
        return Refuse(message, hint="" if rows else ASKED)

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
        self._later(self.note_refusal(account, refuse, enforced=False))

    def owe(self, account: ExposureAccount, asked: list[Publication]) -> None:
        """An error has answered questions: count them, at once here and soon in the store."""
        account.debts.extend(asked)
        self._later(self._pay(account, asked))

    async def _pay(self, account: ExposureAccount, asked: list[Publication]) -> None:
        async with account.lock:
            for _ in range(ATTEMPTS):
                await account.load()
                after = account.exposure
                for one in asked:
                    after = after.learn(one.knowledge(), at=self._clock())
                if after.ensembles is account.exposure.ensembles:
                    break
                details = {"rows": 0, "decision": "error", **({} if self._enforces else {"enforced": False})}
                granted = await account.grant(after, details)
                if granted is not None:
                    await account.settle(granted)
                    break
            account.debts = [one for one in account.debts if one not in asked]

    def _later(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._debts.add(task)
        task.add_done_callback(self._debts.discard)


def _limited(limit: ExposureLimit) -> dict[str, Any]:
    """The limit that held, and what set it."""
    told = {"limit": f"{limit.value:.6g}", "rule": limit.rule}
    return {**told, "application": limit.application[:100]} if limit.application else told


# What the gateway says to people.
ASKED = "A condition on a sensitive column is a question about it; ask for counts of larger groups."
CANNOT_WRITE = Refuse(
    "Refused: the gateway cannot write down what it gives out, so it gives out nothing.",
    hint="Try again; if it stays like this, tell the operator of the gateway.",
    sqlstate="58000",
)


def message_of(value: float, limit: float, columns: Sequence[str], *, rows: int, reference: str) -> str:
    """A refusal: what, why, and what to do.

    >>> message_of(2.314, 2.0, ["diagnosis"], rows=7, reference="4F2A")
    'Refused: this result would bring your exposure to 2.32; your limit is 2.00. Ask for fewer rows, drop `diagnosis`, or request a higher limit (reference 4F2A).'
    """
    shown = f"{math.ceil(value * 100) / 100:.2f}"
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(columns) if name and not name.startswith("("))
    advice = [*(["ask for fewer rows"] if rows > 1 else []), *([f"drop {names}"] if names else [])]
    advice.append(f"request a higher limit (reference {reference})")
    *others, last = advice
    words = ", ".join(others) + ("," if len(others) > 1 else "") + " or " * bool(others) + last
    what = "this result" if rows else "the answer to this question"
    return f"Refused: {what} would bring your exposure to {shown}; your limit is {limit:.2f}. {words[0].upper()}{words[1:]}."


def notice_of(outcome: EnforcementOutcome, rows: int) -> str:
    """What was left out."""
    if outcome.rows is not None:
        kept = int(outcome.rows.sum())
        return (
            f"{kept:,} of {len(outcome.rows):,} rows are shown; the others would bring your exposure above your limit."
        )
    emptied = sum(int(mask.sum()) for mask in (outcome.masked or {}).values())
    return f"{emptied:,} values in {rows:,} rows are withheld; they would bring your exposure above your limit."


# Errors and notices of the server as a governed user may see them.
#
# A cast that fails, a constraint that is violated and RAISE print values of rows. What speaks only of the statement itself
# stays as it is, so that people can mend their statements; the rest is said in words of the gateway's own.
KEPT_CLASSES = ("03", "08", "0A", "25", "26", "28", "2D", "34", "3B", "3D", "3F", "40", "42", "53", "55", "57")
"""Classes of errors that speak of the statement, the session or the server."""
NAMING_CLASSES = ("0A", "3D", "3F", "42", "55")
"""Those that name what they speak of, which may be a value: `diagnosis::regclass` fails with the diagnosis in it."""
PLAIN_CODES = (
    "25001",
    "25P01",
    "25P02",
    "42501",
    "42P03",
    "42P04",
    "42P05",
    "42P06",
    "42P07",
    "42701",
    "42710",
    "42723",
)
"""What is said in the same words each time, or only of names that a statement gives or may not use."""
KEPT_FIELDS = ("S", "V", "C", "s", "t", "c", "d", "n", "P")
"""Severity, code, and the names of schema, table, column, type and constraint."""
SAID = {
    "22012": "Something was divided by zero.",
    "22003": "A number is out of range.",
    "22P02": "A value cannot be read as the type that was asked for.",
    "22007": "A value cannot be read as a date or time.",
    "22008": "A date or time is out of range.",
    "23502": "A column that must not be empty would be.",
    "23503": "A foreign key would be violated.",
    "23505": "A value that must be unique would not be.",
    "23514": "A check constraint would be violated.",
    "21000": "A subquery gave more than one row.",
    "0A000": "The server cannot do this.",
    "3F000": "A schema does not exist.",
    "42601": "Something cannot be read.",
    "42704": "Something of this name does not exist.",
    "42883": "No function of this name and these types exists.",
    "42P01": "A relation does not exist.",
}
OTHERWISE = "The statement failed on the data."
HINT = "The gateway withholds the server's words, since they may hold values."


def redacted(fields: Mapping[str, str], notice: bool, *, read: bool = True) -> Mapping[str, str] | None:
    """The same fields if they hold no value; else without what may hold one; None keeps a notice back.

    `read` says whether the session has read governed tables: before that, no error can be about what is in them.
    """
    code = fields.get("C", "")
    if notice:
        # From inside a function, for debugging, or a warning of a library about a value.
        debugging = fields.get("V", fields.get("S", "")) not in ("NOTICE", "WARNING")
        return None if "W" in fields or debugging or (read and code == "01000") else fields
    # Where the server points at a place in the text, it has not come to the data yet.
    early = not read or "P" in fields or code in PLAIN_CODES or not code.startswith(NAMING_CLASSES)
    if early and code.startswith(KEPT_CLASSES) and "W" not in fields and code != "42P17":
        return fields
    kept = {letter: fields[letter] for letter in KEPT_FIELDS if letter in fields}
    return kept | {"M": SAID.get(code, OTHERWISE), "H": HINT}
