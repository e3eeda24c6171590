"""Probabilities that mean what they say: isotonic regression by pooling adjacent violators.

The model's probabilities are in the right order but not of the right size, since attributes do not err independently of
each other. Labels tell how many of the pairs with such a weight are really one person.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import DataError
from discreet.kernel.arrays import Floats
from discreet.linkage.matching.pairs import Labels, Pairs, probability_of
from discreet.linkage.records.folder import ProjectFolder

FEWEST = 20
"""Labels below which probabilities are left as they are."""
BINS = 10


@dataclass(frozen=True, eq=False)
class Calibration:
    """A function from weights to probabilities that never falls.

    Between two labelled weights it is a straight line. Below the lowest and above the highest labelled weight nothing
    was seen, so the model's own probability is taken as far as it keeps the order.
    """

    weights: Floats
    probabilities: Floats
    labels: int

    def __call__(self, weight: Floats) -> Floats:
        model = probability_of(weight)
        inside = np.interp(weight, self.weights, self.probabilities)
        below, above = weight < self.weights[0], weight > self.weights[-1]
        inside = np.where(below, np.minimum(model, self.probabilities[0]), inside)
        return np.asarray(np.where(above, np.maximum(model, self.probabilities[-1]), inside))

    def applied(self, pairs: Pairs) -> Pairs:
        """The pairs with calibrated probabilities."""
        return replace(pairs, probability=self(pairs.weight), calibrated=True)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "weights": self.weights.tolist(),
            "probabilities": self.probabilities.tolist(),
            "labels": self.labels,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Calibration:
        """The same back."""
        return cls(np.array(content["weights"]), np.array(content["probabilities"]), content["labels"])

    def __repr__(self) -> str:
        return f"Calibration({self.labels} labels, {len(self.weights)} knots)"


def calibrate(folder: ProjectFolder, pairs: Pairs, labels: Labels) -> Calibration:
    """A calibration from labels of candidate pairs; each label weighs as many pairs as it stands for."""
    place, hit = labels.matched(pairs, folder)
    same = labels.same[hit]
    if len(place) < FEWEST or same.all() or not same.any():
        raise DataError(
            f"{len(place):,} labels of candidate pairs, {int(same.sum()):,} of them the same, are too few to calibrate by.",
            remedy=f"Label at least {FEWEST} candidate pairs, some of each.",
        )
    return calibration(pairs.weight[place], same, labels.weights[hit])


def calibration(weight: Floats, same: npt.NDArray[np.bool_], counts: Floats | None = None) -> Calibration:
    """A calibration from weights and what is true; `counts` says how many pairs each stands for.

    >>> import numpy as np
    >>> calibration(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, True, False, True]))(np.array([0.0])).tolist()
    [0.5]
    """
    many = np.ones(len(weight)) if counts is None else np.asarray(counts, dtype=np.float64)
    distinct, place = np.unique(np.asarray(weight, dtype=np.float64), return_inverse=True)
    total = np.asarray(np.bincount(place, weights=many, minlength=len(distinct)), dtype=np.float64)
    true = np.bincount(place, weights=many * same, minlength=len(distinct))
    fitted = pooled(true / total, total)
    keep = _corners(fitted)
    return Calibration(distinct[keep], fitted[keep], len(weight))


def pooled(values: Floats, weights: Floats) -> Floats:
    """The nearest sequence that never falls, by weighted squares (pool adjacent violators).

    >>> import numpy as np
    >>> pooled(np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4)).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    sums: list[float] = []
    masses: list[float] = []
    sizes: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        total, mass, size = value * weight, weight, 1
        while sums and sums[-1] * mass >= total * masses[-1]:
            total, mass, size = total + sums.pop(), mass + masses.pop(), size + sizes.pop()
        sums.append(total)
        masses.append(mass)
        sizes.append(size)
    return np.repeat(np.array(sums) / np.array(masses), sizes)


def _corners(fitted: Floats) -> npt.NDArray[np.bool_]:
    """Both ends of each level stretch; what lies between is on the line."""
    if len(fitted) < 3:
        return np.ones(len(fitted), dtype=np.bool_)
    inner = (fitted[1:-1] == fitted[:-2]) & (fitted[1:-1] == fitted[2:])
    return np.concatenate([[True], ~inner, [True]])


def calibration_error(probability: Floats, same: npt.NDArray[np.bool_], *, bins: int = BINS) -> float:
    """How far probabilities are from what is true, on average over pairs: expected calibration error.

    Bins have equal width, so that the many pairs that are surely different do not hide the others; empty ones count
    nothing.
    """
    place = np.minimum((probability * bins).astype(np.int64), bins - 1)
    gap = np.bincount(place, weights=probability, minlength=bins) - np.bincount(place, weights=same, minlength=bins)
    return float(np.abs(gap).sum() / max(len(probability), 1))
