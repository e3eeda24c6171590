"""What every recoding class by class must guarantee, however it was found."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet.errors import UsageError
from discreet.kernel import AnyValue, Classes, Recoding, Widths
from discreet.people import State, generate
from tests.anonymity.brute import Data
from tests.anonymity.strategies import tables
from tests.examples import examples

SEARCHES = ["local", "mondrian", "mondrian-relaxed"]
some = settings(max_examples=examples(80), deadline=None)


def recoded(classes: Classes, k: int, search: str) -> Recoding:
    return discreet.anonymise(classes, k=k, search=search).recoding


def covers(published: str | None, value: str | None, ancestors: set[str | None]) -> bool:
    """Whether a published value stands for a value: an ancestor of it, or an interval that holds it."""
    if published in ancestors:
        return True
    interval = re.fullmatch(r"\[(.+), (.+)\]", published or "")
    return interval is not None and value is not None and float(interval[1]) <= float(value) <= float(interval[2])


@pytest.mark.parametrize("search", SEARCHES)
@some
@given(data=tables(), k=st.integers(1, 6))
def test_every_group_is_large_enough_and_nobody_is_lost(search: str, data: Data, k: int) -> None:
    k = min(k, len(data.people))
    recoding = recoded(data.classes(), k, search) if rooted(data) else None
    if recoding is None:
        return
    assert recoding.published.sizes.min() >= k
    assert recoding.published.records == len(data.people)
    assert recoding.suppressed == 0


def rooted(data: Data) -> bool:
    """Whether every column has one value for all at the top, so that any k can be reached."""
    return all(len({path[-1] for path in tree}) == 1 for tree in data.trees)


@pytest.mark.parametrize("search", SEARCHES)
@some
@given(data=tables(), k=st.integers(1, 6))
def test_published_values_stand_for_the_real_ones(search: str, data: Data, k: int) -> None:
    if not rooted(data):
        return
    classes = data.classes()
    recoding = recoded(classes, min(k, len(data.people)), search)
    for column, labels, codes, base in zip(
        classes.columns, recoding.labels, recoding.codes, classes.codes, strict=True
    ):
        tree = column.hierarchy
        for published, code in zip(codes.tolist(), base.tolist(), strict=True):
            ancestors = {tree.labels[level][tree.map(0, level)[code]] for level in range(tree.height)}
            assert covers(labels[published], tree.labels[0][code], ancestors)


@pytest.mark.parametrize("search", SEARCHES)
@some
@given(data=tables(), k=st.integers(1, 6))
def test_the_same_table_is_recoded_the_same(search: str, data: Data, k: int) -> None:
    if not rooted(data):
        return
    k = min(k, len(data.people))
    first, second = (recoded(data.classes(), k, search) for _ in range(2))
    assert list(first.published.tuples()) == list(second.published.tuples())
    assert first.published.sizes.tolist() == second.published.sizes.tolist()


def patients(people: int = 3_000) -> Classes:
    sample = generate(State.of(100_000), seed=3, columns=("zip", "sex", "birth_year", "race")).sample(people, seed=3)
    from discreet.kernel import Mask

    rules: dict[str, Any] = {"zip": Mask(5), "sex": AnyValue(), "birth_year": Widths((2, 4, 8, 16)), "race": AnyValue()}
    columns = [sample.column(name).astype(str).tolist() for name in rules]
    return Classes.of(list(rules), list(zip(*columns, strict=True)), rules=rules)


def test_recoding_class_by_class_keeps_far_more() -> None:
    classes = patients()
    single = discreet.anonymise(classes, k=5).loss
    local = discreet.anonymise(classes, k=5, search="local").loss
    assert local < 0.5 * single
    assert discreet.anonymise(classes, k=5, search="mondrian").classes > 100


@pytest.mark.parametrize("search", SEARCHES)
def test_k_of_one_leaves_everything_as_it_is(search: str) -> None:
    classes = patients(500)
    found = discreet.anonymise(classes, k=1, search=search)
    assert found.classes == len(classes)
    assert found.loss == pytest.approx(0)
    assert all(share == pytest.approx(1) for share in found.utility().values())


@pytest.mark.parametrize("search", SEARCHES)
def test_k_of_everybody_makes_one_group(search: str) -> None:
    classes = patients(200)
    assert discreet.anonymise(classes, k=200, search=search).classes == 1
    with pytest.raises(UsageError):
        discreet.anonymise(classes, k=201, search=search)


@pytest.mark.parametrize("search", SEARCHES)
def test_utility_lies_between_nothing_and_everything(search: str) -> None:
    shares = np.array(list(discreet.anonymise(patients(800), k=5, search=search).utility().values()))
    assert ((shares > 0) & (shares <= 1)).all()


def test_a_recoded_table_is_written(write: Any, tmp_path: Any) -> None:
    rows = "".join(f"{20 + i % 30},{'FM'[i % 2]},{i}\n" for i in range(300))
    policy = discreet.Policy.from_dict(
        {
            "columns": {
                "age": {"role": "quasi", "hierarchy": {"widths": [5, 10]}},
                "sex": {"role": "quasi", "hierarchy": {"any": "*"}},
                "x": {"role": "other"},
            }
        }
    )
    table = discreet.read(write("a.csv", "age,sex,x\n" + rows), policy=policy)
    for search in SEARCHES:
        target = tmp_path / f"{search}.csv"
        assert discreet.anonymise(table, k=20, search=search).write(target) == 300
        back = discreet.read(target).classes(["age", "sex"])
        assert back.sizes.min() >= 20
