"""The publisher's commitment against every node with very many penalties, the adversary written out literally."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.anonymity import stackelberg
from discreet.attacker import Attack
from discreet.errors import UsageError
from discreet.kernel import AnyValue, Classes, Widths
from tests.anonymity.brute import Data, Node, Person, losses
from tests.anonymity.strategies import tables
from tests.attacker.brute import Brute
from tests.examples import examples

some = settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
weights = st.sampled_from([0.0, 0.5, 5.0, 100.0])


@st.composite
def adversaries(draw: st.DrawFn) -> Attack:
    """Adversaries for whom groups of a few people are a matter of the penalty."""
    return Attack(
        prior=draw(st.sampled_from([0.5, 0.8, 1.0])),
        gain=draw(st.sampled_from([30, 100, 300])),
        access_cost=draw(st.sampled_from([0, 3])),
        link_cost=draw(st.sampled_from([0, 1])),
        exploit_cost=draw(st.sampled_from([1, 7])),
        penalty=1,
        max_penalties=draw(st.sampled_from([None, 1, 2])),
        detection_intercept=draw(st.sampled_from([-2.0, 0.0])),
        detection_slope=draw(st.sampled_from([0.0, 0.4])),
    )


class Publisher:
    """Every node, every class, every person."""

    def __init__(self, data: Data, attack: Attack, *, k: int, share: float, population: Data | None = None) -> None:
        self.data, self.attack, self.k, self.population = data, attack, k, population
        self.limit = math.floor(share * len(data.people))
        self.risk = cache(lambda size, penalty: Brute(attack, size, penalty=penalty).chain())
        self.parts = cache(self._parts)

    def _parts(self, node: Node) -> tuple[float, int, tuple[tuple[int, int], ...]] | None:
        """Information lost, people suppressed, and (crowd, people) per published class."""
        groups = self.data.groups(node)
        hidden = [group for group in groups.values() if len(group) < self.k]
        kept = {key: group for key, group in groups.items() if len(group) >= self.k}
        if sum(map(len, hidden)) > self.limit:
            return None
        outside = self.population.groups(node) if self.population else groups
        crowds = tuple((max(len(outside.get(key, [])), len(group)), len(group)) for key, group in kept.items())
        lost = losses(self.data, node, list(kept.values()), hidden)["loss"]
        return lost, sum(map(len, hidden)), crowds

    def reidentified(self, node: Node, penalty: float) -> float:
        parts = self.parts(node)
        assert parts is not None
        return sum(people * self.risk(crowd, penalty) for crowd, people in parts[2])

    def total(self, node: Node, penalty: float, worth: float, harm: float, cost: float) -> float:
        parts = self.parts(node)
        if parts is None:
            return math.inf
        return worth * parts[0] + harm * self.reidentified(node, penalty) + cost * penalty

    def penalties(self, node: Node, low: float, high: float) -> list[float]:
        """A grid, and both sides of every penalty at which some class is treated differently, found by halving."""
        parts = self.parts(node)
        grid = [low, *(np.geomspace(0.5, 3000, 12) + low).tolist()]
        edges: list[float] = []
        for crowd in {crowd for crowd, _ in parts[2]} if parts else ():
            for left, right in pairwise(grid):
                edges += self._edges(crowd, left, right)
        return [one for one in [*grid, *edges, *(edge * (1 - 1e-6) for edge in edges)] if low <= one <= high]

    def _edges(self, crowd: int, left: float, right: float) -> list[float]:
        if abs(self.risk(crowd, left) - self.risk(crowd, right)) < 1e-12:
            return []
        if right - left < 1e-7 * max(1.0, right):
            return [right]
        middle = (left + right) / 2
        return [*self._edges(crowd, left, middle), *self._edges(crowd, middle, right)]


@some
@given(data=tables(), attack=adversaries(), worth=weights, harm=weights, cost=st.sampled_from([0.0, 0.01, 1.0]),
       k=st.sampled_from([1, 2]), share=st.sampled_from([0.0, 0.3, 1.0]),
       bounds=st.sampled_from([(0.0, math.inf), (0.0, 40.0), (10.0, 100.0)]))  # fmt: skip
def test_nothing_is_better(
    data: Data, attack: Attack, worth: float, harm: float, cost: float, k: int, share: float, bounds: Any
) -> None:
    data = Data(data.people[:12], data.trees[:2]) if len(data.trees) > 2 else Data(data.people[:12], data.trees)
    data = Data(tuple(Person(one.paths[: len(data.trees)]) for one in data.people), data.trees)
    publisher = Publisher(data, attack, k=k, share=share)
    ask = {"worth": worth, "harm": harm, "penalty_cost": cost, "penalties": bounds, "k": k, "suppression": share}
    allowed = [node for node in data.nodes() if publisher.parts(node) is not None]
    if not allowed:
        with pytest.raises(UsageError):
            stackelberg(data.classes(), attack, **ask)
        return
    found = stackelberg(data.classes(), attack, **ask)
    best = found.best
    node = tuple(best.levels.values())
    assert bounds[0] <= best.penalty <= bounds[1]
    # Just above the penalty the literal adversary does what is claimed; at it, the room's own one.
    assert publisher.total(node, best.penalty * (1 + 1e-9), worth, harm, cost) == pytest.approx(best.total, abs=1e-5)
    sizes, people = np.array(publisher.parts(node)[2]).reshape(-1, 2).T  # type: ignore[index]
    plan = found.attack.known(sizes)
    assert people @ plan.reidentification == pytest.approx(best.reidentified, abs=1e-6)
    assert found.attacked == people[plan.accesses].sum()
    for other in allowed:
        for penalty in publisher.penalties(other, *bounds):
            assert best.total <= publisher.total(other, penalty, worth, harm, cost) + 1e-5
    assert [tuple(offer.levels.values()) for offer in found.nodes] == allowed
    for offer in found.nodes:
        place = tuple(offer.levels.values())
        least = min(publisher.total(place, one, worth, harm, cost) for one in publisher.penalties(place, *bounds))
        assert offer.total <= least + 1e-5
        parts = publisher.parts(place)
        assert parts is not None
        assert (offer.loss, offer.suppressed) == (pytest.approx(parts[0], abs=1e-9), parts[1])


@some
@given(data=tables(), attack=adversaries(), worth=weights, harm=weights)
def test_the_frontier_is_best_at_every_penalty(data: Data, attack: Attack, worth: float, harm: float) -> None:
    data = Data(tuple(Person(one.paths[:2]) for one in data.people[:10]), data.trees[:2])
    publisher = Publisher(data, attack, k=1, share=0)
    found = stackelberg(data.classes(), attack, worth=worth, harm=harm, penalty_cost=0.1)
    starts = [offer.penalty for offer in found.frontier]
    assert starts == sorted(starts)
    assert starts[0] == 0
    for penalty in np.geomspace(0.3, 2000, 15).tolist():
        offer = found.frontier[int(np.searchsorted(starts, penalty, side="right")) - 1]
        if min(abs(start - penalty) for start in starts) < 1e-6:
            continue
        claimed = worth * offer.loss + harm * offer.reidentified + 0.1 * penalty
        least = min(publisher.total(node, penalty, worth, harm, 0.1) for node in data.nodes())
        assert claimed == pytest.approx(least, abs=1e-6)
    assert min(offer.total for offer in found.frontier) == pytest.approx(found.best.total)


@some
@given(
    data=tables(),
    attack=adversaries(),
    worth=weights,
    harm=weights,
    chosen=st.lists(st.floats(0, 500), min_size=1, max_size=5),
)
def test_given_penalties_and_a_population(
    data: Data, attack: Attack, worth: float, harm: float, chosen: list[float]
) -> None:
    population = Data(tuple(Person(one.paths[:2]) for one in data.people[:12]), data.trees[:2])
    sample = Data(population.people[:4], population.trees)
    publisher = Publisher(sample, attack, k=1, share=0, population=population)
    found = stackelberg(
        sample.classes(),
        attack,
        worth=worth,
        harm=harm,
        penalty_cost=0.1,
        candidates=chosen,
        population=population.classes(),
    )
    totals = {
        (node, penalty): publisher.total(node, penalty, worth, harm, 0.1)
        for node in sample.nodes()
        for penalty in chosen
    }
    assert found.best.total == pytest.approx(min(totals.values()), abs=1e-6)
    assert found.best.penalty in chosen
    assert totals[tuple(found.best.levels.values()), found.best.penalty] == pytest.approx(found.best.total, abs=1e-6)


def people() -> Classes:
    rules = {"sex": AnyValue(), "age": Widths((10,))}
    rows = [("F", "30"), ("F", "31"), ("M", "30"), ("M", "31"), ("M", "45")]
    return Classes.of(["sex", "age"], rows, [3, 4, 2, 6, 1], rules=rules)


ADVERSARY = Attack(prior=1, gain=100, access_cost=0, link_cost=0, exploit_cost=10, penalty=0, detection_intercept=0)


def test_detail_costs_a_penalty() -> None:
    """The dearer the penalty, the coarser the table."""
    cheap = stackelberg(people(), ADVERSARY, worth=10, harm=100, penalty_cost=0.001).best
    dear = stackelberg(people(), ADVERSARY, worth=10, harm=100, penalty_cost=10).best
    assert cheap.loss < dear.loss
    assert cheap.penalty > dear.penalty
    assert cheap.reidentified == 0
    assert set(cheap.to_dict()) == {"levels", "penalty", "loss", "suppressed", "reidentified", "total"}


def test_a_publisher_who_does_not_care_publishes_everything() -> None:
    found = stackelberg(people(), ADVERSARY, worth=1, harm=0, penalty_cost=1)
    assert (found.best.loss, found.best.penalty) == (0, 0)
    assert found.attacked > 0
    assert found.expected_wrong > 0
    assert found.expected_penalties == 0 or found.attack.penalty == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"worth": -1},
        {"harm": math.inf},
        {"penalty_cost": math.nan},
        {"penalties": (5, 1)},
        {"penalties": (math.inf, math.inf)},
        {"candidates": []},
        {"candidates": [-1]},
        {"k": 0},
        {"k": 100},
        {"suppression": 2},
        {"loss": "regret"},
    ],
)
def test_nonsense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        stackelberg(people(), ADVERSARY, **{"worth": 1, "harm": 1, **wrong})
    assert caught.value.remedy


def test_what_cannot_be_played_through_is_refused() -> None:
    fearless = Attack(prior=1, gain=1e9, access_cost=0, link_cost=0, exploit_cost=0, penalty=0)
    crowd = Classes.of(["sex"], [("F",)], [5000])
    with pytest.raises(UsageError, match="lowest penalty"):
        stackelberg(crowd, fearless, worth=1, harm=1)
    names = [f"c{place}" for place in range(16)]
    wide = Classes.of(names, [("a",) * 16, ("b",) * 16], rules={name: AnyValue() for name in names})
    with pytest.raises(UsageError, match="65,536"):
        stackelberg(wide, fearless, worth=1, harm=1)
