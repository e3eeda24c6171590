"""What the room promises of tracing, simulated with seeds: the quick ones always, the full ones with `-m slow`.

The full figures are printed by `python -m benchmarks.releases_tracing`.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.releases_tracing import (
    ALPHA,
    INNOCENT,
    WAYS,
    bait_until_named,
    false_accusations,
    named_from_files,
    until_named,
)
from benchmarks.releases_world import world

SMALL = (350_000, 0.05)
"""A tenth of the state with a 5 % sample: seconds instead of minutes."""


@pytest.mark.parametrize("way", INNOCENT)
def test_innocent_families_are_hardly_ever_accused(way: str) -> None:
    families = 600
    rate = false_accusations(world(*SMALL).codebook, INNOCENT[way], families=families, claims=60, seed=7)
    assert rate <= ALPHA + 3 * np.sqrt(ALPHA / families)


@pytest.mark.parametrize(("colluding", "most"), [(1, 18), (2, 25)])
def test_claims_name_a_leaker_soon(colluding: int, most: int) -> None:
    found = until_named(world(*SMALL), colluding=colluding, runs=300, seed=8)
    assert np.median(found) <= most


def test_decoys_that_nobody_shares_name_one_leaker_and_never_two() -> None:
    assert np.median(bait_until_named(world(*SMALL), colluding=1, runs=50, seed=9)) < np.inf
    assert min(bait_until_named(world(*SMALL), colluding=2, runs=50, seed=9)) == np.inf


def test_a_twentieth_of_the_rows_names_the_leaker() -> None:
    any_, _, wrong = named_from_files(world(*SMALL), colluding=1, how="rows at random", share=0.05, runs=5, seed=10)
    assert (any_, wrong) == (1, 0)


@pytest.mark.slow
@pytest.mark.parametrize("way", INNOCENT)
def test_twenty_thousand_innocent_families(way: str) -> None:
    rate = false_accusations(world().codebook, INNOCENT[way], families=20_000, claims=100, seed=7)
    assert rate <= ALPHA + 3 * np.sqrt(ALPHA / 20_000)


@pytest.mark.slow
@pytest.mark.parametrize(("colluding", "most"), [(1, 18), (2, 25)])
def test_claims_until_named_in_the_whole_state(colluding: int, most: int) -> None:
    assert np.median(until_named(world(), colluding=colluding, runs=2_000, seed=8)) <= most


@pytest.mark.slow
def test_a_twentieth_of_the_rows_of_the_whole_state() -> None:
    any_, _, wrong = named_from_files(world(), colluding=1, how="rows at random", share=0.05, runs=300, seed=10)
    assert any_ >= 0.99
    assert wrong <= 3  # 0.3 are to be expected at alpha = 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("colluding", [2, 3])
def test_copies_put_together_in_the_whole_state(colluding: int, how: str) -> None:
    any_, _, wrong = named_from_files(world(), colluding=colluding, how=how, share=0.05, runs=40, seed=10)
    assert any_ >= (0.95 if colluding == 2 else 0.8)
    assert wrong <= 1
