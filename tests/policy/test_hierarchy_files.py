"""Hierarchy files: what is written comes back, and what people write is understood."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.hierarchy_files import read_tree, split, writable, write_tree
from tests.kernel.strategies import some

cells = st.text(alphabet="ab;,\"\t '*", min_size=1, max_size=6)


@some
@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=5, unique_by=lambda row: row[0]))
def test_what_is_written_comes_back(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]) -> None:
    path = tmp_path_factory.mktemp("tree") / "tree.csv"
    written = [row for row in rows if writable(row)]
    if not written:
        return
    path.write_text(write_tree(written), encoding="utf-8")
    assert list(read_tree(path).rows) == written


@pytest.mark.parametrize(
    ("line", "mark", "found"),
    [
        ("a;b;*", ";", ("a", "b", "*")),
        (" a ;; * ", ";", ("a", "", "*")),
        ("a,b", ",", ("a", "b")),
        ("a\tb", "\t", ("a", "b")),
        ('"a;b"; "c ""d"""', ";", ("a;b", 'c "d"')),
        ('5" pipe;*', ";", ('5" pipe', "*")),
        ('"open;*', ";", ('"open', "*")),
        ('"";*', ";", ("", "*")),
        ("a", ";", ("a",)),
        ("a;", ";", ("a", "")),
    ],
)
def test_lines_are_cut_into_cells(line: str, mark: str, found: tuple[str, ...]) -> None:
    assert split(line, mark) == found


def test_a_file_of_another_program_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("\ufeffFarmer;Land;*\r\nBaker;Town;*\r\n\r\n".encode())
    assert read_tree(tmp_path / "a.csv").rows == (("Farmer", "Land", "*"), ("Baker", "Town", "*"))
