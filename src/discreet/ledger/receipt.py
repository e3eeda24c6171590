"""The proof, handed to whoever wants to disclose, that its entry is on the disk."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import BudgetExhausted, Refused
from discreet.ledger.entry import Entry

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
