"""Random small towns: a table, and a population that mostly contains it."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.anonymity.brute import Data, Person
from tests.anonymity.strategies import tables, trees
from tests.releases.brute import Town

__all__ = ["towns", "trees"]


@st.composite
def towns(draw: st.DrawFn) -> Town:
    """Some of the people of the data, several times, and strangers."""
    data = draw(tables())
    times = draw(st.lists(st.integers(0, 6), min_size=len(data.people), max_size=len(data.people)))
    known = [person for person, many in zip(data.people, times, strict=True) for _ in range(many)]
    stranger = st.builds(Person, st.tuples(*(st.sampled_from(tree) for tree in data.trees)))
    strangers = draw(st.lists(st.tuples(stranger, st.integers(1, 8)), max_size=12))
    everybody = [*known, *(person for person, many in strangers for _ in range(many))]
    return Town(data, Data(tuple(everybody or data.people), data.trees))
