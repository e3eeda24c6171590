"""Recipes of columns of synthetic people, and lists of names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, reduce
from math import prod

import numpy as np

from discreet.errors import UsageError
from discreet.people.diagnoses import DIAGNOSES, diagnosis_weights
from discreet.people.population import Array, CodedWords, Column, Odds, People, stream
from discreet.people.state import State, StatePlaces, female_share, settle, year_weights

__all__ = ["COLUMNS", "generate", "given_labels", "given_weights", "scatter", "surname_labels", "surname_weights"]

SENIOR = 65
INCOME_BANDS = (22_000, 55_000)
PLANS = ("Employer", "Individual", "Senior", "Assistance", "Uninsured")
# One row per income band, first of those below the age of SENIOR, then of the others.
PLAN_WEIGHTS = (
    (25, 14, 2, 41, 18),
    (60, 16, 2, 10, 12),
    (81, 13, 1, 1, 4),
    (2, 2, 74, 21, 1),
    (5, 6, 83, 5, 1),
    (14, 9, 76, 0.5, 0.5),
)


def generate(state: State, *, seed: int, columns: Sequence[str] | None = None) -> People:
    """Make the people of a state; a column's values do not depend on which other columns are asked for.

    >>> generate(State.of(1_000), seed=1, columns=("zip", "sex"))
    People(1,000 rows: zip, sex)
    """
    wanted = COLUMNS if columns is None else tuple(columns)
    unknown = [name for name in wanted if name not in RECIPES]
    if unknown:
        raise UsageError(f"No column is called '{unknown[0]}'.", remedy=f"There are: {', '.join(COLUMNS)}.")
    draft = PopulationDraft(state, seed)
    return People({name: draft.column(name) for name in wanted})


class PopulationDraft:
    """A population in the making: each column is made once, when it is first asked for."""

    def __init__(self, state: State, seed: int) -> None:
        self.state = state
        self.seed = seed
        self._made: dict[str, Column] = {}

    def column(self, name: str) -> Column:
        if name not in self._made:
            self._made[name] = RECIPES[name](self)
        return self._made[name]

    def codes(self, name: str) -> Array:
        column = self.column(name)
        return column.codes if isinstance(column, CodedWords) else column

    def stream(self, name: str) -> np.random.Generator:
        return stream(self.seed, name)

    @cached_property
    def places(self) -> StatePlaces:
        return settle(self.state, seed=self.seed)

    @property
    def year_codes(self) -> Array:
        """Years of birth, counted from the first."""
        return np.asarray(self.codes("birth_year") - np.int16(self.state.first_year))

    @property
    def ages(self) -> Array:
        return np.asarray(np.int16(self.state.as_of) - self.codes("birth_year"))


def _person_id(draft: PopulationDraft) -> Column:
    return scatter(draft.state.people, draft.stream("person_id"))


def _zip(draft: PopulationDraft) -> Column:
    odds = Odds.of(draft.places.sizes)
    return CodedWords(odds.draw_alone(draft.stream("zip"), draft.state.people), draft.places.labels)


def _birth_year(draft: PopulationDraft) -> Column:
    odds = Odds.of(year_weights(draft.state, draft.places.tilts))
    codes = odds.draw(draft.stream("birth_year"), draft.codes("zip"))
    return codes + np.int16(draft.state.first_year)


def _birth_date(draft: PopulationDraft) -> Column:
    new_year = (draft.codes("birth_year") - np.int16(1970)).astype("datetime64[Y]")
    first = new_year.astype("datetime64[D]")
    days = (new_year + np.timedelta64(1, "Y")).astype("datetime64[D]") - first
    luck = draft.stream("birth_date").random(len(first))
    return np.asarray(first + (luck * days.astype(np.int64)).astype("timedelta64[D]"))


def _sex(draft: PopulationDraft) -> Column:
    women = female_share(draft.state)
    odds = Odds.of(np.stack([women, 1 - women], axis=1))
    return CodedWords(odds.draw(draft.stream("sex"), draft.year_codes), np.array(["F", "M"]))


def _race(draft: PopulationDraft) -> Column:
    odds = Odds.of(draft.places.races)
    names = np.array([name for name, _ in draft.state.races])
    return CodedWords(odds.draw(draft.stream("race"), draft.codes("zip")), names)


def _given_name(draft: PopulationDraft) -> Column:
    decades = np.arange(draft.state.first_year // 10, draft.state.last_year // 10 + 1)
    decade = draft.codes("birth_year") // 10 - decades[0]
    odds = Odds.of(given_weights(10 * decades))
    return CodedWords(odds.draw(draft.stream("given_name"), _by_sex(draft, decade, len(decades))), given_labels())


def _surname(draft: PopulationDraft) -> Column:
    labels = surname_labels(draft.state.people)
    odds = Odds.of(surname_weights(len(labels)))
    return CodedWords(odds.draw_alone(draft.stream("surname"), draft.state.people), labels)


def _diagnosis(draft: PopulationDraft) -> Column:
    years = draft.state.years
    odds = Odds.of(diagnosis_weights(draft.state.as_of - np.array(years)))
    groups = _by_sex(draft, draft.year_codes, len(years))
    return CodedWords(odds.draw(draft.stream("diagnosis"), groups), np.array([one.name for one in DIAGNOSES]))


def _income(draft: PopulationDraft) -> Column:
    """To the hundred: the ZIP's wealth, a peak at fifty, and luck."""
    years = draft.state.as_of - np.array(draft.state.years)
    by_age = 41_000 * np.exp(-(((years - 50) / 38) ** 2))
    luck = np.exp(draft.stream("income").normal(0, 0.55, draft.state.people))
    raw = luck * draft.places.wealth[draft.codes("zip")] * by_age[draft.year_codes]
    return np.asarray((raw / 100).round() * 100, dtype=np.int32)


def _plan(draft: PopulationDraft) -> Column:
    band = np.digitize(draft.codes("income"), INCOME_BANDS)
    groups = np.where(draft.ages < SENIOR, band, band + len(INCOME_BANDS) + 1)
    return CodedWords(Odds.of(np.array(PLAN_WEIGHTS)).draw(draft.stream("plan"), groups), np.array(PLANS))


def _visits(draft: PopulationDraft) -> Column:
    """One visit, and further ones by diagnosis and age; the gamma factor makes a few people come often."""
    rng = draft.stream("visits")
    mean = np.array([one.visits for one in DIAGNOSES])[draft.codes("diagnosis")] * (0.5 + draft.ages / 100)
    return np.asarray(1 + rng.poisson(mean * rng.gamma(2.0, 0.5, len(mean))), dtype=np.int16)


def _by_sex(draft: PopulationDraft, groups: Array, count: int) -> Array:
    """The groups of women, then the same groups of men."""
    return np.asarray(groups + draft.codes("sex") * np.int16(count))


RECIPES: Mapping[str, Callable[[PopulationDraft], Column]] = {
    "person_id": _person_id,
    "given_name": _given_name,
    "surname": _surname,
    "birth_date": _birth_date,
    "birth_year": _birth_year,
    "sex": _sex,
    "race": _race,
    "zip": _zip,
    "diagnosis": _diagnosis,
    "income": _income,
    "plan": _plan,
    "visits": _visits,
}
COLUMNS = tuple(RECIPES)


# Names of synthetic people, and identifiers that never repeat.
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
