"""The gate: it finds what there is to be found, and no more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from discreet.releases.decoys.detectability import (
    BINS,
    WARN,
    BoostedForest,
    DetectabilityResult,
    LabelledRows,
    auc,
    either_way,
    noise_floor,
    told,
)
from discreet.releases.decoys.donors import DonorColumn


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=30))
def test_auc_is_the_share_of_pairs_in_the_right_order(drawn: list[tuple[int, bool]]) -> None:
    scores, truth = np.array([float(score) for score, _ in drawn]), np.array([kind for _, kind in drawn])
    pairs = [(one > other) + (one == other) / 2 for one in scores[truth] for other in scores[~truth]]
    assert auc(scores, truth) == pytest.approx(np.mean(pairs) if pairs else 0.5)


@pytest.mark.parametrize(("decoys", "real"), [(20, 20), (15, 60), (100, 80)])
def test_guessing_stays_below_the_floor_in_nineteen_of_twenty_cases(decoys: int, real: int) -> None:
    rng = np.random.default_rng(1)
    truth = np.arange(decoys + real) < decoys
    floor = noise_floor(decoys, real)
    lucky = np.mean([either_way(auc(rng.random(decoys + real), truth)) > floor for _ in range(4000)])
    assert lucky == pytest.approx(0.05, abs=0.012)


def rows(seed: int, *, classes: int = 160, told_by: str = "") -> LabelledRows:
    """Classes of six rows with an age group, a job that hangs on it, and a pay that hangs on the job."""
    rng = np.random.default_rng(seed)
    owners, decoy = np.repeat(np.arange(classes), 6), np.arange(classes) % 2 == 0
    age = rng.integers(0, 8, classes)[owners]
    job = (age // 2 + (rng.random(len(owners)) < 0.3)) % 4
    pay = 1000 * job + rng.normal(0, 400, len(owners))
    fake = decoy[owners]
    if told_by == "job":
        job = np.where(fake & (rng.random(len(owners)) < 0.6), rng.integers(0, 4, len(owners)), job)
    if told_by == "spread":
        pay = np.where(fake, 1000 * job + rng.normal(0, 40, len(owners)), pay)
    columns = [
        DonorColumn.of("age", [f"{one}0s" for one in age]),
        DonorColumn.of("job", [f"j{one}" for one in job]),
        DonorColumn.of("pay", pay.round().tolist()),
    ]
    return LabelledRows(columns, owners, decoy)


@pytest.mark.parametrize("classes", [40, 160])
def test_it_finds_nothing_where_there_is_nothing(classes: int) -> None:
    found = [told(rows(seed, classes=classes), np.random.default_rng(seed)) for seed in range(12)]
    assert sum(gate.auc > gate.floor for gate in found) <= 1
    assert not any(gate.warned for gate in found if gate.floor < WARN)


@pytest.mark.parametrize("told_by", ["job", "spread"])
def test_it_finds_what_does_not_fit_a_class(told_by: str) -> None:
    gate = told(rows(1, told_by=told_by), np.random.default_rng(1))
    assert gate.auc > 0.8
    assert gate.refused


def test_who_ranks_the_wrong_way_round_is_told_as_well() -> None:
    """Each value is that of one decoy and one real class: whoever knows the one rates the other wrongly, and turns it round."""
    plain = rows(1)
    shared = DonorColumn.of("batch", [f"b{owner // 2}" for owner in plain.owners.tolist()])
    gate = told(LabelledRows([*plain.columns, shared], plain.owners, plain.decoy), np.random.default_rng(1))
    assert gate.auc > 0.8
    assert gate.refused


def test_a_gate_with_too_few_classes_says_so() -> None:
    exhibit = rows(1, classes=6)
    gate = told(exhibit, np.random.default_rng(1))
    assert (gate.auc, gate.decoys, gate.real) == (0.5, 3, 3)
    assert gate.floor > 0.8


def test_limits_are_above_luck() -> None:
    assert not DetectabilityResult(0.7, 0.75, 9, 9).warned
    assert DetectabilityResult(0.7, 0.6, 90, 90).warned
    assert not DetectabilityResult(0.7, 0.6, 90, 90).refused
    assert DetectabilityResult(0.81, 0.6, 90, 90).refused
    assert DetectabilityResult(0.31, 0.6, 90, 90).warned
    assert DetectabilityResult(0.19, 0.6, 90, 90).refused
    assert not DetectabilityResult(0.31, 0.75, 9, 9).warned
    assert noise_floor(0, 5) == 1.0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_forest_learns_what_scikit_learn_learns(seed: int) -> None:
    """On rows with an interaction of two columns and noise, on rows that neither has seen."""
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, BINS, (3000, 8)).astype(np.int32)
    odds = 2.5 * ((bins[:, 0] > 15) ^ (bins[:, 1] > 20)) + 1.5 * (bins[:, 2] > 25) - 1.8
    truth = rng.random(3000) < 1 / (1 + np.exp(-odds))
    learn = np.arange(3000) < 2000
    ours = BoostedForest.grown(bins[learn], truth[learn]).scores(bins[~learn])
    peer = HistGradientBoostingClassifier(max_iter=80, max_leaf_nodes=8, random_state=0)
    with threadpool_limits(1):
        theirs = peer.fit(bins[learn], truth[learn]).decision_function(bins[~learn])
    assert auc(ours, truth[~learn]) >= auc(theirs, truth[~learn]) - 0.015
