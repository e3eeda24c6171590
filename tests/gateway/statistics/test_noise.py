"""Sticky noise: one quantity, one noise, at one scale; and the threshold of groups."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.gateway.statistics import Moment, StatisticCell
from discreet.gateway.statistics.noise import StickyNoise
from discreet.policy.gateway_section import AggregateColumn, AggregatesPolicy
from tests.gateway.statistics.worlds import COUNT, ILL, INCOME, SETTINGS, SUM

NOISE = StickyNoise(b"secret", SETTINGS)
CELL = StatisticCell(("10",), "", people=100, who="who", values=(40.0,))
TEXTS: Any = st.text(max_size=4)


def wider(bounds: tuple[float, float]) -> AggregatesPolicy:
    return replace(SETTINGS, columns={"income": AggregateColumn(bounds, None)})


@pytest.mark.parametrize(
    ("moment", "cell", "settings"),
    [
        (replace(SUM, scope="visits"), CELL, SETTINGS),
        (replace(SUM, condition="ill IN (yes)"), CELL, SETTINGS),
        (replace(SUM, rows=4), CELL, SETTINGS),
        (replace(SUM, tag="square"), CELL, SETTINGS),
        (SUM, replace(CELL, who="others"), SETTINGS),
        (SUM, replace(CELL, sensitive="yes"), SETTINGS),
        (SUM, CELL, replace(SETTINGS, noise=3.0)),
        (SUM, CELL, wider((0.0, 50.0))),
        (SUM, CELL, wider((50.0, 150.0))),
    ],
    ids=["joins", "condition", "rows", "moment", "people", "value", "deviation", "bounds", "moved bounds"],
)
def test_another_quantity_has_another_noise_and_not_the_same_scaled(
    moment: Moment, cell: StatisticCell, settings: AggregatesPolicy
) -> None:
    """With one noise at two scales, two answers would give the exact value (trap 2)."""
    other = StickyNoise(b"secret", settings)
    mine = NOISE.of(SUM, CELL) / SUM.deviation(SETTINGS)
    assert abs(mine - other.of(moment, cell) / moment.deviation(settings)) > 1e-6


def test_the_same_question_about_the_same_people_has_the_same_noise() -> None:
    """Neither the values counted, nor how the group is called, nor how many are left after a condition, change it (trap 1)."""
    spelt = replace(CELL, group=("other",), values=(39.0,), label="x", members=7)
    assert NOISE.of(COUNT, CELL) == NOISE.of(COUNT, spelt)
    assert StickyNoise(b"other", SETTINGS).of(COUNT, CELL) != NOISE.of(COUNT, CELL)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_parts_of_a_seed_do_not_run_into_each_other(who: str, sensitive: str, other_who: str, other: str) -> None:
    one, two = replace(CELL, who=who, sensitive=sensitive), replace(CELL, who=other_who, sensitive=other)
    assert (NOISE.of(SUM, one) == NOISE.of(SUM, two)) == ((who, sensitive) == (other_who, other))


def test_noise_is_as_large_as_the_policy_says() -> None:
    drawn = [NOISE.of(SUM, replace(CELL, who=str(number))) for number in range(4000)]
    assert statistics.mean(drawn) == pytest.approx(0, abs=6)
    assert statistics.stdev(drawn) == pytest.approx(2 * 50, rel=0.05)
    squared = statistics.NormalDist(0, 100)
    inside = sum(abs(one) <= squared.inv_cdf(0.975) for one in drawn) / len(drawn)
    assert inside == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize(
    ("moment", "half"),
    [
        (COUNT, 1.0),
        (replace(COUNT, rows=4), 4.0),
        (SUM, 50.0),
        (Moment("square", (INCOME,)), 1250.0),
        (Moment("product", (INCOME, INCOME)), 2500.0),
        (Moment("product", (INCOME,), public="t.people.age", bounds=(0.0, 20.0)), 500.0),
        (Moment("sum", (ILL,), public="t.people.age", bounds=(0.0, 20.0), rows=2), 20.0),
    ],
)
def test_half_of_what_one_person_may_change(moment: Moment, half: float) -> None:
    assert moment.half_range(SETTINGS) == half


def test_a_number_without_bounds_has_no_noise_to_hide_in() -> None:
    with pytest.raises(ValueError, match="no bounds"):
        Moment("sum", ("t.people.height",)).half_range(SETTINGS)


@given(st.integers(0, 30), st.text(min_size=1, max_size=5), st.integers(0, 5), st.integers(2, 12))
def test_a_group_is_never_shown_below_the_least_and_always_above_the_margin(
    people: int, who: str, margin: int, smallest: int
) -> None:
    noise = StickyNoise(b"s", replace(SETTINGS, margin=margin, smallest=smallest))
    shown = noise.shows(replace(CELL, people=people, who=who))
    assert not shown or people >= smallest
    assert shown or people < smallest + 2 * margin


@given(st.text(min_size=1, max_size=5), st.integers(0, 40))
def test_the_threshold_of_a_sensitive_group_says_no_more_than_its_count(who: str, members: int) -> None:
    """Its noise is that of the number shown: a second, independent look at the same number would cost a second answer."""
    each = Moment("count", ())
    grouped = replace(CELL, who=who, sensitive="yes", members=members, values=(float(members),))
    (released,) = NOISE.release([each], [grouped])
    noised = members + NOISE.of(each, grouped, float(members))
    assert released.shown == (members >= 7 and max(members - 3, min(members + 3, noised)) >= 10)
    assert released.values == ((max(0, min(round(noised), 100)) if released.shown else None),)


def test_counts_are_possible_and_hidden_cells_say_nothing() -> None:
    empty = [replace(CELL, who=str(number), values=(0.0,)) for number in range(50)]
    shown = [one.values[0] for one in NOISE.release([COUNT], empty)]
    assert min(value for value in shown if value is not None) == 0
    assert all(value is not None and value == int(value) for value in shown)
    (hidden,) = NOISE.release([COUNT], [replace(CELL, people=6)])
    assert (hidden.shown, hidden.values) == (False, (None,))
