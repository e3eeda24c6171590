"""What the data say about who is in them, and how large the crowd is in the population."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from discreet.kernel import Classes
from discreet.kernel.arrays import Ints


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

    def to_dict(self) -> dict[str, float | int]:
        """For JSON."""
        return asdict(self)


def linked_sizes(sample: Classes, population: Classes) -> tuple[Ints, int]:
    """F_j for each sample class, never below f_j, and the number of people for whom it had to be raised."""
    found = sample.link(population)
    short = found < sample.sizes
    return np.where(short, sample.sizes, found), int(sample.sizes[short].sum())


def presence(sample: Classes, population: Classes) -> Presence:
    """How sure an adversary can be that somebody is in the data."""
    linked, uncovered = linked_sizes(sample, population)
    shares = sample.sizes / linked
    coarse = population.project(sample.names).at(sample.levels)
    met = int((sample.link(population) > 0).sum())
    lowest = float(shares.min()) if met == len(coarse) else 0.0
    return Presence(lowest, float(shares.max()), int(linked.min()), uncovered)
