"""Random streams and draws from rows of odds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from discreet.errors import UsageError
from discreet.people.population import LUCK, SLICE, Odds, stream
from tests.examples import examples

weights = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.sampled_from([0.0, 1e-9, 0.3, 1.0, 1e6]),
).filter(lambda rows: bool((rows.sum(axis=1) > 0).all()))


class Extreme:
    """A generator whose luck is always the same."""

    def __init__(self, luck: int) -> None:
        self.luck = luck

    def integers(self, _: int, *, size: int, dtype: type) -> np.ndarray:
        return np.full(size, self.luck, dtype)


@given(weights, st.sampled_from([0, 1, LUCK // 2, LUCK - 1]))
def test_no_luck_draws_a_code_of_weight_zero(rows: np.ndarray, luck: int) -> None:
    groups = np.arange(len(rows))
    codes = Odds.of(rows).draw(Extreme(luck), groups)  # type: ignore[arg-type]
    assert (rows[groups, codes] > 0).all()


def test_shares_follow_the_odds_of_the_group() -> None:
    rows = np.array([[1, 2, 7], [5, 5, 0]])
    groups = np.arange(200_000) % 2
    codes = Odds.of(rows).draw(stream(1, "test"), groups)
    drawn = np.array([np.bincount(codes[groups == group], minlength=3) for group in (0, 1)]) / 100_000
    assert np.abs(drawn - rows / 10).max() < 0.01


def test_a_draw_does_not_hang_on_where_slices_end() -> None:
    odds = Odds.of(np.ones((1, 50)))
    long = odds.draw_alone(stream(1, "test"), 2 * SLICE + 5)
    assert (long[: SLICE + 9] == odds.draw_alone(stream(1, "test"), SLICE + 9)).all()


@pytest.mark.parametrize(("codes", "dtype"), [(2, np.uint8), (256, np.uint8), (257, np.uint16), (65_537, np.uint32)])
def test_codes_are_as_small_as_they_can_be(codes: int, dtype: type) -> None:
    assert Odds.of(np.ones(codes)).draw_alone(stream(1, "test"), 3).dtype == dtype


@settings(max_examples=examples(40))
@given(st.integers(0, 2**64), st.text(), st.text())
def test_streams_of_one_seed_differ_by_name_only(seed: int, one: str, other: str) -> None:
    same = bool((stream(seed, one).random(4) == stream(seed, other).random(4)).all())
    assert same == (one == other)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(UsageError, match="seed"):
        stream(-1, "zip")
