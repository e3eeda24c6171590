"""Accounts: budgets and reservations as one transaction sees them, in exact amounts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from discreet.errors import IntegrityError, Outdated, UsageError
from discreet.ledger.entry import Charge
from discreet.store.tables.ledger import BUDGET, RESERVATION

LARGEST = 2**62
"""Amounts stay below this many parts, so that no sum of two leaves the 64 bits of a database."""


@dataclass
class BudgetAccount:
    """One budget, in parts."""

    name: str
    parts: int
    allowed: int
    spent: int
    reserved: int
    version: int
    before: tuple[int, int, int] | None = None
    """What was spent, held back and at which version when it was read; None for a new one."""

    @property
    def left(self) -> int:
        """What could still be spent or held back."""
        return self.allowed - self.spent - self.reserved

    def charge(
        self, amount: int, *, held: int = 0, reservation: int | None = None, expires: str | None = None
    ) -> Charge:
        """How an entry describes what it did to this budget."""
        return Charge(
            self.name, self.parts, amount, held, self.allowed, self.spent, self.reserved, reservation, expires
        )


@dataclass
class Reservation:
    """A reservation, and the entry that closed it if there is one."""

    budget: str
    held: int
    expires: str
    closed: int | None


@dataclass
class Accounts:
    """The budgets and reservations that one batch touches."""

    budgets: dict[str, BudgetAccount] = field(default_factory=dict)
    held: dict[int, Reservation] = field(default_factory=dict)
    opened: list[dict[str, Any]] = field(default_factory=list)
    closed: list[dict[str, int]] = field(default_factory=list)

    @classmethod
    def load(cls, connection: Connection, budgets: Iterable[str], reservations: Iterable[int]) -> Accounts:
        """Read what a batch speaks of."""
        accounts = cls()
        if numbers := list(reservations):
            for row in connection.execute(_HELD, {"numbers": numbers}):
                accounts.held[row.sequence] = Reservation(row.budget, row.held, row.expires, row.closed)
        if names := {*budgets, *(held.budget for held in accounts.held.values())}:
            for row in connection.execute(_BUDGETS, {"names": list(names)}):
                accounts.budgets[row.name] = BudgetAccount(
                    **row._mapping, before=(row.spent, row.reserved, row.version)
                )
        return accounts

    def budget(self, name: str, version: int | None = None) -> BudgetAccount:
        """A budget that exists and, if a version is given, has not changed since it was looked at."""
        account = self.budgets.get(name)
        if account is None:
            raise UsageError(f"There is no budget '{name}'.", remedy="Make it first: ledger.set_budget(name, ...).")
        if version is not None and account.version != version:
            raise Outdated(
                f"Budget '{name}' has changed since it was looked at.", remedy="Read it again, and repeat the request."
            )
        return account

    def reservation(self, number: int) -> Reservation:
        """A reservation that exists."""
        if number not in self.held:
            raise UsageError(f"Entry {number} of the ledger reserved nothing.", remedy="Pass the receipt of reserve().")
        return self.held[number]

    def remember(self, budgets: Iterable[str], reservations: Iterable[int]) -> Callable[[], None]:
        """A function that puts these back, if what was to go along with a change has failed."""
        held = {number: replace(self.held[number]) for number in reservations if number in self.held}
        names = {*budgets, *(reservation.budget for reservation in held.values())}
        known = {name: replace(self.budgets[name]) for name in names if name in self.budgets}
        opened, closed = len(self.opened), len(self.closed)

        def restore() -> None:
            for name in names - known.keys():
                self.budgets.pop(name, None)
            self.budgets.update(known)
            self.held.update(held)
            del self.opened[opened:], self.closed[closed:]

        return restore

    def save(self, connection: Connection) -> None:
        """Write the changes. Every UPDATE is conditional; one that finds something else than was read undoes it all."""
        new, changed = [], []
        for account in self.budgets.values():
            if account.before is None:
                new.append({column.name: getattr(account, column.name) for column in BUDGET.columns})
                continue
            spent, reserved, version = account.before
            if version != account.version:
                cost, hold = account.spent - spent, account.reserved - reserved
                change = {"of": account.name, "read": version, "cost": cost, "hold": hold}
                changed.append({**change, "limit": account.allowed, "now": account.version})
        if new:
            connection.execute(insert(BUDGET), new)
        if changed:
            _all_of(connection.execute(_SPEND, changed).rowcount, changed)
        if self.opened:
            connection.execute(insert(RESERVATION), self.opened)
        if self.closed:
            _all_of(connection.execute(_CLOSE, self.closed).rowcount, self.closed)


def _all_of(done: int, wanted: list[Any]) -> None:
    if done != len(wanted):
        raise IntegrityError(
            "A budget is not as it was a moment ago although it was locked.", remedy="Run: discreet ledger verify"
        )


_BUDGETS = select(BUDGET).where(BUDGET.c.name.in_(bindparam("names", expanding=True)))
_HELD = select(RESERVATION).where(RESERVATION.c.sequence.in_(bindparam("numbers", expanding=True)))

_SPEND = (
    update(BUDGET)
    .values(
        allowed=bindparam("limit"),
        spent=BUDGET.c.spent + bindparam("cost"),
        reserved=BUDGET.c.reserved + bindparam("hold"),
        version=bindparam("now"),
    )
    .where(
        BUDGET.c.name == bindparam("of"),
        BUDGET.c.version == bindparam("read"),
        bindparam("limit") - BUDGET.c.spent - BUDGET.c.reserved >= bindparam("cost") + bindparam("hold"),
    )
)
"""The one statement that spends: it changes nothing where less is left than it costs."""

_CLOSE = (
    update(RESERVATION)
    .values(closed=bindparam("by"))
    .where(RESERVATION.c.sequence == bindparam("of"), RESERVATION.c.closed.is_(None))
)


# The state of a budget, in exact amounts.
@dataclass(frozen=True)
class Budget:
    """What is allowed, spent and held back; `version` changes with every change of it."""

    name: str
    limit: Fraction
    spent: Fraction
    reserved: Fraction
    parts: int
    version: int

    @property
    def left(self) -> Fraction:
        """What can still be spent."""
        return self.limit - self.spent - self.reserved

    def to_dict(self) -> dict[str, object]:
        """For JSON; amounts as exact text."""
        amounts = {name: str(getattr(self, name)) for name in ("limit", "spent", "reserved", "left")}
        return {"name": self.name, **amounts, "parts": self.parts, "version": self.version}
