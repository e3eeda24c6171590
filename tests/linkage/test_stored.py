"""An index in a folder."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.errors import IntegrityError, SourceNotFound, UsageError
from discreet.linkage import Index, load_index, save_index
from tests.linkage.masking.test_index import INDEX, PAIRS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save_index(INDEX, tmp_path / "index")


@pytest.mark.parametrize("mapped", [True, False])
def test_what_is_read_is_what_was_written(folder: Path, mapped: bool) -> None:
    index = load_index(folder, mapped=mapped)
    assert index.rules == INDEX.rules
    for chosen in PAIRS[:20]:
        pair = index.pair(*chosen)
        assert pair == INDEX.pair(*chosen)
        state = pair.all_opened(pair.masked, "partial")
        assert index.quote(pair, state) == INDEX.quote(pair, state)


def test_columns_of_odd_shapes(tmp_path: Path) -> None:
    cells = {"a": ["x", "中"], "b": [None, None], "c": ["1964-08-09", "08/09/1964"]}
    index = Index.build(cells, {"a": "string", "b": "string", "c": "date"}, swaps=[("a", "b")], normalise="strip")
    again = load_index(save_index(index, tmp_path / "new" / "index"))
    assert again.rules == index.rules
    assert [again.values(record) for record in (0, 1)] == [index.values(record) for record in (0, 1)]


def test_another_process_reads_it(folder: Path) -> None:
    first, second = PAIRS[7]
    code = f"""
from discreet.linkage import load_index
index = load_index({str(folder)!r})
pair = index.pair({first}, {second})
print([step.anonymity for step in index.quote(pair, pair.masked).steps.values()])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    pair = INDEX.pair(first, second)
    assert done.stdout.strip() == str([step.anonymity for step in INDEX.quote(pair, pair.masked).steps.values()])


def test_only_the_owner_may_look_inside(folder: Path) -> None:
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_what_is_there_is_not_overwritten(folder: Path) -> None:
    with pytest.raises(UsageError, match="not empty"):
        save_index(INDEX, folder)


def test_half_an_index_is_no_index(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceNotFound):
        load_index(tmp_path / "nowhere")
    (folder / "3-codes.npy").unlink()
    with pytest.raises(SourceNotFound):
        load_index(folder)


@pytest.mark.parametrize("damage", ["cut", "empty", "head", "version", "shorter"])
def test_a_damaged_index_is_refused(folder: Path, damage: str) -> None:
    head, codes = folder / "index.json", folder / "0-codes.npy"
    match damage:
        case "cut":
            codes.write_bytes(codes.read_bytes()[:200])
        case "empty":
            codes.write_bytes(b"")
        case "head":
            head.write_text("{", encoding="utf-8")
        case "version":
            head.write_text(head.read_text(encoding="utf-8").replace('"version": 1', '"version": 2'), encoding="utf-8")
        case "shorter":
            head.write_text(head.read_text(encoding="utf-8").replace('"records": 1900', '"records": 1899'), "utf-8")
    with pytest.raises(UsageError if damage == "version" else IntegrityError):
        load_index(folder)
