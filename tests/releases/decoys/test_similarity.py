"""How like rows are to each other, against comparing all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.releases.decoys import similarity
from discreet.releases.decoys.similarity import NOBODY, Likeness

ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=12
)


def brute(rows: list[tuple[int, ...]], owners: list[int], row: tuple[int, ...], but: int | None) -> int:
    shared = [
        0 if owner == but else sum(mine == theirs for mine, theirs in zip(row, other, strict=True))
        for owner, other in zip(owners, rows, strict=True)
    ]
    return 2 * max(shared) - (max(shared) > 0 and shared.count(max(shared)) > 1)


@given(ROWS, st.tuples(st.integers(-1, 3), st.integers(-1, 2), st.integers(-1, 1)))
def test_degrees_are_found_by_comparing_all_rows(drawn: list[tuple[int, ...]], asked: tuple[int, ...]) -> None:
    looked_up = compared(drawn, asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similarity, "MOST_COMBINATIONS", 0)
        assert compared(drawn, asked) == looked_up


def compared(drawn: list[tuple[int, ...]], asked: tuple[int, ...]) -> list[float]:
    """What rows have in common, to the last bit."""
    drawn = sorted(drawn, key=lambda row: row[3])
    rows, owners = [row[:3] for row in drawn], [row[3] for row in drawn]
    likeness = Likeness.of([np.array(column) for column in zip(*rows, strict=True)], np.array(owners))
    assert likeness.degree(asked) == brute(rows, owners, asked, None)
    expected = [brute(rows, owners, row, owner) for row, owner in zip(rows, owners, strict=True)]
    assert likeness.degrees(np.arange(len(rows))).tolist() == expected
    cells = np.array(rows)
    weights = [np.log(len(rows) / np.maximum(np.bincount(column), 1)) for column in cells.T]
    surprises = likeness.surprises(cells, but=np.array(owners)).tolist()
    for row, owner, found in zip(rows, owners, surprises, strict=True):
        common = [
            0.0
            if other == owner
            else sum(weights[i][a] for i, (a, b) in enumerate(zip(row, there, strict=True)) if a == b)
            for there, other in zip(rows, owners, strict=True)
        ]
        assert found == pytest.approx(max(common), abs=1e-5)
    assert likeness.surprises(np.full((1, 3), NOBODY))[0] == 0.0
    return [*surprises, *likeness.surprises(cells).tolist()]
