"""What the entries make of budgets and reservations, from the first to the last: every step must follow from the one before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from discreet.ledger.entry import Charge, Entry

Held = tuple[str, int, str | None, int | None]
"""Of which budget, how much, until when, and which entry closed it."""


@dataclass
class Replay:
    """Budgets with the number of their changes, and reservations, as they follow from the entries."""

    budgets: dict[str, tuple[Charge, int]] = field(default_factory=dict)
    reservations: dict[int, Held] = field(default_factory=dict)

    def take(self, entry: Entry) -> Iterator[str]:
        """Go on by one entry; says what does not follow."""
        charge = entry.budget
        if charge is None:
            return
        before, version = self.budgets.get(charge.name, (None, 0))
        expected = _limit(before, charge) if entry.event == "ledger.budget" else self._moved(before, entry, charge)
        if expected is None:
            yield f"speaks of a budget or reservation that is not there ('{charge.name}')."
            return
        if (expected.parts, expected.allowed, expected.spent, expected.reserved) != (
            charge.parts,
            charge.allowed,
            charge.spent,
            charge.reserved,
        ):
            yield f"leaves budget '{charge.name}' otherwise than it should."
        if charge.spent + charge.reserved > charge.allowed or min(charge.amount, charge.held) < 0:
            yield f"leaves budget '{charge.name}' beyond its limit."
        self.budgets[charge.name] = (charge, version + (entry.outcome != "refused"))

    def _moved(self, before: Charge | None, entry: Entry, charge: Charge) -> Charge | None:
        if before is None:
            return None
        match entry.outcome:
            case "refused":
                return before
            case "done":
                return replace(before, spent=before.spent + charge.amount)
            case "reserved":
                self.reservations[entry.sequence] = (charge.name, charge.amount, charge.expires, None)
                return replace(before, reserved=before.reserved + charge.amount)
            case _:
                return self._closed(before, entry, charge)

    def _closed(self, before: Charge, entry: Entry, charge: Charge) -> Charge | None:
        number = -1 if charge.reservation is None else charge.reservation
        name, held, expires, closed = self.reservations.get(number, ("", -1, None, None))
        if (name, held, closed) != (charge.name, charge.held, None) or charge.amount > held:
            return None
        self.reservations[number] = (name, held, expires, entry.sequence)
        return replace(before, spent=before.spent + charge.amount, reserved=before.reserved - charge.held)


def _limit(before: Charge | None, charge: Charge) -> Charge:
    if before is None:
        return replace(charge, spent=0, reserved=0)
    return replace(before, allowed=charge.allowed)
