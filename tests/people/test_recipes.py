"""The columns of the people: the same for the same seed, complete, and plausible together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.people import COLUMNS, People, State, generate
from tests.examples import examples

SEED = 7
WANTED = {
    *("person_id", "given_name", "surname", "birth_date", "birth_year", "sex", "race", "zip"),
    *("diagnosis", "income", "plan", "visits"),
}


def present(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "U":
        return np.strings.str_len(values) > 0
    return ~np.isnat(values) if values.dtype.kind == "M" else values >= 0


def test_all_columns_are_made(people: People) -> None:
    assert set(COLUMNS) == set(people.columns) == WANTED
    assert len(people) == 60_000


def test_the_same_seed_makes_the_same_people(state: State, people: People) -> None:
    again = generate(state, seed=SEED)
    assert all((people.column(name) == again.column(name)).all() for name in COLUMNS)


def test_another_seed_makes_other_people(state: State, people: People) -> None:
    others = generate(state, seed=SEED + 1)
    assert not any((people.column(name) == others.column(name)).all() for name in COLUMNS)


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.sampled_from(COLUMNS), min_size=1, unique=True))
def test_a_column_does_not_hang_on_the_others_asked_for(asked: list[str]) -> None:
    state = State.of(1_000)
    everything = generate(state, seed=3)
    some = generate(state, seed=3, columns=asked)
    assert list(some.columns) == asked
    assert all((some.column(name) == everything.column(name)).all() for name in asked)


def test_an_unknown_column_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'shoe_size'.*person_id"):
        generate(State.of(1_000), seed=1, columns=("zip", "shoe_size"))


def test_nothing_is_missing(people: People) -> None:
    for name in COLUMNS:
        assert present(people.column(name)).all()


def test_birth_dates_lie_in_the_years_of_birth(people: People) -> None:
    dates, years = people.column("birth_date"), people.column("birth_year")
    assert dates.dtype == "datetime64[D]"
    assert (dates.astype("datetime64[Y]").astype(int) + 1970 == years).all()
    days = dates - dates.astype("datetime64[Y]").astype("datetime64[D]")
    assert set(np.unique(days.astype(int))) == set(range(366))


def test_adults_of_all_ages_live_here(state: State, people: People) -> None:
    years = people.column("birth_year")
    assert years.min() <= 1928
    assert years.max() == state.last_year
    assert 40 < 2024 - np.median(years) < 55


def test_marginals_are_plausible(people: People) -> None:
    assert set(people.column("sex")) == {"F", "M"}
    assert 0.49 < (people.column("sex") == "F").mean() < 0.55
    assert 0.3 < (people.column("race") == "White").mean() < 0.8
    assert 20_000 < np.median(people.column("income")) < 60_000
    assert people.column("visits").min() == 1
    assert 2 < people.column("visits").mean() < 5


def test_zips_differ_in_income_and_race(people: People) -> None:
    zips = people.column("zip")
    large = [name for name in np.unique(zips) if (zips == name).sum() > 500]
    income = [np.median(people.column("income")[zips == name]) for name in large]
    white = [(people.column("race")[zips == name] == "White").mean() for name in large]
    assert max(income) > 1.2 * min(income)
    assert max(white) > min(white) + 0.1


def test_plans_follow_age_and_income(people: People) -> None:
    plan, income = people.column("plan"), people.column("income")
    senior = 2024 - people.column("birth_year") >= 65
    assert (plan[senior] == "Senior").mean() > 0.6 > 0.1 > (plan[~senior] == "Senior").mean()
    assert np.median(income[plan == "Employer"]) > 1.5 * np.median(income[plan == "Assistance"])
