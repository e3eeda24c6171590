"""Several external tables against plain recursion over what was bought and who was tried, person by person."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.attacker import Attack
from discreet.attacker.purchases import External
from discreet.errors import UsageError
from tests.attacker.strategies import PUBLISHED, attacks, wavering
from tests.examples import examples

State = tuple[frozenset[int], frozenset[int], int]
"""Tables bought, people tried, penalties charged."""


class Market:
    """He may exploit any untried person in a table that he has, or buy any table that he has not."""

    def __init__(self, attack: Attack, n: int, tables: list[tuple[float, frozenset[int]]], *, links: bool) -> None:
        self.a, self.n, self.tables, self.links = attack, n, tables, links
        self.value = cache(self._value)
        self.closest = math.inf

    def worths(self, state: State) -> dict[Any, float]:
        bought, tried, charges = state
        found: dict[Any, float] = {}
        for person in sorted(frozenset().union(*(self.tables[j][1] for j in bought)) - tried):
            found["exploit", person] = self._exploit(state, person)
        for j in range(len(self.tables)):
            if j not in bought:
                ahead = self.value((bought | {j}, tried, charges))
                if self.links:
                    ahead = max(0.0, self.a.discount * ahead - self.a.link_cost)
                found["buy", j] = self.a.discount * ahead - self.tables[j][0]
        return found

    def chances(self, tried: frozenset[int]) -> tuple[float, float]:
        """P(the next is the target | those were not), by counting weights; and the chance of detection."""
        weight = self.a.prior / self.n
        return weight / (1 - len(tried) * weight), 1 / (
            1 + math.exp(-(self.a.detection_intercept + self.a.detection_slope * len(tried)))
        )

    def charged(self, charges: int) -> bool:
        return self.a.max_penalties is None or charges < self.a.max_penalties

    def after(self, state: State, person: int) -> tuple[State, State]:
        bought, tried, charges = state
        more = charges + (self.a.max_penalties is not None and self.charged(charges))
        return (bought, tried | {person}, charges), (bought, tried | {person}, more)

    def _exploit(self, state: State, person: int) -> float:
        right, caught = self.chances(state[1])
        clean, fined = self.after(state, person)
        later = (1 - right) * ((1 - caught) * self.value(clean) + caught * self.value(fined)) if right < 1 else 0.0
        due = self.a.penalty * self.charged(state[2])
        return -self.a.exploit_cost + self.a.discount * (right * self.a.gain - caught * due + later)

    def _value(self, state: State) -> float:
        return max([0.0, *self.worths(state).values()])

    def choice(self, state: State) -> Any:
        worths = self.worths(state)
        best = max([0.0, *worths.values()])
        kinds = {key if key[0] == "buy" else "exploit": worth for key, worth in worths.items()}
        others = sorted({0.0, *kinds.values()}, reverse=True)
        self.closest = min([self.closest, *(one - other for one, other in itertools.pairwise(others))])
        if list(kinds.values()).count(best) > 1:
            self.closest = 0.0
        return max(worths, key=lambda key: worths[key]) if best > 0 else None

    def follow(self, state: State, chance: float, total: dict[str, float]) -> None:
        action = self.choice(state)
        if action is None or chance == 0:
            return
        kind, which = action
        bought, tried, charges = state
        if kind == "buy":
            total[f"buy {which}"] = total.get(f"buy {which}", 0.0) + chance
            self.follow((bought | {which}, tried, charges), chance, total)
            return
        right, caught = self.chances(tried)
        total["exploits"] = total.get("exploits", 0.0) + chance
        total["success"] = total.get("success", 0.0) + chance * right
        total["penalties"] = total.get("penalties", 0.0) + chance * caught * self.charged(charges)
        clean, fined = self.after(state, which)
        self.follow(clean, chance * (1 - right) * (1 - caught), total)
        self.follow(fined, chance * (1 - right) * caught, total)


START: State = (frozenset(), frozenset(), 0)


@settings(max_examples=examples(80), deadline=None)
@given(attack=attacks() | wavering(), n=st.integers(1, 4), links=st.booleans(), data=st.data())
def test_against_brute_force(attack: Attack, n: int, links: bool, data: st.DataObject) -> None:
    people = st.frozensets(st.integers(0, n - 1))
    tables = data.draw(st.lists(st.tuples(st.floats(0, 300), people), min_size=1, max_size=3))
    market = Market(attack, n, tables, links=links)
    found = attack.several(n, {f"t{j}": External(*table) for j, table in enumerate(tables)}, links=links)
    scale = max(1.0, attack.gain)
    assert found.value_raw == pytest.approx(max(market.worths(START).values()), abs=1e-9 * scale)
    total: dict[str, float] = {}
    market.follow(START, 1.0, total)
    assume(market.closest > 1e-9)
    assert found.reidentification == pytest.approx(total.get("success", 0.0), abs=1e-9)
    assert found.expected_exploits == pytest.approx(total.get("exploits", 0.0), abs=1e-9)
    assert found.expected_penalties == pytest.approx(total.get("penalties", 0.0), abs=1e-9)
    assert found.expected_wrong == pytest.approx(found.expected_exploits - found.reidentification)
    for j, (price, _) in enumerate(tables):
        assert found.bought[f"t{j}"] == pytest.approx(total.get(f"buy {j}", 0.0), abs=1e-9), price
    paid = sum(price * total.get(f"buy {j}", 0.0) for j, (price, _) in enumerate(tables))
    assert found.expected_spent == pytest.approx(paid, abs=1e-6)


@settings(max_examples=examples(60), deadline=None)
@given(attack=attacks(), size=st.integers(1, 30))
def test_one_table_with_everybody_is_the_base_model(attack: Attack, size: int) -> None:
    found = attack.several(size, {"all": External(attack.access_cost, range(size))})
    base = attack.known([size])
    assert found.value_raw == pytest.approx(base.value_raw[0], abs=1e-9 * max(1.0, attack.gain))
    assert found.accesses == base.accesses[0]
    assert found.reidentification == pytest.approx(base.reidentification[0], abs=1e-9)
    assert found.expected_exploits == pytest.approx(base.expected_exploits[0], abs=1e-9)
    if attack.penalty > 0:
        assert found.expected_penalties == pytest.approx(base.expected_penalties[0], abs=1e-9)
    path = (("all", int(base.exploits[0])),) if base.accesses[0] else ()
    assert found.path == path


@settings(max_examples=examples(60), deadline=None)
@given(attack=attacks(), data=st.data())
def test_more_tables_are_never_worth_less(attack: Attack, data: st.DataObject) -> None:
    people = st.frozensets(st.integers(0, 5))
    tables = {f"t{j}": External(price, sorted(held)) for j, (price, held) in enumerate(
        data.draw(st.lists(st.tuples(st.floats(0, 300), people), min_size=2, max_size=4)))}  # fmt: skip
    fewer = dict(list(tables.items())[:-1])
    assert attack.several(6, tables).value >= attack.several(6, fewer).value - 1e-9


def test_the_order_of_purchases() -> None:
    attack = Attack(prior=0.9, gain=5000, access_cost=0, link_cost=0, exploit_cost=10, penalty=1000)
    found = attack.several(4, {"voters": External(1000, [0, 1, 2]), "phones": External(50, 0b1000)})
    assert found.path == (("phones", 1), ("voters", 3))
    assert found.bought["phones"] == 1
    assert found.bought["voters"] == pytest.approx(1 - 0.9 / 4)
    assert found.reidentification == pytest.approx(0.9)
    dear = replace(attack, gain=100).several(4, {"voters": External(500, [0, 1, 2])})
    assert (dear.accesses, dear.path, dear.value, dear.reidentification) == (False, (), 0, 0)


def test_many_tables_at_once() -> None:
    attack = Attack(**PUBLISHED, max_penalties=1)
    tables = {f"t{j}": External(20 + j, range(3 * j, 3 * j + 6)) for j in range(12)}
    found = attack.several(39, tables)
    assert found.accesses
    assert 0 < found.reidentification <= 0.63 + 1e-12


@pytest.mark.parametrize(
    ("candidates", "tables"),
    [
        (0, {}),
        (3, {}),
        (3, {"t": External(1, [3])}),
        (3, {"t": External(1, [-1])}),
        (3, {"t": External(1, 0b1000)}),
        (3, {"t": External(1, -1)}),
        (3, {"t": External(-1, [0])}),
        (3, {"t": External(math.nan, [0])}),
        (3, {f"t{j}": External(1, [0]) for j in range(17)}),
        (10_000, {f"t{j}": External(1, [0]) for j in range(16)}),
        (2.5, {}),
    ],
)
def test_nonsense_is_refused(candidates: Any, tables: dict[str, External]) -> None:
    with pytest.raises(UsageError) as caught:
        Attack(**PUBLISHED).several(candidates, tables)
    assert caught.value.remedy
