"""A registry made from a table: as many people as asked for, the same ones again, and look-alikes for everybody."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import EmptySource, UsageError
from discreet.kernel import AnyValue, Classes
from discreet.people import People, counted, registry
from tests.examples import examples

rows = st.lists(st.tuples(st.sampled_from("FM"), st.sampled_from("123"), st.integers(1, 9)), min_size=1, max_size=12)


def few(found: list[tuple[str, str, int]]) -> Classes:
    return Classes.of(["sex", "zip"], [(sex, place) for sex, place, _ in found], [number for *_, number in found])


@settings(max_examples=examples(60), deadline=None)
@given(found=rows, people=st.integers(1, 3_000), seed=st.integers(0, 5), shuffled=st.sampled_from([0.0, 0.3, 1.0]))
def test_it_has_the_people_the_columns_and_the_values(
    found: list[tuple[str, str, int]], people: int, seed: int, shuffled: float
) -> None:
    sample = few(found)
    made = registry(sample, people=people, seed=seed, shuffled=shuffled)
    assert made.records == people
    assert made.names == sample.names
    assert made.sizes.min() > 0
    assert len(set(made.tuples())) == len(made)
    for name in sample.names:
        assert set(made.project([name]).tuples()) <= set(sample.project([name]).tuples())


def test_the_same_seed_gives_the_same_registry() -> None:
    sample = few([("F", "1", 3), ("M", "2", 5), ("M", "3", 1)])
    first, again, other = (registry(sample, people=10_000, seed=seed) for seed in (1, 1, 2))
    assert dict(zip(first.tuples(), first.sizes.tolist(), strict=True)) == dict(
        zip(again.tuples(), again.sizes.tolist(), strict=True)
    )
    assert first.sizes.tolist() != other.sizes.tolist()


def test_nothing_shuffled_has_only_classes_of_the_data_and_everything_shuffled_has_all() -> None:
    sample = few([("F", "1", 30), ("M", "2", 50)])
    assert set(registry(sample, people=5_000, seed=1, shuffled=0.0).tuples()) <= set(sample.tuples())
    mixed = registry(sample, people=5_000, seed=1, shuffled=1.0)
    assert set(mixed.tuples()) == {(sex, place) for sex in "FM" for place in "12"}


def test_shuffled_columns_keep_their_shares_and_know_nothing_of_each_other() -> None:
    sample = few([("F", "1", 300), ("M", "2", 700)])
    made = registry(sample, people=400_000, seed=3, shuffled=1.0)
    shares = {values: size / 400_000 for values, size in zip(made.tuples(), made.sizes.tolist(), strict=True)}
    expected = {("F", "1"): 0.09, ("F", "2"): 0.21, ("M", "1"): 0.21, ("M", "2"): 0.49}
    assert shares == {values: pytest.approx(share, abs=0.005) for values, share in expected.items()}


def test_people_who_are_alone_have_few_or_many_look_alikes() -> None:
    sample = Classes.of(["zip"], [(f"{place}",) for place in range(3_000)])
    groups = sample.link(registry(sample, people=600_000, seed=1, shuffled=0.0))
    # Exponential with a mean of 200: a fifth below 45, two in five above 200.
    assert groups.mean() == pytest.approx(200)
    assert (groups < 45).mean() == pytest.approx(0.2, abs=0.03)
    assert (groups > 200).mean() == pytest.approx(np.exp(-1), abs=0.03)


def test_hierarchies_stay_so_that_both_can_be_coarsened() -> None:
    sample = Classes.of(["sex", "zip"], [("F", "1"), ("M", "2")], [2, 3], rules={"sex": AnyValue()})
    made = registry(sample, people=100, seed=1)
    assert sample.at({"sex": 1}).link(made).sum() == 100


def test_nonsense_is_refused() -> None:
    sample = few([("F", "1", 1)])
    for options in ({"people": 0}, {"people": 5, "shuffled": 1.5}):
        with pytest.raises(UsageError):
            registry(sample, seed=1, **options)  # type: ignore[arg-type]
    with pytest.raises(EmptySource):
        registry(Classes.of(["a"], []), people=5, seed=1)


def test_generated_people_are_counted_like_anybody(people: People) -> None:
    found = counted(people, "sex", "birth_year")
    cells = list(zip(people.column("sex").tolist(), map(str, people.column("birth_year").tolist()), strict=True))
    assert found.records == len(people)
    assert found.lookup([cells[0]]).tolist() == [cells.count(cells[0])]
    assert counted(people.select("sex")).names == ("sex",)
