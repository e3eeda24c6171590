"""Near classes on shelves, against measuring every distance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernel import Classes
from discreet.kernel.arrays import Ints
from discreet.releases.closeness import Space
from discreet.releases.decoys import nearest_classes
from discreet.releases.decoys.donors import FEWEST, neighbours

NAMES = ("born", "visits", "sex", "zip")
ROWS = st.tuples(st.integers(1950, 1960), st.integers(0, 3), st.sampled_from("FM"), st.sampled_from(["1a", "2b", "3c"]))
CLASSES = st.dictionaries(ROWS, st.integers(1, 9), min_size=1, max_size=30)
WEIGHTS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([0.1, 0.7, 2.0]))
CHOSEN = st.sampled_from([NAMES, ("born", "sex", "zip"), ("sex", "zip"), ("born", "visits")])


def classes_of(people: dict[tuple[object, ...], int], names: tuple[str, ...]) -> Classes:
    cells = [tuple(str(value) for value in row) for row in people]
    return Classes.of(NAMES, cells, list(people.values())).project(names)


def all_neighbours(space: Space, classes: Classes, sizes: Ints, seed: int) -> list[list[int]]:
    """As they are defined: all classes in the order of their distances, until they have enough rows."""
    luck, found = np.random.default_rng(seed).random(len(space.classes)), []
    for place, far in enumerate(space.distances(space.points(classes))):
        order = np.lexsort([np.roll(luck, place), far.round(9)])
        enough = np.searchsorted(np.cumsum(space.classes.sizes[order]), max(2 * int(sizes[place]), FEWEST))
        found.append(order[: enough + 1].tolist())
    return found


@pytest.mark.parametrize("most", [nearest_classes.MOST_CATEGORIES, 1])
@given(CLASSES, CLASSES, CHOSEN, WEIGHTS, st.integers(1, 3))
def test_near_classes_are_those_that_all_distances_show(
    most: int,
    mine: dict[tuple[object, ...], int],
    theirs: dict[tuple[object, ...], int],
    names: tuple[str, ...],
    weights: dict[str, float],
    first: int,
) -> None:
    space, others = Space(classes_of(mine, names), weights), classes_of(theirs, names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest_classes, "MOST_CATEGORIES", most)
        patch.setattr(nearest_classes, "_FIRST", first)
        far = space.distances(space.points(others))
        assert space.nearest(others).tolist() == far.min(axis=1).tolist()
        own = space.distances(space.points(space.classes))
        np.fill_diagonal(own, np.inf)
        assert space.nearest(space.classes, itself=np.arange(len(own))).tolist() == own.min(axis=1).tolist()
        found = neighbours(space, others, others.sizes, np.random.default_rng(7))
        assert [one.tolist() for one in found] == all_neighbours(space, others, others.sizes, 7)
