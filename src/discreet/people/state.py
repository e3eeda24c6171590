"""What a synthetic state is like: how many people, how they spread over ZIPs, ages and races."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import UsageError

__all__ = ["State"]

PEOPLE_PER_ZIP = 6_542  # 3.5 million people in 535 ZIPs
FEWEST_ZIPS = 5
MOST_ZIPS = 33_000  # about as many as a large country has; more would not fit into five digits
MOST_PEOPLE = 9_000_000_000  # as many as there are person identifiers of ten digits

# Both figures were found by bisection on the expected number of classes with somebody in them, the sum of
# 1 - exp(-people * p) over all classes of probability p: first EVENNESS, so that 3.5 million people fall into
# 73,600 classes of ZIP, sex and year of birth; then RACE_MIXING, so that 13 million people with the same
# EVENNESS fall into 778,000 classes of ZIP, sex, year of birth and race. Any change of the age curve, the
# race shares or the spread of ages between ZIPs asks for a new search: `pytest -m slow tests/people` tells.
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
            f"A state's {field} lies between {least:,} and {most:,}; this one is {value:,}.",
            remedy="State.of(people) chooses fitting figures.",
        )


def _positive(field: str, value: float) -> None:
    if not value > 0:
        raise UsageError(f"A state's {field} is above zero; this one is {value}.", remedy="Leave it out.")
