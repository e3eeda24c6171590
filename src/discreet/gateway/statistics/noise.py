"""Sticky noise: the same quantity of the same people gets the same noise, however the question is spelt.

After the cell-key method of statistical offices, with its equality oracle removed: the seed names the people about whom
the answer may tell something and not those who are left after a sensitive condition, so that an unchanged answer does not
say that a condition removed nobody. It holds a hash of their sensitive values too: if one of them changes, all noise does,
and the difference of two answers is no one's value. A seed also holds the deviation, so no noise occurs at two scales.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

from discreet.gateway.statistics.quantities import Moment, NoisedCell, StatisticCell, WhoSet, name_of
from discreet.policy.gateway_section import AggregatesPolicy

_NORMAL = NormalDist()
GRID = 2.0**-20
"""Part of a deviation to which sums are rounded."""


@dataclass(frozen=True)
class StickyNoise:
    """Noise that depends on nothing but the secret and the quantity.

    >>> noise = StickyNoise(b"secret", AggregatesPolicy())
    >>> cell = StatisticCell(("10",), "", people=100, who="h", values=(40.0,))
    >>> moment = Moment("count", ("diagnosis",), condition="diagnosis IN (B20)")
    >>> noise.of(moment, cell) == noise.of(moment, cell), noise.of(moment, cell) == noise.of(Moment("count", ()), cell)
    (True, False)
    """

    secret: bytes = field(repr=False)
    settings: AggregatesPolicy

    def name(self, moment: Moment, cell: StatisticCell, value: float = 0.0) -> bytes:
        """Names an answer: the noise of what has the same name is the same, and of anything else independent.

        What is charged goes by this name too, so that nothing gives noise of its own and costs nothing. The value itself
        is in it: if two questions are ever taken for one, the difference of their answers is still that of two noises.
        """
        # Clipping belongs to a quantity, and so does the deviation: with others it is another one.
        bounds = (repr(moment.bounds_of(column, self.settings)) for column in moment.factors)
        deviation = repr(moment.deviation(self.settings))
        return name_of("answer", cell.who, cell.sensitive, moment.tag, *moment.unit, deviation, *bounds, repr(value))

    def rounded(self, moment: Moment, value: float | None) -> float:
        """A value as it is named and shown, to a grid far below its noise: sums of floating-point numbers vary below it."""
        grid = moment.deviation(self.settings) * GRID
        return (
            round((value or 0.0) / grid) * grid if moment.tag in ("sum", "square", "product") else float(value or 0.0)
        )

    def names(self, who: WhoSet, unit: tuple[str, ...], cell: StatisticCell) -> bytes:
        """Names all answers of a unit in a cell."""
        mine = [(one, value) for one, value in zip(who.moments, cell.values, strict=True) if one.unit == unit]
        return name_of("unit", *(self.name(one, cell, self.rounded(one, value)).hex() for one, value in mine))

    def of(self, moment: Moment, cell: StatisticCell, value: float = 0.0) -> float:
        """Noise of one quantity: Gaussian, by the inverse of its distribution."""
        seed = self.name(moment, cell, value)
        uniform = int.from_bytes(hmac.digest(self.secret, seed, "sha256")[:8], "big") >> 11
        return moment.deviation(self.settings) * _NORMAL.inv_cdf((uniform + 0.5) / 2**53)

    def shows(self, cell: StatisticCell, moments: Sequence[Moment] = ()) -> bool:
        """Whether a cell has enough people, give or take a margin: never below the least, always from twice the margin above.

        The noise is that of the number of people in it. Where that number is shown, the threshold says nothing more.
        """
        people = cell.people if cell.members is None else min(cell.members, cell.people)
        if people < self.settings.smallest or cell.people < self.settings.smallest:
            return False
        margin = self.settings.margin
        counted = (one for one in moments if one.tag == "count" and not one.columns and not one.condition)
        error = max(-margin, min(margin, self.of(next(counted, Moment("count", ())), cell, float(people))))
        return people + error >= self.settings.smallest + margin

    def release(self, moments: Sequence[Moment], cells: Sequence[StatisticCell]) -> list[NoisedCell]:
        """Cells as they may be shown; of one below the threshold nothing is."""
        hidden = NoisedCell(False, (None,) * len(moments))
        return [
            NoisedCell(
                True,
                tuple(self._noised(moment, cell, value) for moment, value in zip(moments, cell.values, strict=True)),
            )
            if self.shows(cell, moments)
            else hidden
            for cell in cells
        ]

    def _noised(self, moment: Moment, cell: StatisticCell, value: float | None) -> float:
        rounded = self.rounded(moment, value)
        noised = rounded + self.of(moment, cell, rounded)
        if moment.tag in ("count", "present"):
            return float(max(0, min(round(noised), cell.people * moment.rows)))
        return max(0.0, noised) if moment.tag == "square" else noised
