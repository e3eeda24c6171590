"""Requests to the ledger, and the operations on budgets they carry."""

from __future__ import annotations

import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from typing import ClassVar

from sqlalchemy import Connection

from discreet.errors import BudgetExhausted, KeyReused, Outdated, Refused, UsageError
from discreet.kernel import Amount, parts_down, parts_up, written
from discreet.ledger.accounts import LARGEST, Accounts, BudgetAccount
from discreet.ledger.entry import Charge, Detail, Entry, detail, room_of, text, timestamp

POLICY_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Decision:
    """How a request ends."""

    outcome: str
    charge: Charge | None = None


@dataclass(frozen=True)
class Operation(ABC):
    """Decides on a request, on accounts that nobody else can change meanwhile."""

    def budgets(self) -> Iterable[str]:
        """The budgets it needs."""
        return ()

    def reservations(self) -> Iterable[int]:
        """The reservations it needs."""
        return ()

    @abstractmethod
    def decide(self, accounts: Accounts, *, number: int, now: str) -> Decision:
        """Change the accounts, or refuse; `number` is that of the entry it will get."""

    @abstractmethod
    def is_that_of(self, entry: Entry) -> bool:
        """Did the same request lead to this entry?"""


@dataclass(frozen=True)
class Note(Operation):
    """Writes down, no more."""

    refused: bool = False

    def decide(self, accounts: Accounts, *, number: int, now: str) -> Decision:
        """As the room decided."""
        return Decision("refused" if self.refused else "done")

    def is_that_of(self, entry: Entry) -> bool:
        """Without a budget, and with the same outcome."""
        return entry.budget is None and entry.outcome == ("refused" if self.refused else "done")


@dataclass(frozen=True)
class Spend(Operation):
    """Spends a cost, or what is missing up to a total."""

    budget: str
    cost: Fraction | None
    total: Fraction | None = None
    version: int | None = None
    granted: ClassVar[str] = "done"

    def budgets(self) -> Iterable[str]:
        """The one it spends."""
        return (self.budget,)

    def decide(self, accounts: Accounts, *, number: int, now: str) -> Decision:
        """Spend if enough is left."""
        account = accounts.budget(self.budget, self.version)
        if self.total is None:
            amount = parts_up(self.cost or 0, account.parts)
        else:
            amount = max(0, parts_up(self.total, account.parts) - account.spent - account.reserved)
        if account.left < amount:
            return Decision("refused", account.charge(amount))
        account.version += 1
        return self._take(accounts, account, amount, number, now)

    def _take(self, accounts: Accounts, account: BudgetAccount, amount: int, number: int, now: str) -> Decision:
        account.spent += amount
        return Decision(self.granted, account.charge(amount))

    def is_that_of(self, entry: Entry) -> bool:
        """From the same budget, the same cost; what is missing up to a total may have changed since."""
        charge = entry.budget
        if charge is None or charge.name != self.budget or charge.reservation is not None:
            return False
        same = self.total is not None or charge.amount == parts_up(self.cost or 0, charge.parts)
        return same and entry.outcome in (self.granted, "refused")


@dataclass(frozen=True)
class Hold(Spend):
    """Holds back a cost for some seconds."""

    seconds: int = 300
    granted: ClassVar[str] = "reserved"

    def _take(self, accounts: Accounts, account: BudgetAccount, amount: int, number: int, now: str) -> Decision:
        account.reserved += amount
        expires = timestamp(datetime.fromisoformat(now) + timedelta(seconds=self.seconds))
        accounts.opened.append(
            {"sequence": number, "budget": self.budget, "held": amount, "expires": expires, "closed": None}
        )
        return Decision(self.granted, account.charge(amount, expires=expires))


@dataclass(frozen=True)
class Close(Operation):
    """Settles, releases or expires a reservation, once."""

    reservation: int
    outcome: str
    cost: Fraction | None = None

    def reservations(self) -> Iterable[int]:
        """The one it closes."""
        return (self.reservation,)

    def decide(self, accounts: Accounts, *, number: int, now: str) -> Decision:
        """Free what was held back, and spend what was used of it."""
        held = accounts.reservation(self.reservation)
        if held.closed is not None:
            raise Outdated(
                f"Entry {held.closed} closed reservation {self.reservation} already.", remedy="See that entry."
            )
        if self.outcome == "expired" and now < held.expires:
            raise Outdated(f"Reservation {self.reservation} has not expired yet.", remedy="Settle or release it.")
        account = accounts.budget(held.budget)
        used = held.held if self.cost is None else parts_up(self.cost, account.parts)
        amount = 0 if self.outcome == "released" else used
        if amount > held.held:
            raise BudgetExhausted(
                f"Reservation {self.reservation} holds less than that.", remedy="Reserve what it may cost at most."
            )
        account.reserved -= held.held
        account.spent += amount
        account.version += 1
        held.closed = number
        accounts.closed.append({"of": self.reservation, "by": number})
        return Decision(self.outcome, account.charge(amount, held=held.held, reservation=self.reservation))

    def is_that_of(self, entry: Entry) -> bool:
        """Of the same reservation, with the same outcome and cost."""
        charge = entry.budget
        if charge is None or charge.reservation != self.reservation or entry.outcome != self.outcome:
            return False
        return self.cost is None or charge.amount == parts_up(self.cost, charge.parts)


@dataclass(frozen=True)
class Limit(Operation):
    """Makes a budget, or changes how much of it is allowed."""

    budget: str
    limit: Fraction
    parts: int | None

    def budgets(self) -> Iterable[str]:
        """The one it sets."""
        return (self.budget,)

    def decide(self, accounts: Accounts, *, number: int, now: str) -> Decision:
        """Set the limit, unless more is used already."""
        account = accounts.budgets.get(self.budget) or BudgetAccount(self.budget, self.parts or 1, 0, 0, 0, 0)
        if self.parts not in (None, account.parts):
            raise UsageError(
                f"Budget '{self.budget}' counts {account.parts} parts to the one.", remedy="Make another one."
            )
        allowed = parts_down(self.limit, account.parts)
        if allowed >= LARGEST:
            raise UsageError("A limit has too many parts for a database.", remedy="Count in fewer parts to the one.")
        if allowed < account.spent + account.reserved:
            used = Fraction(account.spent + account.reserved, account.parts)
            raise UsageError(
                f"{used} of budget '{self.budget}' is used already; the limit cannot be less.",
                remedy=f"Set it to {used}.",
            )
        account.allowed = allowed
        account.version += 1
        accounts.budgets[self.budget] = account
        return Decision("done", account.charge(0))

    def is_that_of(self, entry: Entry) -> bool:
        """The same limit of the same budget."""
        charge = entry.budget
        if charge is None or charge.name != self.budget or self.parts not in (None, charge.parts):
            return False
        return charge.allowed == parts_down(self.limit, charge.parts)


# Request to the ledger, and the receipt that answers it.
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
    """Further changes to the store, made with the entry or not at all."""

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
        """A request that holds nothing but what an entry may hold."""
        room_of(event)
        if policy is not None and not POLICY_HASH.fullmatch(policy):
            raise UsageError("The policy of an entry is the SHA-256 of it in hex.", remedy="Pass policy.digest.")
        return cls(
            actor=text(actor, "actor"),
            event=event,
            key=text(key, "key") if key is not None else secrets.token_hex(16),
            subject=text(subject, "subject", empty=True),
            risk_before=None if risk_before is None else written(risk_before),
            risk_after=None if risk_after is None else written(risk_after),
            policy=policy,
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


# The proof, for the room that wants to disclose, that its entry is on the disk.
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
