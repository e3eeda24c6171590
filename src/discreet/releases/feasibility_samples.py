"""Feasibility of decoys over many samples of a population: the mean and the standard deviation of every figure.

As the tables of AnonTokens are made (Section 5): uniform samples of the population, each anonymised for every pair of
limits, and the room for decoys counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.kernel.arrays import Floats
from discreet.kernel.serialise import json_of
from discreet.releases.feasibility import KS, SUPPRESSIONS, Feasibility, feasibility_grid

FIGURES = (
    "suppressed", "classes", "close_to_k", "min_link", "candidate_classes", "candidates_without_subjects",
    "candidate_records", "max_factor",
)  # fmt: skip
FEWEST = 2
"""Samples of which a standard deviation can be said."""


@dataclass(frozen=True)
class MeanSpread:
    """The mean and the standard deviation of a figure over the samples."""

    mean: float
    sd: float

    @classmethod
    def of(cls, values: Sequence[float]) -> MeanSpread:
        """Of at least two values.

        >>> MeanSpread.of([1, 3])
        MeanSpread(mean=2.0, sd=1.4142135623730951)
        """
        return cls(float(np.mean(values)), float(np.std(values, ddof=1)))

    to_dict = json_of("mean sd")


@dataclass(frozen=True, eq=False)
class SampledCell:
    """One pair of limits over all samples."""

    k: int
    suppression: float
    feasible: int
    """Samples in which a table within these limits exists."""
    figures: Mapping[str, MeanSpread]
    """By name; empty where fewer than two samples have such a table."""
    factors: tuple[Floats, ...]
    """The risk factors of each sample's candidates, the largest first."""

    to_dict = json_of(
        "k suppression feasible",
        figures=lambda self: {name: figure.to_dict() for name, figure in self.figures.items()},
    )


@dataclass(frozen=True, eq=False)
class SampledFeasibility:
    """Room for decoys in samples of a population."""

    population: int
    samples: int
    fraction: float
    loss_name: str
    cells: tuple[SampledCell, ...]

    def at(self, k: int, suppression: float) -> SampledCell:
        """One cell."""
        for cell in self.cells:
            if (cell.k, cell.suppression) == (k, suppression):
                return cell
        raise UsageError(f"No samples were looked at for k = {k} and suppression {suppression:g}.")

    to_dict = json_of("population samples fraction loss_name cells")

    def __repr__(self) -> str:
        return f"SampledFeasibility({self.samples} samples of {self.fraction:g}, {len(self.cells)} limits)"


def uniform_samples(population: Classes, number: int, fraction: float, rng: np.random.Generator) -> Iterator[Classes]:
    """Samples without replacement, each of the same share of the people."""
    size = round(fraction * population.records)
    if not 0 < size <= population.records:
        raise UsageError(
            f"A share of {fraction:g} of {population.records:,} people is no sample.",
            remedy="Give a share above 0 and up to 1, such as 0.01.",
        )
    if population.members is not None or population.survey is not None:
        raise UsageError(
            "Samples are drawn of populations with one row per person.",
            remedy="Leave person, weight and household out.",
        )
    for _ in range(number):
        drawn = rng.multivariate_hypergeometric(population.sizes, size, method="marginals")
        yield replace(population.keep(drawn > 0), sizes=drawn[drawn > 0])


def feasibility_samples(
    population: Classes,
    *,
    samples: int,
    fraction: float,
    rng: np.random.Generator,
    ks: Sequence[int] = KS,
    suppressions: Sequence[float] = SUPPRESSIONS,
    loss: str = "dm_star",
    search: str = "optimal",
) -> SampledFeasibility:
    """Mean and standard deviation of the room for decoys over uniform samples of the population.

    >>> everybody = Classes.of(["zip"], [("1",), ("2",), ("3",)], [600, 400, 9])
    >>> found = feasibility_samples(everybody, samples=3, fraction=0.1, rng=np.random.default_rng(1), ks=[5],
    ...                             suppressions=[0.1])
    >>> found.at(5, 0.1).feasible, found.at(5, 0.1).figures["candidate_classes"].mean
    (3, 1.0)
    """
    if samples < FEWEST:
        raise UsageError("A mean and a deviation need at least 2 samples.", remedy="The paper has 50: --samples 50.")
    found: dict[tuple[int, float], list[Feasibility]] = {(k, share): [] for k in ks for share in suppressions}
    for sample in uniform_samples(population, samples, fraction, rng):
        for cell in feasibility_grid(sample, population, ks, suppressions, loss, search).cells:
            if cell.found is not None:
                found[cell.k, cell.suppression].append(cell.found)
    cells = []
    for (k, share), each in found.items():
        figures = (
            {name: MeanSpread.of([float(getattr(one, name)) for one in each]) for name in FIGURES}
            if len(each) >= FEWEST
            else {}
        )
        cells.append(SampledCell(k, share, len(each), figures, tuple(one.factors for one in each)))
    return SampledFeasibility(population.records, samples, fraction, loss, tuple(cells))
