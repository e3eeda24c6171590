"""Sweeps over kinds of target equal what the attack on the whole table says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attacker import Attack
from discreet.attacker.interval import buying, gamble_values
from discreet.attacker.targets import Staircase, Targets
from discreet.kernel import Classes
from tests.attacker.strategies import PUBLISHED, attacks
from tests.examples import examples

sizes = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 70)), min_size=1, max_size=8)


def struck(attack: Attack, found: list[tuple[int, int]]):  # type: ignore[no-untyped-def]
    names = [(str(place),) for place in range(len(found))]
    external = [(name, group) for name, (_, group) in zip(names, found, strict=True) if group]
    listed = Classes.of(["a"], [*(name for name, _ in external), ("x",)], [*(group for _, group in external), 30])
    return attack.on(Classes.of(["a"], names, [people for people, _ in found]), listed)


# Every attempt costs something here: he who never stops is planned through to thousands of candidates.
paying = attacks().map(lambda attack: replace(attack, exploit_cost=attack.exploit_cost + 20))


@settings(max_examples=examples(40), deadline=None)
@given(attack=paying, found=sizes, penalty=st.floats(0, 3000), price=st.floats(0, 300))
def test_a_sweep_equals_the_attack_on_every_class(
    attack: Attack, found: list[tuple[int, int]], penalty: float, price: float
) -> None:
    targets = Targets.of(struck(attack, found))
    assert int(targets.people.sum()) == sum(people for people, _ in found)
    fined = struck(replace(attack, penalty=penalty), found)
    expected, again, _ = targets.by_penalty(attack, [penalty, penalty, penalty * 2 + 1])
    assert expected == again == targets.expected(replace(attack, penalty=penalty))
    assert expected.known == pytest.approx(fined.known.reidentified)
    assert expected.unknown == pytest.approx(fined.unknown.reidentified)
    assert expected.largest == fined.groups[fined.known.exploits > 0].max(initial=0)
    dearer = struck(replace(attack, access_cost=price), found)
    known, unknown = targets.by_price(attack)
    assert known.at(price) == pytest.approx(dearer.known.reidentified)
    assert unknown.at(price) == pytest.approx(dearer.unknown.reidentified)


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 5)), max_size=10))
def test_stairs_count_whoever_is_worth_more_than_the_price(worth: list[tuple[float, float]]) -> None:
    stairs = Staircase.of(np.array([one for one, _ in worth]), np.array([number for _, number in worth]))
    for price in (0.0, 10.0, 50.0, *(one for one, _ in worth)):
        assert stairs.at(price) == pytest.approx(sum(number for one, number in worth if one > price))
    assert (np.diff(stairs.people) <= 0).all()


def test_equal_kinds_are_one() -> None:
    attacked = struck(Attack(**PUBLISHED), [(1, 5), (2, 5), (3, 9), (4, 0)])
    targets = Targets.of(attacked)
    assert targets.groups.tolist() == [0, 5, 9]
    assert targets.people.tolist() == [4, 3, 3]
    assert targets.smallest == 5


@settings(max_examples=examples(25), deadline=None)
@given(attack=paying, people=st.integers(50, 2_000))
def test_he_buys_inside_the_interval_and_not_outside(attack: Attack, people: int) -> None:
    ends = buying(attack, people)
    grid = np.geomspace(0.001, people / 2, 60)
    pays = gamble_values(attack, grid, people) > 0
    if ends is None:
        assert not pays.any()
        return
    low, high = ends
    assert pays[(grid > low * 1.0001) & (grid < high * 0.9999)].all()
    assert not pays[(grid < low * 0.9999) | (grid > high * 1.0001)].any()


@settings(max_examples=examples(50), deadline=None)
@given(attack=attacks(), found=sizes)
def test_an_attack_on_kinds_is_the_attack_on_the_table(attack: Attack, found: list[tuple[int, int]]) -> None:
    whole = struck(attack, found)
    kinds = Targets.of(whole).attacked(attack)
    for one, other in ((kinds.known, whole.known), (kinds.unknown, whole.unknown)):
        assert (one.in_full, one.in_part, one.not_at_all) == (other.in_full, other.in_part, other.not_at_all)
        assert one.reidentified == pytest.approx(other.reidentified)
        assert one.harmed == pytest.approx(other.harmed)
    assert kinds.thresholds == whole.thresholds


@settings(max_examples=examples(50), deadline=None)
@given(found=sizes, least=st.integers(1, 200))
def test_larger_groups_keep_everybody_and_spare_nobody_unlisted(found: list[tuple[int, int]], least: int) -> None:
    targets = Targets.of(struck(Attack(**PUBLISHED), found))
    larger = targets.at_least(least)
    assert larger.people.sum() == targets.people.sum()
    assert larger.people[larger.groups == 0].sum() == targets.people[targets.groups == 0].sum()
    assert (larger.groups[larger.groups > 0] >= min(least, targets.external_size)).all()
    assert (larger.groups <= targets.external_size).all()


def test_kinds_can_be_had_before_anybody_attacks() -> None:
    people = Classes.of(["zip"], [("1",), ("2",), ("3",)], [2, 1, 4])
    listed = Classes.of(["zip"], [("1",), ("2",), ("9",)], [7, 7, 6])
    targets = Targets.among(people, listed)
    assert (targets.people.tolist(), targets.groups.tolist()) == ([4, 3], [0, 7])
    assert targets.densities.tolist() == [0.0, 0.35]
    assert targets.external_size == 20
