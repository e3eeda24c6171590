"""A hierarchy bound to values: maps between levels, leaves, sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernel import Hierarchy, Tree
from discreet.kernel.rules import bind
from tests.kernel.strategies import climb, few, some, trees

SCHOOLS = Tree(
    (
        ("Bachelors", "Higher", "*"),
        ("Masters", "Higher", "*"),
        ("Doctorate", "Higher", "*"),
        ("11th", "Secondary", "*"),
        ("12th", "Secondary", "*"),
        ("5th", "Primary", "*"),
    )
)


def bound(tree: Tree, values: list[str | None]) -> Hierarchy:
    hierarchy, strangers = bind(tree, values)
    assert hierarchy is not None
    assert not strangers
    return hierarchy


@st.composite
def bound_trees(draw: st.DrawFn) -> tuple[Tree, list[str | None], Hierarchy]:
    """A tree of which only some values occur."""
    tree = draw(trees())
    values = draw(st.lists(st.sampled_from([*(row[0] for row in tree.rows), None]), unique=True, min_size=1))
    return tree, values, bound(tree, values)


@some
@given(bound_trees())
def test_every_value_becomes_what_its_path_says(drawn: tuple[Tree, list[str | None], Hierarchy]) -> None:
    tree, values, hierarchy = drawn
    for level in range(tree.height):
        labels = [hierarchy.labels[level][code] for code in hierarchy.map(0, level)]
        assert labels == [climb(tree, value)[level] for value in values]


@some
@given(bound_trees(), st.data())
def test_maps_compose(drawn: tuple[Tree, list[str | None], Hierarchy], data: st.DataObject) -> None:
    hierarchy = drawn[2]
    low, middle, high = sorted(data.draw(st.tuples(*[st.integers(0, hierarchy.height - 1)] * 3)))
    staged = hierarchy.map(middle, high)[hierarchy.map(low, middle)]
    assert staged.tolist() == hierarchy.map(low, high).tolist()


@few
@given(bound_trees())
def test_a_map_from_a_level_to_itself_changes_nothing(drawn: tuple[Tree, list[str | None], Hierarchy]) -> None:
    hierarchy = drawn[2]
    for level, labels in enumerate(hierarchy.labels):
        assert hierarchy.map(level, level).tolist() == list(range(len(labels)))


@some
@given(bound_trees())
def test_leaves_count_the_whole_hierarchy_also_values_that_do_not_occur(
    drawn: tuple[Tree, list[str | None], Hierarchy],
) -> None:
    tree, values, hierarchy = drawn
    whole = [*tree.rows, *([climb(tree, None)] if None in values else [])]
    assert hierarchy.size == len(whole)
    for level, labels in enumerate(hierarchy.labels):
        assert hierarchy.leaves[level].tolist() == [sum(row[level] == label for row in whole) for label in labels]


def test_leaves_that_are_not_in_the_data_still_count() -> None:
    hierarchy = bound(SCHOOLS, ["11th", "Masters"])
    assert hierarchy.labels == (("11th", "Masters"), ("Secondary", "Higher"), ("*",))
    assert [level.tolist() for level in hierarchy.leaves] == [[1, 1], [2, 3], [6]]
    assert hierarchy.size == 6


def test_each_level_finds_its_codes_by_value() -> None:
    hierarchy = bound(SCHOOLS, ["11th", "Masters", "Doctorate"])
    assert hierarchy.index == ({"11th": 0, "Masters": 1, "Doctorate": 2}, {"Secondary": 0, "Higher": 1}, {"*": 0})


def test_a_hierarchy_of_no_values_keeps_its_height() -> None:
    hierarchy = bound(SCHOOLS, [])
    assert (hierarchy.height, hierarchy.size) == (3, 6)
    assert hierarchy.map(0, 2).tolist() == []


def test_the_repr_counts_and_shows_no_value() -> None:
    assert repr(bound(SCHOOLS, ["11th", "Masters"])) == "Hierarchy(2 -> 2 -> 1 values, 6 leaves)"


def test_hierarchies_can_be_compared() -> None:
    one, other = bound(SCHOOLS, ["11th", "Masters"]), bound(SCHOOLS, ["11th", "Masters"])
    assert isinstance(one == other, bool)


def test_maps_cannot_be_written_into() -> None:
    with pytest.raises(ValueError, match="read-only"):
        bound(SCHOOLS, ["11th", "Masters"]).parents[0][0] = 1


def test_maps_are_whole_numbers() -> None:
    assert bound(SCHOOLS, ["11th"]).map(0, 1).dtype == np.int64
