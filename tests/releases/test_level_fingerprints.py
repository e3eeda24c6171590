"""Levels of its own for each recipient: safe whichever copies are joined, and offered whenever that is possible."""

from __future__ import annotations

import json
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import Refused, UsageError
from discreet.kernel import AnyValue, Classes, Widths
from discreet.releases import Fingerprints, plan_fingerprints
from tests.anonymity.brute import Data, Node
from tests.anonymity.strategies import tables
from tests.examples import examples
from tests.releases.brute import counted, key, limit
from tests.releases.samples import state_three


def names(many: int) -> list[str]:
    return [f"r{place}" for place in range(many)]


def partition(data: Data, place: int, level: int) -> frozenset[frozenset[str]]:
    """Which values of a column are one at a level."""
    groups: dict[str, set[str]] = {}
    for person in data.people:
        groups.setdefault(person.paths[place][level], set()).add(person.paths[place][0])
    return frozenset(map(frozenset, groups.values()))


def distinct_nodes(data: Data) -> list[Node]:
    """One node for each combination of partitions: the finest."""
    seen: dict[tuple[frozenset[frozenset[str]], ...], Node] = {}
    for node in sorted(data.nodes()):
        seen.setdefault(tuple(partition(data, place, level) for place, level in enumerate(node)), node)
    return list(seen.values())


def left_out(data: Data, node: Node, k: int) -> int:
    return sum(size for size in counted(data, node).values() if size < k)


def possible(data: Data, many: int, k: int, most: int) -> bool:
    """Whether some allowed node has enough nodes above it, itself included."""
    nodes = distinct_nodes(data)
    allowed = [node for node in nodes if left_out(data, node, k) <= most]
    return any(
        sum(all(low <= high for low, high in zip(base, node, strict=True)) for node in nodes) >= many
        for base in allowed
    )


@settings(deadline=None, max_examples=examples(120))
@given(tables(), st.integers(1, 4), st.integers(1, 4), st.sampled_from([0.0, 0.2, 0.5]))
def test_any_copies_joined_keep_k_and_families_are_found_where_there_are_any(
    data: Data, many: int, k: int, suppression: float
) -> None:
    most = limit(data, suppression)
    if k > len(data.people) or not any(left_out(data, node, k) <= most for node in data.nodes()):
        with pytest.raises(UsageError):
            plan_fingerprints(data.classes(), names(many), k=k, suppression=suppression)
        return
    if not possible(data, many, k, most):
        with pytest.raises(Refused) as caught:
            plan_fingerprints(data.classes(), names(many), k=k, suppression=suppression)
        assert caught.value.exit_code == 5
        return
    found = plan_fingerprints(data.classes(), names(many), k=k, suppression=suppression)
    check(data, found, k, most)


def check(data: Data, found: Fingerprints, k: int, most: int) -> None:
    nodes = [tuple(one.levels.values()) for one in found.recipients]
    assert len(set(nodes)) == len(nodes)
    assert found.suppressed <= most
    base = tuple(found.base.values())
    sizes = counted(data, base)
    people = [person for person in data.people if sizes[key(person, base)] >= k]
    assert len(people) == len(data.people) - found.suppressed
    for many in range(1, len(nodes) + 1):
        for coalition in combinations(nodes, many):
            rows = [tuple(key(person, node) for node in coalition) for person in people]
            assert all(rows.count(row) >= k for row in set(rows))
    for one, node in zip(found.recipients, nodes, strict=True):
        published = found.recoding(one.recipient).published
        assert published.records == len(people)
        shown = {name: {key(person, node)[place] for person in people} for place, name in enumerate(one.levels)}
        if people:
            assert one.recipient in found.trace(shown)
        assert found.owner(one.levels) == one.recipient
    below = [all(map(int.__le__, one, other)) for one in nodes for other in nodes if one != other]
    assert found.frameable == any(below)


def test_a_family_of_a_state_cannot_be_framed_and_tells_whose_copy_it_is() -> None:
    people, _ = state_three(200_000, 0.05)
    found = plan_fingerprints(people, names(4), k=5, suppression=0.05)
    assert not found.frameable
    for one in found.recipients:
        shown = found.recoding(one.recipient).published
        values = {name: {row[place] for row in shown.tuples()} for place, name in enumerate(shown.names)}
        assert found.trace(values) == (one.recipient,)
    assert found.trace({"zip": ["no such value"]}) == ()
    assert found.owner({"zip": 5, "sex": 1, "birth_year": 4}) is None
    with pytest.raises(UsageError, match="no levels"):
        found.trace({"colour": ["blue"]})
    with pytest.raises(UsageError, match="no recipient"):
        found.of("stranger")


def test_where_only_a_chain_is_left_it_says_that_somebody_can_be_framed() -> None:
    people = Classes.of(["age"], [(str(age),) for age in range(8)] * 2, rules={"age": Widths((2, 4))})
    found = plan_fingerprints(people, names(3), k=2)
    assert found.frameable
    assert "put the blame on that recipient" in found.words()
    alone = plan_fingerprints(people, names(1), k=2)
    assert not alone.frameable
    assert "No recipient can make" in alone.words()


def test_the_refusal_names_two_nodes_and_the_people_they_expose() -> None:
    rules = {"sex": AnyValue(), "age": AnyValue()}
    rows = [(sex, age) for sex in "FM" for age in ("30", "40")]
    people = Classes.of(["sex", "age"], rows, [3, 3, 3, 3], rules=rules)
    with pytest.raises(Refused, match=r"copy at levels \(.*\) with the one at levels \(.*\) sees 12 of 12 people"):
        plan_fingerprints(people, names(3), k=4)
    with pytest.raises(Refused, match="Only 3 combinations"):
        plan_fingerprints(people, names(4), k=4)
    with pytest.raises(UsageError, match="named once"):
        plan_fingerprints(people, ["a", "a"], k=2)


def test_json_is_json() -> None:
    people, _ = state_three(40_000)
    found = plan_fingerprints(people, names(2), k=5, suppression=0.05)
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    assert "2 recipients" in repr(found)
