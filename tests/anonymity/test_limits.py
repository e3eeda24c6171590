"""Requirements that look at a population, combinations of requirements, and what is refused."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet.anonymity import LOSSES
from discreet.anonymity.lattice import problem
from discreet.anonymity.limits import smallest_crowd
from discreet.errors import DiscreetError, HierarchyError, PolicyError, Unsatisfiable, UsageError
from discreet.kernel import AnyValue, Classes, Widths
from tests.anonymity.brute import Data, Person, best
from tests.anonymity.strategies import tables
from tests.examples import examples

SHARES = [0.0, 0.25, 0.5]


def crowds(data: Data, outside: Data) -> Any:
    """People of the population, those of the data among them, per class at a node."""

    def size(group: list[Person], node: tuple[int, ...]) -> int:
        key = tuple(path[level] for path, level in zip(group[0].paths, node, strict=True))
        return len(outside.groups(node).get(key, []))

    return size


@st.composite
def samples(draw: st.DrawFn) -> tuple[Data, Data]:
    """A population, and some of its people."""
    population = draw(tables())
    number = draw(st.integers(1, len(population.people)))
    return Data(population.people[:number], population.trees), population


def exhaustive(data: Data, population: Data, *, limit: int, loss: str, bad: Any) -> float | None:
    """The least loss over all nodes under a condition that depends on the node."""
    found = [
        one[0]
        for node in data.nodes()
        if (one := _at(data, population, node, limit=limit, loss=loss, bad=bad)) is not None
    ]
    return min(found, default=None)


def _at(data: Data, population: Data, node: Any, *, limit: int, loss: str, bad: Any) -> tuple[float, Any] | None:
    from tests.anonymity.brute import losses

    size = crowds(data, population)
    groups = list(data.groups(node).values())
    marked = [bad(len(group), size(group, node)) for group in groups]
    hidden = [group for group, mark in zip(groups, marked, strict=True) if mark]
    kept = [group for group, mark in zip(groups, marked, strict=True) if not mark]
    if sum(map(len, hidden)) > limit:
        return None
    return losses(data, node, kept, hidden)[loss], node


def check(data: Data, population: Data, loss: str, share: float, bad: Any, **limits: Any) -> None:
    expected = exhaustive(data, population, limit=math.floor(share * len(data.people)), loss=loss, bad=bad)
    crowd = population.classes()
    if expected is None:
        with pytest.raises(UsageError):
            discreet.anonymise(data.classes(), suppression=share, loss=loss, population=crowd, **limits)
        return
    found = discreet.anonymise(data.classes(), suppression=share, loss=loss, population=crowd, **limits)
    assert found.loss == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=examples(80), deadline=None)
@given(both=samples(), k=st.integers(1, 6), loss=st.sampled_from(list(LOSSES)), share=st.sampled_from(SHARES))
def test_k_map(both: tuple[Data, Data], k: int, loss: str, share: float) -> None:
    check(*both, loss, share, lambda _, crowd: crowd < k, k_map=k)


@settings(max_examples=examples(80), deadline=None)
@given(
    both=samples(),
    most=st.sampled_from([0.3, 0.6, 0.9]),
    loss=st.sampled_from(list(LOSSES)),
    share=st.sampled_from(SHARES),
)
def test_presence(both: tuple[Data, Data], most: float, loss: str, share: float) -> None:
    check(
        *both, loss, share, lambda f, crowd: f / crowd > most + 1e-12 or f / crowd < 0.1 - 1e-12, presence=(0.1, most)
    )


@settings(max_examples=examples(60), deadline=None)
@given(both=samples(), tau=st.sampled_from([0.2, 0.5]), loss=st.sampled_from(list(LOSSES)))
def test_the_journalist_is_held_against_the_population(both: tuple[Data, Data], tau: float, loss: str) -> None:
    check(*both, loss, 0.25, lambda _, crowd: 1 / crowd > tau + 1e-12, max_risk=tau, risk_model="journalist")


@settings(max_examples=examples(100), deadline=None)
@given(
    data=tables(),
    tau=st.sampled_from([0.2, 0.35, 0.6]),
    share=st.sampled_from(SHARES),
    loss=st.sampled_from(list(LOSSES)),
)
def test_the_average_risk_is_kept_by_leaving_out_the_smallest(data: Data, tau: float, share: float, loss: str) -> None:
    from tests.anonymity.brute import losses

    limit, costs = math.floor(share * len(data.people)), []
    for node in data.nodes():
        groups = sorted(data.groups(node).values(), key=len)
        for least in sorted({len(group) for group in groups} | {math.inf}):
            kept = [group for group in groups if len(group) >= least]
            if not kept or len(kept) / sum(map(len, kept)) <= tau + 1e-12:
                hidden = [group for group in groups if len(group) < least]
                if sum(map(len, hidden)) <= limit:
                    costs.append(losses(data, node, kept, hidden)[loss])
                break
    if not costs:
        with pytest.raises(UsageError):
            discreet.anonymise(data.classes(), suppression=share, loss=loss, average_risk=tau)
        return
    found = discreet.anonymise(data.classes(), suppression=share, loss=loss, average_risk=tau)
    assert found.loss == pytest.approx(min(costs), rel=1e-9, abs=1e-9)
    if found.classes:
        assert found.assess().average_risk <= tau + 1e-12


@settings(max_examples=examples(60), deadline=None)
@given(data=tables(secrets=3), k=st.integers(1, 4), share=st.sampled_from(SHARES))
def test_requirements_add_up(data: Data, k: int, share: float) -> None:
    k = min(k, len(data.people))
    overall = Counter(person.secret for person in data.people)

    def bad(group: list[Person]) -> bool:
        within = Counter(person.secret for person in group)
        far = sum(abs(within[v] / len(group) - overall[v] / len(data.people)) for v in overall) / 2
        return len(group) < k or len(within) < 2 or far > 0.4 + 1e-12

    expected = best(data, limit=math.floor(share * len(data.people)), loss="loss", bad=bad)
    options: dict[str, Any] = {"k": k, "suppression": share, "diversity": 2, "closeness": 0.4}
    if expected is None:
        with pytest.raises(UsageError):
            discreet.anonymise(data.classes(sensitive=True), **options)
    else:
        found = discreet.anonymise(data.classes(sensitive=True), **options)
        assert found.loss == pytest.approx(expected[0], rel=1e-9, abs=1e-9)


PEOPLE = Classes.of(
    ["sex", "age"],
    [("F", "30"), ("F", "31"), ("M", "30"), ("M", "31")],
    rules={"sex": AnyValue(), "age": Widths((10,))},
)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": 0},
        {"k": 5},
        {"k": 2.5},
        {"k": True},
        {"k": 2, "suppression": -0.1},
        {"k": 2, "suppression": 1.1},
        {"k": 2, "suppression": math.nan},
        {"k": 2, "loss": "lost"},
        {"k": 2, "search": "lucky"},
        {"k": 2, "engine": "steam"},
        {"max_risk": 0.0},
        {"max_risk": 1.5},
        {"max_risk": 0.5, "risk_model": "burglar"},
        {"max_risk": 0.5, "risk_model": "journalist"},
        {"k_map": 3},
        {"presence": (0, 0.5)},
        {"diversity": 2},
        {"closeness": 0.2},
        {"k": 2, "time_limit": 1.0},
        {"k": 2, "search": "local", "suppression": 1.5},
    ],
)
def test_impossible_limits_are_refused_with_a_remedy(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        discreet.anonymise(PEOPLE, **options)
    assert caught.value.remedy


def test_nothing_allowed_says_what_was_asked() -> None:
    stubborn = Classes.of(["sex"], [("F",), ("M",)])
    with pytest.raises(UsageError, match="at least 2 people"):
        discreet.anonymise(stubborn, k=2)


def test_a_share_is_read_as_it_is_written() -> None:
    crowd = Classes.of(["x"], [(f"{i}",) for i in range(29)] + [("a",)] * 71)
    assert discreet.anonymise(crowd, k=5, suppression=0.29).suppressed == 29
    with pytest.raises(UsageError):
        discreet.anonymise(crowd, k=5, suppression=0.28)


def test_a_quasi_identifier_without_a_hierarchy_is_refused(write: Any) -> None:
    policy = discreet.Policy.from_dict({"columns": {"sex": {"role": "quasi"}}})
    table = discreet.read(write("a.csv", "sex,x\nF,1\nM,2\n"), policy=policy)
    with pytest.raises(HierarchyError, match="sex"):
        discreet.anonymise(table, k=2)


def test_only_sensitive_columns_can_be_diverse(write: Any) -> None:
    policy = discreet.Policy.from_dict(
        {"columns": {"sex": {"role": "quasi", "hierarchy": {"any": "*"}}, "x": {"role": "sensitive"}}}
    )
    table = discreet.read(write("a.csv", "sex,x\nF,1\nM,2\n"), policy=policy)
    assert discreet.anonymise(table, diversity={"x": 2}).levels == {"sex": 1}
    with pytest.raises(UsageError):
        discreet.anonymise(table, diversity={"sex": 2})
    for wrong in ({"l": "two"}, {"l": 2, "kind": "odd"}, {"x": {"m": 2}}):
        with pytest.raises(DiscreetError):
            discreet.anonymise(table, diversity=wrong)
    with pytest.raises(UsageError, match="hierarchy"):
        discreet.anonymise(table, closeness={"t": 0.1, "distance": "hierarchical"})


@given(st.fractions(min_value="1/1000", max_value=1))
def test_the_smallest_crowd_keeps_the_risk(risk: Any) -> None:
    size = smallest_crowd(float(risk))
    assert 1 / size <= float(risk) * (1 + 1e-12)
    assert size == 1 or 1 / (size - 1) > float(risk) * (1 - 1e-12)


def test_a_stopped_search_keeps_the_best_and_a_bound() -> None:
    people = [(f"{i % 7}", f"{i % 11}", f"{i % 13}") for i in range(400)]
    rules = {name: Widths((2, 4, 8, 16)) for name in "abc"}
    classes = Classes.of(["a", "b", "c"], people, rules=rules)
    whole = discreet.anonymise(classes, k=5, suppression=0.1)
    for most in (problem.MOST_NODES, 0):
        with mock.patch.object(problem, "MOST_NODES", most):
            stopped = discreet.anonymise(classes, k=5, suppression=0.1, watch=lambda progress: progress.best > 9)
        assert stopped.certificate is not None
        assert not stopped.certificate.optimal
        assert stopped.certificate.lower_bound <= whole.loss <= stopped.loss
        assert "before the search was stopped" in stopped.certificate.words()


def test_a_keyboard_interrupt_keeps_the_best() -> None:
    classes = Classes.of(
        ["a", "b"], [(f"{i % 7}", f"{i % 11}") for i in range(200)], rules={n: Widths((2, 4)) for n in "ab"}
    )

    def interrupt(progress: Any) -> bool:
        if progress.best < math.inf:
            raise KeyboardInterrupt
        return True

    found = discreet.anonymise(classes, k=20, suppression=0.1, watch=interrupt)
    assert found.certificate is not None
    assert not found.certificate.optimal


def test_a_time_limit_uses_the_given_clock() -> None:
    ticks = iter(range(1000))
    classes = Classes.of(
        ["a", "b"], [(f"{i % 7}", f"{i % 11}") for i in range(200)], rules={n: Widths((2, 4)) for n in "ab"}
    )
    found = discreet.anonymise(classes, k=5, search="best", time_limit=2, clock=lambda: float(next(ticks)))
    assert found.certificate is not None
    assert found.certificate.lower_bound <= found.loss


def test_tuples_too_wide_for_one_integer_are_searched_all_the_same() -> None:
    names = [f"q{i}" for i in range(12)]
    people = [tuple(f"{person * (column + 3) % 97}" for column in range(12)) for person in range(97)] * 2
    classes = Classes.of(names, people, rules={name: AnyValue() for name in names})
    found = discreet.anonymise(classes, k=2)
    assert set(found.levels.values()) == {0}
    wide = Classes.of(names, people[:97], rules={name: AnyValue() for name in names})
    assert discreet.anonymise(wide, k=2).suppressed == 0


def salaries() -> discreet.Policy:
    """A policy that orders the salaries."""
    return discreet.Policy.from_dict(
        {
            "columns": {
                "sex": {"role": "quasi", "hierarchy": {"any": "*"}},
                "salary": {"role": "sensitive", "closeness": "ordered"},
            }
        }
    )


def test_the_policy_chooses_the_distance_of_a_column(tmp_path: Any) -> None:
    (tmp_path / "people.csv").write_text("sex,salary\n" + "F,9\nM,10\n" * 4 + "F,10\nM,100\n", encoding="utf-8")
    table = discreet.read(tmp_path / "people.csv", policy=salaries())
    found = discreet.anonymise(table, closeness=0.3)
    assert found.requirements == ("salary is within 0.3 (ordered distance) of the whole table in every class",)
    assert found.levels == {"sex": 0}
    assert discreet.anonymise(table, closeness={"t": 0.3, "distance": "equal"}).levels == {"sex": 1}


def test_values_without_an_order_are_refused_in_words(tmp_path: Any) -> None:
    (tmp_path / "people.csv").write_text("sex,salary\nF,low\nM,high\n", encoding="utf-8")
    table = discreet.read(tmp_path / "people.csv", policy=salaries())
    with pytest.raises(UsageError, match="'salary' are numbers, or dates"):
        discreet.anonymise(table, closeness=0.3)


def test_only_a_sensitive_column_has_a_distance() -> None:
    with pytest.raises(PolicyError, match="closeness, but its role is 'quasi'"):
        discreet.Policy.from_dict({"columns": {"sex": {"role": "quasi", "closeness": "equal"}}})


@pytest.mark.parametrize("kind", ["distinct", "entropy"])
@pytest.mark.parametrize("suppression", [0, 0.5])
def test_more_values_than_there_are_is_what_has_to_be_lowered(kind: Any, suppression: float) -> None:
    """More suppression helps only where the empty table does."""
    rows = [{"age": "3", "ill": value} for value in "abc" for _ in range(4)]
    frame = {name: np.array([row[name] for row in rows]) for name in ("age", "ill")}
    policy = {"columns": {"age": {"role": "quasi", "hierarchy": {"any": "*"}}, "ill": {"role": "sensitive"}}}
    table = discreet.read(frame, policy=policy)
    with pytest.raises(Unsatisfiable, match="no class satisfies: ill is") as refused:
        discreet.anonymise(table, k=2, diversity={"l": 4, "kind": kind}, suppression=suppression)
    assert "Lower that limit" in refused.value.remedy
    assert discreet.anonymise(table, k=2, diversity={"l": 3, "kind": kind}, suppression=suppression).records == 12


def comma_and_point(tmp_path: Any, hierarchy: str, rest: str) -> list[Any]:
    """The same 60 people twice, with decimals after a comma and after a point."""
    rows = [(number % 3, f"{number * 37 % 60 * 25.5}") for number in range(60)]
    both = []
    for decimal in (",", "."):
        path = tmp_path / f"{'comma' if decimal == ',' else 'point'}.csv"
        path.write_text("ward;income\n" + "".join(f"{ward};{income.replace('.', decimal)}\n" for ward, income in rows))
        columns = {"ward": {"role": "quasi", "hierarchy": {"any": "*"}}, "income": {"role": rest}}
        if hierarchy:
            columns["income"]["hierarchy"] = {hierarchy: [100, 1000]}
        policy = {"data": {"delimiter": ";", "decimal": decimal}, "columns": columns}
        both.append(discreet.read(path, policy=discreet.Policy.from_dict(policy)))
    return both


@pytest.mark.parametrize("hierarchy", ["", "cuts"])
def test_decimal_commas_have_the_order_of_numbers(tmp_path: Any, hierarchy: str) -> None:
    comma, point = (
        discreet.anonymise(table, k=2, closeness={"income": {"t": 0.3, "distance": "ordered"}})
        for table in comma_and_point(tmp_path, hierarchy, "sensitive")
    )
    said, expected = (safe.assess().to_dict()["sensitive"]["income"] for safe in (comma, point))
    assert said["ordered_t"] is not None
    assert said == expected
    assert comma.measures().columns["income"].kind == "number"
    assert comma.measures().columns == point.measures().columns


def test_mondrian_cuts_decimal_commas_into_intervals(tmp_path: Any) -> None:
    comma, point = (
        discreet.anonymise(table, k=5, search="mondrian") for table in comma_and_point(tmp_path, "widths", "quasi")
    )
    shown = {
        str(label).replace("; ", " - ").replace(", ", " - ").replace(",", ".") for label in comma.to_polars()["income"]
    }
    assert shown == {str(label).replace(", ", " - ") for label in point.to_polars()["income"]}
    assert comma.loss == point.loss
