"""What every recoding class by class must guarantee, however it was found."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet.anonymity.limits import Requirements, Size
from discreet.anonymity.local.acceptance import verify
from discreet.anonymity.result import column_loss
from discreet.errors import DiscreetError, UsageError
from discreet.kernel import AnyValue, Classes, Histogram, Recoding, Tree, Widths
from discreet.people import State, generate
from tests.anonymity.brute import Data, Person
from tests.anonymity.strategies import tables, wished_tables
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


@pytest.mark.parametrize("search", SEARCHES)
@some
@given(data=wished_tables(), k=st.integers(1, 6))
def test_nothing_is_published_below_or_above_the_allowed_levels(search: str, data: Data, k: int) -> None:
    k = min(k, len(data.people))
    if search != "local":
        tops = [(weight, low, len(tree[0]) - 1) for (weight, low, _), tree in zip(data.wishes, data.trees, strict=True)]
        data = Data(data.people, data.trees, tuple(tops))
    classes = data.classes()
    if search != "local":
        classes = replace(classes, columns=tuple(replace(column, at_most=None) for column in classes.columns))
    tops = [{path[high] for path in tree} for (_, _, high), tree in zip(data.wishes, data.trees, strict=True)]
    if any(len(top) > 1 for top in tops):
        return
    recoding = recoded(classes, k, search)
    assert recoding.published.sizes.min() >= k
    assert recoding.published.records == len(data.people)
    for place, (column, (_, low, high)) in enumerate(zip(classes.columns, data.wishes, strict=True)):
        shown = [recoding.labels[place][code] for code in recoding.codes[place].tolist()]
        for code, label in zip(classes.codes[place].tolist(), shown, strict=True):
            path = [
                column.hierarchy.labels[level][column.hierarchy.map(0, level)[code]] for level in range(low, high + 1)
            ]
            assert label in path


def test_intervals_have_no_highest_level() -> None:
    classes = Classes.of(["age"], [("1",), ("2",)], rules={"age": Widths((5,))})
    capped = replace(classes, columns=(replace(classes.columns[0], at_most=1),))
    with pytest.raises(UsageError, match="at_most of column 'age'"):
        discreet.anonymise(capped, k=2, search="mondrian")
    assert discreet.anonymise(capped, k=2, search="local").recoding.labels == (("[0, 5)",),)


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


# Requirements beyond k: every published group is looked at person by person, by the definitions and nothing else.
KINDS: dict[str, Any] = {
    "distinct": {"diversity": 2},
    "entropy": {"diversity": {"l": 1.8, "kind": "entropy"}},
    "recursive": {"diversity": {"l": 2, "kind": "recursive", "c": 2.0}},
    "equal": {"closeness": 0.3},
    "hierarchical": {"closeness": {"t": 0.3, "distance": "hierarchical"}},
    "ordered": {"closeness": {"t": 0.2, "distance": "ordered"}},
}


def fits(kind: str, group: Counter[str], everybody: Counter[str]) -> bool:
    """Whether a group satisfies one of KINDS; the values of the hierarchy are 1, 2 | 3, 4."""
    people, ranked = group.total(), sorted(group.values(), reverse=True)
    gains = {value: group[value] / people - everybody[value] / everybody.total() for value in everybody}
    if kind == "distinct":
        return len(group) >= 2
    if kind == "entropy":
        return math.exp(-sum(n / people * math.log(n / people) for n in ranked)) >= 1.8 * (1 - 1e-12)
    if kind == "recursive":
        return ranked[0] < 2.0 * sum(ranked[1:])
    if kind == "equal":
        return sum(map(abs, gains.values())) / 2 <= 0.3 + 1e-12
    if kind == "hierarchical":
        halves = [[gains.get(value, 0.0) for value in half] for half in ("12", "34")]
        within = sum(min(sum(max(g, 0) for g in half), sum(max(-g, 0) for g in half)) for half in halves)
        return within / 2 + abs(sum(halves[0])) <= 0.3 + 1e-9
    ranks = sorted(everybody)
    sums = [abs(sum(gains[value] for value in ranks[: place + 1])) for place in range(len(ranks) - 1)]
    return sum(sums) / max(len(ranks) - 1, 1) <= 0.2 + 1e-9


def with_secrets(data: Data) -> Classes:
    """The classes of a table with sensitive numbers under a hierarchy of two halves."""
    halves = Tree((("1", "low", "*"), ("2", "low", "*"), ("3", "high", "*"), ("4", "high", "*")))
    names = [f"q{place}" for place in range(len(data.trees))]
    rows = [(*(path[0] for path in person.paths), person.secret[1:], 1) for person in data.people]
    numbers = [person.number for person in data.people if person.number is not None]
    whose = np.array(numbers, dtype=np.int64) if numbers else None
    return data.classes().with_spread(
        Histogram.from_rows([*names, "secret"], rows), "secret", rule=halves, people=whose
    )


def groups_of(recoding: Recoding, data: Data) -> list[list[Person]]:
    """The people of each published group, or their rows."""
    looks = list(zip(*(codes.tolist() for codes in recoding.codes), strict=True))
    place = {values: row for row, values in enumerate(recoding.classes.tuples())}
    found: dict[Any, list[Person]] = {}
    for person in data.people:
        row = place[tuple(path[0] for path in person.paths)]
        if recoding.kept[row]:
            found.setdefault(tuple(recoding.labels[i][code] for i, code in enumerate(looks[row])), []).append(person)
    return list(found.values())


def secrets_of(people: Iterable[Person]) -> Counter[str]:
    """How many people hold each secret; a person who holds it on several rows is one."""
    numbered = enumerate(people)
    pairs = {(place if person.number is None else person.number, person.secret[1:]) for place, person in numbered}
    return Counter(secret for _, secret in pairs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("search", SEARCHES)
@settings(max_examples=examples(40), deadline=None)
@given(data=tables(secrets=4), k=st.integers(1, 4), share=st.sampled_from([0.0, 0.1, 0.3]))
def test_every_published_group_satisfies_every_requirement(
    search: str, kind: str, data: Data, k: int, share: float
) -> None:
    k, everybody = min(k, len(data.people)), secrets_of(data.people)
    try:
        found = discreet.anonymise(with_secrets(data), k=k, search=search, suppression=share, **KINDS[kind])
    except UsageError:
        assert not (rooted(data) and fits(kind, everybody, everybody))
        return
    groups = [secrets_of(group) for group in groups_of(found.recoding, data)]
    assert all(group.total() >= k and fits(kind, group, everybody) for group in groups)
    assert found.suppressed == len(data.people) - sum(group.total() for group in groups)
    assert found.suppressed <= math.floor(Fraction(str(share)) * len(data.people))


@pytest.mark.parametrize("search", SEARCHES)
@some
@given(data=tables(), k=st.integers(1, 6), share=st.sampled_from([0.1, 0.3, 1.0]))
def test_suppression_stays_within_its_share_and_never_loses_more(search: str, data: Data, k: int, share: float) -> None:
    k = min(k, len(data.people))
    try:
        found = discreet.anonymise(data.classes(), k=k, search=search, suppression=share)
    except UsageError:
        assert not rooted(data)
        return
    assert found.suppressed <= math.floor(Fraction(str(share)) * len(data.people))
    assert found.recoding.published.sizes.min(initial=k) >= k
    if search != "local" and rooted(data):
        columns = range(len(data.trees))
        before = discreet.anonymise(data.classes(), k=k, search=search).recoding
        lost, then = (sum(column_loss(one, place) for place in columns) for one in (found.recoding, before))
        assert lost <= then + 1e-6


@pytest.mark.parametrize("search", SEARCHES)
def test_people_who_share_nothing_are_suppressed_where_that_is_allowed(search: str) -> None:
    people = [("F",)] * 9 + [("M",)]
    classes = Classes.of(["sex"], people)
    with pytest.raises(UsageError, match="allow more suppression"):
        discreet.anonymise(classes, k=2, search=search)
    found = discreet.anonymise(classes, k=2, search=search, suppression=0.1)
    assert (found.suppressed, list(found.recoding.published.tuples())) == (1, [("F",)])
    assert discreet.anonymise(Classes.of(["sex"], people[8:]), k=2, search=search, suppression=1).suppressed == 2


@pytest.mark.parametrize("search", SEARCHES)
def test_an_outlier_is_suppressed_where_it_would_cost_the_others(search: str) -> None:
    people = [("30",)] * 2 + [("31",)] * 2 + [("99",)]
    classes = Classes.of(["age"], people, rules={"age": Widths((2, 100))})
    found = discreet.anonymise(classes, k=4, search=search, suppression=0.2)
    assert found.suppressed == 1
    assert found.loss < discreet.anonymise(classes, k=4, search=search).loss


@pytest.mark.parametrize("search", SEARCHES)
def test_risk_limits_and_attackers_mean_sizes(search: str) -> None:
    classes = patients(600)
    assert discreet.anonymise(classes, max_risk=0.125, search=search).recoding.published.sizes.min() >= 8
    averaged = discreet.anonymise(classes, average_risk=0.2, search=search).recoding.published
    assert len(averaged) / averaged.records <= 0.2
    attack = discreet.Attack(prior=0.63, gain=8000, access_cost=100, link_cost=0, exploit_cost=10, penalty=10_000)
    deterred = discreet.anonymise(classes, max_risk=0.0, attack=attack, search=search).recoding.published
    assert not attack.known(deterred.sizes).reidentification.any()


@pytest.mark.parametrize("search", SEARCHES)
def test_a_population_is_refused_in_words(search: str) -> None:
    classes = patients(200)
    with pytest.raises(UsageError, match="does not compare with a population"):
        discreet.anonymise(classes, k_map=3, population=classes, search=search)


def test_what_a_search_gets_wrong_is_not_published() -> None:
    classes = Classes.of(["sex"], [("F",), ("M",)], [5, 1])
    limits = Requirements((Size(2),), 0)
    with pytest.raises(DiscreetError, match="nothing is published"):
        verify(Recoding.of_levels(classes, {"sex": 0}, kept=np.array([True, True])), limits)
    with pytest.raises(DiscreetError, match="nothing is published"):
        verify(Recoding.of_levels(classes, {"sex": 0}, kept=np.array([True, False])), limits)
    assert verify(Recoding.of_levels(classes, {"sex": 0}, kept=np.array([True, False])), Requirements((Size(2),), 1))


@pytest.mark.parametrize("search", SEARCHES)
def test_a_table_recoded_with_suppression_is_written(search: str, write: Any, tmp_path: Any) -> None:
    rows = "".join(f"{20 + i % 30},{i % 7},{i}\n" for i in range(300)) + "97,1,300\n98,2,301\n"
    columns: dict[str, Any] = {
        "age": {"role": "quasi", "hierarchy": {"widths": [5, 10]}},
        "ward": {"role": "sensitive"},
        "x": {"role": "other"},
    }
    table = discreet.read(write("a.csv", "age,ward,x\n" + rows), policy=discreet.Policy.from_dict({"columns": columns}))
    safe = discreet.anonymise(table, k=5, diversity=3, suppression=0.02, search=search)
    assert safe.suppressed == (2 if search == "local" else 0)
    assert safe.write(tmp_path / "safe.csv") == 302 - safe.suppressed
    back = discreet.read(tmp_path / "safe.csv").classes(["age"], sensitive=["ward"])
    assert back.sizes.min() >= 5
    assert discreet.risk.infer(back.spreads["ward"]).distinct_l >= 3
