"""What a re-identification costs the publisher: the same for everybody, or what a column says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.attacker.checks import amount
from discreet.errors import DataError, UsageError
from discreet.kernel import Classes
from discreet.kernel.arrays import Floats, Label, total
from discreet.kernel.classes import Spread


@dataclass(frozen=True, eq=False)
class Losses:
    """The loss per person, by class of people who look alike."""

    mean: Floats
    highest: Floats
    column: str | None = None
    """Where it was read; None if it is the same for everybody."""

    @classmethod
    def of(cls, loss: float | str, sample: Classes) -> Losses:
        """From a number, or the name of a column that was counted along."""
        if isinstance(loss, str):
            return cls._from_column(sample, loss)
        each = amount(loss, "The loss per record", remedy="Give 0 or more, or the name of a column.")
        return cls(np.full(len(sample), each), np.full(len(sample), each))

    @classmethod
    def _from_column(cls, sample: Classes, name: str) -> Losses:
        if name not in sample.spreads:
            raise UsageError(
                f"The losses in column '{name}' were not counted with these classes.",
                remedy="Give a table, or classes counted with that column: table.classes(sensitive=[...]).",
            )
        spread = sample.spreads[name]
        amounts = _amounts(spread)[spread.codes]
        sums = np.bincount(spread.owners, weights=amounts * spread.counts, minlength=len(sample))
        highest = np.zeros(len(sample))
        np.maximum.at(highest, spread.owners, amounts)
        return cls(sums / np.maximum(total(spread.owners, spread.counts, len(sample)), 1), highest, name)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"column": self.column, "highest": float(self.highest.max(initial=0.0))}


def _amounts(spread: Spread) -> Floats:
    amounts = [_amount(value) for value in spread.values]
    people = sum(int(count) for amount, count in zip(amounts, spread.overall, strict=True) if amount is None)
    if people:
        raise DataError(
            f"Column '{spread.name}' should hold what a re-identification costs, but for {people:,} people it holds no number from 0 up.",
            remedy="Fill or correct these cells, or give one loss for everybody.",
        )
    return np.array(amounts, dtype=np.float64)


def _amount(value: Label) -> float | None:
    try:
        amount = float(str(value))
    except ValueError:
        return None
    return amount if math.isfinite(amount) and amount >= 0 else None
