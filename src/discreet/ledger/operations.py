"""Operations of a request on a budget: none, spend, reserve, settle, set a limit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Protocol

from discreet.errors import BudgetExhausted, Outdated, UsageError
from discreet.kernel import parts_down, parts_up
from discreet.ledger.accounts import LARGEST, Accounts, BudgetAccount
from discreet.ledger.entry import Charge, Entry, timestamp


@dataclass(frozen=True)
class Decision:
    """How a request ends."""

    outcome: str
    charge: Charge | None = None


class Operation(Protocol):
    """Decides on a request, on accounts that nobody else can change meanwhile."""

    def budgets(self) -> Iterable[str]:
        """The budgets it needs."""

    def reservations(self) -> Iterable[int]:
        """The reservations it needs."""

    def decide(self, accounts: Accounts, *, number: int, now: str) -> Decision:
        """Change the accounts, or refuse; `number` is that of the entry it will get."""

    def is_that_of(self, entry: Entry) -> bool:
        """Did the same request lead to this entry?"""


@dataclass(frozen=True)
class Note:
    """Writes down, no more."""

    refused: bool = False

    def budgets(self) -> Iterable[str]:
        """None."""
        return ()

    def reservations(self) -> Iterable[int]:
        """None."""
        return ()

    def decide(self, accounts: Accounts, *, number: int, now: str) -> Decision:
        """As the room decided."""
        return Decision("refused" if self.refused else "done")

    def is_that_of(self, entry: Entry) -> bool:
        """Without a budget, and with the same outcome."""
        return entry.budget is None and entry.outcome == ("refused" if self.refused else "done")


@dataclass(frozen=True)
class Spend:
    """Spends a cost, or whatever is missing up to a total."""

    budget: str
    cost: Fraction | None
    total: Fraction | None = None
    version: int | None = None

    def budgets(self) -> Iterable[str]:
        """The one it spends."""
        return (self.budget,)

    def reservations(self) -> Iterable[int]:
        """None."""
        return ()

    def decide(self, accounts: Accounts, *, number: int, now: str) -> Decision:
        """Spend if enough is left."""
        account = accounts.budget(self.budget, self.version)
        amount = self._price(account)
        if account.left < amount:
            return Decision("refused", account.charge(amount))
        return self._take(accounts, account, amount, number, now)

    def _price(self, account: BudgetAccount) -> int:
        if self.total is None:
            return parts_up(self.cost or 0, account.parts)
        return max(0, parts_up(self.total, account.parts) - account.spent - account.reserved)

    def _take(self, accounts: Accounts, account: BudgetAccount, amount: int, number: int, now: str) -> Decision:
        account.spent += amount
        account.version += 1
        return Decision("done", account.charge(amount))

    def is_that_of(self, entry: Entry) -> bool:
        """From the same budget, the same cost; what is missing up to a total may have changed since."""
        charge = entry.budget
        if charge is None or charge.name != self.budget or charge.reservation is not None:
            return False
        same = self.total is not None or charge.amount == parts_up(self.cost or 0, charge.parts)
        return same and entry.outcome in (self._granted(), "refused")

    def _granted(self) -> str:
        return "done"


@dataclass(frozen=True)
class Hold(Spend):
    """Holds back a cost for some seconds."""

    seconds: int = 300

    def _take(self, accounts: Accounts, account: BudgetAccount, amount: int, number: int, now: str) -> Decision:
        account.reserved += amount
        account.version += 1
        expires = timestamp(datetime.fromisoformat(now) + timedelta(seconds=self.seconds))
        accounts.opened.append(
            {"sequence": number, "budget": self.budget, "held": amount, "expires": expires, "closed": None}
        )
        return Decision("reserved", account.charge(amount, expires=expires))

    def _granted(self) -> str:
        return "reserved"


@dataclass(frozen=True)
class Close:
    """Settles, releases or expires a reservation, once."""

    reservation: int
    outcome: str
    cost: Fraction | None = None

    def budgets(self) -> Iterable[str]:
        """That of the reservation, which comes with it."""
        return ()

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
        if self.outcome == "released":
            amount = 0
        else:
            used = held.held if self.cost is None else parts_up(self.cost, account.parts)
            if used > held.held:
                raise BudgetExhausted(
                    f"Reservation {self.reservation} holds less than that.", remedy="Reserve what it may cost at most."
                )
            amount = used
        account.reserved -= held.held
        account.spent += amount
        account.version += 1
        held.closed = number
        accounts.closed.append({"of": self.reservation, "by": number})
        charge = account.charge(amount, held=held.held, reservation=self.reservation)
        return Decision(self.outcome, charge)

    def is_that_of(self, entry: Entry) -> bool:
        """Of the same reservation, with the same outcome and cost."""
        charge = entry.budget
        if charge is None or charge.reservation != self.reservation or entry.outcome != self.outcome:
            return False
        return self.cost is None or charge.amount == parts_up(self.cost, charge.parts)


@dataclass(frozen=True)
class Limit:
    """Makes a budget, or changes how much of it is allowed."""

    budget: str
    limit: Fraction
    parts: int | None

    def budgets(self) -> Iterable[str]:
        """The one it sets."""
        return (self.budget,)

    def reservations(self) -> Iterable[int]:
        """None."""
        return ()

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
