"""Every bound that a search relies on holds at every node, whatever a look says: also where a person has several rows."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.anonymity import LOSSES, anonymise
from discreet.anonymity.lattice.candidates import LiveNodes, NodeFinding
from discreet.anonymity.lattice.evaluate import BySize
from discreet.anonymity.lattice.problem import LatticeProblem, Node
from discreet.anonymity.lattice.search import evaluators_of, measure_of
from discreet.anonymity.limits import Requirements, Size
from discreet.kernel import AnyValue, Classes, Histogram
from tests.anonymity.brute import Data
from tests.anonymity.strategies import tables, wished_tables
from tests.examples import examples

some = settings(max_examples=examples(90), deadline=None)


def holds(classes: Classes, loss: str, limits: Requirements) -> None:
    """Look at all nodes; what each look says about others is compared with what they cost."""
    problem = LatticeProblem.of(classes)
    measure = measure_of(problem, limits, loss)
    sieve, _ = evaluators_of(problem, limits, "numpy")
    outcomes = {node: sieve(node) for node in product(*map(range, problem.shape))}
    cost = {node: measure.value(outcome) for node, outcome in outcomes.items()}
    for node, outcome in outcomes.items():
        finer = [other for other in outcomes if all(map(int.__le__, other, node))]
        coarser = [other for other in outcomes if all(map(int.__ge__, other, node))]
        assert measure.price(float(measure.bounds()[node])) <= cost[node] + 1e-9 * max(1, cost[node])
        if measure.moves:
            for high in coarser:
                # What finer and coarser nodes say adds up in between.
                between = [other for other in coarser if all(map(int.__le__, other, high))]
                bound = measure.bound_above(outcome) + measure.bound_below(outcomes[high])
                assert all(bound <= cost[other] * (1 + 1e-9) for other in between)
        else:
            tables_below = measure.below(outcome)
            for other in finer:
                parts = [float(table[level]) for table, level in zip(tables_below, other, strict=True)]
                bound = measure.price(math.prod(parts) if measure.times else math.fsum(parts))
                assert bound <= cost[other] + 1e-9 * max(1, cost[other])
                assert outcomes[other].suppressed >= outcome.suppressed


@pytest.mark.parametrize("loss", LOSSES)
@some
@given(data=wished_tables(), k=st.integers(1, 5))
def test_bounds_hold_for_people_with_a_row_each(loss: str, data: Data, k: int) -> None:
    holds(data.classes(), loss, Requirements((Size(k),), 0))


@pytest.mark.parametrize("loss", LOSSES)
@some
@given(data=tables(numbers=5), k=st.integers(1, 4))
def test_bounds_hold_where_a_person_has_several_rows(loss: str, data: Data, k: int) -> None:
    holds(data.classes(), loss, Requirements((Size(k),), 0))


def test_forty_rows_of_one_person_are_not_taken_for_fewer_than_k() -> None:
    """Suppressed classes of few people may have many rows; a bound by their sizes rules the least lossy node out."""
    rows = [("a", "x", 1)] * 40 + [("b", place, 2 + n % 30) for n, place in enumerate("xyz" * 20)]
    counted = Histogram.from_rows(["q", "r"], [(*row[:2], 1) for row in rows])
    people = np.array([row[2] for row in rows], dtype=np.int64)
    classes = Classes.from_histogram(counted, rules={"q": AnyValue(), "r": AnyValue()}, people=people)
    limits = Requirements((Size(2),), len(rows))
    measure = measure_of(LatticeProblem.of(classes), limits, "discernibility")
    sieve, _ = evaluators_of(LatticeProblem.of(classes), limits, "numpy")
    outcome = sieve((0, 0))
    assert outcome.suppressed == 40
    assert measure.bound_above(outcome) + measure.bound_below(outcome) <= measure.value(outcome)
    found = anonymise(classes, k=2, suppression=1.0, loss="discernibility")
    least = min(measure.value(sieve(node)) for node in product((0, 1), (0, 1)))
    assert found.loss == least


@some
@given(data=tables(), k=st.integers(2, 6))
def test_the_class_of_one_person_is_known_everywhere(data: Data, k: int) -> None:
    problem = LatticeProblem.of(data.classes())
    sieve = BySize(problem, k=k, engine="numpy")
    for node in product(*map(range, problem.shape)):
        outcome = sieve(node)
        if not outcome.suppressed or outcome.around is None:
            continue
        sizes = outcome.around().reshape(problem.shape)
        assert sizes[node] < k
        for other in product(*map(range, problem.shape)):
            assert sizes[other] in [len(group) for group in data.groups(other).values()]


@some
@given(st.data())
def test_nodes_are_ruled_out_by_what_is_said_of_them_only(data: st.DataObject) -> None:
    """A list of candidates against one bound per node, kept in a dictionary."""
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    nodes: list[Node] = list(product(*map(range, shape)))
    numbers = st.floats(0, 10, allow_nan=False)
    start = np.array([data.draw(numbers) for _ in nodes]).reshape(shape)
    live = LiveNodes(shape, start, times=False, moves=True)
    live.list_up(8.0)
    above = {node: float(start[node]) for node in nodes}
    below, dead = dict.fromkeys(nodes, 0.0), {node for node in nodes if start[node] > 8.0}
    for _ in range(data.draw(st.integers(1, 5))):
        node, kills = data.draw(st.sampled_from(nodes)), data.draw(st.booleans())
        extra, more, ceiling = data.draw(numbers), data.draw(numbers), data.draw(st.floats(2, 8))
        live.learn(NodeFinding(live.at(node), kills, None, extra, more), ceiling)
        for other in nodes:
            if all(map(int.__le__, other, node)):
                below[other] = max(below[other], extra)
                dead |= {other} if kills else set()
            if all(map(int.__ge__, other, node)):
                above[other] = max(above[other], more)
            if above[other] + below[other] > ceiling:
                dead.add(other)
        left = {
            nodes[place]
            for place, bound in zip(live.place.tolist(), live.bound.tolist(), strict=True)
            if bound < math.inf
        }
        assert left - {node} == set(nodes) - dead - {node}
        dead |= {node} - left
        place = live.next()
        assert (place < 0) == (not left)
        if place >= 0:
            assert live.least == min(above[other] + below[other] for other in left)
