"""Thresholds of three zones: different, review, same; and calibrated probabilities.

Pairs are in the order of their weight. If the machine calls all pairs from some weight on the same, the expected number
of wrong ones is the sum of what is missing to certainty; if it calls all pairs below some weight different, the expected
number of missed ones is the sum of their probabilities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import DataError, UsageError
from discreet.kernel.arrays import Floats
from discreet.kernel.serialise import json_of
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.matching.pairs import Labels, Pairs, probability_of

FALSE_SAME = 0.005
MISSED = 0.01
DIFFERENT, PEOPLE, SAME = "different", "people", "same"


@dataclass(frozen=True)
class Zones:
    """From `upper` on the machine says same, below `lower` it says different; weights between go to people."""

    lower: float
    upper: float
    different: int
    people: int
    same: int
    false_same: float
    """Expected pairs that the machine wrongly calls the same."""
    missed: float
    """Expected pairs that the machine wrongly calls different."""
    expected: float
    """Expected pairs that are one person, among the candidates."""
    false_same_most: float | None = None
    """At most this share is wrong of what the machine calls the same, by a label sample with 95 % confidence."""
    missed_most: float | None = None
    """At most this share of the true candidate pairs is missed, likewise."""

    @property
    def false_same_share(self) -> float:
        """Of the pairs that the machine calls the same."""
        return self.false_same / self.same if self.same else 0.0

    @property
    def missed_share(self) -> float:
        """Of the candidate pairs that are one person."""
        return self.missed / self.expected if self.expected else 0.0

    def of(self, pairs: Pairs) -> npt.NDArray[np.int8]:
        """Per pair 0 for different, 1 for people, 2 for same. Pairs without a score go to people."""
        found = (pairs.weight >= self.lower).astype(np.int8) + (pairs.weight >= self.upper).astype(np.int8)
        return np.where(np.isnan(pairs.weight), np.int8(1), found)

    to_dict = json_of(
        "different people same expected false_same false_same_share false_same_most missed missed_share missed_most",
        lower=lambda self: self.lower if np.isfinite(self.lower) else None,
        upper=lambda self: self.upper if np.isfinite(self.upper) else None,
    )


def zones_by_errors(pairs: Pairs, *, false_same: float = FALSE_SAME, missed: float = MISSED) -> Zones:
    """As few pairs for people as keep both errors of the machine within these shares.

    `false_same` is the share of wrong pairs among those that the machine calls the same; `missed` is the share that the
    machine loses of the candidate pairs that are one person.
    """
    for name, share in (("false_same", false_same), ("missed", missed)):
        if not 0 <= share <= 1:
            raise UsageError(f"{name} is a share from 0 to 1.", remedy="For example 0.01.")
    curve = _Curve.of(pairs)
    cuts = curve.cuts
    # The last cut that loses no more than this share of all same pairs, the first from which no more than this is wrong.
    low = int(cuts[curve.missed[cuts] <= missed * curve.missed[-1] + 1e-12][-1])
    high = int(cuts[curve.false[cuts] <= false_same * (len(pairs) - cuts) + 1e-12][0])
    if low >= high:
        low = high = int(np.clip(curve.least_errors, high, low))
    return curve.cut(low, high)


def zones_without_people(pairs: Pairs, *, false_same: float = FALSE_SAME) -> Zones:
    """The machine decides all pairs, with no more than this share of wrong ones."""
    curve = _Curve.of(pairs)
    cuts = curve.cuts
    high = int(cuts[curve.false[cuts] <= false_same * (len(pairs) - cuts) + 1e-12][0])
    return curve.cut(high, high)


def zones_by_capacity(pairs: Pairs, *, review: int) -> Zones:
    """The most uncertain pairs go to people, up to so many; pairs of one weight stay together."""
    if review < 0:
        raise UsageError("People can look at 0 pairs or more.", remedy="Give a whole number.")
    curve = _Curve.of(pairs)
    cuts = curve.cuts.tolist()
    low = high = cuts.index(curve.least_errors)
    while True:
        down, up = max(low - 1, 0), min(high + 1, len(cuts) - 1)
        wider = [(curve.doubt(cuts[down], cuts[low]), down, high), (curve.doubt(cuts[high], cuts[up]), low, up)]
        fitting = [zone for zone in wider if cuts[zone[2]] - cuts[zone[1]] <= review and zone[1:] != (low, high)]
        if not fitting:
            return curve.cut(cuts[low], cuts[high])
        _, low, high = max(fitting)


CONFIDENCE = 0.95


def at_most(wrong: npt.NDArray[np.bool_], counts: Floats) -> float | None:
    """The largest share that a sample leaves open with 95 % confidence.

    The bound of Clopper and Pearson for as many labels as those of unequal weight are worth (Korn & Graubard 1998).

    >>> round(at_most(np.zeros(100, dtype=bool), np.ones(100)), 4)
    0.0295
    """
    if not len(wrong):
        return None
    labels = max(1, int(counts.sum() ** 2 / (counts**2).sum() + 1e-9))
    hits = math.ceil(labels * float(counts[wrong].sum() / counts.sum()) - 1e-9)
    low, high = hits / labels, 1.0
    while high - low > 1e-9:
        share = (low + high) / 2
        low, high = (share, high) if as_few(labels, hits, share) > 1 - CONFIDENCE else (low, share)
    return high


def as_few(labels: int, hits: int, share: float) -> float:
    """The probability of so few hits or fewer among so many labels (binomial)."""
    if hits >= labels or share <= 0 or share >= 1:
        return float(hits >= labels or share <= 0)
    return math.fsum(
        math.exp(
            math.lgamma(labels + 1) - math.lgamma(count + 1) - math.lgamma(labels - count + 1)
            + count * math.log(share) + (labels - count) * math.log1p(-share)
        )
        for count in range(hits + 1)
    )  # fmt: skip


def stated_by_sample(
    zones: Zones, decisions: npt.NDArray[np.int8], pairs: Pairs, labels: Labels, folder: ProjectFolder
) -> Zones:
    """Zones with what a label sample says about their errors."""
    place, hit = labels.matched(pairs, folder)
    same, counts, decided = labels.same[hit], labels.weights[hit], decisions[place]
    return replace(
        zones,
        false_same_most=at_most(~same[decided == 2], counts[decided == 2]),
        missed_most=at_most((decided == 0)[same], counts[same]),
    )


@dataclass(frozen=True, eq=False)
class _Curve:
    """Weights in rising order, and the errors to be expected when they are cut before each place."""

    weight: Floats
    missed: Floats
    """Expected same pairs before each place."""
    false: Floats
    """Expected different pairs from each place on."""

    @classmethod
    def of(cls, pairs: Pairs) -> _Curve:
        if not pairs.scored:
            raise UsageError("Some pairs have no score.", remedy="Pairs without scores all go to people.")
        order = np.argsort(pairs.weight, kind="stable")
        probability = pairs.probability[order]
        missed = np.concatenate([[0.0], np.cumsum(probability)])
        false = np.concatenate([np.cumsum((1 - probability)[::-1])[::-1], [0.0]])
        return cls(pairs.weight[order], missed, false)

    @cached_property
    def cuts(self) -> npt.NDArray[np.int64]:
        """Places where a weight begins, and the end: pairs of one weight are decided alike."""
        if not len(self.weight):
            return np.zeros(1, dtype=np.int64)
        begins = np.flatnonzero(np.concatenate([[True], np.diff(self.weight) > 0]))
        return np.concatenate([begins, [len(self.weight)]])

    @property
    def least_errors(self) -> int:
        """The cut that the machine alone would make."""
        return int(self.cuts[np.argmin(self.missed[self.cuts] + self.false[self.cuts])])

    def doubt(self, low: int, high: int) -> float:
        """Errors that people spare by looking at these pairs, per pair."""
        if high == low:
            return -1.0
        return float(min(self.missed[high] - self.missed[low], self.false[low] - self.false[high]) / (high - low))

    def cut(self, low: int, high: int) -> Zones:
        weights = np.append(self.weight, np.inf)
        return Zones(
            lower=float(weights[low]),
            upper=float(weights[high]),
            different=low,
            people=high - low,
            same=len(self.weight) - high,
            false_same=float(self.false[high]),
            missed=float(self.missed[low]),
            expected=float(self.missed[-1]),
        )


@dataclass(frozen=True)
class Distribution:
    """Distribution of the weights over the zones, and errors at other thresholds, for a chart."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    expected: tuple[float, ...]
    """Per bin the expected pairs that are one person."""
    zones: Zones
    thresholds: tuple[float, ...]
    false_same: tuple[float, ...]
    """Per threshold the expected wrong pairs if the machine called everything from it on the same."""
    missed: tuple[float, ...]
    """Per threshold the expected lost pairs if the machine called everything below it different."""
    calibrated: bool

    to_dict = json_of("edges counts expected thresholds false_same missed calibrated zones")


def distribution(pairs: Pairs, zones: Zones, *, bins: int = 40) -> Distribution:
    """Pairs by weight in equal steps, and the expected errors at each step."""
    curve = _Curve.of(pairs)
    if not len(pairs):
        raise UsageError("There are no pairs to draw.", remedy="Allow more pairs with --most-pairs.")
    low, high = float(curve.weight[0]), float(curve.weight[-1])
    edges = np.linspace(low, high if high > low else low + 1, bins + 1)
    places = np.searchsorted(curve.weight, edges)
    places[-1] = len(pairs)
    arrays = (edges, np.diff(places), np.diff(curve.missed[places]), curve.false[places], curve.missed[places])
    borders, counts, expected, false_same, missed = (tuple(array.tolist()) for array in arrays)
    return Distribution(borders, counts, expected, zones, borders, false_same, missed, pairs.calibrated)


def zones_at(pairs: Pairs, *, lower: float, upper: float) -> Zones:
    """Zones between two weights that were chosen, from a chart for example.

    >>> zones_at(Pairs.of([0, 1, 2], [3, 4, 5], [-4.0, 1.0, 9.0]), lower=0.0, upper=5.0).people
    1
    """
    if not lower <= upper:
        raise UsageError("The lower threshold is above the upper one.", remedy="Give the lower one first.")
    curve = _Curve.of(pairs)
    low, high = (int(np.searchsorted(curve.weight, weight)) for weight in (lower, upper))
    return curve.cut(low, high)


# Probabilities that mean what they say: isotonic regression by pooling adjacent violators.
#
# The model's probabilities are in the right order but not of the right size, since attributes do not err independently of
# each other. Labels tell how many of the pairs with such a weight are really one person.
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

    to_dict = json_of("weights probabilities labels")

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Calibration:
        """A calibration from what `to_dict` gave."""
        return cls(np.array(content["weights"]), np.array(content["probabilities"]), content["labels"])

    def __repr__(self) -> str:
        return f"Calibration({self.labels} labels, {len(self.weights)} knots)"


def calibrate(folder: ProjectFolder, pairs: Pairs, labels: Labels) -> Calibration:
    """A calibration from labels of candidate pairs; each label weighs as many pairs as it counts for."""
    place, hit = labels.matched(pairs, folder)
    same = labels.same[hit]
    if len(place) < FEWEST or same.all() or not same.any():
        raise DataError(
            f"{len(place):,} labels of candidate pairs, {int(same.sum()):,} of them the same, are too few to calibrate by.",
            remedy=f"Label at least {FEWEST} candidate pairs, some of each.",
        )
    return calibration(pairs.weight[place], same, labels.weights[hit])


def calibration(weight: Floats, same: npt.NDArray[np.bool_], counts: Floats | None = None) -> Calibration:
    """A calibration from weights and what is true; `counts` says how many pairs each counts for.

    >>> import numpy as np
    >>> calibration(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, True, False, True]))(np.array([0.0])).tolist()
    [0.5]
    """
    many = np.ones(len(weight)) if counts is None else np.asarray(counts, dtype=np.float64)
    distinct, place = np.unique(np.asarray(weight, dtype=np.float64), return_inverse=True)
    total = np.asarray(np.bincount(place, weights=many, minlength=len(distinct)), dtype=np.float64)
    true = np.bincount(place, weights=many * same, minlength=len(distinct))
    fitted = pooled(true / total, total)
    # Both ends of each level stretch; what is between is on the line.
    if len(fitted) < 3:
        keep = np.ones(len(fitted), dtype=np.bool_)
    else:
        inner = (fitted[1:-1] == fitted[:-2]) & (fitted[1:-1] == fitted[2:])
        keep = np.concatenate([[True], ~inner, [True]])
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


def calibration_error(probability: Floats, same: npt.NDArray[np.bool_], *, bins: int = BINS) -> float:
    """How far probabilities are from what is true, on average over pairs: expected calibration error.

    Bins have equal width, so that the many pairs that are surely different do not hide the others; empty ones count
    nothing.
    """
    place = np.minimum((probability * bins).astype(np.int64), bins - 1)
    gap = np.bincount(place, weights=probability, minlength=bins) - np.bincount(place, weights=same, minlength=bins)
    return float(np.abs(gap).sum() / max(len(probability), 1))
