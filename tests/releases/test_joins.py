"""What joined copies show, against joining rows one by one."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.releases.joins import breaches, exposed, meet
from tests.anonymity.brute import Data, Node
from tests.anonymity.strategies import tables
from tests.examples import examples
from tests.releases.brute import counted, key


def joined(data: Data, nodes: list[Node], k: int) -> Counter[tuple[object, ...]]:
    """People by what they show in all copies together, None where they were left out; nobody who is in none."""
    sizes = [counted(data, node) for node in nodes]
    rows = [
        tuple(
            key(person, node) if size[key(person, node)] >= k else None for node, size in zip(nodes, sizes, strict=True)
        )
        for person in data.people
    ]
    return Counter(row for row in rows if any(look is not None for look in row))


@settings(deadline=None, max_examples=examples(80))
@given(tables(), st.integers(1, 5), st.data())
def test_breaches_agree_with_joining_rows(table: Data, k: int, data: st.DataObject) -> None:
    nodes = data.draw(st.lists(st.sampled_from(table.nodes()), min_size=2, max_size=4))
    found = {(one.first, one.second, one.people, one.joined) for one in breaches(table.classes(), nodes, k)}
    wanted = set()
    for place, first in enumerate(nodes):
        for second in nodes[place + 1 :]:
            cells = joined(table, [first, second], k)
            small = sum(many for many in cells.values() if many < k)
            if small:
                wanted.add((first, second, small, sum(cells.values())))
    assert found == wanted
    cells = joined(table, nodes, k)
    assert exposed(table.classes(), nodes, k) == sum(many for many in cells.values() if many < k)


@settings(deadline=None, max_examples=examples(60))
@given(tables(), st.integers(1, 4), st.data())
def test_without_suppression_the_join_is_the_meet(table: Data, k: int, data: st.DataObject) -> None:
    nodes = [node for node in table.nodes() if min(counted(table, node).values()) >= k]
    if not nodes:
        return
    one, other = data.draw(st.sampled_from(nodes)), data.draw(st.sampled_from(nodes))
    below = [many for many in counted(table, meet([one, other])).values() if many < k]
    assert bool(breaches(table.classes(), [one, other], k)) == bool(below)


def test_a_breach_in_words() -> None:
    from discreet.kernel import AnyValue, Classes

    rules = {"sex": AnyValue(), "age": AnyValue()}
    people = Classes.of(["sex", "age"], [("F", "30"), ("F", "40"), ("M", "30"), ("M", "40")], rules=rules)
    (breach,) = breaches(people, [(0, 1), (1, 0)], 2)
    assert "levels (sex 0, age 1)" in breach.words(people.names)
    assert "4 of 4 people" in breach.words(people.names)
    with pytest.raises(AttributeError):
        breach.people = 0  # type: ignore[misc]
