"""Re-identification by one guess (prosecutor, journalist, marketer), presence, and one-shot economics.

`sizes` are the class sizes f_j of the sample, `linked` the sizes F_j of the same classes in the population; n people
in J classes. All three adversaries pick one member of the matching class at random. Where a person has several rows,
the riskiest one decides: `sizes` then are people counted once, in their class with the smallest crowd.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.kernel.arrays import Ints
from discreet.kernel.serialise import json_of

EDGES = (1, 2, 3, 5, 10, 20, 50, 100, 1_000, 10_000)


@dataclass(frozen=True)
class Reidentification:
    """What one adversary achieves."""

    at_risk: float
    """Share of people whose risk is above the threshold."""
    highest: float
    """The largest risk of anybody."""
    success: float
    """Expected share of people he re-identifies if he attacks everybody."""

    to_dict = json_of()


def prosecutor(sizes: Ints, *, threshold: float, crowd: Ints | None = None) -> Reidentification:
    """He knows that his target is in the data.

    The crowd is `sizes`, unless people are in several classes and counted in one.

    >>> import numpy as np
    >>> prosecutor(np.array([1, 4, 5]), threshold=0.2)
    Reidentification(at_risk=0.5, highest=1.0, success=0.3)
    """
    crowd = sizes if crowd is None else crowd
    return Reidentification(
        at_risk=_share_above(sizes, crowd, threshold), highest=1 / int(crowd.min()), success=marketer(sizes, crowd)
    )


def journalist(sizes: Ints, linked: Ints, *, threshold: float) -> Reidentification:
    """He knows only that his target is in the population."""
    return Reidentification(
        at_risk=_share_above(sizes, linked, threshold),
        highest=1 / int(linked.min()),
        success=max(len(sizes) / int(linked.sum()), marketer(sizes, linked)),
    )


def marketer(sizes: Ints, linked: Ints) -> float:
    """He links everybody and is content with the share he gets right.

    >>> import numpy as np
    >>> marketer(np.array([1, 4]), np.array([2, 4]))
    0.3
    """
    return float((sizes / linked).sum() / int(sizes.sum()))


def _share_above(sizes: Ints, crowd: Ints, threshold: float) -> float:
    return int(sizes[1 / crowd > threshold].sum()) / int(sizes.sum())


@dataclass(frozen=True)
class Band:
    """People whose class has between `smallest` and `largest` members."""

    smallest: int
    largest: int | None
    classes: int
    records: int

    @property
    def label(self) -> str:
        """The band in words."""
        if self.largest is None:
            return f"{self.smallest:,} or more"
        return f"{self.smallest:,}" if self.smallest == self.largest else f"{self.smallest:,} to {self.largest:,}"


def bands(sizes: Ints, crowd: Ints | None = None) -> tuple[Band, ...]:
    """People by the size of the crowd they hide in, in bands of growing width.

    >>> import numpy as np
    >>> [(band.label, band.records) for band in bands(np.array([1, 1, 7]))][:4]
    [('1', 2), ('2', 0), ('3 to 4', 0), ('5 to 9', 7)]
    """
    crowd = sizes if crowd is None else crowd
    return tuple(
        Band(low, high, int(inside.sum()), int(sizes[inside].sum()))
        for low, high in [*((low, high - 1) for low, high in pairwise(EDGES)), (EDGES[-1], None)]
        for inside in [(crowd >= low) & (crowd <= (high if high is not None else crowd.max(initial=0)))]
    )


# The single-decision economics of the field, as a baseline: attack once if it pays (Wan et al. 2015).
#
# The adversary gains `adversary_gain` if his one guess is right and pays `adversary_cost` for trying. The publisher
# earns `publisher_benefit` per record in full detail and loses `publisher_loss` when a record is re-identified.
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

    to_dict = json_of()


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


# What the data say about who is in them, and how large the crowd is in the population.
@dataclass(frozen=True)
class Presence:
    """Delta-presence (Nergiz et al. 2007) and k-map (Sweeney 2002) of a sample in a population."""

    lowest: float
    """Least probability that a person of the population is in the data."""
    highest: float
    """Largest such probability; 1 means somebody's membership is certain."""
    k_map: int
    """Least number of people in the population who look like a person in the data."""
    uncovered: int
    """People in the data for whom the population shows fewer people than the data; counted with the data's number."""

    to_dict = json_of()


def linked_sizes(sample: Classes, population: Classes) -> tuple[Ints, int]:
    """F_j for each sample class, never below f_j, and the number of people for whom it had to be raised."""
    found = sample.link(population)
    short = found < sample.sizes
    return np.where(short, sample.sizes, found), sample.people(short)


def presence(sample: Classes, population: Classes) -> Presence:
    """How sure an adversary can be that somebody is in the data."""
    linked, uncovered = linked_sizes(sample, population)
    shares = sample.sizes / linked
    coarse = population.beside(sample)
    met = int((sample.link(population) > 0).sum())
    lowest = float(shares.min()) if met == len(coarse) else 0.0
    return Presence(lowest, float(shares.max()), int(linked.min()), uncovered)
