"""Request to the ledger, and the receipt that answers it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from sqlalchemy import Connection

from discreet.errors import BudgetExhausted, KeyReused, Outdated, Refused
from discreet.kernel import Amount, written
from discreet.ledger.entry import Detail, Entry, detail, policy_hash, text
from discreet.ledger.events import room_of
from discreet.ledger.operations import Close, Note, Operation


@dataclass(frozen=True)
class Request:
    """Something to be decided on and written down. Made with `Request.of`, which refuses what an entry may not hold."""

    actor: str
    event: str
    key: str
    subject: str
    risk_before: str | None
    risk_after: str | None
    policy: str | None
    details: Mapping[str, Detail]
    step: Operation
    along: Callable[[Connection], object] | None = field(default=None, repr=False)
    """Further changes to the store that stand or fall with the entry."""

    @property
    def room(self) -> str:
        """The room of its event."""
        return room_of(self.event)

    @classmethod
    def of(
        cls,
        *,
        actor: str,
        event: str,
        key: str | None = None,
        subject: str = "",
        risk_before: Amount | None = None,
        risk_after: Amount | None = None,
        policy: str | None = None,
        details: Mapping[str, Detail] | None = None,
        step: Operation | None = None,
        along: Callable[[Connection], object] | None = None,
    ) -> Request:
        """A request in which everything may stand in an entry."""
        room_of(event)
        return cls(
            actor=text(actor, "actor"),
            event=event,
            key=text(key, "key") if key is not None else secrets.token_hex(16),
            subject=text(subject, "subject", empty=True),
            risk_before=None if risk_before is None else written(risk_before),
            risk_after=None if risk_after is None else written(risk_after),
            policy=policy_hash(policy),
            details=detail(details or {}),
            step=step if step is not None else Note(),
            along=along,
        )

    def recognise(self, entry: Entry) -> Entry:
        """The entry that this very request led to; an error if its key was used for another one."""
        if (self.event, self.subject) == (entry.event, entry.subject) and self.step.is_that_of(entry):
            return entry
        if isinstance(self.step, Close):
            raise Outdated(f"Entry {entry.sequence} closed that reservation otherwise.", remedy="See that entry.")
        raise KeyReused(
            f"The idempotency key belongs to another request (entry {entry.sequence}).",
            remedy="Make a new key for every request; use it again only to repeat that request.",
        )


# The proof, handed to whoever wants to disclose, that its entry is on the disk.
DENIED = ("refused", "released")


@dataclass(frozen=True)
class Receipt:
    """What became of a request. It exists only once its entry is durable; a room sends only with one that grants."""

    entry: Entry
    leaf: str
    """The hash of the entry, to find it in the tree."""
    replayed: bool = False
    """Was the key known already, so that this is the first outcome again?"""

    @property
    def granted(self) -> bool:
        """May what was asked for be disclosed?"""
        return self.entry.outcome not in DENIED

    @property
    def sequence(self) -> int:
        """The number of the entry."""
        return self.entry.sequence

    @property
    def amount(self) -> Fraction:
        """What it cost, or would have cost."""
        charge = self.entry.budget
        return Fraction(0) if charge is None else Fraction(charge.amount, charge.parts)

    @property
    def left(self) -> Fraction | None:
        """What the budget had left just after it; None where there is no budget."""
        return None if self.entry.budget is None else self.entry.budget.left

    def require(self) -> Receipt:
        """This receipt if it grants; else the refusal as an error."""
        if self.granted:
            return self
        if self.entry.budget is None or self.entry.outcome != "refused":
            raise Refused(
                f"Refused; entry {self.sequence} of the ledger says so.", remedy="Ask the custodian, with that number."
            )
        raise BudgetExhausted(
            f"Budget '{self.entry.budget.name}' has {self.left} left; this costs {self.amount}.",
            remedy=f"Ask for less, or ask the custodian for more (entry {self.sequence} of the ledger).",
        )

    def __repr__(self) -> str:
        return f"Receipt({self.entry.event}, {self.entry.outcome}, entry {self.sequence})"
