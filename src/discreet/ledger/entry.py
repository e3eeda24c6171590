"""Entries of the ledger, and the events they record."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from discreet.errors import UsageError
from discreet.kernel.serialise import json_of
from discreet.ledger.verifier import canonical, leaf_hash, parse

Detail = str | int | bool | None
LONGEST_TEXT = 500
MOST_DETAILS = 30
MOST_LISTED = 15
"""Details that one list may take."""


@dataclass(frozen=True)
class Charge:
    """What an entry did to a budget, in parts (`parts` to the one), and the budget afterwards."""

    name: str
    parts: int
    amount: int
    """Spent by it, held back by it, or asked for in vain."""
    held: int
    """What had been held back for it and no longer is."""
    allowed: int
    spent: int
    reserved: int
    reservation: int | None = None
    """The entry that held it back."""
    expires: str | None = None
    """Until when it is held back."""

    @property
    def left(self) -> Fraction:
        """What could still be spent afterwards."""
        return Fraction(self.allowed - self.spent - self.reserved, self.parts)


@dataclass(frozen=True)
class Entry:
    """What happened, who did it, what it risked and what it cost. Holds no value from a person's record."""

    sequence: int
    time: str
    clock: str | None
    """What the clock said, where that was before the entry before it."""
    actor: str
    room: str
    event: str
    outcome: str
    subject: str
    risk_before: str | None
    risk_after: str | None
    policy: str | None
    key: str
    budget: Charge | None
    details: Mapping[str, Detail]
    previous: str

    def body(self) -> bytes:
        """The canonical bytes, which are hashed."""
        content = dict(self.__dict__)
        if self.budget is not None:
            content["budget"] = self.budget.__dict__
        return canonical(content)

    @classmethod
    def read(cls, body: str | bytes) -> Entry:
        """An entry from its canonical bytes; a ValueError if they are none."""
        content = parse(body.encode("ascii") if isinstance(body, str) else body)
        try:
            charge = content["budget"]
            return cls(**{**content, "budget": None if charge is None else Charge(**charge)})
        except (KeyError, TypeError):
            raise ValueError("not an entry") from None

    @property
    def leaf(self) -> str:
        """Its hash as a leaf of the tree."""
        return leaf_hash(self.body()).hex()

    to_dict = json_of(budget=lambda self: None if self.budget is None else dict(self.budget.__dict__))

    def __repr__(self) -> str:
        return f"Entry({self.sequence}, {self.event}, {self.outcome})"


COLUMNS = ("sequence", "time", "actor", "room", "event", "outcome", "subject", "key")


def row_of(entry: Entry, body: bytes, leaf: str) -> dict[str, Any]:
    """An entry as a row of the store: its body, and what helps to find it."""
    return {**{name: getattr(entry, name) for name in COLUMNS}, "leaf": leaf, "body": body.decode("ascii")}


def timestamp(moment: datetime) -> str:
    """A moment as entries write it: UTC, to the microsecond.

    >>> timestamp(datetime(2026, 1, 31, 12, 0, tzinfo=UTC))
    '2026-01-31T12:00:00.000000Z'
    """
    if moment.tzinfo is None:
        raise UsageError("The clock gave a time without a zone.", remedy="Pass a clock that gives aware datetimes.")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def text(value: str, what: str, *, empty: bool = False) -> str:
    """A text that an entry may hold: printable, not too long."""
    if not value.isprintable() or len(value) > LONGEST_TEXT or not (value or empty):
        raise UsageError(
            f"The {what} of an entry must be printable text of 1 to {LONGEST_TEXT} characters.",
            remedy="Give a short name or number; for the identity of a value, its keyed hash (ledger.fingerprint).",
        )
    return value


def listing(name: str, items: Sequence[str]) -> dict[str, str]:
    """A list as details, of which one takes a few hundred characters: `name`, `name 2` and so on.

    Where even these do not hold it, the last one says how many items are missing and gives the SHA-256 of the whole.

    >>> listing("columns", ["age (quasi)", "zip (quasi)"])
    {'columns': 'age (quasi), zip (quasi)'}
    """
    shown = ["".join(c if c.isprintable() else "?" for c in item)[: LONGEST_TEXT // 2] for item in items]
    texts: list[str] = []
    for number, item in enumerate(shown):
        if texts and len(texts[-1]) + len(item) + 2 <= LONGEST_TEXT:
            texts[-1] += f", {item}"
        elif len(texts) < MOST_LISTED:
            texts.append(item)
        else:
            whole = hashlib.sha256("\n".join(items).encode()).hexdigest()
            texts.append(f"{len(shown) - number} more; SHA-256 of all, one a line: {whole}")
            break
    return {name if place == 1 else f"{name} {place}": text for place, text in enumerate(texts, start=1)}


def detail(details: Mapping[str, Detail]) -> dict[str, Detail]:
    """Further facts: short names with texts, whole numbers or truth values; never a float."""
    if len(details) > MOST_DETAILS:
        raise UsageError(f"An entry has at most {MOST_DETAILS} details.", remedy="Record a hash of the whole instead.")
    for name, value in details.items():
        text(name, "details")
        if isinstance(value, str):
            text(value, f"detail '{name}'", empty=True)
        elif value is not None and not isinstance(value, int):
            raise UsageError(
                f"The detail '{name}' of an entry is neither text nor a whole number.",
                remedy="Write an exact number as text: discreet.kernel.written(value).",
            )
    return dict(details)


# What can be written down: every event code and every outcome, in one place. Codes never change their meaning.
EVENTS = {
    "ledger.opened": "the ledger was opened; names it, its format and its signing key",
    "ledger.budget": "a budget was made, or its limit was changed",
    "ledger.rotated": "a new key signs the heads from here on; the key before it endorses it",
    "ledger.published": "the signed head was sent to a place outside the store",
    "risk.profiled": "the columns of a table were looked at",
    "risk.assessed": "the risk of publishing a table was measured",
    "attacker.planned": "what an adversary would do to a table was worked out",
    "anonymity.made": "an anonymised table was made; nobody has it yet",
    "anonymity.published": "an anonymised table was handed over",
    "releases.planned": "a release, or further recipients of one, was planned, changed, looked at or withdrawn",
    "releases.sealed": "the sealed manifest of a release was committed to, before delivery",
    "releases.made": "copies of a release were written and lie ready; nobody has them yet",
    "releases.delivered": "a recipient's copy of a release was handed over",
    "releases.retired": "a recipient gets no further copies of a release",
    "releases.sent": "a delivered copy was signed, mostly encrypted, and put where its recipient fetches it",
    "releases.recalled": "a recipient is to delete a copy by a day",
    "releases.deleted": "a recipient proved that a copy was deleted",
    "releases.traced": "a leak or a re-identification was traced",
    "linkage.project": "a linkage project was registered, changed or closed",
    "linkage.assigned": "pairs were given to a reviewer; what is open in them from the start is charged",
    "linkage.withdrawn": "pairs were taken from a reviewer; what was seen stays charged",
    "linkage.consent": "a participant of a study of reviewers consented, or declined",
    "linkage.revealed": "characters of a pair of cells were shown to a reviewer",
    "linkage.exported": "a linked, de-identified table, decisions or a disclosure log were handed over",
    "misuse.asked": "experts were asked how sensitive values are",
    "misuse.weighed": "a version of the sensitivity function was made from experts' answers",
    "misuse.reduced": "a query result that was reduced to a limit was handed over",
    "gateway.started": "a gateway began to watch a database",
    "gateway.answered": "a result set was passed to a database user",
    "gateway.repeated": "results with nothing new for a database user were passed on",
    "gateway.counted": "statistics were counted against the audit and the budget of a database user, before they were computed",
    "gateway.limited": "a limit of a database user, or its withdrawal, was proposed, or the proposal was withdrawn; web.approved puts it in force",
    "web.notified": "people were notified of what waits for them or went wrong",
    "web.shown": "a page or file with risk figures or records was shown",
    "web.approved": "a person approved what another had asked for",
    "web.rejected": "a person rejected what another had asked for",
    "web.account": "an account was made, changed or closed",
    "web.dataset": "a data set was registered, changed or removed",
    "web.policy": "a policy was put in force",
}
"""Meaning by code; a code is its room, a dot and what happened."""

OUTCOMES = {
    "done": "it happened, and what it cost is spent",
    "refused": "it did not happen; the budget or a permission said no",
    "reserved": "it may happen: what it costs is held back until it is settled, released or expires",
    "settled": "what was reserved has happened; what it cost is spent, the rest is free again",
    "released": "what was reserved has not happened; all of it is free again",
    "expired": "nobody said what became of it in time; it counts as having happened, all of it is spent",
}
"""Meaning by outcome."""


def room_of(event: str) -> str:
    """The room of an event.

    >>> room_of("linkage.revealed")
    'linkage'
    """
    if event not in EVENTS:
        raise UsageError("There is no such event code.", remedy=f"Use one of: {', '.join(EVENTS)}.")
    return event.partition(".")[0]
