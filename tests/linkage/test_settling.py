"""What is mended in Splink's estimates."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.linkage.comparisons import SWAPPED_NAMES
from discreet.linkage.settling import settled

PROBABILITIES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=6)


def settings(levels: list[tuple[float | str | None, float | str | None]], labels: tuple[str, ...] = ()) -> dict:
    named = [
        {"m_probability": m, "u_probability": u, "label_for_charts": labels[place] if labels else f"level {place}"}
        for place, (m, u) in enumerate(levels)
    ]
    null = {"is_null_level": True}
    return {"comparisons": [{"comparison_levels": [null, *named]}]}


def mended(levels: list, prior: float = 0.001, **more: object) -> list[tuple[float, float]]:
    found = settled(settings(levels, **more), prior=prior, possible=1_000_000)
    assert found["probability_two_random_records_match"] == prior
    return [(one["m_probability"], one["u_probability"]) for one in found["comparisons"][0]["comparison_levels"][1:]]


@given(PROBABILITIES, st.floats(1e-6, 0.3))
def test_sums_are_one_and_being_less_alike_never_speaks_more(levels: list[tuple[float, float]], prior: float) -> None:
    found = mended(levels, prior)
    assert sum(m for m, _ in found) == pytest.approx(1)
    assert sum(u for _, u in found) == pytest.approx(1)
    assert all(m > 0 and u > 0 for m, u in found)
    ratios = [m / u for m, u in found]
    assert all(after <= before * (1 + 1e-9) for before, after in itertools.pairwise(ratios))


def test_true_pairs_among_the_random_ones_are_taken_off() -> None:
    """Of a million pairs a thousand are true and agree nine times in ten; strangers agree 300 times in a million."""
    seen = 0.001 * 0.9 + 0.999 * 300e-6
    found = mended([(0.9, seen), (0.1, 1 - seen)])
    assert found[0][1] == pytest.approx(300e-6, rel=1e-6)


def test_they_are_not_taken_off_twice() -> None:
    levels = [(0.9, 30e-6), (0.1, 1 - 30e-6)]
    found = settled(settings(levels), prior=0.001, possible=1_000_000, among_random=0.0)
    assert found["comparisons"][0]["comparison_levels"][1]["u_probability"] == pytest.approx(30e-6)


def test_a_level_nobody_showed_shares_the_weight_of_its_neighbour() -> None:
    found = mended([(0.9, 0.01), ("level not observed in training dataset", 0.09), (0.1, 0.9)])
    assert found[1][0] / found[1][1] == pytest.approx(found[2][0] / found[2][1])


def test_a_swap_is_no_step_of_likeness() -> None:
    found = mended([(0.0001, 0.2), (0.8, 0.1), (0.2, 0.7)], labels=(SWAPPED_NAMES, "exact", "else"))
    assert found[0][0] / found[0][1] < 1 < found[1][0] / found[1][1]


def test_the_settings_given_are_left_alone() -> None:
    given_settings = settings([(0.2, 0.5), (0.8, 0.5)])
    settled(given_settings, prior=0.1, possible=10)
    assert given_settings == settings([(0.2, 0.5), (0.8, 0.5)])
