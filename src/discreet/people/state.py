"""Synthetic state: people, ZIPs, ages and races, and what each ZIP is like."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from discreet.errors import UsageError
from discreet.people.population import Array, stream

__all__ = ["State", "StatePlaces", "female_share", "settle", "year_weights"]

PEOPLE_PER_ZIP = 6_542  # 3.5 million people in 535 ZIPs
FEWEST_ZIPS = 5
MOST_ZIPS = 33_000  # about as many as a large country has; more would not fit into five digits
MOST_PEOPLE = 9_000_000_000  # as many as there are person identifiers of ten digits

# Both figures were found by bisection on the expected number of classes that are not empty, the sum of
# 1 - exp(-people * p) over all classes of probability p: first EVENNESS, so that 3.5 million people fall into
# 73,600 classes of ZIP, sex and year of birth; then RACE_MIXING, so that 13 million people with the same
# EVENNESS fall into 778,000 classes of ZIP, sex, year of birth and race. Any change of the age curve, the
# race shares or the spread of ages between ZIPs asks for a new search: `pytest -m slow tests/people` checks.
EVENNESS = 0.646
RACE_MIXING = 4.15

RACES = (
    ("White", 0.58),
    ("Black", 0.15),
    ("Hispanic", 0.17),
    ("Asian", 0.05),
    ("Native", 0.01),
    ("Other", 0.04),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A synthetic state: a register of adults, as an attacker could buy it.

    >>> State.of(100_000).zips
    15
    """

    people: int
    zips: int
    evenness: float = EVENNESS  # shape of the Weibull law of ZIP sizes: 1 is exponential, smaller is more skewed
    first_year: int = 1920
    last_year: int = 2006
    as_of: int = 2024  # the year at whose end ages are counted
    races: tuple[tuple[str, float], ...] = RACES
    race_mixing: float = RACE_MIXING  # Dirichlet concentration: large means every ZIP mirrors the state
    first_zip: int = 43_000

    def __post_init__(self) -> None:
        _within("people", self.people, 1, MOST_PEOPLE)
        _within("zips", self.zips, 1, MOST_ZIPS)
        _within("first_zip", self.first_zip, 10_000, 43_000)
        _within("first_year", self.first_year, self.as_of - 120, self.last_year)
        _within("last_year", self.last_year, self.first_year, self.as_of)
        _positive("evenness", self.evenness)
        _positive("race_mixing", self.race_mixing)
        _positive("races (the smallest share)", min((share for _, share in self.races), default=0.0))

    @classmethod
    def of(cls, people: int) -> State:
        """A state of any size: ZIPs grow with the people, the spread of their sizes stays alike."""
        return cls(people=people, zips=min(MOST_ZIPS, max(FEWEST_ZIPS, round(people / PEOPLE_PER_ZIP))))

    @classmethod
    def three(cls, people: int = 3_500_000) -> State:
        """Like State 3 of the AnonTokens paper: 73,600 classes of ZIP, sex and year of birth.

        Another number of people gives a smaller or larger state of the same density.

        >>> State.three().zips
        535
        """
        return cls.of(people)

    @classmethod
    def one(cls, people: int = 13_000_000) -> State:
        """Like State 1 of the AnonTokens paper: 778,000 classes of ZIP, sex, year of birth and race.

        >>> State.one().zips
        1987
        """
        return cls.of(people)

    @property
    def years(self) -> range:
        """The years of birth that occur."""
        return range(self.first_year, self.last_year + 1)


def _within(field: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UsageError(
            f"A state's {field} must be between {least:,} and {most:,}; this one is {value:,}.",
            remedy="State.of(people) chooses fitting figures.",
        )


def _positive(field: str, value: float) -> None:
    if not value > 0:
        raise UsageError(f"A state's {field} is above zero; this one is {value}.", remedy="Leave it out.")


# The ZIPs of a state: how large each is, who lives there, how old and how well off they are.
SMALLEST = 0.005  # of an average ZIP, so that hardly any ZIP is without people
TAKEN = 600  # ZIPs in use of each thousand numbers
TILT = 0.35  # how much ZIPs differ in age: some are full of students, some of pensioners
WEALTH = 0.35  # how much ZIPs differ in income, on the scale of logarithms


@dataclass(frozen=True, slots=True, eq=False)
class StatePlaces:
    """All ZIPs of a state, each column in the order of `labels`."""

    labels: Array
    sizes: Array  # shares of the state's people
    tilts: Array  # above zero: older than the state
    wealth: Array  # factor on income
    races: Array  # one row of race shares per ZIP


def settle(state: State, *, seed: int) -> StatePlaces:
    """Found the ZIPs of a state.

    >>> len(settle(State.three(), seed=1).labels)
    535
    """
    shares = np.array([share for _, share in state.races])
    race_shares = stream(seed, "zip races").dirichlet(state.race_mixing * shares / shares.sum(), state.zips)
    numbers = 1_000 * ceil(state.zips / TAKEN)
    taken = stream(seed, "zip labels").choice(numbers, state.zips, replace=False)
    labels = np.array([f"{state.first_zip + number:05d}" for number in sorted(taken.tolist())])
    return StatePlaces(
        labels=labels,
        sizes=stream(seed, "zip sizes").permutation(sizes(state)),
        tilts=stream(seed, "zip tilts").normal(0, TILT, state.zips),
        wealth=np.exp(stream(seed, "zip wealth").normal(0, WEALTH, state.zips)),
        races=race_shares,
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
    baby_boom = 0.25 * np.exp(-(((years - 1957) / 9) ** 2))
    their_children = 0.20 * np.exp(-(((years - 1990) / 8) ** 2))
    born = np.asarray(1 + baby_boom + their_children)
    return np.asarray(born * alive * np.exp(tilts[:, None] * (ages - 50) / 20))


def female_share(state: State) -> Array:
    """The share of women among those born in each year: women live longer."""
    ages = state.as_of - np.arange(state.first_year, state.last_year + 1)
    women, men = _alive(ages, female=True), _alive(ages, female=False)
    return np.asarray(women / (women + men))


def _alive(ages: Array, *, female: bool) -> Array:
    """Gompertz: mortality grows by a tenth with every year of age."""
    hazard = 2.4e-5 if female else 4.0e-5
    return np.asarray(np.exp(-hazard / 0.1 * np.expm1(0.1 * ages)))
