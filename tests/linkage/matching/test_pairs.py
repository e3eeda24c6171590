"""Pairs and labels from files, and which pairs to label."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ColumnError, DataError, UsageError
from discreet.linkage import Pairs, read_labels, read_pairs, sample_to_label, start_project
from discreet.linkage.spec import LinkageSpec
from tests.linkage.conftest import Sample
from tests.linkage.test_folder import table


@given(st.lists(st.floats(-25, 25), min_size=1, max_size=200), st.integers(1, 50), st.integers(0, 5))
def test_labels_stand_for_all_pairs(weights: list[float], size: int, seed: int) -> None:
    pairs = Pairs.of(np.arange(len(weights)), np.arange(len(weights)) + 1000, weights)
    chosen, stands = sample_to_label(pairs, size, seed=seed)
    assert stands.sum() == pytest.approx(len(weights))
    assert len(np.unique(chosen)) == len(chosen)
    assert len(chosen) <= size + 13
    assert (stands >= 1).all()
    again, _ = sample_to_label(pairs, size, seed=seed)
    assert np.array_equal(again, chosen)


def test_pairs_in_doubt_are_asked_most() -> None:
    weights = np.concatenate([np.full(10_000, -30.0), np.full(100, 0.0), np.full(1000, 30.0)])
    pairs = Pairs.of(np.arange(len(weights)), np.arange(len(weights)) + 20_000, weights)
    chosen, _ = sample_to_label(pairs, 100, seed=1)
    of_layer = [
        np.isin(np.arange(begin, end), chosen).mean()
        for begin, end in ((0, 10_000), (10_000, 10_100), (10_100, 11_100))
    ]
    assert of_layer[1] > 5 * of_layer[2] > 5 * of_layer[0]
    assert of_layer[2] * 1_000 > 30  # enough of what the machine calls the same to say how much of it is wrong


def test_nothing_to_label_is_refused() -> None:
    with pytest.raises(UsageError):
        sample_to_label(Pairs.of([0], [1], [0.0]), 0, seed=1)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_ids_become_records(sample: Sample, tmp_path: Path) -> None:
    file = write(tmp_path / "p.csv", "a,b,p\nA000001,B000002,0.75\n A000000 ,B000001,0.5\n")
    pairs = read_pairs(sample.folder, file, score="p")
    one = sample.folder.records_of(["A000000", "A000001"], "first").tolist()
    other = sample.folder.records_of(["B000001", "B000002"], "second").tolist()
    assert {*zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)} == {*zip(one, other, strict=True)}
    assert sorted(pairs.probability.tolist()) == [0.5, 0.75]
    assert sorted(pairs.weight.round(6).tolist()) == [0.0, round(float(np.log2(3)), 6)]


def test_scores_beyond_one_are_weights(sample: Sample, tmp_path: Path) -> None:
    file = write(tmp_path / "p.csv", "a,b,w\nA000001,B000002,-3\nA000000,B000001,10\n")
    assert sorted(read_pairs(sample.folder, file, score="w").weight.tolist()) == [-3.0, 10.0]
    assert not read_pairs(sample.folder, file).scored


def test_labels(sample: Sample) -> None:
    assert len(sample.known) == 264
    assert int(sample.known.same.sum()) == 240


def test_labels_that_stand_for_many(sample: Sample, tmp_path: Path) -> None:
    file = write(tmp_path / "l.csv", "a,b,same,n\nA000001,B000002,Yes,2.5\nA000000,B000001,different,1\n")
    labels = read_labels(sample.folder, file, same="same", weight="n")
    assert sorted(zip(labels.same.tolist(), labels.weights.tolist(), strict=True)) == [(False, 1.0), (True, 2.5)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,p\nA000001,nobody,1\n", "1 of 1 pairs"),
        ("a,b,p\nB000001,A000001,1\n", "1 of 1 pairs"),
        ("a,b,p\nA000001,B000001,1\nA000001,B000001,1\n", "twice"),
        ("a,b,p\nA000001,B000001,much\n", "1 scores that are no numbers"),
    ],
)
def test_bad_pairs_are_counted_not_quoted(sample: Sample, tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        read_pairs(sample.folder, write(tmp_path / "p.csv", text), score="p")
    assert "A000001" not in str(caught.value)
    assert "nobody" not in str(caught.value)


def test_bad_answers_are_counted(sample: Sample, tmp_path: Path) -> None:
    file = write(tmp_path / "l.csv", "a,b,same,n\nA000001,B000002,perhaps,0\n")
    with pytest.raises(DataError, match="neither yes nor no"):
        read_labels(sample.folder, file, same="same")
    with pytest.raises(DataError, match="positive"):
        read_labels(sample.folder, file, weight="n")


def test_a_record_is_no_pair_with_itself_and_ids_are_needed(tmp_path: Path) -> None:
    attributes = {"identifying": {"name": {"kind": "string"}, "born": {"kind": "date"}}}
    with_id = start_project(
        tmp_path / "a", table(5), spec=LinkageSpec.from_dict({"linkage": {"id": "no", **attributes}})
    )
    without = start_project(tmp_path / "b", table(5), spec=LinkageSpec.from_dict({"linkage": attributes}))
    with pytest.raises(DataError, match="with itself"):
        read_pairs(with_id, write(tmp_path / "p.csv", "a,b\nr1,r1\n"))
    with pytest.raises(DataError, match="twice"):
        read_pairs(with_id, write(tmp_path / "p.csv", "a,b\nr1,r2\nr2,r1\n"))
    with pytest.raises(ColumnError, match="without an id"):
        read_pairs(without, write(tmp_path / "p.csv", "a,b\nr1,r2\n"))
    with pytest.raises(ColumnError, match="no two columns"):
        read_pairs(with_id, write(tmp_path / "p.csv", "a\nr1\n"))
