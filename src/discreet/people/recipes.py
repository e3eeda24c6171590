"""Recipes of columns of synthetic people: diagnoses, names, identifiers, and what depends on what."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from math import prod
from typing import NamedTuple

import numpy as np

from discreet.errors import UsageError
from discreet.people.population import (
    Array,
    CodedWords,
    Odds,
    People,
    State,
    StatePlaces,
    female_share,
    settle,
    stream,
    year_weights,
)

COLUMNS = (
    "person_id", "given_name", "surname", "birth_date", "birth_year", "sex", "race", "zip", "diagnosis", "income",
    "plan", "visits",
)  # fmt: skip
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
    """Make the people of a state; no column depends on which others are asked for.

    >>> generate(State.of(1_000), seed=1, columns=("zip", "sex"))
    People(1,000 rows: zip, sex)
    """
    wanted = COLUMNS if columns is None else tuple(columns)
    if unknown := [name for name in wanted if name not in COLUMNS]:
        raise UsageError(f"No column is called '{unknown[0]}'.", remedy=f"There are: {', '.join(COLUMNS)}.")
    draft = PopulationDraft(state, seed)
    return People({name: getattr(draft, name) for name in wanted})


class PopulationDraft:
    """A population in the making: each column is made once, when it is first asked for."""

    def __init__(self, state: State, seed: int) -> None:
        self.state = state
        self.seed = seed

    def stream(self, name: str) -> np.random.Generator:
        return stream(self.seed, name)

    @cached_property
    def places(self) -> StatePlaces:
        return settle(self.state, seed=self.seed)

    @property
    def year_codes(self) -> Array:
        """Years of birth, counted from the first."""
        return np.asarray(self.birth_year - np.int16(self.state.first_year))

    @property
    def ages(self) -> Array:
        return np.asarray(np.int16(self.state.as_of) - self.birth_year)

    def by_sex(self, groups: Array, count: int) -> Array:
        """The groups of women, then the same groups of men."""
        return np.asarray(groups + self.sex.codes * np.int16(count))

    @cached_property
    def person_id(self) -> Array:
        return scatter(self.state.people, self.stream("person_id"))

    @cached_property
    def given_name(self) -> CodedWords:
        decades = np.arange(self.state.first_year // 10, self.state.last_year // 10 + 1)
        groups = self.by_sex(self.birth_year // 10 - decades[0], len(decades))
        odds = Odds.of(given_weights(10 * decades))
        return CodedWords(odds.draw(self.stream("given_name"), groups), given_labels())

    @cached_property
    def surname(self) -> CodedWords:
        labels = surname_labels(self.state.people)
        odds = Odds.of(surname_weights(len(labels)))
        return CodedWords(odds.draw_alone(self.stream("surname"), self.state.people), labels)

    @cached_property
    def birth_date(self) -> Array:
        new_year = (self.birth_year - np.int16(1970)).astype("datetime64[Y]")
        first = new_year.astype("datetime64[D]")
        days = (new_year + np.timedelta64(1, "Y")).astype("datetime64[D]") - first
        luck = self.stream("birth_date").random(len(first))
        return np.asarray(first + (luck * days.astype(np.int64)).astype("timedelta64[D]"))

    @cached_property
    def birth_year(self) -> Array:
        odds = Odds.of(year_weights(self.state, self.places.tilts))
        return odds.draw(self.stream("birth_year"), self.zip.codes) + np.int16(self.state.first_year)

    @cached_property
    def sex(self) -> CodedWords:
        women = female_share(self.state)
        odds = Odds.of(np.stack([women, 1 - women], axis=1))
        return CodedWords(odds.draw(self.stream("sex"), self.year_codes), np.array(["F", "M"]))

    @cached_property
    def race(self) -> CodedWords:
        names = np.array([name for name, _ in self.state.races])
        return CodedWords(Odds.of(self.places.races).draw(self.stream("race"), self.zip.codes), names)

    @cached_property
    def zip(self) -> CodedWords:
        odds = Odds.of(self.places.sizes)
        return CodedWords(odds.draw_alone(self.stream("zip"), self.state.people), self.places.labels)

    @cached_property
    def diagnosis(self) -> CodedWords:
        years = self.state.years
        odds = Odds.of(diagnosis_weights(self.state.as_of - np.array(years)))
        groups = self.by_sex(self.year_codes, len(years))
        names = np.array([diagnosis.name for diagnosis in DIAGNOSES])
        return CodedWords(odds.draw(self.stream("diagnosis"), groups), names)

    @cached_property
    def income(self) -> Array:
        """To the hundred: the ZIP's wealth, a peak at fifty, and luck."""
        years = self.state.as_of - np.array(self.state.years)
        by_age = 41_000 * np.exp(-(((years - 50) / 38) ** 2))
        luck = np.exp(self.stream("income").normal(0, 0.55, self.state.people))
        raw = luck * self.places.wealth[self.zip.codes] * by_age[self.year_codes]
        return np.asarray((raw / 100).round() * 100, dtype=np.int32)

    @cached_property
    def plan(self) -> CodedWords:
        band = np.digitize(self.income, INCOME_BANDS)
        groups = np.where(self.ages < SENIOR, band, band + len(INCOME_BANDS) + 1)
        return CodedWords(Odds.of(np.array(PLAN_WEIGHTS)).draw(self.stream("plan"), groups), np.array(PLANS))

    @cached_property
    def visits(self) -> Array:
        """One visit, and further ones by diagnosis and age; the gamma factor makes a few people come often."""
        rng = self.stream("visits")
        mean = np.array([diagnosis.visits for diagnosis in DIAGNOSES])[self.diagnosis.codes] * (0.5 + self.ages / 100)
        return np.asarray(1 + rng.poisson(mean * rng.gamma(2.0, 0.5, len(mean))), dtype=np.int16)


# Invented diagnoses: who tends to have them, and the hierarchy that coarsens them.
class Diagnosis(NamedTuple):
    """A diagnosis, its place in the hierarchy, and whom it meets."""

    name: str
    group: str
    chapter: str
    weight: float  # how common it is among those of the typical age
    age: int  # the typical age
    spread: int  # years around the typical age
    women: float  # share of women among those who have it
    visits: float  # mean number of further visits


DIAGNOSES = (
    Diagnosis("Type 2 diabetes", "Diabetes", "Metabolism", 9.0, 66, 16, 0.48, 3.0),
    Diagnosis("Type 1 diabetes", "Diabetes", "Metabolism", 0.9, 30, 18, 0.47, 4.0),
    Diagnosis("Underactive thyroid", "Thyroid", "Metabolism", 2.8, 58, 20, 0.82, 1.5),
    Diagnosis("Overactive thyroid", "Thyroid", "Metabolism", 0.8, 45, 17, 0.80, 1.8),
    Diagnosis("Obesity", "Nutrition", "Metabolism", 5.0, 47, 17, 0.55, 1.2),
    Diagnosis("Iron deficiency", "Nutrition", "Metabolism", 2.0, 33, 16, 0.85, 0.8),
    Diagnosis("High blood pressure", "Vessels", "Circulation", 12.0, 68, 17, 0.51, 1.5),
    Diagnosis("Varicose veins", "Vessels", "Circulation", 1.6, 56, 15, 0.70, 0.8),
    Diagnosis("Stroke", "Vessels", "Circulation", 2.4, 77, 12, 0.51, 3.5),
    Diagnosis("Heart attack", "Heart", "Circulation", 2.6, 70, 12, 0.34, 3.2),
    Diagnosis("Heart failure", "Heart", "Circulation", 4.2, 80, 11, 0.50, 4.5),
    Diagnosis("Irregular heartbeat", "Heart", "Circulation", 4.0, 76, 12, 0.46, 2.5),
    Diagnosis("Asthma", "Chronic lung", "Breathing", 4.0, 28, 22, 0.58, 1.6),
    Diagnosis("Chronic bronchitis", "Chronic lung", "Breathing", 3.6, 71, 12, 0.50, 2.8),
    Diagnosis("Pneumonia", "Lung infection", "Breathing", 2.5, 74, 18, 0.47, 1.4),
    Diagnosis("Influenza", "Lung infection", "Breathing", 2.2, 40, 28, 0.52, 0.4),
    Diagnosis("Breast cancer", "Solid tumour", "Tumours", 3.0, 64, 14, 0.99, 5.0),
    Diagnosis("Prostate cancer", "Solid tumour", "Tumours", 2.8, 71, 9, 0.00, 4.0),
    Diagnosis("Bowel cancer", "Solid tumour", "Tumours", 1.6, 69, 12, 0.46, 5.5),
    Diagnosis("Lung cancer", "Solid tumour", "Tumours", 1.6, 70, 10, 0.45, 6.0),
    Diagnosis("Leukaemia", "Blood tumour", "Tumours", 0.5, 66, 20, 0.42, 7.0),
    Diagnosis("Lymphoma", "Blood tumour", "Tumours", 0.6, 63, 18, 0.44, 6.0),
    Diagnosis("Depression", "Mood", "Mind", 6.5, 38, 19, 0.64, 2.5),
    Diagnosis("Bipolar disorder", "Mood", "Mind", 0.9, 33, 14, 0.52, 3.5),
    Diagnosis("Anxiety", "Worry", "Mind", 6.0, 31, 16, 0.65, 2.0),
    Diagnosis("Sleeplessness", "Worry", "Mind", 2.5, 50, 20, 0.60, 0.8),
    Diagnosis("Alcohol dependence", "Dependence", "Mind", 2.2, 46, 14, 0.28, 2.8),
    Diagnosis("Opioid dependence", "Dependence", "Mind", 1.1, 34, 10, 0.36, 3.0),
    Diagnosis("Schizophrenia", "Psychosis", "Mind", 0.7, 35, 14, 0.42, 4.0),
    Diagnosis("Dementia", "Decline", "Nerves", 6.5, 86, 8, 0.62, 2.6),
    Diagnosis("Parkinson disease", "Decline", "Nerves", 1.2, 76, 9, 0.39, 3.0),
    Diagnosis("Migraine", "Attacks", "Nerves", 3.2, 36, 13, 0.77, 1.0),
    Diagnosis("Epilepsy", "Attacks", "Nerves", 0.9, 40, 26, 0.49, 2.2),
    Diagnosis("Multiple sclerosis", "Inflamed nerves", "Nerves", 0.5, 41, 12, 0.74, 4.5),
    Diagnosis("Back pain", "Spine", "Motion", 8.0, 49, 18, 0.54, 1.6),
    Diagnosis("Slipped disc", "Spine", "Motion", 1.8, 46, 12, 0.45, 2.4),
    Diagnosis("Worn knee", "Joints", "Motion", 4.8, 70, 12, 0.61, 1.9),
    Diagnosis("Worn hip", "Joints", "Motion", 3.0, 72, 11, 0.57, 2.1),
    Diagnosis("Rheumatoid arthritis", "Joints", "Motion", 1.1, 57, 14, 0.73, 3.4),
    Diagnosis("Brittle bones", "Bones", "Motion", 2.4, 75, 10, 0.86, 1.4),
    Diagnosis("Broken wrist", "Bones", "Motion", 1.9, 44, 30, 0.56, 1.2),
    Diagnosis("Pregnancy", "Childbearing", "Reproduction", 9.0, 29, 5, 1.00, 4.0),
    Diagnosis("Miscarriage", "Childbearing", "Reproduction", 1.2, 31, 6, 1.00, 1.4),
    Diagnosis("Infertility", "Fertility", "Reproduction", 0.9, 35, 5, 0.66, 2.6),
    Diagnosis("Enlarged prostate", "Organs", "Reproduction", 3.8, 70, 11, 0.00, 1.3),
    Diagnosis("Endometriosis", "Organs", "Reproduction", 1.0, 34, 8, 1.00, 2.2),
    Diagnosis("HIV", "Lasting infection", "Infection", 0.6, 42, 13, 0.24, 3.2),
    Diagnosis("Hepatitis C", "Lasting infection", "Infection", 0.7, 54, 13, 0.37, 2.6),
    Diagnosis("Chlamydia", "Passing infection", "Infection", 1.8, 22, 5, 0.66, 0.6),
    Diagnosis("Urinary infection", "Passing infection", "Infection", 3.4, 48, 28, 0.83, 0.7),
    Diagnosis("Gallstones", "Bile", "Digestion", 2.0, 54, 17, 0.68, 1.5),
    Diagnosis("Reflux", "Stomach", "Digestion", 3.6, 54, 18, 0.53, 0.9),
    Diagnosis("Stomach ulcer", "Stomach", "Digestion", 1.0, 58, 16, 0.45, 1.4),
    Diagnosis("Irritable bowel", "Bowel", "Digestion", 2.0, 36, 14, 0.67, 1.3),
    Diagnosis("Crohn disease", "Bowel", "Digestion", 0.5, 33, 14, 0.52, 4.0),
    Diagnosis("Appendicitis", "Bowel", "Digestion", 0.9, 24, 14, 0.45, 0.6),
)


def diagnosis_hierarchy() -> tuple[tuple[str, str, str, str], ...]:
    """One row per diagnosis: itself, its group, its chapter, and the star that says nothing.

    >>> diagnosis_hierarchy()[0]
    ('Type 2 diabetes', 'Diabetes', 'Metabolism', '*')
    """
    return tuple((diagnosis.name, diagnosis.group, diagnosis.chapter, "*") for diagnosis in DIAGNOSES)


def diagnosis_weights(ages: Array) -> Array:
    """How likely each diagnosis is: first the rows of women by age, then those of men."""
    weight, age, spread, women = (
        np.array([getattr(diagnosis, name) for diagnosis in DIAGNOSES]) for name in ("weight", "age", "spread", "women")
    )
    near = weight * np.exp(-(((ages[:, None] - age) / spread) ** 2) / 2)
    return np.concatenate([near * women, near * (1 - women)])


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
GIVEN_TAIL_SHARE = 0.06  # of the people have one of them
FEWEST_SURNAMES, MOST_SURNAMES = 2_000, 250_000


def given_labels() -> Array:
    """All given names, the women's and then the men's, each a list of common ones and a tail."""
    return np.concatenate([np.array(WOMEN), _given_tail(WOMEN_CLOSES), np.array(MEN), _given_tail(MEN_CLOSES)])


def given_weights(decades: Array) -> Array:
    """Weights of given names: rows of women by decade of birth, then those of men."""
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
    """Zipf-Mandelbrot weights: rank r has a share like 1 / (r + 20)."""
    return np.asarray(1 / (np.arange(labels) + 20.0))


def _given_tail(closes: Sequence[str]) -> Array:
    return _combine((ONSETS, VOWELS, JOINTS, closes), GIVEN_TAIL)


def _name_weights(names: int, classics: int, years: Array) -> Array:
    """One row per year: listed names, each around its era, then the tail."""
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
