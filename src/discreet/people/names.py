"""Names of synthetic people, and identifiers that never repeat."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod

import numpy as np

from discreet.people.draws import Array

__all__ = ["given_labels", "given_weights", "scatter", "surname_labels", "surname_weights"]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Both lists run from the names of the oldest to the names of the youngest: the place is the era.
WOMEN = _words("""
Edith Mildred Agnes Hazel Bertha Opal Gladys Irma Mabel Viola Dorothy Ethel Lois Norma Betty June Doris Shirley
Joan Peggy Marlene Rita Gail Judith Carol Sandra Sharon Brenda Diane Paula Janet Cynthia Pamela Denise Teresa
Lori Tammy Rhonda Wendy Tracy Dawn Stacy Heidi Tonya Monica Melissa Carrie April Crystal Erica Vanessa Amber
Danielle Lindsey Brittany Kayla Jasmine Chelsea Paige Alexis Destiny Sierra Autumn Haley Brooke Mia Zoe Lily
Ruth Clara Helen Anna Maria Laura Julia Elena Sofia Grace Naomi Leah
""")
MEN = _words("""
Elmer Clarence Chester Homer Floyd Earl Wilbur Herbert Vernon Melvin Leroy Ralph Harold Stanley Norman Gene
Donald Wayne Roger Gerald Larry Jerry Dennis Gary Bruce Glenn Alan Keith Randy Craig Terry Douglas Greg Jeffrey
Scott Todd Darren Troy Brett Shawn Chad Derek Jeremy Travis Dustin Joshua Kyle Brandon Tyler Cody Austin Trevor
Jordan Dylan Devin Logan Hunter Mason Caleb Ethan Aiden Liam Carlos Miguel Luis Omar Peter Paul Thomas Simon
Victor Martin Oscar Leo Samuel Adrian Julian Felix Hugo Anton
""")
WOMENS_CLASSICS, MENS_CLASSICS = 12, 18  # so many at the end of each list are given in all eras

SURNAMES = _words("""
Miller Garcia Smith Walker Johnson Rivera Clark Brown Nguyen Baker Hill Lopez Taylor Murphy Reed Carter Young Cruz
Green Davis Patel Cook Morgan Martinez Wilson Bailey Kim King Brooks Moore Perez Cooper Jones Ward Foster Anderson
Wood Reyes Parker Bell Hughes Ross Turner Chavez Gray Kelly Price Howard Bennett Mitchell Long Ramos Collins Fisher
Cox Powell Singh Morris Ruiz Stewart Roberts Watson Perry Myers Castillo Rogers Butler Sanders Mendoza Graham Tran
Hart Russell Barnes Alvarez Jenkins Ford Coleman Sullivan Chen Owens Simmons Wallace Vasquez Henderson Richardson
Fuller Woods Lane Holt Frost Webb Moss Marsh Pratt Lowe Quinn Sharp Drake Stone Vega Luna Rosario Novak Jordan
Kowalski Schmidt Lindqvist Ferrari Dubois Okafor Haddad Ivanov Yamada Silva Costa
""")

ONSETS = _words("B Br C Ch D Dr F Fl G Gr H J K Kr L M N P Pr R S Sh St T Tr V W Y Z")
VOWELS = _words("a e i o u ai ea ie ou")
JOINTS = _words("b d g k l ll m n nd nk r rb rn rv s st t v z")
CLOSES = _words("man ton ski son berg ley ez ini ard well ova ak en ier ham ford wick ura dal off")
WOMEN_CLOSES = _words("ia ina elle essa ani ora ette ily una isa")
MEN_CLOSES = _words("an on us ric en ard io iel as in")

STRIDE = 7_368_787  # a prime that divides no number of combinations: its multiples meet each of them once
ERAS = (1920, 2006)
ERA = 16  # years around its peak in which a name is given
GIVEN_TAIL = 1_200  # made given names of each sex
GIVEN_TAIL_SHARE = 0.06  # of the people bear one of them
FEWEST_SURNAMES, MOST_SURNAMES = 2_000, 250_000


def given_labels() -> Array:
    """All given names, the women's and then the men's, each a list of common ones and a tail."""
    return np.concatenate([np.array(WOMEN), _given_tail(WOMEN_CLOSES), np.array(MEN), _given_tail(MEN_CLOSES)])


def given_weights(decades: Array) -> Array:
    """How likely each given name is: first the rows of women by decade of birth, then those of men."""
    women = _name_weights(len(WOMEN), WOMENS_CLASSICS, decades + 5)
    men = _name_weights(len(MEN), MENS_CLASSICS, decades + 5)
    return np.block([[women, np.zeros_like(men)], [np.zeros_like(women), men]])


def surname_labels(people: int) -> Array:
    """The surnames of a state, common ones first: more people, more rare names.

    >>> surname_labels(1_000)[[0, 1, 999]].tolist()
    ['Miller', 'Garcia', 'Habton']
    """
    wanted = min(MOST_SURNAMES, max(FEWEST_SURNAMES, people // 20))
    short = _combine((ONSETS, VOWELS, JOINTS, CLOSES), wanted)
    long = _combine((ONSETS, VOWELS, JOINTS, VOWELS, JOINTS, CLOSES), wanted)
    return np.array([*dict.fromkeys([*SURNAMES, *short.tolist(), *long.tolist()])][:wanted])


def surname_weights(labels: int) -> Array:
    """Zipf's law as Mandelbrot has it: a share like 1 / (r + 20) bears the name of rank r."""
    return np.asarray(1 / (np.arange(labels) + 20.0))


def _given_tail(closes: Sequence[str]) -> Array:
    return _combine((ONSETS, VOWELS, JOINTS, closes), GIVEN_TAIL)


def _name_weights(names: int, classics: int, years: Array) -> Array:
    """One row per year: first the listed names, each around its era, then the tail, alike in all years."""
    # Zipf's law over ranks that are scattered over the eras.
    peaks = np.linspace(*ERAS, names - classics)
    bells = np.exp(-(((years[:, None] - peaks) / ERA) ** 2) / 2)
    fashion = np.concatenate([bells, np.full((len(years), classics), 0.4)], axis=1)
    listed = np.asarray(1 / (np.arange(names) * 37 % names + 12.0)) * fashion
    tail = np.tile(1 / (np.arange(GIVEN_TAIL) + 5.0), (len(years), 1))
    return np.concatenate([(1 - GIVEN_TAIL_SHARE) * _rows_of_one(listed), GIVEN_TAIL_SHARE * _rows_of_one(tail)], 1)


def _rows_of_one(weights: Array) -> Array:
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _combine(parts: Sequence[Sequence[str]], wanted: int) -> Array:
    """Up to `wanted` different ways to put one syllable of each part together, in a scattered order."""
    ways = prod(len(part) for part in parts)
    places = np.unravel_index(np.arange(min(wanted, ways)) * STRIDE % ways, [len(part) for part in parts])
    return reduce(np.strings.add, [np.array(part)[place] for part, place in zip(parts, places, strict=True)])


# Person identifiers: ten digits that look random and never repeat.
LEFT, RIGHT = 90_000, 100_000  # LEFT * RIGHT is the number of ten-digit numbers
ROUNDS = 3


def scatter(people: int, rng: np.random.Generator) -> Array:
    """One identifier per row: the row number sent through a Feistel network, hence no two alike.

    Each round adds to one half something that depends on the other half only, which can be taken back.

    >>> len(set(scatter(5_000, np.random.default_rng(1)).tolist()))
    5000
    """
    left, right = np.divmod(np.arange(people, dtype=np.int64), RIGHT)
    for _ in range(ROUNDS):
        left = (left + rng.integers(LEFT, size=RIGHT)[right]) % LEFT
        right = (right + rng.integers(RIGHT, size=LEFT)[left]) % RIGHT
    return np.asarray((left + LEFT // 9) * RIGHT + right)
