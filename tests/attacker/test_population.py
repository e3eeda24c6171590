"""A whole table under attack, person by person against the plans for single targets."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attacker import Attack, Attacked
from discreet.attacker.piecewise import buying, gamble_values
from discreet.attacker.population import Staircase, Targets
from discreet.errors import DataError, EmptySource, UsageError
from discreet.kernel import Classes
from discreet.policy import Policy
from discreet.risk import assess
from tests.attacker.strategies import PUBLISHED, attacks
from tests.examples import examples
from tests.risk.strategies import Rows

VALUES = "abcdefgh"
some = settings(max_examples=examples(50), deadline=None)
counts = st.lists(st.integers(0, 60), min_size=len(VALUES), max_size=len(VALUES))


def table(numbers: list[int]) -> Classes:
    held = [(value, number) for value, number in zip(VALUES, numbers, strict=True) if number]
    return Classes.of(["kind"], [(value,) for value, _ in held], [number for _, number in held])


@some
@given(attack=attacks(), here=counts.filter(any), there=counts.filter(any), loss=st.floats(0, 100))
def test_the_table_is_the_sum_of_its_people(attack: Attack, here: list[int], there: list[int], loss: float) -> None:
    struck = attack.on(table(here), table(there), loss=loss)
    total, seen = sum(there), dict.fromkeys(("full", "part", "none"), 0)
    found = harmed = lost = 0.0
    for mine, theirs in zip(here, there, strict=True):
        plan = attack.known([theirs])
        tries = int(plan.exploits[0]) if plan.accesses[0] else 0
        seen["none" if tries == 0 else "full" if tries == theirs else "part"] += mine
        found += mine * plan.reidentification[0]
        harmed += mine * plan.expected_wrong[0]
        lost += mine * plan.reidentification[0] * loss
    known = struck.known
    assert (known.in_full, known.in_part, known.not_at_all) == (seen["full"], seen["part"], seen["none"])
    assert known.attacked == known.in_full + known.in_part
    assert known.reidentified == pytest.approx(found)
    assert known.harmed == pytest.approx(harmed)
    assert known.expected_loss == pytest.approx(lost)
    blind = [attack.unknown([theirs / total], total, [theirs]) for theirs in there]
    expected = sum(mine * each.reidentification[0] for mine, each in zip(here, blind, strict=True))
    assert struck.unknown.reidentified == pytest.approx(expected)
    assert struck.unknown.attacked + struck.unknown.not_at_all == sum(here)
    json.dumps(struck.to_dict(0.2), allow_nan=False)


def test_what_he_expects_comes_from_the_population() -> None:
    attack = Attack(**PUBLISHED)
    people, listed = table([5, 5, 0, 0, 0, 0, 0, 0]), table([10, 10, 0, 0, 0, 0, 0, 0])
    everybody = table([10, 60, 60, 60, 0, 0, 0, 0])
    struck = attack.on(people, listed, population=everybody)
    assert struck.densities.tolist() == [10 / 190, 60 / 190]
    assert struck.groups.tolist() == [10, 10]
    assert struck.external_size == 20


def costly(losses: list[Any]) -> Rows:
    policy = Policy.from_dict({"columns": {"kind": {"role": "quasi"}, "cost": {"role": "other"}}})
    return Rows(("kind", "cost"), [("a", losses[0]), ("a", losses[1]), ("b", losses[2])], policy)


def test_a_column_says_what_each_person_costs() -> None:
    attack = Attack(**PUBLISHED)
    found = assess(costly(["10", "30", "2.5"]), attack=attack, loss="cost").attack
    assert isinstance(found, Attacked)
    assert found.known.losses.mean.tolist() == [20, 2.5]
    one, two = attack.known([2]).reidentification[0], attack.known([1]).reidentification[0]
    assert found.known.expected_loss == pytest.approx(one * 40 + two * 2.5)
    assert found.known.highest_loss == pytest.approx(one * 30)


@pytest.mark.parametrize("wrong", [None, "much", "-1", "inf"])
def test_a_loss_is_an_amount(wrong: str | None) -> None:
    with pytest.raises(DataError) as caught:
        assess(costly(["10", wrong, "2.5"]), attack=Attack(**PUBLISHED), loss="cost")
    assert "1 people" in str(caught.value)
    assert wrong is None or wrong not in str(caught.value)


@pytest.mark.parametrize("loss", [-1.0, float("nan"), True])
def test_one_loss_for_all_is_an_amount(loss: float) -> None:
    with pytest.raises(UsageError):
        Attack(**PUBLISHED).on(table([1] * 8), table([1] * 8), loss=loss)


def test_losses_that_were_not_counted_are_missed() -> None:
    with pytest.raises(UsageError, match="not counted"):
        assess(table([1] * 8), attack=Attack(**PUBLISHED), loss="cost")


def test_the_list_is_the_population_unless_another_is_given() -> None:
    people, everybody, listed = table([2] * 8), table([40] * 8), table([5] * 8)
    attack = Attack(**PUBLISHED)
    sizes = []
    for options in ({}, {"population": everybody}, {"population": everybody, "external": listed}, {"external": listed}):
        found = assess(people, attack=attack, **options).attack  # type: ignore[arg-type]
        assert isinstance(found, Attacked)
        sizes.append((int(found.groups[0]), found.external_size))
    assert sizes == [(2, 16), (40, 320), (5, 40), (5, 40)]


def test_without_an_adversary_nobody_attacks() -> None:
    assert assess(table([2] * 8)).to_dict()["attack"] is None
    with pytest.raises(UsageError, match="adversary"):
        assess(table([2] * 8), external=table([2] * 8))


@pytest.mark.parametrize("external", [7, "voters.csv"])
def test_the_list_is_a_table(external: Any) -> None:
    with pytest.raises(UsageError, match="external table"):
        assess(table([2] * 8), attack=Attack(**PUBLISHED), external=external)


def test_an_empty_list_is_refused() -> None:
    with pytest.raises(EmptySource):
        Attack(**PUBLISHED).on(table([1] * 8), table([0] * 8))


def test_each_class_is_told() -> None:
    struck = Attack(**PUBLISHED).on(table([3, 1, 0, 0, 0, 0, 0, 0]), table([60, 1, 0, 0, 0, 0, 0, 0]), loss=2.0)
    rows = list(struck.by_class())
    assert [values for values, _ in rows] == [("a",), ("b",)]
    assert [row["group"] for _, row in rows] == [60, 1]
    assert [row["reidentification_known"] for _, row in rows] == [0, 0.63]
    assert [row["risk_known"] for _, row in rows] == [0, 1.26]


def test_parameters_come_from_a_mapping() -> None:
    assert Attack.from_dict({**PUBLISHED, "max_penalties": "unlimited"}) == Attack(**PUBLISHED)
    with pytest.raises(UsageError, match="penaltie") as caught:
        Attack.from_dict({**PUBLISHED, "penaltie": 1})
    assert "'penalty'" in caught.value.remedy
    with pytest.raises(UsageError, match="lacks prior, gain"):
        Attack.from_dict({"penalty": 1})


def test_the_share_at_risk_counts_people() -> None:
    struck = Attack(**PUBLISHED).on(table([3, 1, 0, 0, 0, 0, 0, 0]), table([60, 1, 0, 0, 0, 0, 0, 0]))
    assert struck.known.at_risk(0.2) == 0.25
    assert struck.known.at_risk(0.63) == 0
    assert np.isclose(struck.to_dict(0.2)["known"]["average"], 0.63 / 4)


def test_losses_without_an_adversary_are_refused() -> None:
    with pytest.raises(UsageError, match="adversary"):
        assess(table([2] * 8), loss=5.0)


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
