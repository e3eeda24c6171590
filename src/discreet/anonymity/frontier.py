"""What more protection costs: the least loss for each k, or for each limit of risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from discreet.anonymity.anonymise import anonymise
from discreet.errors import UsageError
from discreet.kernel import Classes, Countable

KS = (2, 3, 5, 10, 20, 50, 100)


@dataclass(frozen=True)
class Point:
    """One trade-off."""

    k: int
    loss: float
    suppressed: int
    classes: int
    average_risk: float
    """What the prosecutor achieves on average against the published table."""
    highest_risk: float
    levels: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "levels": dict(self.levels)}


def frontier(table: Countable | Classes, *, ks: Sequence[int] = KS, **options: Any) -> tuple[Point, ...]:
    """The optimum for each k; a k that cannot be reached is left out."""
    points = []
    for k in ks:
        try:
            found = anonymise(table, k=k, **options)
        except UsageError:
            continue
        people = found.published.records
        risk = len(found.published) / people if people else 0.0
        highest = 1 / int(found.published.sizes.min()) if people else 0.0
        points.append(Point(k, found.loss, found.suppressed, found.classes, risk, highest, found.levels))
    return tuple(points)
