"""A state like the one of Xia et al. (2015), as they print it: its population, its voters' list, its census records.

The voters' list is a uniform sample of the population without replacement, so it is never all of it. How many people
live in a ZIP code, how old they are and what the census calls their race is generated: the tables behind the paper's
study are not printed. One figure was fitted, and is marked so wherever it is shown: the spread of ZIP codes' sizes, so
that the share of groups above 55 is about the printed 64 %.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.attacker import Attack, Attacked
from discreet.attacker.population import plan_for
from discreet.kernel import Classes
from discreet.kernel.arrays import Floats, Ints
from discreet.people.population import stream

POPULATION, LISTED, RECORDS = 9_553_967, 6_018_999, 32_561
"""People in the state, on the list, and in the de-identified data, as printed."""
ZIPS, SPREAD = 808, 1.6
"""ZIP codes, and the standard deviation of the logarithm of their sizes (fitted, see above)."""
OLDEST, TOP = 120, 90
"""Ages go so far; the census records end at TOP, and the paper spreads those evenly up to OLDEST."""
MEN = 0.487
RACES = ("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other")
STATE_RACES = (0.685, 0.215, 0.023, 0.013, 0.064)
MIXING, TILT = 4.0, 0.3
"""How much ZIP codes differ in race (a Dirichlet concentration) and in age."""
RECORD_RACES, RECORD_MEN = (0.854, 0.096, 0.032, 0.010, 0.008), 0.669
AGES = (2.5, 8.6, 17)
"""Ages of the records where the census table is not at hand: a gamma law's shape and scale, and the youngest."""
NEARBY = Path("..") / "shared" / "data" / "adult" / "adult.csv"
"""Where the UCI Adult table is looked for."""


@dataclass(frozen=True, eq=False)
class Carolina:
    """People of the state and of its voters' list by ZIP, age, race and gender; and the de-identified records."""

    population: Ints
    listed: Ints
    """Both with one axis each for ZIP, age, race and gender."""
    cells: tuple[Ints, Ints, Ints, Ints]
    """The cell of each record."""
    origin: str
    """Where age, race and gender of the records come from, in words."""

    @classmethod
    def of(cls, *, seed: int = 1, adult: Path | None = None) -> Carolina:
        """The state; its records have the ages, races and genders of UCI Adult where that table is at hand."""
        rng = stream(seed, "carolina")
        spread = np.array([NormalDist().inv_cdf((place + 0.5) / ZIPS) for place in range(ZIPS)])
        sizes, ages = np.exp(SPREAD * spread), np.arange(OLDEST + 1)
        alive = np.exp(-2.9e-5 / 0.1 * np.expm1(0.1 * ages))  # Gompertz: mortality grows by a tenth with every year
        by_age = alive * np.exp(rng.normal(0, TILT, ZIPS)[:, None] * (ages - 40) / 20)
        by_age /= by_age.sum(axis=1, keepdims=True)
        races = rng.dirichlet(MIXING * np.array(STATE_RACES), ZIPS)
        weights = (
            sizes[:, None, None, None]
            * by_age[:, :, None, None]
            * races[:, None, :, None]
            * np.array([MEN, 1 - MEN])[None, None, None, :]
        )
        counted = rng.multinomial(POPULATION, weights.ravel() / weights.sum())
        listed = rng.multivariate_hypergeometric(counted, LISTED, method="marginals")
        population = counted.reshape(weights.shape)
        found = NEARBY if adult is None else adult
        if found.exists():
            drawn, origin = _like(found, rng), "the UCI Adult table, drawn with replacement"
        else:
            drawn, origin = _generated(rng), "generated with the shape of the UCI Adult table, which was not at hand"
        return cls(population, listed.reshape(weights.shape), _housed(drawn, population, rng), origin)

    @cached_property
    def groups(self) -> Ints:
        """People on the list who look like each record."""
        return np.asarray(self.listed[self.cells])

    @cached_property
    def densities(self) -> Floats:
        """The share of the population that looks like each record."""
        return np.asarray(self.population[self.cells] / POPULATION)

    def under(self, attack: Attack) -> Attacked:
        """The records under attack, each by itself."""
        each = Classes((), (), np.ones(len(self.groups), dtype=np.int64))
        return plan_for(attack, each, self.groups, self.densities, LISTED)

    def words(self) -> tuple[str, ...]:
        """The setting, for people."""
        return (
            (
                f"Population {POPULATION:,}; the voters' list is a uniform sample of {LISTED:,} of it, so the prior is "
                f"{LISTED / POPULATION:.2f}. {RECORDS:,} records with age, race, gender and a ZIP code."
            ),
            (
                f"Age, race and gender of the records: {self.origin}. Each record has a ZIP code in proportion to the people of "
                "the same age, race and gender who live there; an age of 90 or more is spread evenly over 90 to 120."
            ),
            (
                f"The list and the census tables of the paper are not printed. {ZIPS:,} ZIP codes are generated; the spread of "
                "their sizes is fitted to one printed figure (64 % of groups above 55), nothing else is."
            ),
        )


def _like(path: Path, rng: np.random.Generator) -> Ints:
    """Age, race and gender of RECORDS people drawn from the table, as codes."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [
            (int(row["age"]), RACES.index(row["race"]), int(row["sex"] != "Male"))
            for row in csv.DictReader(file, delimiter=";")
        ]
    return np.asarray(np.array(rows, dtype=np.int64)[rng.integers(0, len(rows), RECORDS)])


def _generated(rng: np.random.Generator) -> Ints:
    shape, scale, youngest = AGES
    ages = np.minimum(youngest + rng.gamma(shape, scale, RECORDS).astype(np.int64), TOP)
    races = rng.choice(len(RACES), RECORDS, p=RECORD_RACES)
    return np.stack([ages, races, (rng.random(RECORDS) >= RECORD_MEN).astype(np.int64)], axis=1)


def _housed(people: Ints, population: Ints, rng: np.random.Generator) -> tuple[Any, Any, Any, Any]:
    """The cell of each record: those of one kind go where people of that kind live."""
    top = people[:, 0] >= TOP
    people[top, 0] = rng.integers(TOP, OLDEST + 1, int(top.sum()))
    kinds, place = np.unique(people, axis=0, return_inverse=True)
    zips = np.zeros(len(people), dtype=np.int64)
    for number, (oldest, race, gender) in enumerate(kinds.tolist()):
        age = oldest
        own = place.reshape(-1) == number
        while not population[:, age, race, gender].any():
            age -= (
                1  # nobody of the state is that old: the oldest who live there stand in, so that a record is somebody
            )
        people[own, 0] = age
        living = population[:, age, race, gender]
        zips[own] = rng.choice(len(living), int(own.sum()), p=living / living.sum())
    return zips, people[:, 0], people[:, 1], people[:, 2]
