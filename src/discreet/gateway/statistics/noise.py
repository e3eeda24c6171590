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

from discreet.gateway.statistics.quantities import Moment, NoisedCell, StatisticCell
from discreet.policy.gateway_section import AggregatesPolicy

_NORMAL = NormalDist()


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

    def of(self, moment: Moment, cell: StatisticCell) -> float:
        """Noise of one quantity: Gaussian, by the inverse of its distribution."""
        deviation = moment.deviation(self.settings)
        # Clipping belongs to a quantity, and so does the deviation: with others it is another one.
        bounds = "".join(repr(moment.bounds_of(column, self.settings)) for column in moment.factors)
        parts = (cell.who, cell.sensitive, moment.tag, *moment.unit[1:], repr(deviation), bounds)
        encoded = (text.encode("utf-8", "surrogatepass") for text in parts)
        message = b"".join(b"%d:" % len(part) + part for part in encoded)
        uniform = int.from_bytes(hmac.digest(self.secret, message, "sha256")[:8], "big") >> 11
        return deviation * _NORMAL.inv_cdf((uniform + 0.5) / 2**53)

    def shows(self, cell: StatisticCell, by: tuple[str, ...] = ()) -> bool:
        """Whether a cell has enough people, give or take a margin: never below the least, always from twice the margin above.

        The noise is that of the number of people in it. Where that number is shown, the threshold says nothing more.
        """
        people = cell.people if cell.members is None else min(cell.members, cell.people)
        if people < self.settings.smallest or cell.people < self.settings.smallest:
            return False
        margin = self.settings.margin
        error = max(-margin, min(margin, self.of(Moment("count", by), cell)))
        return people + error >= self.settings.smallest + margin

    def release(
        self, moments: Sequence[Moment], cells: Sequence[StatisticCell], by: tuple[str, ...] = ()
    ) -> list[NoisedCell]:
        """Cells as they may be shown; of one below the threshold nothing is."""
        hidden = NoisedCell(False, (None,) * len(moments))
        return [
            NoisedCell(
                True,
                tuple(self._noised(moment, cell, value) for moment, value in zip(moments, cell.values, strict=True)),
            )
            if self.shows(cell, by)
            else hidden
            for cell in cells
        ]

    def _noised(self, moment: Moment, cell: StatisticCell, value: float | None) -> float:
        noised = (value or 0.0) + self.of(moment, cell)
        if moment.tag in ("count", "present"):
            return float(max(0, min(round(noised), cell.people * moment.rows)))
        return max(0.0, noised) if moment.tag == "square" else noised
