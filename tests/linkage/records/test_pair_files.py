"""Pairs and labels from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.errors import ColumnError, DataError
from discreet.linkage import read_labels, read_pairs, start_project
from discreet.linkage.records.spec import LinkageSpec
from tests.linkage.conftest import Sample
from tests.linkage.records.test_table_import import table


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
