"""View of a gateway's ledger entries: results, refusals, and why something was refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, Select, select

from discreet.ledger import Entry
from discreet.report.toolkit.words import plural
from discreet.store import gateway_limits
from discreet.store.gateway_limits import PARTS
from discreet.store.tables.gateway import REFUSAL, USER
from discreet.store.tables.ledger import ENTRY
from discreet.web import ledger as ledger_store

ANSWERED = "gateway.answered"
COUNTED, COUNTED_READ = "gateway.counted", 200
"""Entries about statistics; so many of the newest are read for the accounts of a user."""
_AMOUNT = re.compile(r"[0-9]{1,40}(/[0-9]{1,40}|\.[0-9]{1,40})?|[0-9](\.[0-9]{1,20})?e[+-][0-9]{1,3}")
MOST = 9 * 10**17
"""Millionths that every database can keep."""
REDUCING = ("deny", "subset", "mask")
PAGE = 50
LONGEST_REFERENCE = 15
"""Hexadecimal digits of a number that every database can keep."""


@dataclass(frozen=True)
class GatewayResult:
    """One result, refusal or question of a database user."""

    entry: Entry
    database: str
    user: str
    refused: bool
    """It was not given out."""
    answered: bool
    """Something was given out, or an error was the answer."""
    would: bool
    """Shadow mode: it would have been refused or reduced."""
    over: bool
    """It was let through although it is above the limit."""
    rows: int
    columns: tuple[str, ...]
    decision: str
    reason: str
    """Why a statement was not run; empty where a result was above the limit."""
    before: int | None
    after: int | None
    limit: int | None
    """These three in millionths."""
    rule: str
    application: str

    @property
    def reference(self) -> str:
        """The reference in the message to the user."""
        return f"{self.entry.sequence:04X}"

    @property
    def is_refusal(self) -> bool:
        """Was it refused, or would it have been?"""
        return self.refused or self.would

    @property
    def exposure(self) -> int | None:
        """The user's exposure afterwards; None if the entry does not say."""
        return self.before if self.refused else self.after


def result_of(entry: Entry) -> GatewayResult | None:
    """The result that an entry is about; None for entries about something else.

    >>> result_of(Entry(5, "", None, "ann", "linkage", "linkage.revealed", "done", "", None, None, None, "", None, {}, ""))
    """
    database = database_of(entry)
    if entry.event != ANSWERED or database is None or entry.outcome not in ("reserved", "refused", "done"):
        return None
    details, rows = entry.details, entry.details.get("rows")
    decision, shadow = str(details.get("decision") or ""), details.get("enforced") is False
    answered = entry.outcome == "reserved"
    return GatewayResult(
        entry,
        database,
        entry.actor,
        refused=entry.outcome == "refused",
        answered=answered,
        would=shadow and (entry.outcome == "done" or (answered and decision in REDUCING)),
        over=answered and (decision == "alert" or (shadow and decision in REDUCING)),
        rows=min(MOST, rows) if isinstance(rows, int) and rows > 0 else 0,
        columns=tuple(name for name in str(details.get("columns") or "").split(", ") if name),
        decision=decision,
        reason=str(details.get("reason") or ""),
        before=millionths(entry.risk_before),
        after=millionths(entry.risk_after),
        limit=millionths(details.get("limit")),
        rule=str(details.get("rule") or ""),
        application=str(details.get("application") or ""),
    )


def database_of(entry: Entry) -> str | None:
    """The database of an entry about a user; both names may contain any character."""
    begin, end = "database:", f"/user:{entry.actor}"
    if not (entry.subject.startswith(begin) and entry.subject.endswith(end)):
        return None
    return entry.subject[len(begin) : -len(end)]


def subject_of(database: str, user: str) -> str:
    """The subject of entries about a user."""
    return f"database:{database}/user:{user}"


def millionths(written: object) -> int | None:
    """An amount as entries write it.

    >>> millionths("2.5"), millionths("1/4"), millionths(None), millionths("1e+300") == MOST
    (2500000, 250000, None, True)
    """
    if not isinstance(written, str) or not _AMOUNT.fullmatch(written):
        return None
    if "e" in written:
        number = float(written)
        return MOST if number * PARTS >= MOST else round(Fraction(number) * PARTS)
    whole, _, parts = written.partition("/")
    return min(MOST, round(Fraction(whole) / int(parts or 1) * PARTS)) if int(parts or 1) else None


def decimal(amount: int) -> str:
    """Millionths as an exact decimal number.

    >>> decimal(2_500_000), decimal(2_000_000), decimal(1)
    ('2.5', '2', '0.000001')
    """
    return f"{amount // PARTS}.{amount % PARTS:06}".rstrip("0").rstrip(".")


# -- refusals and history ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RefusalPage:
    """Refusals with the numbers of their users; `older` is what to ask for next."""

    refusals: tuple[tuple[GatewayResult, int], ...]
    older: int | None


def refusals(
    connection: Connection, *, user: int | None = None, database: str = "", before: int | None = None, most: int = PAGE
) -> RefusalPage:
    """The newest refusals, or the newest with a smaller number than `before`."""
    wanted: Select[Any] = (
        select(REFUSAL.c.sequence, REFUSAL.c.user, ENTRY.c.body)
        .join(ENTRY, ENTRY.c.sequence == REFUSAL.c.sequence)
        .order_by(REFUSAL.c.sequence.desc())
        .limit(most + 1)
    )
    if user is not None:
        wanted = wanted.where(REFUSAL.c.user == user)
    if database:
        wanted = wanted.join(USER, USER.c.id == REFUSAL.c.user).where(USER.c.database == database)
    if before is not None:
        wanted = wanted.where(REFUSAL.c.sequence < before)
    rows = connection.execute(wanted).all()
    read = [(result_of(ledger_store.entry_of(row.sequence, row.body)), row.user) for row in rows[:most]]
    older = rows[most - 1].sequence if len(rows) > most else None
    return RefusalPage(tuple((result, number) for result, number in read if result is not None), older)


def number_of(reference: str) -> int | None:
    """Number of the entry that a reference names; None if it is none.

    >>> number_of(" 4f2a "), number_of("0x12"), number_of("")
    (20266, None, None)
    """
    text = reference.strip().upper()
    if not text or len(text) > LONGEST_REFERENCE or any(letter not in "0123456789ABCDEF" for letter in text):
        return None
    return int(text, 16)


def history(connection: Connection, subject: str, *, most: int) -> Sequence[GatewayResult]:
    """Results and refusals of one user, newest first, from the newest so many entries."""
    about = (ENTRY.c.subject == subject, ENTRY.c.event == ANSWERED)
    outcomes = ENTRY.c.outcome.in_(("reserved", "refused", "done", "released"))
    wanted = (
        select(ENTRY.c.sequence, ENTRY.c.body).where(*about, outcomes).order_by(ENTRY.c.sequence.desc()).limit(most)
    )
    read = [ledger_store.entry_of(row.sequence, row.body) for row in connection.execute(wanted)]
    # A reservation that was released reached nobody, so it is no result.
    released = {entry.budget.reservation for entry in read if entry.outcome == "released" and entry.budget is not None}
    results = [result_of(entry) for entry in read if entry.sequence not in released]
    return [result for result in results if result is not None]


def accounts(connection: Connection, subject: str) -> list[str]:
    """Accounts of statistics that one user has used, by the entries about them: their own, and projects'."""
    about = (ENTRY.c.subject == subject, ENTRY.c.event == COUNTED)
    newest = select(ENTRY.c.sequence, ENTRY.c.body).where(*about).order_by(ENTRY.c.sequence.desc()).limit(COUNTED_READ)
    read = (ledger_store.entry_of(row.sequence, row.body) for row in connection.execute(newest))
    return sorted({str(entry.details.get("account")) for entry in read})


# -- in words ---------------------------------------------------------------------------------------------------------


def points(amount: int | None) -> str:
    """An exposure for people, rounded up: a limit that is exceeded never seems observed.

    >>> points(2_310_001), points(2_000_000), points(None)
    ('2.32', '2.00', 'unknown')
    """
    return "unknown" if amount is None else f"{-(-amount // (PARTS // 100)) / 100:,.2f}"


def limit_words(amount: int | None) -> str:
    """A limit, rounded down.

    >>> limit_words(2_319_999)
    '2.31'
    """
    return "unknown" if amount is None else f"{amount // (PARTS // 100) / 100:,.2f}"


def rule_words(rule: str) -> str:
    """The rule that set a limit.

    >>> rule_words("gateway.limits 2"), rule_words("agreed 7"), rule_words("misuse.limit")
    ('rule 2 of [[gateway.limits]] in the policy', 'limit 7, approved by two people', 'the limit of [misuse] in the policy')
    """
    kind, _, number = rule.partition(" ")
    if kind == "gateway.limits":
        return f"rule {number} of [[gateway.limits]] in the policy"
    if kind == "agreed":
        return f"limit {number}, approved by two people"
    return "the limit of [misuse] in the policy" if kind == "misuse.limit" else "the policy"


def agreed_number(rule: str) -> int | None:
    """The number of the limit that two people approved, if it was one."""
    kind, _, number = rule.partition(" ")
    return int(number) if kind == "agreed" and number.isascii() and number.isdigit() else None


DECISIONS = {
    "release": "given out",
    "subset": "some rows given out",
    "mask": "given out, most sensitive cells emptied",
    "alert": "given out above the limit",
    "deny": "refused",
    "error": "answered with an error",
}


def outcome_words(result: GatewayResult) -> str:
    """The outcome in few words."""
    if result.would:
        return f"given out; would have been {_shadowed(result)}"
    return "refused" if result.refused else DECISIONS.get(result.decision, "given out")


def _shadowed(result: GatewayResult) -> str:
    """What would have happened to a result outside shadow mode."""
    return "reduced" if result.decision in ("subset", "mask") else "refused"


def reason_words(result: GatewayResult) -> str:
    """Why it was refused, or would have been, in a sentence."""
    if result.reason:
        said = result.reason.removeprefix("Refused: ")
        return said[:1].upper() + said[1:]
    raised = "would have raised" if result.refused else "raised"
    what = plural(result.rows, "row", "rows") if result.rows else "The answer to a question"
    growth = f"{raised} the exposure from {points(result.before)} to {points(result.after)}"
    return f"{what} {growth}; the limit was {limit_words(result.limit)}."


@dataclass(frozen=True)
class RefusalExplanation:
    """A refusal in plain words: request, disclosure, limit, and what to do."""

    headline: str
    facts: tuple[tuple[str, str], ...]
    """What is known about it, each with its name."""
    advice: tuple[str, ...]
    """What the user can do."""
    agreed: int | None
    """The limit that two people approved, if that was the one."""


def explained(connection: Connection, result: GatewayResult) -> RefusalExplanation:
    """The explanation of a refusal."""
    number = agreed_number(result.rule)
    limit = gateway_limits.find(connection, number) if number is not None else None
    agreed = None if limit is None else limit.id
    what = "A statement" if result.reason else "A result" if result.rows else "The answer to a question"
    why = reason_words(result)
    if not (why[:2].isupper() or why[:1].isdigit()):  # names in capitals stay as they are
        why = why[:1].lower() + why[1:]
    headline = f"{what} was refused: {why}"
    if not result.refused:
        headline = f"{what} would have been {_shadowed(result)}, but the gateway was in shadow mode: {why}"
    if result.reason:
        facts = [("What was asked for", "a statement that was not run; its text is not stored")]
        facts += [("Why", reason_words(result))]
        advice = ["Rewrite the query: results can be read, but not copied, explained or hidden in functions."]
        return RefusalExplanation(headline, tuple(facts), tuple(advice), agreed)

    rule = rule_words(result.rule)
    asked = plural(result.rows, "row", "rows") if result.rows else "a question about sensitive columns, without rows"
    columns = ", ".join(f"`{name}`" for name in result.columns)
    grew = "would have been" if result.refused else "became"
    # A refusal discloses nothing of the values that were refused, so the worst case is shown.
    worst = ", if every value were the most sensitive of its column" if result.refused else ""
    facts = [("What was asked for", f"{asked}{f', with {columns}' if columns else ''}")]
    facts += [("Exposure before", points(result.before)), (f"Exposure {grew}", f"{points(result.after)}{worst}")]
    facts += [("Limit", limit_words(result.limit))]
    facts += [("Set by", rule if limit is None or not limit.reason else f"{rule}: {limit.reason}")]
    if result.application:
        facts.append(("Application", f"`{result.application}`"))

    advice = ["Ask for fewer rows."] if result.rows > 1 else []
    if not result.rows:
        advice.append("Ask for counts of larger groups: a condition on a sensitive column is a question about it.")
    if columns:
        advice.append(f"Leave out {columns}, or ask for an average with its count.")
    advice.append("Include the key of the people: a person who is seen again counts once.")
    advice.append(
        f"Ask a custodian for a higher limit, with the reference {result.reference}; a second custodian must approve it."
    )
    return RefusalExplanation(headline, tuple(facts), tuple(advice), agreed)
