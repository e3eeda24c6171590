"""From a project to its candidate pairs, and back from disk."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.linkage_pairs import Task, tasks, true_pairs

from discreet.errors import UsageError
from discreet.linkage import Candidates, Pairs, ProjectFolder, adopt_pairs, find_pairs, load_candidates, start_project
from discreet.linkage.matching.candidate_pairs import _once
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


def test_labels_calibrate_and_put_doubtful_pairs_before_people(sample: Sample) -> None:
    """Twins look like one person to the machine; labels show it, so that such pairs go to people."""
    found = find_pairs(sample.folder, labels=sample.known)
    assert found.calibration is not None
    assert found.counts["people"] > sample.found.counts["people"]
    assert json.dumps(found.to_dict())
    same = found.pairs.labelled(sample.true, sample.folder.records)
    assert (~same[found.decisions == 2]).sum() <= 5


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
    from tests.linkage.records.test_table_import import SPEC, table

    folder = start_project(f"{tmp_path}/p", table(30), spec=SPEC)
    with pytest.raises(UsageError, match="two tables"):
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
