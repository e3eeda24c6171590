"""Shared access against one literal joint decision process: the product of the records' states, one action for each."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attacker import Attack
from discreet.errors import UsageError
from tests.attacker.brute import Brute
from tests.attacker.strategies import PUBLISHED, attacks
from tests.examples import examples

some = settings(max_examples=examples(60), deadline=None)

# Of one record once the table is there: (over, detected, penalties, success, linked, remaining)
One = tuple[bool, bool, int, bool, bool, int]


class Joint:
    """All records at once. Every step he does something with each of them; the purchase is one action for all."""

    def __init__(self, attack: Attack, sizes: tuple[int, ...]) -> None:
        self.a, self.sizes = attack, sizes
        self.value = cache(self._value)
        self.moves = cache(self._moves)

    def raw(self) -> float:
        start: tuple[One, ...] = tuple((False, False, 0, False, False, size) for size in self.sizes)
        return -self.a.access_cost + self.a.discount * self.value(start)

    def _value(self, states: tuple[One, ...]) -> float:
        if all(over for over, *_ in states):
            return 0.0
        options = [self.moves(size, state) for size, state in zip(self.sizes, states, strict=True)]
        return max(self._worth(choice) for choice in itertools.product(*options))

    def _worth(self, choice: tuple[Any, ...]) -> float:
        worth = sum(reward for reward, _ in choice)
        for ends in itertools.product(*(ahead for _, ahead in choice)):
            chance = math.prod(odds for odds, _ in ends)
            worth += self.a.discount * chance * self.value(tuple(state for _, state in ends))
        return worth

    def _moves(self, size: int, state: One) -> list[tuple[float, list[tuple[float, One]]]]:
        """Per action: the reward now, and where it leads."""
        over, detected, penalties, success, linked, remaining = state
        if over:
            return [(0.0, [(1.0, state)])]
        charged = detected and (self.a.max_penalties is None or penalties < self.a.max_penalties)
        due = self.a.gain * success - self.a.penalty * charged
        after = penalties + (charged and self.a.max_penalties is not None)
        ends = success or (linked and remaining == 0)
        done: One = (True, False, 0, False, False, 0)
        moves = [(due, [(1.0, done)])]
        if ends:
            return moves
        if not linked:
            moves.append((due - self.a.link_cost, [(1.0, (False, False, after, False, True, remaining))]))
        elif remaining:
            tried = size - remaining
            right = 1 / (size / self.a.prior - tried)
            caught = 1 / (1 + math.exp(-(self.a.detection_intercept + self.a.detection_slope * tried)))
            ahead: list[tuple[float, One]] = [
                ((right if won else 1 - right) * (caught if seen else 1 - caught),
                 (False, seen, after, won, True, remaining - 1))
                for won in (False, True) for seen in (False, True)
            ]  # fmt: skip
            moves.append((due - self.a.exploit_cost, [(odds, end) for odds, end in ahead if odds > 0]))
        return moves


@settings(max_examples=examples(40), deadline=None)
@given(attack=attacks(), sizes=st.lists(st.integers(0, 3), min_size=1, max_size=2))
def test_two_records_are_worth_their_sum(attack: Attack, sizes: list[int]) -> None:
    joint = Joint(attack, tuple(sizes)).raw()
    assert attack.shared(sizes).value_raw == pytest.approx(joint, abs=1e-9 * max(1.0, attack.gain))


@pytest.mark.parametrize("most", [None, 0, 1])
def test_three_records_are_worth_their_sum(most: int | None) -> None:
    attack = Attack(**{**PUBLISHED, "penalty": 30_000, "access_cost": 9_000}, max_penalties=most)
    joint = Joint(attack, (2, 2, 1)).raw()
    found = attack.shared([1, 2], [1, 2])
    assert found.value_raw == pytest.approx(joint)
    assert found.accesses == (joint > 0)


@some
@given(attack=attacks(), sizes=st.lists(st.integers(0, 5), min_size=1, max_size=6), data=st.data())
def test_what_the_purchase_comes_to(attack: Attack, sizes: list[int], data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(0, 4), min_size=len(sizes), max_size=len(sizes)))
    found = attack.shared(sizes, counts)
    records = [
        Brute(attack, size, access_cost=0.0) for size, count in zip(sizes, counts, strict=True) for _ in range(count)
    ]
    worths = sorted((float(record.raw) for record in records), reverse=True)
    price = sum(worths)
    assert found.deterring_price == pytest.approx(price, abs=1e-6)
    if abs(price - attack.access_cost) < 1e-6:
        return
    assert found.accesses == (price > attack.access_cost)
    assert found.value == max(0.0, found.value_raw)
    pays = [many for many in range(1, len(worths) + 1) if sum(worths[:many]) > attack.access_cost]
    if all(abs(sum(worths[:many]) - attack.access_cost) > 1e-6 for many in range(len(worths))):
        assert found.least_records == (pays[0] if pays else None)
    if all(record.closest() > 1e-9 for record in records):
        outcomes = [record.outcome() for record in records]
        bought = found.accesses
        assert found.expected_reidentified == pytest.approx(float(sum(one.success for one in outcomes)) * bought)
        assert found.expected_wrong == pytest.approx(float(sum(one.wrong for one in outcomes)) * bought, abs=1e-9)
        alone = [Brute(attack, size).risk() for size in sizes]
        together = [once > 0 and lone == 0 for once, lone in zip(found.once_bought, alone, strict=True)]
        assert found.only_together.tolist() == [one and bought for one in together]
        assert found.records_only_together == sum(np.array(counts)[found.only_together])


@some
@given(attack=attacks(), sizes=st.lists(st.integers(0, 20), min_size=1, max_size=4))
def test_the_price_deters_and_less_does_not(attack: Attack, sizes: list[int]) -> None:
    price = attack.shared(sizes).deterring_price
    assert not replace(attack, access_cost=price).shared(sizes).accesses
    if price > 1e-6:
        assert replace(attack, access_cost=price * (1 - 1e-9)).shared(sizes).accesses


@some
@given(
    attack=attacks(),
    rows=st.lists(st.lists(st.integers(0, 4), min_size=4, max_size=4).filter(any), min_size=1, max_size=3),
)
def test_beliefs_add_up(attack: Attack, rows: list[list[int]]) -> None:
    attack = replace(attack, exploit_cost=attack.exploit_cost + 40)
    belief = [[weight / sum(row) for weight in row] for row in rows]
    found = attack.shared([1] * len(rows), belief=belief)
    worth = sum(chance * float(Brute(attack, g).with_table) for row in belief for g, chance in enumerate(row))
    assert found.value_raw == pytest.approx(attack.discount * worth - attack.access_cost, abs=1e-6)
    one = attack.shared([1], belief=belief[:1])
    alone = attack.unknown(belief=belief[:1], sizes=[1])
    assert one.value_raw == pytest.approx(alone.value_raw[0], abs=1e-6)


def test_records_that_nobody_would_attack_alone() -> None:
    attack = Attack(**{**PUBLISHED, "access_cost": 20_000})
    assert not attack.known([10]).accesses[0]
    found = attack.shared([10, 60], [50, 50])
    assert found.accesses
    assert found.records_only_together == 50  # in a group of 60 he does not even start
    assert found.least_records == 11
    assert attack.shared([10], [10]).least_records is None


@pytest.mark.parametrize("counts", [[1], [1, -1], [1.5, 1], "ab"])
def test_counts_are_numbers_of_records(counts: Any) -> None:
    with pytest.raises(UsageError, match="counts"):
        Attack(**PUBLISHED).shared([3, 4], counts)
