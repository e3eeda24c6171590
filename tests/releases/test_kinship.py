"""Same origin, against plain comparison of generalised values."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.releases import same_origin
from discreet.releases.kinship import joined_levels
from tests.anonymity.brute import Data
from tests.examples import examples
from tests.releases.brute import Town, key
from tests.releases.strategies import towns


def looks(data: Data, node: tuple[int, ...], coarse: tuple[int, ...]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """What each class of a node becomes at a coarser one."""
    return {key(person, node): key(person, coarse) for person in data.people}


@settings(deadline=None, max_examples=examples(80))
@given(towns(), st.data())
def test_it_agrees_with_plain_comparison(town: Town, data: st.DataObject) -> None:
    nodes = town.data.nodes()
    left, right = data.draw(st.sampled_from(nodes)), data.draw(st.sampled_from(nodes))
    top = tuple(map(max, left, right))
    people, everybody = town.classes()
    mine, theirs = people.at(left), everybody.at(right)
    assert tuple(joined_levels(mine, theirs).values()) == top
    above = set(looks(town.population, right, top).values())
    raised = looks(town.data, left, top)
    wanted = [raised[look] in above for look in mine.tuples()]  # type: ignore[index]
    assert same_origin(mine, theirs).tolist() == wanted


@settings(deadline=None, max_examples=examples(40))
@given(towns(), st.data())
def test_a_copy_stems_from_itself_however_it_is_generalised(town: Town, data: st.DataObject) -> None:
    nodes = town.data.nodes()
    people = town.data.classes()
    mine, theirs = (people.at(data.draw(st.sampled_from(nodes))) for _ in range(2))
    assert same_origin(mine, theirs).all()
    assert same_origin(theirs, mine).all()
    nobody = theirs.keep(np.zeros(len(theirs), dtype=bool))
    assert not same_origin(mine, nobody).any()
