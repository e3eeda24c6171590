"""How far the share of a value moves, against counting it again."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.releases.marks.distribution_shift import Balance, balanced, shift, shifts_so_far

VALUES = st.sampled_from("abcd")


@given(
    st.dictionaries(VALUES, st.integers(20, 90), min_size=1),
    st.lists(st.tuples(VALUES, st.floats(-1, 1)), min_size=1, max_size=12),
)
def test_shifts_are_counted_again(base: dict[str, int], moves: list[tuple[str, float]]) -> None:
    values, changes = [value for value, _ in moves], np.array([change for _, change in moves])
    found = shifts_so_far({value: float(count) for value, count in base.items()}, values, changes)
    after: Counter[str] = Counter()
    after.update({value: float(count) for value, count in base.items()})  # type: ignore[arg-type]
    people = sum(base.values())
    for place, (value, change) in enumerate(moves):
        after[value] += change  # type: ignore[assignment]
        total = sum(after.values())
        moved = max(abs(after[one] / total - base.get(one, 0) / people) for one in {*after, *base})
        assert found[place] == pytest.approx(moved, abs=1e-12)


def test_no_marks_shift_nothing() -> None:
    assert shift({"a": 1.0}, [], np.zeros(0)) == 0.0


@given(
    st.lists(st.tuples(VALUES, VALUES, st.floats(-9, 0), st.floats(0, 9)), max_size=12),
    st.sampled_from([0.005, 0.02, 0.2]),
)
def test_pairs_are_passed_over_that_would_shift_too_far(
    pairs: list[tuple[str, str, float, float]], limit: float
) -> None:
    base = {"a": 60.0, "b": 30.0, "c": 200.0, "d": 15.0}
    column = Balance.of(base, [one for one, *_ in pairs], [other for _, other, *_ in pairs])
    changes = np.array([[gone, come] for *_, gone, come in pairs]).reshape(-1, 2)
    kept = balanced([column], changes, limit).tolist()
    so_far: list[int] = []
    for place in range(len(pairs)):
        tried = [*so_far, place]
        values = [value for one in tried for value in pairs[one][:2]]
        moved = shift(base, values, np.array([change for one in tried for change in pairs[one][2:]]))
        if abs(moved - limit) > 1e-12:
            assert (place in kept) == (moved < limit)
        if place in kept:
            so_far.append(place)
