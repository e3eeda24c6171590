"""Re-identification by one guess: the prosecutor, the journalist and the marketer.

`sizes` are the class sizes f_j of the sample, `linked` the sizes F_j of the same classes in the population; n people
in J classes. All three adversaries pick one member of the matching class at random.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise

from discreet.kernel.arrays import Ints

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

    def to_dict(self) -> dict[str, float]:
        """For JSON."""
        return asdict(self)


def prosecutor(sizes: Ints, *, threshold: float) -> Reidentification:
    """He knows that his target is in the data.

    >>> import numpy as np
    >>> prosecutor(np.array([1, 4, 5]), threshold=0.2)
    Reidentification(at_risk=0.5, highest=1.0, success=0.3)
    """
    people = int(sizes.sum())
    return Reidentification(
        at_risk=_share_above(sizes, sizes, threshold), highest=1 / int(sizes.min()), success=len(sizes) / people
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
