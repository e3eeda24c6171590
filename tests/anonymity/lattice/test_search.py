"""The optimum equals exhaustive search: every loss, every requirement, every table tried."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet.anonymity import LOSSES
from discreet.anonymity.lattice import problem
from discreet.anonymity.lattice.native_engine import library
from discreet.anonymity.lattice.search import sweep
from discreet.errors import UsageError
from discreet.kernel import AnyValue, Classes, Widths
from tests.anonymity.brute import Data, Person, best, losses
from tests.anonymity.strategies import tables, wished_tables
from tests.examples import examples

COMPILED = pytest.mark.skipif(library() is None, reason="the search engine was not compiled here")
ENGINES = ["numpy", pytest.param("compiled", marks=COMPILED)]
SHARES = [0.0, 0.1, 0.25, 0.5, 1.0]
some = settings(max_examples=examples(150), deadline=None)


def compare(data: Data, bad: Callable[[list[Person]], bool], *, loss: str, share: float, **limits: Any) -> None:
    """Our result against brute force."""
    expected = best(data, limit=math.floor(share * len(data.people)), loss=loss, bad=bad)
    sensitive = "diversity" in limits or "closeness" in limits
    classes = data.classes(sensitive=sensitive)
    if expected is None:
        with pytest.raises(UsageError):
            discreet.anonymise(classes, suppression=share, loss=loss, **limits)
        return
    found = discreet.anonymise(classes, suppression=share, loss=loss, **limits)
    assert found.loss == pytest.approx(expected[0], rel=1e-9, abs=1e-9)
    assert tuple(found.levels.values()) == expected[1]
    hidden = [group for group in data.groups(expected[1]).values() if bad(group)]
    assert found.suppressed == sum(map(len, hidden))
    assert found.classes == len(data.groups(expected[1])) - len(hidden)
    assert found.recoding.suppressed == found.suppressed
    assert len(found.published) == found.classes
    assert found.certificate is not None
    assert found.certificate.optimal
    assert found.certificate.lower_bound <= found.loss
    accounted = found.certificate.evaluated + found.certificate.too_costly + found.certificate.too_much_suppressed
    assert accounted == found.certificate.nodes


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=examples(60), deadline=None)
@given(data=tables(), k=st.integers(1, 6), share=st.sampled_from(SHARES))
def test_k_anonymity(loss: str, engine: str, data: Data, k: int, share: float) -> None:
    k = min(k, len(data.people))
    compare(data, lambda group: len(group) < k, loss=loss, share=share, k=k, engine=engine)


@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=examples(40), deadline=None)
@given(data=tables(secrets=4), l=st.integers(1, 4), share=st.sampled_from(SHARES))
def test_distinct_diversity(loss: str, data: Data, l: int, share: float) -> None:  # noqa: E741
    compare(data, lambda group: len({p.secret for p in group}) < l, loss=loss, share=share, diversity=l)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=examples(60), deadline=None)
@given(data=wished_tables(), k=st.integers(1, 6), share=st.sampled_from(SHARES))
def test_weights_and_allowed_levels(loss: str, engine: str, data: Data, k: int, share: float) -> None:
    k = min(k, len(data.people))
    compare(data, lambda group: len(group) < k, loss=loss, share=share, k=k, engine=engine)


@settings(max_examples=examples(60), deadline=None)
@given(
    data=wished_tables(secrets=3),
    loss=st.sampled_from(list(LOSSES)),
    share=st.sampled_from(SHARES),
    l=st.integers(1, 3),
)
def test_weights_and_allowed_levels_with_diversity(data: Data, loss: str, share: float, l: int) -> None:  # noqa: E741
    compare(data, lambda group: len({p.secret for p in group}) < l, loss=loss, share=share, diversity=l)


@settings(max_examples=examples(60), deadline=None)
@given(data=wished_tables(), loss=st.sampled_from(list(LOSSES)), k=st.integers(1, 4))
def test_weights_and_allowed_levels_in_lattices_too_large_to_write_down(data: Data, loss: str, k: int) -> None:
    k = min(k, len(data.people))
    expected = best(data, limit=0, loss=loss, bad=lambda group: len(group) < k)
    with mock.patch.object(problem, "MOST_NODES", 0):
        if expected is None:
            with pytest.raises(UsageError):
                discreet.anonymise(data.classes(), k=k, loss=loss)
        else:
            found = discreet.anonymise(data.classes(), k=k, loss=loss)
            assert (tuple(found.levels.values()), found.loss) == (expected[1], pytest.approx(expected[0], abs=1e-9))


@settings(max_examples=examples(60), deadline=None)
@given(data=wished_tables(), loss=st.sampled_from(list(LOSSES)))
def test_a_sweep_looks_at_every_allowed_combination(data: Data, loss: str) -> None:
    classes = data.classes()
    limits = discreet.anonymise(classes, k=1).limits
    found = {seen.node: seen.loss for seen in sweep(classes, limits, loss=loss)}
    assert found.keys() == set(data.nodes())
    for node, cost in found.items():
        assert cost == pytest.approx(losses(data, node, list(data.groups(node).values()), [])[loss], abs=1e-9)


def test_the_certificate_says_which_levels_were_allowed() -> None:
    classes = Classes.of(
        ["age", "sex"],
        [(str(age), "FM"[age % 2]) for age in range(20)],
        rules={"age": Widths((2, 4)), "sex": AnyValue()},
    )
    age, sex = classes.columns
    result = discreet.anonymise(replace(classes, columns=(replace(age, weight=2.0, at_least=1, at_most=2), sex)), k=2)
    assert result.certificate is not None
    assert (result.certificate.nodes, result.certificate.restricted) == (4, {"age": (1, 2)})
    assert "4 combinations of levels (age from level 1 to 2)" in result.certificate.words()
    assert result.to_dict()["settings"] == {"age": {"weight": 2.0, "at_least": 1, "at_most": 2}}
    assert result.settings_words() == ["age: weight 2, at least level 1, at most level 2"]


def test_where_weights_mean_nothing_it_is_said() -> None:
    classes = Classes.of(["sex"], [("F",), ("M",)], rules={"sex": AnyValue()})
    weighted = replace(classes, columns=(replace(classes.columns[0], weight=3.0),))
    assert "without effect" in discreet.anonymise(weighted, k=1, loss="aecs").settings_words()[0]
    assert discreet.anonymise(weighted, k=1, loss="entropy").settings_words() == ["sex: weight 3"]


def entropy(group: list[Person]) -> float:
    counts = Counter(person.secret for person in group).values()
    return -sum(count / len(group) * math.log(count / len(group)) for count in counts)


@some
@given(
    data=tables(secrets=4),
    l=st.sampled_from([1.0, 1.5, 2.0, 2.7]),
    loss=st.sampled_from(list(LOSSES)),
    share=st.sampled_from(SHARES),
    k=st.integers(1, 3),
)
def test_entropy_diversity(data: Data, l: float, loss: str, share: float, k: int) -> None:  # noqa: E741
    k = min(k, len(data.people))

    def bad(group: list[Person]) -> bool:
        return len(group) < k or math.exp(entropy(group)) < l * (1 - 1e-12)

    compare(data, bad, loss=loss, share=share, k=k, diversity={"l": l, "kind": "entropy"})


@some
@given(
    data=tables(secrets=4),
    l=st.integers(1, 3),
    c=st.sampled_from([1.0, 2.0, 4.0]),
    loss=st.sampled_from(list(LOSSES)),
    share=st.sampled_from(SHARES),
)
def test_recursive_diversity(data: Data, l: int, c: float, loss: str, share: float) -> None:  # noqa: E741
    def bad(group: list[Person]) -> bool:
        counts = sorted(Counter(person.secret for person in group).values(), reverse=True)
        return not any(counts[0] < c * sum(counts[from_ - 1 :]) for from_ in range(l, len(counts) + 1))

    compare(data, bad, loss=loss, share=share, diversity={"secret": {"l": l, "kind": "recursive", "c": c}})


@some
@given(
    data=tables(secrets=3),
    t=st.sampled_from([0.1, 0.3, 0.5]),
    loss=st.sampled_from(list(LOSSES)),
    share=st.sampled_from(SHARES),
)
def test_closeness(data: Data, t: float, loss: str, share: float) -> None:
    overall = Counter(person.secret for person in data.people)

    def bad(group: list[Person]) -> bool:
        within = Counter(person.secret for person in group)
        gaps = (abs(within[value] / len(group) - overall[value] / len(data.people)) for value in overall)
        return sum(gaps) / 2 > t + 1e-12

    compare(data, bad, loss=loss, share=share, closeness=t)


@some
@given(
    data=tables(),
    tau=st.sampled_from([0.2, 0.34, 0.5, 1.0]),
    loss=st.sampled_from(list(LOSSES)),
    share=st.sampled_from(SHARES),
)
def test_highest_risk(data: Data, tau: float, loss: str, share: float) -> None:
    compare(data, lambda group: 1 / len(group) > tau + 1e-12, loss=loss, share=share, max_risk=tau)


@settings(max_examples=examples(80), deadline=None)
@given(data=tables(), k=st.integers(1, 5), share=st.sampled_from(SHARES), loss=st.sampled_from(list(LOSSES)))
def test_the_bounded_search_finds_the_same(data: Data, k: int, share: float, loss: str) -> None:
    k = min(k, len(data.people))
    compare_searches(data, k, share, loss)


def compare_searches(data: Data, k: int, share: float, loss: str) -> None:
    classes = data.classes()
    results = []
    for most in (problem.MOST_NODES, 0):
        try:
            with mock.patch.object(problem, "MOST_NODES", most):
                found = discreet.anonymise(classes, k=k, suppression=share, loss=loss, search="best")
            results.append((round(found.loss, 9), tuple(found.levels.items()), found.suppressed))
        except UsageError:
            results.append((math.inf, (), 0))
    assert results[0] == results[1]


@settings(max_examples=examples(80), deadline=None)
@given(data=tables(), k=st.integers(1, 5), share=st.sampled_from(SHARES), loss=st.sampled_from(list(LOSSES)))
def test_ola_is_the_best_of_the_minimal_nodes(data: Data, k: int, share: float, loss: str) -> None:
    from tests.anonymity.brute import losses

    k, limit = min(k, len(data.people)), math.floor(share * len(data.people))
    hidden = {node: [g for g in data.groups(node).values() if len(g) < k] for node in data.nodes()}
    fit = {node for node in hidden if sum(map(len, hidden[node])) <= limit}
    minimal = [node for node in fit if not any(other != node and all(map(int.__le__, other, node)) for other in fit)]
    if not minimal:
        with pytest.raises(UsageError):
            discreet.anonymise(data.classes(), k=k, suppression=share, loss=loss, search="ola")
        return
    costs = [losses(data, n, [g for g in data.groups(n).values() if len(g) >= k], hidden[n])[loss] for n in minimal]
    found = discreet.anonymise(data.classes(), k=k, suppression=share, loss=loss, search="ola")
    assert found.loss == pytest.approx(min(costs), rel=1e-9, abs=1e-9)
    assert tuple(found.levels.values()) in minimal
