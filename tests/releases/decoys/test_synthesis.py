"""Rows put together from others: what stays together, and how like others they come out."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.releases.decoys.donors import DonorColumn, Donors
from discreet.releases.decoys.synthesis import NumberLadder, Splicer, drawn, in_order


def donors(rows: int = 600) -> Donors:
    """School and years of school hang together, income hangs on school, and a pet on nothing."""
    rng = np.random.default_rng(1)
    school = rng.integers(0, 5, rows)
    income = (1000 * school + rng.normal(0, 900, rows)).round(-2).astype(int)
    columns = (
        DonorColumn.of("school", [f"s{one}" for one in school]),
        DonorColumn.of("years", (school * 2 + 6).tolist()),
        DonorColumn.of("income", income.tolist()),
        DonorColumn.of("pet", [f"p{one}" for one in rng.integers(0, 12, rows)]),
        DonorColumn.of("town", [f"t{one}" for one in rng.integers(0, 40, rows)]),
    )
    return Donors(columns, np.repeat(np.arange(rows // 6), 6))


def filled(size: int = 300) -> tuple[Donors, np.ndarray]:
    given = donors()
    fresh = np.zeros((size, len(given.columns)), dtype=bool)
    return given, Splicer.of(given).rows(np.arange(len(given)), size, fresh, np.random.default_rng(2))


def test_columns_that_give_each_other_come_from_one_row() -> None:
    _, made = filled()
    assert np.array_equal(made[:, 0], made[:, 1])
    assert (made != made[:, [0]]).any(axis=1).mean() > 0.8  # the others are spliced


def test_values_keep_their_frequencies_and_what_they_hang_on() -> None:
    given, made = filled()
    for place in (0, 3):
        codes = given.columns[place].codes
        before, after = (np.bincount(one, minlength=12) / len(one) for one in (codes, codes[made[:, place]]))
        assert np.abs(before - after).max() < 0.09
    school = np.array([int(cell[1:]) for cell in given.columns[0].cells])
    income = np.array(given.columns[2].cells)
    assert np.corrcoef(school[made[:, 0]], income[made[:, 2]])[0, 1] > 0.6 * np.corrcoef(school, income)[0, 1]


def test_rows_have_as_much_in_common_with_others_as_real_rows_have() -> None:
    given, made = filled()
    likeness = Splicer.of(given).likeness
    codes = np.stack([column.codes for column in given.columns], axis=1)
    real = likeness.surprises(codes, but=given.owners)
    ours = likeness.surprises(np.stack([codes[made[:, place], place] for place in range(5)], axis=1))
    straight = likeness.surprises(codes)
    assert abs(ours.mean() - real.mean()) < 0.35 * (straight.mean() - real.mean())


def test_a_single_block_or_a_single_donor_is_copied() -> None:
    given = donors()
    alone = Donors(given.columns[:2], given.owners)
    fresh = np.zeros((4, 2), dtype=bool)
    made = Splicer.of(alone).rows(np.arange(10), 4, fresh, np.random.default_rng(1))
    assert np.array_equal(made[:, 0], made[:, 1])
    made = Splicer.of(given).rows(np.array([7]), 3, np.zeros((3, 5), dtype=bool), np.random.default_rng(1))
    assert (made == 7).all()


def test_neighbours_on_a_ladder() -> None:
    ladder = NumberLadder.of(np.array([1.0, 2.0, 2.0, 3.0, 9.0, np.nan]))
    rng = np.random.default_rng(1)
    assert {ladder.beside(0, rng) for _ in range(50)} == {1, 3}
    assert {ladder.beside(4, rng) for _ in range(90)} == {1, 3, 5}


ODDS = st.lists(st.floats(0.01, 1.0), min_size=1, max_size=7)


@given(ODDS, st.integers(0, 1000))
def test_lots_are_those_that_numpy_draws(odds: list[float], seed: int) -> None:
    shares = np.array(odds) / np.sum(odds)
    ours, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
    for _ in range(3):
        order = theirs.choice(len(odds), len(odds), replace=False, p=shares)
        assert in_order(shares.tolist(), ours) == order.tolist()
        assert drawn(odds, ours) == theirs.choice(len(odds), p=shares)
    assert ours.random() == theirs.random()
