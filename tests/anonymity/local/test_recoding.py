"""Local recoding: valid whatever the table, and good where it matters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.anonymity.local import recoding as local_recoding
from discreet.anonymity.local.recoding import recode_locally
from discreet.anonymity.result import column_loss, loss_of
from discreet.errors import UsageError
from discreet.kernel import AnyValue, Classes, Mask, Recoding, Widths
from discreet.kernel.arrays import Ints
from discreet.people import State, generate
from tests.anonymity.brute import Data
from tests.anonymity.strategies import tables
from tests.examples import examples
from tests.kernel.strategies import Listing, climb, listings

some = settings(max_examples=examples(80), deadline=None)
few = settings(max_examples=examples(30), deadline=None)


def recoded(classes: Classes, k: int, **options: Any) -> Recoding | None:
    """The recoding, or None where people share no value with k others."""
    try:
        return recode_locally(classes, k=k, **options)
    except UsageError:
        assert classes.at([height - 1 for height in classes.heights]).sizes.min() < k
        return None


def patients(people: int, *, seed: int = 3) -> Classes:
    """A sample of a synthetic state."""
    rules: dict[str, Any] = {"zip": Mask(5), "sex": AnyValue(), "birth_year": Widths((5, 10, 20)), "race": AnyValue()}
    sample = generate(State.of(50_000), seed=seed, columns=tuple(rules)).sample(people, seed=seed)
    columns = [sample.column(name).astype(str).tolist() for name in rules]
    return Classes.of(list(rules), list(zip(*columns, strict=True)), rules=rules)


@some
@given(listing=listings(fewest=1, least=1), k=st.integers(1, 8))
def test_missing_values_doubled_labels_and_columns_without_a_top(listing: Listing, k: int) -> None:
    k = min(k, listing.people)
    classes = listing.classes()
    recoding = recoded(classes, k)
    if recoding is None:
        return
    assert recoding.published.sizes.min() >= k
    assert recoding.published.records == listing.people
    shown = zip(
        *(np.array(labels, dtype=object)[codes] for labels, codes in zip(recoding.labels, recoding.codes, strict=True)),
        strict=True,
    )
    for values, published in zip(classes.tuples(), shown, strict=True):
        assert all(
            label in climb(tree, value)
            for tree, value, label in zip(listing.trees.values(), values, published, strict=True)
        )


@some
@given(data=tables(), k=st.integers(1, 6))
def test_the_loss_is_that_of_the_definition(data: Data, k: int) -> None:
    recoding = recoded(data.classes(), min(k, len(data.people)))
    if recoding is not None:
        assert loss_of(recoding) == pytest.approx(defined_loss(recoding, data), abs=1e-12)


def defined_loss(recoding: Recoding, data: Data) -> float:
    """Person by person, as written in the specification; labels of these trees are never doubled."""
    people, product = recoding.classes.records, 1.0
    for tree, labels, codes in zip(data.trees, recoding.labels, recoding.codes, strict=True):
        n = len(tree)
        shares = [sum(label in path for path in tree) / n for label in labels]
        summed = sum(
            shares[code] * size for code, size in zip(codes.tolist(), recoding.classes.sizes.tolist(), strict=True)
        )
        product *= 1.0 if n == 1 else 1 + max(0.0, (summed - people / n) / (people - people / n))
    return float(product ** (1 / len(data.trees)) - 1)


@some
@given(data=tables(), k=st.integers(1, 6))
def test_no_worse_than_everybody_in_one_group(data: Data, k: int) -> None:
    classes = data.classes()
    recoding, one = recoded(classes, min(k, len(data.people))), recoded(classes, len(data.people))
    if recoding is not None and one is not None:
        assert loss_of(recoding) <= loss_of(one) + 1e-12


@some
@given(data=tables(), k=st.integers(1, 6))
def test_mending_never_makes_it_worse(data: Data, k: int) -> None:
    k = min(k, len(data.people))
    left, mended = recoded(data.classes(), k, effort=0), recoded(data.classes(), k)
    if left is not None and mended is not None:
        assert mean_share(mended) <= mean_share(left) + 1e-6


def mean_share(recoding: Recoding) -> float:
    """What mending lowers: the sum of the columns' losses."""
    return sum(column_loss(recoding, place) for place in range(len(recoding.names)))


@few
@given(listing=listings(fewest=1, least=1), k=st.integers(1, 8), block=st.integers(2, 30))
def test_grown_groups_are_as_valid_as_found_ones(listing: Listing, k: int, block: int) -> None:
    k = min(k, listing.people)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_recoding, "MOST_NODES", 0)
        patch.setattr(local_recoding, "BLOCK", block)
        recoding = recoded(listing.classes(), k)
    if recoding is not None:
        assert recoding.published.sizes.min() >= k
        assert recoding.published.records == listing.people


@pytest.mark.parametrize(("name", "value"), [("MOST_NODES", 0), ("VISITING", 200_000)])
def test_a_lattice_too_large_to_visit_costs_little(monkeypatch: pytest.MonkeyPatch, name: str, value: int) -> None:
    classes = patients(2_000)
    usual = loss_of(recode_locally(classes, k=5))
    monkeypatch.setattr(local_recoding, name, value)
    grown = recode_locally(classes, k=5)
    assert grown.published.sizes.min() >= 5
    assert loss_of(grown) <= 1.1 * usual


@pytest.mark.parametrize(("k", "most"), [(2, 0.0055), (5, 0.0210), (10, 0.0450)])
def test_quality_stays_what_it_was(k: int, most: float) -> None:
    assert loss_of(recode_locally(patients(4_000), k=k)) <= most


def at_least_two_kinds(kinds: Ints) -> Any:
    """A predicate on groups: members of at least two kinds."""

    def allowed(rows: Ints, member: Ints, groups: int) -> Any:
        assert sorted(set(member.tolist())) == list(range(groups))
        pairs = np.unique(member * 10 + kinds[rows]) // 10
        return np.bincount(pairs, minlength=groups) >= 2

    return allowed


def test_groups_that_are_not_allowed_are_merged() -> None:
    classes = patients(1_000)
    kinds = (np.arange(len(classes)) % 7 == 0).astype(np.int64)
    recoding = recode_locally(classes, k=3, allowed=at_least_two_kinds(kinds))
    looks: dict[tuple[int, ...], set[int]] = {}
    for place, look in enumerate(zip(*(codes.tolist() for codes in recoding.codes), strict=True)):
        looks.setdefault(look, set()).add(int(kinds[place]))
    assert all(len(found) == 2 for found in looks.values())
    assert recoding.published.sizes.min() >= 3
    assert len(looks) > 20


def test_what_is_never_allowed_is_refused() -> None:
    with pytest.raises(UsageError, match="allowed"):
        recode_locally(patients(200), k=2, allowed=lambda rows, member, groups: np.zeros(groups, dtype=bool))


def test_people_who_share_nothing_with_k_others_are_counted_and_their_columns_named() -> None:
    classes = Classes.of(["sex", "age"], [("F", "1"), ("F", "2"), ("M", "1")], rules={"age": AnyValue()})
    with pytest.raises(UsageError, match=r"1 sets of fewer than 2 people .* on sex") as caught:
        recode_locally(classes, k=2)
    assert "age" not in str(caught.value)


@pytest.mark.parametrize("k", [-1, 0, 4])
def test_k_is_a_number_of_people(k: int) -> None:
    classes = Classes.of(["age"], [("1",), ("2",), ("3",)], rules={"age": AnyValue()})
    with pytest.raises(UsageError, match="3 people"):
        recode_locally(classes, k=k)


def test_only_the_finest_classes_are_recoded() -> None:
    classes = Classes.of(["age"], [("1",), ("2",)], rules={"age": AnyValue()})
    with pytest.raises(UsageError, match="finest"):
        recode_locally(classes.at({"age": 1}), k=1)


def test_sizes_count_people_not_classes() -> None:
    classes = Classes.of(["age"], [("1",), ("2",), ("3",)], [5, 1, 1], rules={"age": AnyValue()})
    assert list(recode_locally(classes, k=2).published.tuples()) == [("1",), ("*",)]
