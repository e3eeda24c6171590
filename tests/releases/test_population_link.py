"""The data beside the population, at every node."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.anonymity import anonymise
from discreet.errors import EmptySource, PopulationError, UsageError
from discreet.kernel import AnyValue, Classes, Histogram, Mask, Rule, Widths
from discreet.releases import Linked
from discreet.releases.feasibility import Feasibility
from discreet.releases.population_link import doubts
from tests.examples import examples
from tests.releases.brute import Expected, Town, expected
from tests.releases.strategies import towns

PEOPLE = Classes.of(["zip"], [("11",), ("12",), ("21",)], [6, 5, 1], rules={"zip": Mask(2)})


def same(found: Feasibility, wanted: Expected) -> None:
    """Every figure agrees."""
    names = [name for name in Expected.__dataclass_fields__ if name not in ("factors", "_released")]
    assert {name: getattr(found, name) for name in names} == {name: getattr(wanted, name) for name in names}
    assert found.factors.tolist() == wanted.factors
    assert found.max_factor == wanted.max_factor


@settings(deadline=None, max_examples=examples(60))
@given(towns(), st.integers(1, 5))
def test_every_node_agrees_with_plain_counting(town: Town, k: int) -> None:
    people, everybody = town.classes()
    for node in town.data.nodes():
        wanted = expected(town, node, k)
        if wanted.refused:
            with pytest.raises(PopulationError, match="wrong population"):
                Linked.at_node(people, everybody, node, k=k)
            continue
        linked = Linked.at_node(people, everybody, node, k=k)
        same(Feasibility.of(linked, suppression=0.0, loss=0.0, loss_name="dm_star"), wanted)
        assert linked.sampling == len(town.data.people) / len(town.population.people)
        assert linked.released.records + linked.suppressed.records == linked.records


@settings(deadline=None, max_examples=examples(60))
@given(towns(), st.integers(1, 4))
def test_no_candidate_is_released(town: Town, k: int) -> None:
    people, everybody = town.classes()
    for node in town.data.nodes():
        try:
            linked = Linked.at_node(people, everybody, node, k=k)
        except PopulationError:
            continue
        assert not set(linked.candidates.classes.tuples()) & set(linked.released.tuples())
        assert (linked.candidates.factors > 1).all()
        assert (linked.candidates.links >= k).all()


def test_further_requirements_decide_what_is_released() -> None:
    people = Classes.of(["zip"], [("11",), ("12",)], [6, 5], rules={"zip": Mask(2)})
    spread = people.with_spread(_counts(), "ill")
    found = anonymise(spread, k=2, suppression=0.5, diversity=2, loss="dm_star")
    linked = Linked.of(found, Classes.of(["zip"], [("11",), ("12",)], [60, 20], rules={"zip": Mask(2)}))
    assert list(linked.released.tuples()) == [("11",)]
    assert linked.candidates.subjects.tolist() == [5]
    assert linked.released.spreads["ill"].hierarchy.labels[0] == ("flu", "gout")


def _counts() -> Histogram:
    return Histogram.from_rows(["zip", "ill"], [("11", "flu", 3), ("11", "gout", 3), ("12", "flu", 5)])


def test_one_per_cent_uncovered_is_borne_and_more_is_not() -> None:
    everybody = Classes.of(["zip"], [("1",)], [1000])
    borne = Linked.at_node(Classes.of(["zip"], [("1",), ("2",)], [198, 2]), everybody, [0], k=2)
    assert (int(borne.uncovered.sum()), borne.uncovered_records, borne.min_link) == (1, 2, 1000)
    with pytest.raises(PopulationError, match=r"2 of 199 released people \(1\.0 %\)"):
        Linked.at_node(Classes.of(["zip"], [("1",), ("2",)], [197, 2]), everybody, [0], k=2)


def test_close_to_k_includes_both_ends() -> None:
    sizes = [9, 10, 11, 12]
    people = Classes.of(["zip"], [(str(size),) for size in sizes], sizes)
    assert Linked.at_node(people, people, [0], k=10).close_to_k == 2
    twenty_two = Classes.of(["zip"], [("a",), ("b",)], [22, 23])
    assert Linked.at_node(twenty_two, twenty_two, [0], k=20).close_to_k == 1


@pytest.mark.parametrize(
    ("population", "words"),
    [
        (Classes.of(["plz"], [("11",)], [9]), "no column 'zip'"),
        (Classes.of(["zip"], [("11",)], [9]), "levels 0 to 0"),
        (Classes.of(["zip"], [("11",)], [9], rules={"zip": Mask(2)}).at([2]), "levels 2 to 2"),
        (Classes.of(["zip"], [("11",)], [9], rules={"zip": Widths((5,))}), "wrong population"),
    ],
)
def test_a_population_that_does_not_fit_is_refused_in_words(population: Classes, words: str) -> None:
    with pytest.raises(PopulationError, match=words) as caught:
        Linked.at_node(PEOPLE, population, {"zip": 1}, k=2)
    assert caught.value.remedy
    assert caught.value.exit_code == 3


def test_nobody_in_the_population() -> None:
    empty = Classes(PEOPLE.columns, tuple(codes[:0] for codes in PEOPLE.codes), PEOPLE.sizes[:0])
    with pytest.raises(EmptySource):
        Linked.at_node(PEOPLE, empty, {"zip": 1}, k=2)


def test_a_population_with_more_columns_in_another_order_is_seen_on_those_of_the_data() -> None:
    rules: dict[str, Rule] = {"zip": Mask(2), "sex": AnyValue()}
    people = Classes.of(["zip", "sex"], [("11", "F"), ("12", "M")], [3, 3], rules=rules)
    everybody = Classes.of(
        ["age", "sex", "zip"], [("1", "F", "11"), ("2", "F", "11"), ("3", "M", "12")], [9, 8, 7], rules=rules
    )
    assert Linked.at_node(people, everybody, [0, 0], k=2).links.tolist() == [17, 7]


def test_local_recoding_has_no_node() -> None:
    found = anonymise(PEOPLE, k=2, search="local")
    with pytest.raises(UsageError, match="class by class"):
        Linked.of(found, PEOPLE)


def test_link_counts_cannot_be_changed() -> None:
    linked = Linked.at_node(PEOPLE, PEOPLE, {"zip": 1}, k=2)
    with pytest.raises(ValueError, match="read-only"):
        linked.links[0] = 1
    assert np.array_equal(linked.links, linked.released.sizes)


def test_a_population_that_cannot_be_the_one_is_doubted() -> None:
    names = ["zip", "sex"]
    cells = [(str(area), sex) for area in range(10) for sex in "FM"]
    people = Classes.of(names, cells, [6] * 20)
    assert doubts(Linked.at_node(people, Classes.of(names, cells, [60] * 20), {"zip": 0, "sex": 0}, k=5)) == ()
    (said,) = doubts(Linked.at_node(people, people, {"zip": 0, "sex": 0}, k=5))
    assert "whole population" in said
    assert "Row marks still trace" in said
    fewer = Classes.of(names, cells, [3] * 4 + [60] * 16)
    (said,) = doubts(Linked.at_node(people, fewer, {"zip": 0, "sex": 0}, k=5))
    assert "4 released classes with 24 people have more people than the population" in said
    women = Classes.of(names, cells, [100, 20] * 10)
    (said,) = doubts(Linked.at_node(people, women, {"zip": 0, "sex": 0}, k=5))
    assert said.startswith("By sex the data are unlike the population: 33.3 %")
