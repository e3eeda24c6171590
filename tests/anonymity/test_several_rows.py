"""Tables in which a person has several rows: k, l, t and risk count people, losses and suppression count rows."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.anonymity import LOSSES, anonymise, frontier
from discreet.anonymity.limits import AverageRisk
from discreet.anonymity.result import Anonymised
from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.risk import assess
from tests.anonymity.brute import Data, Person, best
from tests.anonymity.strategies import tables
from tests.examples import examples

few = settings(max_examples=examples(60), deadline=None)
Group = list[Person]


def people(group: Group) -> int:
    return len({row.number for row in group})


def pairs(group: Group) -> Counter[str]:
    """How many people hold each value."""
    return Counter(secret for _, secret in {(row.number, row.secret) for row in group})


def published_groups(data: Data, result: Anonymised) -> list[Group]:
    """The groups of rows that are published, found again from the rows alone."""
    node = tuple(result.levels.values())
    values = set(result.published.tuples())
    return [group for key, group in data.groups(node).items() if key in values]


@few
@given(tables(numbers=6), st.integers(1, 4), st.sampled_from([0.0, 0.1, 0.3, 0.6]), st.sampled_from(list(LOSSES)))
def test_the_least_loss_with_k_people_in_every_class(data: Data, k: int, suppression: float, loss: str) -> None:
    """Against every node of the lattice, with people counted in sets."""
    classes = data.classes()
    if k > classes.records:
        return
    limit = math.floor(round(suppression * 10) * len(data.people) / 10)
    wanted = best(data, limit=limit, loss=loss, bad=lambda group: people(group) < k)
    if wanted is None:
        with pytest.raises(UsageError):
            anonymise(classes, k=k, suppression=suppression, loss=loss)
        return
    result = anonymise(classes, k=k, suppression=suppression, loss=loss)
    assert result.loss == pytest.approx(wanted[0], abs=1e-9)
    groups = published_groups(data, result)
    assert all(people(group) >= k for group in groups)
    rows = sum(map(len, groups))
    assert result.suppressed_rows == len(data.people) - rows <= limit
    kept = Counter(row.number for group in groups for row in group)
    lost = [number for number, rows in Counter(row.number for row in data.people).items() if kept[number] < rows]
    assert result.suppressed == len(lost)
    assert result.records == people(list(data.people))
    assert result.published.records == len(kept)


@few
@given(tables(numbers=5, secrets=3), st.sampled_from(["distinct", "entropy", "close"]))
def test_values_are_diverse_and_close_over_people(data: Data, kind: str) -> None:
    """A value that one person repeats on many rows is one value of one person."""
    classes, overall = data.classes(sensitive=True), pairs(list(data.people))

    def bad(group: Group) -> bool:
        held = pairs(group)
        shares = {value: count / held.total() for value, count in held.items()}
        if kind == "distinct":
            return len(held) < 2
        if kind == "entropy":
            return math.exp(-sum(share * math.log(share) for share in shares.values())) < 1.8 * (1 - 1e-12)
        return sum(abs(shares.get(v, 0) - n / overall.total()) for v, n in overall.items()) / 2 > 0.3 + 1e-12

    limits = {
        "distinct": {"diversity": 2},
        "entropy": {"diversity": {"l": 1.8, "kind": "entropy"}},
        "close": {"closeness": 0.3},
    }[kind]
    limit = len(data.people) // 2
    wanted = best(data, limit=limit, loss="loss", bad=bad)
    if wanted is None:
        with pytest.raises(UsageError):
            anonymise(classes, suppression=0.5, **limits)
        return
    result = anonymise(classes, suppression=0.5, **limits)
    assert result.loss == pytest.approx(wanted[0], abs=1e-9)
    assert not any(bad(group) for group in published_groups(data, result))


@few
@given(tables(numbers=6), st.sampled_from([0.2, 0.4, 0.7]))
def test_the_average_risk_is_of_people(data: Data, most: float) -> None:
    """The fewest of the riskiest classes are left out until the mean of everybody's riskiest row is within the limit."""
    classes = data.classes()
    bad = AverageRisk(most).violated(classes)
    groups = sorted(data.groups((0,) * len(data.trees)).values(), key=people, reverse=True)

    def mean(chosen: list[Group]) -> float:
        risk: dict[int | None, float] = {}
        for group in chosen:
            for row in group:
                risk[row.number] = max(risk.get(row.number, 0.0), 1 / people(group))
        return sum(risk.values()) / len(risk) if risk else 0.0

    floors = [*sorted({people(group) for group in groups}), 10**9]
    least = next(size for size in floors if mean([group for group in groups if people(group) >= size]) <= most + 1e-12)
    assert sorted(classes.sizes[~bad].tolist()) == sorted(people(group) for group in groups if people(group) >= least)


@few
@given(tables(numbers=6, secrets=2))
def test_risk_is_that_of_the_riskiest_row(data: Data) -> None:
    found, groups = assess(data.classes(sensitive=True)), list(data.groups((0,) * len(data.trees)).values())
    risk: dict[int | None, float] = {}
    for group in groups:
        for row in group:
            risk[row.number] = max(risk.get(row.number, 0.0), 1 / people(group))
    assert (found.records, found.rows) == (len(risk), len(data.people) if len(risk) < len(data.people) else found.rows)
    assert found.k == min(map(people, groups))
    assert found.uniques == sum(each == 1 for each in risk.values())
    assert found.average_risk == pytest.approx(sum(risk.values()) / len(risk))
    assert found.prosecutor.at_risk == pytest.approx(sum(each > 0.2 for each in risk.values()) / len(risk))
    assert sum(band.records for band in found.bands) == len(risk)
    certain = {row.number for group in groups if len({row.secret for row in group}) == 1 for row in group}
    assert found.inference["secret"].certain == len(certain)


def panel(rows: list[tuple[str, int]]) -> Classes:
    return Data(
        tuple(Person(((value, "*"),), "", number) for value, number in rows), ((("a", "*"), ("b", "*")),)
    ).classes()


def test_forty_rows_of_one_man_are_no_class_of_forty() -> None:
    classes = panel([("a", 1)] * 40 + [("b", number) for number in range(2, 7)])
    assert anonymise(classes, k=2).levels == {"q0": 1}
    assert anonymise(classes, k=2, suppression=0.9).suppressed_rows == 40
    assert assess(classes).uniques == 1
    assert [point.k for point in frontier(classes, ks=(2, 6, 7))] == [2, 6]


@pytest.mark.parametrize("search", ["local", "mondrian"])
def test_recoding_class_by_class_refuses_people_with_several_rows(search: str) -> None:
    with pytest.raises(UsageError, match="--search optimal"):
        anonymise(panel([("a", 1)] * 3 + [("b", 2)] * 3), k=2, search=search)


def test_a_population_of_people_with_several_rows_hides_nobody_twice() -> None:
    everybody = panel([("a", 1)] * 30 + [("b", number) for number in range(30)])
    found = assess(panel([("a", 1), ("a", 1), ("b", 2)]), everybody)
    assert found.presence is not None
    assert found.presence.k_map == 1
    assert found.population_uniques == 1
    assert np.isfinite(assess(panel([("a", 1), ("a", 2), ("b", 2), ("b", 3)]), 50).population_uniqueness.dankar)  # type: ignore[union-attr]
