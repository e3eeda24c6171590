"""From a project to its candidate pairs, and back from disk; clusters against a plain union-find."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest
from benchmarks.linkage_pairs import Task, tasks, true_pairs
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.linkage import (
    Candidates,
    Labels,
    Pairs,
    ProjectFolder,
    adopt_pairs,
    cluster,
    find_pairs,
    load_candidates,
    one_to_one,
    start_project,
)
from discreet.linkage.matching.candidate_pairs import _once
from discreet.linkage.matching.clusters import components
from tests.linkage.conftest import Sample


def test_saved_and_loaded(sample: Sample) -> None:
    sample.found.save(sample.folder)
    again = load_candidates(ProjectFolder.open(sample.folder.path))
    assert np.array_equal(again.decisions, sample.found.decisions)
    assert np.array_equal(again.pairs.weight, sample.found.pairs.weight)
    assert again.zones == sample.found.zones
    assert again.model == sample.found.model
    assert again.calibration is None
    assert sum(len(again.decided(name)) for name in ("different", "people", "same")) == len(again.pairs)
    assert {path.name for path in sample.folder.pairs_folder.iterdir()} == {"pairs.parquet", "model.json", "zones.json"}


def test_labels_calibrate_and_say_how_large_errors_are(sample: Sample) -> None:
    found = find_pairs(sample.folder, labels=sample.known)
    assert found.calibration is not None
    assert found.zones is not None
    assert found.zones.false_same_most is not None
    assert found.zones.false_same_share <= found.zones.false_same_most < 0.1
    assert json.dumps(found.to_dict())
    same = found.pairs.labelled(sample.true, sample.folder.records)
    assert (~same[found.decisions == 2]).sum() <= 5


def test_a_label_sample_comes_first_and_bounds_what_is_wrong(sample: Sample, tmp_path: Path) -> None:
    """The bound holds for the whole table, of which the labels are a small part."""
    found = find_pairs(sample.folder, sample=120)
    assert len(found.to_review) == (found.stands > 0).sum() < len(found.pairs) / 10
    assert found.stands.sum() == pytest.approx(len(found.pairs))
    same = found.pairs.labelled(sample.true, sample.folder.records)
    chosen = found.stands > 0
    labels = Labels(found.pairs.where(chosen), same[chosen], found.stands[chosen])
    again = find_pairs(sample.folder, labels=labels)
    assert again.zones is not None
    assert again.zones.false_same_most is not None
    hit = again.pairs.labelled(sample.true, sample.folder.records)
    wrong = (~hit[again.decisions == 2]).mean()
    assert wrong <= again.zones.false_same_most
    assert again.to_review.first.tolist() == again.decided("people").first.tolist()


def test_twins_go_to_people_whatever_speaks_for_them(sample: Sample) -> None:
    """Another given name or birth date, the rest the same: the machine is not sure, without any label."""
    known = sample.known
    unlike = known.pairs.where(~known.same).keys(sample.folder.records)
    keys = sample.found.pairs.keys(sample.folder.records)
    lookalikes = np.isin(keys, unlike)
    assert lookalikes.sum() > 15
    assert sample.found.pairs.relatives[lookalikes].mean() > 0.9
    assert sample.found.pairs.probability[lookalikes & sample.found.pairs.relatives].max() < 0.89
    assert not (sample.found.pairs.relatives & (sample.found.decisions == 2)).any()
    zones = sample.found.zones
    assert zones is not None
    assert sample.found.counts == {"different": zones.different, "people": zones.people, "same": zones.same}


def test_people_look_at_as_many_as_they_can(sample: Sample) -> None:
    assert adopt_pairs(sample.folder, sample.found.pairs, review=30).counts["people"] <= 30


def test_rules_can_be_given(sample: Sample) -> None:
    found = find_pairs(sample.folder, rules=[["birth_date"], ["surname", "zip"]])
    assert found.model is not None
    assert [rule.attributes for rule in found.model.blocking.rules] == [("birth_date",), ("surname", "zip")]


def test_pairs_without_scores_all_go_to_people(sample: Sample) -> None:
    pairs = Pairs.of([0, 1], [500, 501], [np.nan, np.nan])
    found = adopt_pairs(sample.folder, pairs)
    assert found.zones is None
    assert found.counts == {"different": 0, "people": 2, "same": 0}
    assert found.to_dict()["zones"] is None


def test_with_everybody_once_no_record_has_two_partners(sample: Sample) -> None:
    found = adopt_pairs(sample.folder, sample.found.pairs, once=True)
    same = found.decided("same")
    assert len(np.unique(same.first)) == len(np.unique(same.second)) == len(same)
    assert isinstance(found, Candidates)
    assert "same" in repr(found)


def test_a_pair_that_loses_its_record_is_different_and_a_tie_goes_to_people() -> None:
    pairs = Pairs.of([0, 0, 1, 2], [10, 11, 12, 12], [9.0, 5.0, 8.0, 8.0])
    assert _once(pairs, np.array([2, 1, 2, 2], dtype=np.int8)).tolist() == [2, 0, 1, 1]


def test_once_needs_two_tables_and_loading_needs_pairs(sample: Sample, tmp_path: object) -> None:
    from discreet.linkage import start_project
    from tests.linkage.test_folder import SPEC, table

    folder = start_project(f"{tmp_path}/p", table(30), spec=SPEC)
    with pytest.raises(UsageError, match="different tables"):
        adopt_pairs(folder, Pairs.of([0], [1], [3.0]), once=True)
    with pytest.raises(UsageError, match="no candidate pairs yet"):
        load_candidates(folder)


LEAST = {
    "FEBRL4, name, birth, state": 0.955,
    "FEBRL3, name, birth, state": 0.94,
    "FEBRL4, all attributes": 0.999,
    "FEBRL3, all attributes": 0.99,
}


@pytest.mark.slow
@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.name)
def test_the_machine_alone(task: Task, tmp_path: Path) -> None:
    folder = start_project(tmp_path / "p", *task.tables, spec=task.spec, key=b"tests")
    found, true = find_pairs(folder), true_pairs(folder, task)
    said = found.pairs.probability >= 0.5
    right = int((said & found.pairs.labelled(true, folder.records)).sum())
    assert 2 * right / (int(said.sum()) + len(true)) >= LEAST[task.name]
    assert isinstance(found.pairs.weight, np.ndarray)


RECORDS = 12
EDGES = st.lists(st.tuples(st.integers(0, RECORDS - 1), st.integers(0, RECORDS - 1)), max_size=20)


def union_find(edges: list[tuple[int, int]]) -> list[int]:
    of = list(range(RECORDS))
    for _ in range(RECORDS):
        for a, b in edges:
            of = [min(of[a], of[b]) if one in (of[a], of[b]) else one for one in of]
    return of


@given(EDGES, EDGES)
def test_components_and_contradictions(same: list[tuple[int, int]], different: list[tuple[int, int]]) -> None:
    expected = union_find(same)
    found = cluster(RECORDS, np.array(same), np.array(different))
    assert found.of.tolist() == expected
    assert len(found) == len(set(expected))
    assert found.sizes.sum() == RECORDS
    against = [list(pair) for pair in different if expected[pair[0]] == expected[pair[1]]]
    assert found.contradictions.tolist() == against
    assert found.sound == (not against)


@given(EDGES, st.integers(0, RECORDS))
def test_tables_with_everybody_once(same: list[tuple[int, int]], first: int) -> None:
    of = union_find(same)
    crowded = {
        label
        for label in set(of)
        for part in (range(first), range(first, RECORDS))
        if sum(of[record] == label for record in part) > 1
    }
    assert set(cluster(RECORDS, np.array(same), once_per_table=first).crowded.tolist()) == crowded


def test_a_long_chain_in_any_order() -> None:
    rng = np.random.default_rng(1)
    order = rng.permutation(50_000)
    edges = np.stack([order[:-1], order[1:]], axis=1)[rng.permutation(49_999)]
    assert (components(50_000, edges) == 0).all()


def test_a_pair_outside_is_refused() -> None:
    with pytest.raises(UsageError, match="outside"):
        cluster(3, np.array([[0, 3]]))


PAIRS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)), max_size=12, unique_by=lambda one: one[:2]
)


@given(PAIRS)
def test_matching_one_to_one(pairs: list[tuple[int, int, int]]) -> None:
    first, second, weight = (np.array([one[place] for one in pairs], dtype=float) for place in range(3))
    won, tied = one_to_one(first.astype(int), second.astype(int), weight)
    kept = [pair for pair, yes in zip(pairs, won, strict=True) if yes]
    assert len({a for a, _, _ in kept}) == len({b for _, b, _ in kept}) == len(kept)
    assert not (won & tied).any()
    for pair, yes, tie in zip(pairs, won, tied, strict=True):
        rivals = [other for other in pairs if other != pair and (other[0] == pair[0] or other[1] == pair[1])]
        if yes:
            assert all(other[2] != pair[2] or other not in kept for other in rivals)
        elif not tie:  # it lost to a pair that is at least as heavy
            assert any(other[2] >= pair[2] for other in rivals)
        else:
            assert any(other[2] == pair[2] for other in rivals)
    if len({one[2] for one in pairs}) == len(pairs):
        assert won.tolist() == _greedy(pairs)


def _greedy(pairs: list[tuple[int, int, int]]) -> list[bool]:
    used: set[tuple[int, int]] = set()
    won = dict.fromkeys(pairs, False)
    for pair in sorted(pairs, key=lambda one: -one[2]):
        if not used & {(0, pair[0]), (1, pair[1])}:
            won[pair] = True
            used |= {(0, pair[0]), (1, pair[1])}
    return list(won.values())


def seconds_for(pairs: int) -> float:
    """CPU time for so many pairs, nearly all of weights of their own."""
    luck = np.random.default_rng(5)
    first, second = (luck.integers(0, pairs // 2, pairs) for _ in range(2))
    begun = time.process_time()
    won, _ = one_to_one(first, second, luck.random(pairs))
    assert won.any()
    return time.process_time() - begun


def test_matching_takes_time_in_proportion_to_the_pairs() -> None:
    """Eight times as many pairs: eight times as long, where growing sets were copied for every weight sixty-four times."""
    few = min(seconds_for(10_000) for _ in range(3))
    assert min(seconds_for(80_000) for _ in range(3)) < 24 * few


@pytest.mark.slow
def test_two_million_pairs_are_matched_in_seconds() -> None:
    assert seconds_for(2_000_000) < 20
