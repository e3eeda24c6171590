"""Three states like those of the AnonTokens paper (Antonatos et al.), as counts by class.

The paper does not disclose its states. It prints how many people and how many equivalence classes each has (Table 2),
and what its samples look like (Tables 4 and 5). The number of people and of classes are met; ZIP codes' number, areas and
skew were searched for once, so that #EQ and closeToK of Table 5 come as near as this generator can get. Everything else
is a prediction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.kernel import AnyValue, Classes, Coded, Histogram, Mask, Rule, Widths
from discreet.kernel.arrays import Floats, Ints
from discreet.people.population import RACES, State, female_share, stream, year_weights

FIRST_YEAR, LAST_YEAR, AS_OF = 1905, 1999, 2017
"""Voters of 2017: everybody of age."""
SAMPLE = 0.01
"""The share of the population in a sample: ours, the paper prints none."""
FLOOR = 0.005
"""The smallest ZIP code, as a share of an average one."""
RACE_MIXING = 4.0


@dataclass(frozen=True)
class PaperState:
    """One of the three states."""

    number: int
    people: int
    classes: int
    """Equivalence classes of the whole population, as printed."""
    zips: int
    areas: int
    """Different first three digits of the ZIP codes."""
    skew: float
    """How unequal those areas are: the n-th has n ** -skew as many ZIP codes as the first."""
    evenness: float
    """Shape of the Weibull law of ZIP codes' sizes, set so that `classes` comes out."""
    race: bool = False

    @property
    def title(self) -> str:
        """As in the paper."""
        return f"State {self.number}"

    @property
    def rules(self) -> dict[str, Rule]:
        """The generalisation levels of Table 3."""
        rules: dict[str, Rule] = {"zip": Mask(5), "gender": AnyValue("Person"), "yob": Widths((2, 4, 8))}
        return {**rules, "race": AnyValue()} if self.race else rules

    def weights(self, seed: int) -> Floats:
        """How likely each cell is: one axis each for ZIP, year of birth, gender, and race where the state has it."""
        voters = State(people=1, zips=self.zips, first_year=FIRST_YEAR, last_year=LAST_YEAR, as_of=AS_OF)
        ranks = (np.arange(self.zips) + 0.5) / self.zips
        sizes = (-np.log1p(-ranks)) ** (1 / self.evenness)
        sizes = np.maximum(sizes, FLOOR * sizes.mean())
        by_year = year_weights(voters, stream(seed, "tilts").normal(0, 0.35, self.zips))
        by_year /= by_year.sum(axis=1, keepdims=True)
        women = female_share(voters)
        cells = (
            stream(seed, "sizes").permutation(sizes / sizes.sum())[:, None, None]
            * by_year[:, :, None]
            * np.stack([women, 1 - women], axis=1)[None, :, :]
        )
        if not self.race:
            return np.asarray(cells)
        shares = np.array([share for _, share in RACES])
        mixed = stream(seed, "races").dirichlet(RACE_MIXING * shares / shares.sum(), self.zips)
        return np.asarray(cells[..., None] * mixed[:, None, None, :])

    def counts(self, seed: int = 1) -> Ints:
        """The people of every cell."""
        weights = self.weights(seed)
        drawn = stream(seed, "cells").multinomial(self.people, weights.ravel() / weights.sum())
        return np.asarray(drawn.reshape(weights.shape))

    def labels(self, seed: int) -> tuple[str, ...]:
        """The ZIP codes: as many in each area as its rank allows, at most 100."""
        shares = np.arange(1, self.areas + 1, dtype=np.float64) ** -self.skew
        room = np.full(self.areas, 100)
        numbers = np.minimum(np.maximum(np.round(shares / shares.sum() * self.zips).astype(int), 1), room)
        while numbers.sum() != self.zips:  # what rounding left over goes to the first areas with room
            step = 1 if numbers.sum() < self.zips else -1
            free = np.flatnonzero(numbers < room) if step > 0 else np.flatnonzero(numbers > 1)
            numbers[free[: abs(int(self.zips - numbers.sum()))]] += step
        rng = stream(seed, "codes")
        codes = [
            f"{430 + area:03d}{code:02d}"
            for area, number in enumerate(numbers.tolist())
            for code in sorted(rng.choice(100, number, replace=False).tolist())
        ]
        return tuple(codes)

    def classes_of(self, counts: Ints, seed: int = 1) -> Classes:
        """People by class, with the paper's hierarchies."""
        places = np.nonzero(counts)
        columns = {
            "zip": Coded(self.labels(seed), places[0]),
            "gender": Coded(("Female", "Male"), places[2]),
            "yob": Coded(tuple(str(year) for year in range(FIRST_YEAR, LAST_YEAR + 1)), places[1]),
        }
        if self.race:
            columns["race"] = Coded(tuple(name for name, _ in RACES), places[3])
        return Classes.from_histogram(Histogram(columns, counts[places].astype(np.int64)), rules=self.rules)


STATES = (
    PaperState(1, 13_000_000, 777_655, zips=1603, areas=40, skew=1.13, evenness=1.2366, race=True),
    PaperState(2, 7_000_000, 153_092, zips=1450, areas=24, skew=1.18, evenness=0.3903),
    PaperState(3, 3_500_000, 73_587, zips=511, areas=19, skew=1.21, evenness=0.7811),
)
