"""Mondrian: boxes that hold k, cannot be cut further, and say what lies in them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.anonymity.local.mondrian import mondrian
from discreet.anonymity.result import loss_of
from discreet.errors import ColumnError, UsageError
from discreet.kernel import AnyValue, Classes, Recoding, Tree
from discreet.kernel.arrays import Flags, Ints
from tests.anonymity.brute import Data
from tests.anonymity.strategies import tables
from tests.examples import examples

some = settings(max_examples=examples(80), deadline=None)
Point = tuple[int, ...]
Box = list[tuple[Point, int]]


@st.composite
def crowds(draw: st.DrawFn) -> Classes:
    """People at whole numbers on a few columns."""
    columns = draw(st.integers(1, 3))
    points = draw(st.lists(st.tuples(*[st.integers(-9, 12)] * columns), min_size=1, max_size=40))
    counts = draw(st.lists(st.integers(1, 3), min_size=len(points), max_size=len(points)))
    names = [f"c{place}" for place in range(columns)]
    return Classes.of(names, [tuple(map(str, point)) for point in points], counts)


def boxes(recoding: Recoding) -> list[Box]:
    """The people of each published class: where they are and how many."""
    found: dict[Any, Box] = {}
    looks = zip(*(codes.tolist() for codes in recoding.codes), strict=True)
    for look, values, size in zip(looks, recoding.classes.tuples(), recoding.classes.sizes.tolist(), strict=True):
        found.setdefault(look, []).append((tuple(int(value or 0) for value in values), size))
    return list(found.values())


def ends(box: Box) -> list[tuple[int, int]]:
    """From where to where a box reaches on each column."""
    return [(min(column), max(column)) for column in zip(*(point for point, _ in box), strict=True)]


@pytest.mark.parametrize("relaxed", [False, True])
@some
@given(classes=crowds(), k=st.integers(1, 7))
def test_intervals_reach_from_the_least_to_the_greatest_of_at_least_k_people(
    relaxed: bool, classes: Classes, k: int
) -> None:
    k = min(k, classes.records)
    recoding = mondrian(classes, k=k, relaxed=relaxed)
    published = set(recoding.published.tuples())
    assert recoding.published.records == classes.records
    for box in boxes(recoding):
        assert sum(size for _, size in box) >= k
        assert tuple(str(low) if low == high else f"[{low}, {high}]" for low, high in ends(box)) in published


@some
@given(classes=crowds(), k=st.integers(1, 7))
def test_strict_boxes_lie_apart(classes: Classes, k: int) -> None:
    found = [ends(box) for box in boxes(mondrian(classes, k=min(k, classes.records)))]
    for one, other in itertools.combinations(found, 2):
        assert any(a[1] < b[0] or b[1] < a[0] for a, b in zip(one, other, strict=True))


@some
@given(classes=crowds(), k=st.integers(1, 7))
def test_strict_boxes_cannot_be_cut_further(classes: Classes, k: int) -> None:
    k = min(k, classes.records)
    for box in boxes(mondrian(classes, k=k)):
        for place, value in itertools.product(range(len(classes.columns)), range(-9, 12)):
            left = sum(size for point, size in box if point[place] <= value)
            right = sum(size for point, size in box if point[place] > value)
            assert min(left, right) < k


@some
@given(classes=crowds(), k=st.integers(1, 7))
def test_nothing_is_cut_worse_than_not_at_all(classes: Classes, k: int) -> None:
    for relaxed in (False, True):
        whole = mondrian(classes, k=classes.records, relaxed=relaxed)
        assert loss_of(mondrian(classes, k=min(k, classes.records), relaxed=relaxed)) <= loss_of(whole) + 1e-12


@some
@given(data=tables(), k=st.integers(1, 6))
def test_columns_without_a_top_are_never_mixed(data: Data, k: int) -> None:
    classes, k = data.classes(), min(k, len(data.people))
    tops = classes.at([height - 1 for height in classes.heights])
    if tops.sizes.min() < k:
        with pytest.raises(UsageError, match="hierarchies that end in one value"):
            mondrian(classes, k=k)
        return
    recoding = mondrian(classes, k=k)
    assert recoding.published.sizes.min() >= k
    for column, labels, codes, base in zip(
        classes.columns, recoding.labels, recoding.codes, classes.codes, strict=True
    ):
        paths = np.array([column.hierarchy.map(0, level)[base] for level in range(column.hierarchy.height)])
        for path, code in zip(paths.T.tolist(), codes.tolist(), strict=True):
            assert labels[code] in {column.hierarchy.labels[level][node] for level, node in enumerate(path)}


def test_relaxed_boxes_may_share_a_value() -> None:
    points = [("1" if place < 5 else "2", f"x{place}") for place in range(6)]
    classes = Classes.of(["a", "b"], points, rules={"b": AnyValue()})
    assert list(mondrian(classes, k=3).published.tuples()) == [("[1, 2]", "*")]
    assert list(mondrian(classes, k=3, relaxed=True).published.tuples()) == [("1", "*"), ("[1, 2]", "*")]


def test_small_children_stay_together() -> None:
    rows = (("a", "*"), ("b", "*"), ("c", "*"), ("d", "*"))
    people = [("a",)] * 5 + [("b",)] * 4 + [("c",)] * 2 + [("d",)]
    published = mondrian(Classes.of(["x"], people, rules={"x": Tree(rows)}), k=3).published
    assert dict(zip(published.tuples(), published.sizes.tolist(), strict=True)) == {("a",): 5, ("b",): 4, ("*",): 3}
    published = mondrian(Classes.of(["x"], people, rules={"x": Tree(rows)}), k=4).published
    assert dict(zip(published.tuples(), published.sizes.tolist(), strict=True)) == {("a",): 5, ("*",): 7}


def test_which_columns_are_ordered_can_be_said() -> None:
    classes = Classes.of(["age"], [(str(age),) for age in (1, 2, 10, 11)], rules={"age": AnyValue()})
    assert list(mondrian(classes, k=2).published.tuples()) == [("[1, 2]",), ("[10, 11]",)]
    assert list(mondrian(classes, k=2, ordered=[]).published.tuples()) == [("*",)]
    letters = Classes.of(["grade"], [("a",), ("b",), ("c",), ("d",)])
    assert list(mondrian(letters, k=2, ordered=["grade"]).published.tuples()) == [("[a, b]",), ("[c, d]",)]


def test_an_order_needs_a_column_and_all_its_values() -> None:
    classes = Classes.of(["age"], [("1",), (None,)], rules={"age": AnyValue()})
    assert list(mondrian(classes, k=2).published.tuples()) == [("*",)]
    with pytest.raises(UsageError, match="missing values"):
        mondrian(classes, k=1, ordered=["age"])
    with pytest.raises(ColumnError, match="no column 'size'"):
        mondrian(classes, k=1, ordered=["size"])


def test_text_without_a_hierarchy_is_refused_where_it_matters() -> None:
    with pytest.raises(UsageError, match="on name"):
        mondrian(Classes.of(["name"], [("x",), ("y",)]), k=2)


def test_the_loss_of_intervals_counts_the_values_that_occur() -> None:
    classes = Classes.of(["age"], [("1",), ("2",), ("50",), ("90",)])
    # Each of two intervals holds 2 of 4 values: v = (4 * 1/2 - 4/4) / (4 - 4/4).
    assert loss_of(mondrian(classes, k=2)) == pytest.approx(1 / 3)
    assert loss_of(mondrian(classes, k=4)) == pytest.approx(1)
    assert loss_of(mondrian(classes, k=1)) == 0


def test_boxes_that_look_alike_are_asked_about_as_one() -> None:
    """Torn boxes may look alike; what is asked need not hold for both together."""
    rows = ["0 b d", "2 a b", "2 a c", "2 b b", "2 c c", "2 d b", "2 d d", "2 d d"]
    classes = Classes.of(["x", "y", "z"], [row.split() for row in rows], rules={"y": AnyValue(), "z": AnyValue()})
    alike = [2, 3, 4, 5]

    def others(chosen: Ints, member: Ints, groups: int) -> Flags:
        return np.array([sorted(chosen[member == number].tolist()) != alike for number in range(groups)])

    def groups(recoding: Recoding) -> list[list[int]]:
        looks = list(zip(*(codes.tolist() for codes in recoding.codes), strict=True))
        return [[row for row, other in enumerate(looks) if other == look] for look in set(looks)]

    assert alike in groups(mondrian(classes, k=2, relaxed=True))
    assert alike not in groups(mondrian(classes, k=2, relaxed=True, allowed=others))
