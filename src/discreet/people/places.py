"""The ZIPs of a state: how large each is, who lives there, how old and how well off they are."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from discreet.people.draws import Array, stream
from discreet.people.state import State

__all__ = ["Places", "female_share", "settle", "year_weights"]

SMALLEST = 0.005  # of an average ZIP, so that hardly any ZIP is without people
TAKEN = 600  # ZIPs in use of each thousand numbers
TILT = 0.35  # how much ZIPs differ in age: some are full of students, some of pensioners
WEALTH = 0.35  # how much ZIPs differ in income, on the scale of logarithms


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """All ZIPs of a state, each column in the order of `labels`."""

    labels: Array
    sizes: Array  # shares of the state's people
    tilts: Array  # above zero: older than the state
    wealth: Array  # factor on income
    races: Array  # one row of race shares per ZIP


def settle(state: State, *, seed: int) -> Places:
    """Found the ZIPs of a state.

    >>> len(settle(State.three(), seed=1).labels)
    535
    """
    return Places(
        labels=_labels(state, seed=seed),
        sizes=stream(seed, "zip sizes").permutation(sizes(state)),
        tilts=stream(seed, "zip tilts").normal(0, TILT, state.zips),
        wealth=np.exp(stream(seed, "zip wealth").normal(0, WEALTH, state.zips)),
        races=_race_shares(state, seed=seed),
    )


def sizes(state: State) -> Array:
    """Shares of the ZIPs, smallest first: evenly spaced quantiles of a Weibull law.

    Quantiles and not draws, so that the number of classes does not hang on the seed.

    >>> sizes(State(people=100, zips=3)).round(2).tolist()
    [0.02, 0.18, 0.79]
    """
    ranks = (np.arange(state.zips) + 0.5) / state.zips
    raw = (-np.log1p(-ranks)) ** (1 / state.evenness)
    floored = np.maximum(raw, SMALLEST * raw.mean())
    return np.asarray(floored / floored.sum())


def year_weights(state: State, tilts: Array) -> Array:
    """How likely each year of birth is: one row per ZIP, one column per year."""
    years = np.arange(state.first_year, state.last_year + 1)
    ages = state.as_of - years
    alive = _alive(ages, female=True) + _alive(ages, female=False)
    return np.asarray(_born(years) * alive * np.exp(tilts[:, None] * (ages - 50) / 20))


def female_share(state: State) -> Array:
    """The share of women among those born in each year: women live longer."""
    ages = state.as_of - np.arange(state.first_year, state.last_year + 1)
    women, men = _alive(ages, female=True), _alive(ages, female=False)
    return np.asarray(women / (women + men))


def _born(years: Array) -> Array:
    baby_boom = 0.25 * np.exp(-(((years - 1957) / 9) ** 2))
    their_children = 0.20 * np.exp(-(((years - 1990) / 8) ** 2))
    return np.asarray(1 + baby_boom + their_children)


def _alive(ages: Array, *, female: bool) -> Array:
    """Gompertz: mortality grows by a tenth with every year of age."""
    hazard = 2.4e-5 if female else 4.0e-5
    return np.asarray(np.exp(-hazard / 0.1 * np.expm1(0.1 * ages)))


def _labels(state: State, *, seed: int) -> Array:
    numbers = 1_000 * ceil(state.zips / TAKEN)
    taken = stream(seed, "zip labels").choice(numbers, state.zips, replace=False)
    return np.array([f"{state.first_zip + number:05d}" for number in sorted(taken.tolist())])


def _race_shares(state: State, *, seed: int) -> Array:
    shares = np.array([share for _, share in state.races])
    return stream(seed, "zip races").dirichlet(state.race_mixing * shares / shares.sum(), state.zips)
