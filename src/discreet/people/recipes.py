"""How each column of the people is made, and from which other columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

from discreet.errors import UsageError
from discreet.people.diagnoses import DIAGNOSES, diagnosis_weights
from discreet.people.draws import Array, CodedWords, Column, Odds, stream
from discreet.people.names import given_labels, given_weights, scatter, surname_labels, surname_weights
from discreet.people.population import People
from discreet.people.state import State, StatePlaces, female_share, settle, year_weights

__all__ = ["COLUMNS", "generate"]

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
