"""The single-decision economics of the field, as a baseline: attack once if it pays (Wan et al. 2015).

The adversary gains `adversary_gain` if his one guess is right and pays `adversary_cost` for trying. The publisher
earns `publisher_benefit` per record in full detail and loses `publisher_loss` when a record is re-identified.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.kernel.arrays import Ints


@dataclass(frozen=True)
class Payoffs:
    """What the game comes to."""

    attacked: int
    """People whom it pays to attack."""
    reidentified: float
    """Expected number of them who are re-identified."""
    adversary: float
    """Total expected payoff of the adversary."""
    publisher: float
    """Total expected payoff of the publisher."""

    def to_dict(self) -> dict[str, float | int]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Economics:
    """The four amounts of the game, per record.

    >>> Economics(adversary_gain=300, adversary_cost=4, publisher_benefit=1200, publisher_loss=300).pays(0.01)
    False
    """

    adversary_gain: float
    adversary_cost: float
    publisher_benefit: float
    publisher_loss: float

    def __post_init__(self) -> None:
        if not all(0 <= amount < math.inf for amount in asdict(self).values()):
            raise UsageError(
                "Amounts of the economics must be numbers and not negative.",
                remedy="Costs and losses are given as positive numbers.",
            )

    def adversary_payoff(self, risk: float) -> float:
        """What one attempt is worth to the adversary."""
        return self.adversary_gain * risk - self.adversary_cost

    def publisher_payoff(self, risk: float, *, loss: float = 0.0) -> float:
        """What one record is worth to the publisher, with `loss` of its information generalised away."""
        return self.publisher_benefit * (1 - loss) - (self.publisher_loss * risk if self.pays(risk) else 0.0)

    def pays(self, risk: float) -> bool:
        """Whether the adversary tries."""
        return self.adversary_payoff(risk) > 0

    def play(self, sizes: Ints, crowd: Ints, *, loss: float = 0.0) -> Payoffs:
        """The game over a whole table: `sizes` people each in a crowd of `crowd`."""
        risk = 1 / crowd
        gain: NDArray[np.float64] = self.adversary_gain * risk - self.adversary_cost
        tried = gain > 0
        caught = float((sizes * risk)[tried].sum())
        earned = self.publisher_benefit * (1 - loss) * int(sizes.sum())
        return Payoffs(
            int(sizes[tried].sum()), caught, float((sizes * gain)[tried].sum()), earned - self.publisher_loss * caught
        )
