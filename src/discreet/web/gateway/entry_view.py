"""View of a gateway's ledger entry, and why something was refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlalchemy import Connection

from discreet.ledger import Entry
from discreet.report.toolkit.words import plural
from discreet.store import gateway_limits
from discreet.store.gateway_limits import PARTS

ANSWERED = "gateway.answered"
_AMOUNT = re.compile(r"[0-9]{1,40}(/[0-9]{1,40}|\.[0-9]{1,40})?|[0-9](\.[0-9]{1,20})?e[+-][0-9]{1,3}")
MOST = 9 * 10**17
"""Millionths that every database can keep."""
REDUCING = ("deny", "subset", "mask")


@dataclass(frozen=True)
class Told:
    """One result, refusal or question of a database user."""

    entry: Entry
    database: str
    user: str
    refused: bool
    """It was not given out."""
    answered: bool
    """Something was given out, or an error has answered."""
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
        """What the user was told to refer to."""
        return f"{self.entry.sequence:04X}"

    @property
    def is_refusal(self) -> bool:
        """Was it refused, or would it have been?"""
        return self.refused or self.would

    @property
    def exposure(self) -> int | None:
        """The user's exposure afterwards; None if the entry does not say."""
        return self.before if self.refused else self.after


def told_of(entry: Entry) -> Told | None:
    """What an entry says about a database user; None for entries about something else.

    >>> told_of(Entry(5, "", None, "ann", "linkage", "linkage.revealed", "done", "", None, None, None, "", None, {}, ""))
    """
    database = database_of(entry)
    if entry.event != ANSWERED or database is None or entry.outcome not in ("reserved", "refused", "done"):
        return None
    said = entry.details
    decision, shadow = str(said.get("decision") or ""), said.get("enforced") is False
    answered = entry.outcome == "reserved"
    above = answered and (decision == "alert" or (shadow and decision in REDUCING))
    return Told(
        entry,
        database,
        entry.actor,
        refused=entry.outcome == "refused",
        answered=answered,
        would=shadow and (entry.outcome == "done" or (answered and decision in REDUCING)),
        over=above,
        rows=_whole(said.get("rows")),
        columns=tuple(name for name in str(said.get("columns") or "").split(", ") if name),
        decision=decision,
        reason=str(said.get("reason") or ""),
        before=millionths(entry.risk_before),
        after=millionths(entry.risk_after),
        limit=millionths(said.get("limit")),
        rule=str(said.get("rule") or ""),
        application=str(said.get("application") or ""),
    )


def database_of(entry: Entry) -> str | None:
    """The database that an entry about a user names. Both names may hold any character; the user is who acted."""
    begin, end = "database:", f"/user:{entry.actor}"
    if not (entry.subject.startswith(begin) and entry.subject.endswith(end)):
        return None
    return entry.subject[len(begin) : -len(end)]


def subject_of(database: str, user: str) -> str:
    """What entries about a user are about."""
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


def _whole(value: object) -> int:
    return min(MOST, value) if isinstance(value, int) and value > 0 else 0


def decimal(amount: int) -> str:
    """Millionths as an exact decimal number.

    >>> decimal(2_500_000), decimal(2_000_000), decimal(1)
    ('2.5', '2', '0.000001')
    """
    return f"{amount // PARTS}.{amount % PARTS:06}".rstrip("0").rstrip(".")


# -- in words -------------------------------------------------------------------------------------------------------


def points(amount: int | None) -> str:
    """An exposure as people read it, rounded up, so that nobody seems to be within a limit that is passed.

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
    """What set a limit.

    >>> rule_words("gateway.limits 2"), rule_words("agreed 7"), rule_words("misuse.limit")
    ('rule 2 of [[gateway.limits]] in the policy', 'limit 7, which two people agreed on', 'the limit of [misuse] in the policy')
    """
    kind, _, number = rule.partition(" ")
    if kind == "gateway.limits":
        return f"rule {number} of [[gateway.limits]] in the policy"
    if kind == "agreed":
        return f"limit {number}, which two people agreed on"
    return "the limit of [misuse] in the policy" if kind == "misuse.limit" else "the policy"


def agreed_number(rule: str) -> int | None:
    """The number of the limit that two people agreed on, if it was one."""
    kind, _, number = rule.partition(" ")
    return int(number) if kind == "agreed" and number.isascii() and number.isdigit() else None


DECISIONS = {
    "release": "given out",
    "subset": "some rows given out",
    "mask": "given out, heavy cells emptied",
    "alert": "given out above the limit",
    "deny": "refused",
    "error": "an error answered",
}


def outcome_words(told: Told) -> str:
    """What became of it, in few words."""
    if told.would:
        return "given out; would have been " + ("reduced" if told.decision in ("subset", "mask") else "refused")
    if told.refused:
        return "refused"
    return DECISIONS.get(told.decision, "given out")


def reason_words(told: Told) -> str:
    """Why it was refused, or would have been, in a sentence."""
    if told.reason:
        said = told.reason.removeprefix("Refused: ")
        return said[:1].upper() + said[1:]
    brought = "would have brought" if told.refused else "brought"
    what = plural(told.rows, "row", "rows") if told.rows else "The answer to a question"
    return f"{what} {brought} the exposure from {points(told.before)} to {points(told.after)}; the limit was {limit_words(told.limit)}."


# Why something was refused, in plain words: what was asked for, what it would have brought, which limit, what to do.
@dataclass(frozen=True)
class Explanation:
    """A refusal in words."""

    headline: str
    facts: tuple[tuple[str, str], ...]
    """What is known about it, each with its name."""
    advice: tuple[str, ...]
    """What the user can do."""
    agreed: int | None
    """The limit that two people agreed on, if that was the one."""


def explained(connection: Connection, told: Told) -> Explanation:
    """What to say about a refusal."""
    number = agreed_number(told.rule)
    agreed = gateway_limits.find(connection, number) if number is not None else None
    why = rule_words(told.rule) if agreed is None or not agreed.reason else f"{rule_words(told.rule)}: {agreed.reason}"
    facts = _statement(told) if told.reason else _result(told, why)
    return Explanation(_headline(told), facts, tuple(_advice(told)), number if agreed is not None else None)


def _headline(told: Told) -> str:
    what = "a statement" if told.reason else "a result" if told.rows else "the answer to a question"
    if told.refused:
        return f"{what[0].upper()}{what[1:]} was refused: {_lower(reason_words(told))}"
    become = "reduced" if told.decision in ("subset", "mask") else "refused"
    return f"{what[0].upper()}{what[1:]} would have been {become}, but the gateway was in shadow mode: {_lower(reason_words(told))}"


def _lower(text: str) -> str:
    """A sentence as the rest of another; names that are written large stay."""
    return text if text[:2].isupper() or text[:1].isdigit() else text[:1].lower() + text[1:]


def _statement(told: Told) -> tuple[tuple[str, str], ...]:
    return (
        ("What was asked for", "a statement that was not run; its text is kept nowhere"),
        ("Why", reason_words(told)),
    )


def _result(told: Told, why: str) -> tuple[tuple[str, str], ...]:
    asked = plural(told.rows, "row", "rows") if told.rows else "a question about sensitive columns, without rows"
    columns = ", ".join(f"`{name}`" for name in told.columns)
    grew = "would have been" if told.refused else "became"
    facts = [("What was asked for", f"{asked}{f', with {columns}' if columns else ''}")]
    facts += [("Exposure before", points(told.before)), (f"Exposure {grew}", _at_worst(told))]
    facts += [("Limit", limit_words(told.limit)), ("Set by", why)]
    if told.application:
        facts.append(("Application", f"`{told.application}`"))
    return tuple(facts)


def _at_worst(told: Told) -> str:
    """A refusal tells nothing of the values that were refused."""
    worst = ", if every value were the most sensitive of its column" if told.refused else ""
    return f"{points(told.after)}{worst}"


def _advice(told: Told) -> Sequence[str]:
    if told.reason:
        return ["Ask in another way: results can be read, but not copied, explained or hidden in functions."]
    found = []
    if told.rows > 1:
        found.append("Ask for fewer rows.")
    if not told.rows:
        found.append("Ask for counts of larger groups: a condition on a sensitive column is a question about it.")
    if told.columns:
        found.append(
            f"Leave out {', '.join(f'`{name}`' for name in told.columns)}, or ask for an average with its count."
        )
    found.append("Show the key of the people: the same person seen again counts once.")
    found.append(
        f"Ask a custodian for a higher limit, with the reference {told.reference}; another one has to approve it."
    )
    return found
