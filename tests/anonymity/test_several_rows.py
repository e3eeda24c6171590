"""Tables in which a person has several rows: k, l, t and risk count people, losses and suppression count rows."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.anonymity import LOSSES, anonymise, frontier
from discreet.anonymity.comparison import compare
from discreet.anonymity.limits import AverageRisk, Requirements, Size
from discreet.anonymity.local.acceptance import verify
from discreet.anonymity.result import Anonymised
from discreet.errors import DiscreetError, UsageError
from discreet.kernel import AnyValue, Classes, Histogram, Recoding, Rule, Widths
from discreet.risk import assess
from tests.anonymity.brute import Data, Person, best
from tests.anonymity.strategies import tables
from tests.anonymity.test_recodings import KINDS, SEARCHES, fits, groups_of, rooted, secrets_of, with_secrets
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
        # What everybody in the group has is known of everybody, whatever else some of them have.
        everybody = max(held.values()) == people(group)
        if kind == "distinct":
            return everybody
        if kind == "entropy":
            return everybody or math.exp(-sum(s * math.log(s) for s in shares.values())) < 1.8 * (1 - 1e-12)
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


def test_a_class_of_few_people_may_have_many_rows_so_that_its_size_bounds_no_loss() -> None:
    """One man's 20 rows are cheaper to leave out than a bound by sizes of classes below k says."""
    rows = [("012", 4, 1), ("320", 1, 20), ("033", 1, 9), ("113", 4, 1), ("123", 2, 1)]
    counted = Histogram.from_rows(["a", "b", "c"], [(*cells, 1) for cells, _, n in rows for _ in range(n)])
    whose = np.array([number for _, number, n in rows for _ in range(n)], dtype=np.int64)
    rules: dict[str, Rule] = {"a": Widths((2,)), "b": Widths((2,)), "c": AnyValue()}
    classes = Classes.from_histogram(counted, rules=rules, people=whose)
    result = anonymise(classes, k=2, suppression=0.7, loss="discernibility")
    assert (result.levels, result.loss) == ({"a": 0, "b": 2, "c": 1}, 744)


def test_candidates_are_compared_by_the_risk_of_people() -> None:
    """One man shares a class with nine others and another one with four."""
    rows = [("a", number) for number in range(1, 11)] + [("b", number) for number in range(1, 6)]
    (one,) = compare(panel(rows), k=2, suppression=0.0).candidates
    assert (one.average_risk, one.highest_risk) == (pytest.approx((5 / 5 + 5 / 10) / 10), 1 / 5)


def test_given_levels_leave_out_as_many_rows_as_allowed() -> None:
    classes = panel([("a", 1)] * 40 + [("b", number) for number in range(2, 7)])
    given = [anonymise(classes, k=2, levels={"q0": 0}, suppression=share) for share in (0.1, 0.9)]
    assert [(each.suppressed, each.suppressed_rows, each.exceeded) for each in given] == [(1, 40, True), (1, 40, False)]


# Recoding class by class: every published group is found again from the rows, and its people are counted in sets.


@pytest.mark.parametrize("search", SEARCHES)
@few
@given(data=tables(numbers=7), k=st.integers(1, 5), share=st.sampled_from([0.0, 0.1, 0.3, 1.0]))
def test_every_recoded_group_is_of_k_people(search: str, data: Data, k: int, share: float) -> None:
    k = min(k, people(list(data.people)))
    try:
        found = anonymise(data.classes(), k=k, search=search, suppression=share)
    except UsageError:
        assert not rooted(data)
        return
    groups = groups_of(found.recoding, data)
    assert all(people(group) >= k for group in groups)
    assert found.published.sizes.tolist() == [people(group) for group in _in_order(groups, found)]
    rows = [row for group in groups for row in group]
    assert (
        found.suppressed_rows == len(data.people) - len(rows) <= math.floor(round(share * 10) * len(data.people) / 10)
    )
    kept = Counter(row.number for row in rows)
    whole = Counter(row.number for row in data.people)
    assert found.suppressed == sum(kept[number] < whole[number] for number in whole)


def _in_order(groups: list[Group], found: Anonymised) -> list[Group]:
    """The groups in the order of the published classes."""
    place = {values: row for row, values in enumerate(found.recoding.classes.tuples())}
    labels, codes = found.recoding.labels, found.recoding.codes

    def look(group: Group) -> tuple[str | None, ...]:
        row = place[tuple(path[0] for path in group[0].paths)]
        return tuple(names[code[row]] for names, code in zip(labels, codes, strict=True))

    by_look = {look(group): group for group in groups}
    return [by_look[values] for values in found.published.tuples()]


def hides(kind: str, group: Group, everybody: Counter[str]) -> bool:
    """Whether a group fits, and nothing that everybody in it has gives them away."""
    held = secrets_of(group)
    certain = kind in ("distinct", "entropy", "recursive") and max(held.values()) == people(group)
    return not certain and fits(kind, held, everybody)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("search", SEARCHES)
@settings(max_examples=examples(40), deadline=None)
@given(data=tables(secrets=4, numbers=9), k=st.integers(1, 3), share=st.sampled_from([0.0, 0.1, 0.3]))
def test_every_recoded_group_satisfies_every_requirement_on_people(
    search: str, kind: str, data: Data, k: int, share: float
) -> None:
    """A value that one person repeats on many rows is one value of one person."""
    k, everybody = min(k, people(list(data.people))), secrets_of(data.people)
    limit = math.floor(round(share * 10) * len(data.people) / 10)
    levels = best(
        data,
        limit=limit,
        loss="loss",
        bad=lambda group: people(group) < k or not hides(kind, group, everybody),
    )
    try:
        found = anonymise(with_secrets(data), k=k, search=search, suppression=share, **KINDS[kind])
    except UsageError:
        # Everybody together may be no such group although finer ones are.
        assert levels is None
        return
    if search == "local" and levels is not None and found.suppressed:
        assert found.loss <= levels[0] + 1e-9
    groups = groups_of(found.recoding, data)
    assert all(people(group) >= k and hides(kind, group, everybody) for group in groups)
    hidden = len(data.people) - sum(map(len, groups))
    assert found.suppressed_rows == hidden <= math.floor(round(share * 10) * len(data.people) / 10)


@pytest.mark.parametrize("search", SEARCHES)
def test_people_with_a_row_each_are_recoded_as_without_numbers(search: str) -> None:
    rows = [(f"{20 + place * 7 % 50}", "FM"[place % 2]) for place in range(300)]
    rules: dict[str, Rule] = {"age": Widths((5, 10)), "sex": AnyValue()}
    counted = Histogram.from_rows(["age", "sex"], [(*row, 1) for row in rows])
    numbered = Classes.from_histogram(counted, rules=rules, people=np.arange(300))
    several, single = (
        anonymise(classes, k=4, search=search) for classes in (numbered, Classes.of(["age", "sex"], rows, rules=rules))
    )
    assert several.published.sizes.min() >= 4
    assert several.loss <= single.loss + 1e-9


@pytest.mark.parametrize("search", SEARCHES)
def test_forty_rows_of_one_man_hide_nobody_in_a_recoding(search: str) -> None:
    classes = panel([("a", 1)] * 40 + [("b", number) for number in range(2, 7)])
    together = anonymise(classes, k=2, search=search)
    assert (together.published.sizes.tolist(), together.published.rows.tolist()) == ([6], [45])
    apart = anonymise(classes, max_risk=0.2, suppression=0.9, search=search)
    assert apart.published.sizes.min() >= 5
    with pytest.raises(UsageError):
        anonymise(classes, k=7, search=search)


def test_a_recoding_of_rows_instead_of_people_is_not_published() -> None:
    classes = panel([("a", 1)] * 40 + [("b", 2), ("b", 3)])
    split = Recoding.of_levels(classes, {"q0": 0}, kept=np.array([True, True]))
    with pytest.raises(DiscreetError, match="nothing is published"):
        verify(split, Requirements((Size(2),), 0))
    hidden = Recoding.of_levels(classes, {"q0": 0}, kept=np.array([False, True]))
    with pytest.raises(DiscreetError, match="nothing is published"):
        verify(hidden, Requirements((Size(2),), 39))
    assert verify(hidden, Requirements((Size(2),), 40)) is hidden


def test_a_population_of_people_with_several_rows_hides_nobody_twice() -> None:
    everybody = panel([("a", 1)] * 30 + [("b", number) for number in range(30)])
    found = assess(panel([("a", 1), ("a", 1), ("b", 2)]), everybody)
    assert found.presence is not None
    assert found.presence.k_map == 1
    assert found.population_uniques == 1
    assert np.isfinite(assess(panel([("a", 1), ("a", 2), ("b", 2), ("b", 3)]), 50).population_uniqueness.dankar)  # type: ignore[union-attr]


@pytest.mark.parametrize("diversity", [2, {"l": 1.5, "kind": "entropy"}, {"l": 2, "kind": "recursive"}])
def test_what_everybody_in_a_class_has_is_not_hidden_by_what_one_has_besides(diversity: object) -> None:
    rows = [(number, "30", "HIV") for number in range(5)] + [(0, "30", "flu")]
    rows += [(number, "40", illness) for number in range(10, 16) for illness in ("flu", "cold")]
    frame = pandas.DataFrame(rows, columns=["nr", "age", "illness"])
    columns = {
        "nr": {"role": "identifier"},
        "age": {"role": "quasi", "hierarchy": {"any": "*"}},
        "illness": {"role": "sensitive"},
    }
    result = anonymise(frame, policy={"data": {"person": "nr"}, "columns": columns}, k=5, diversity=diversity)
    assert result.levels == {"age": 1}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_finer_groups_are_published_where_everybody_together_holds_every_value(search: str, share: float) -> None:
    """All people are ill and well in turn: everybody has either value, and the people of one year and sex do not."""
    rows = [
        (number, str(1990 + year), "FM"[number % 2], ("ill", "well")[(number // 2 + year) % 2])
        for number in range(40)
        for year in range(4)
    ]
    frame = pandas.DataFrame(rows, columns=["nr", "year", "sex", "state"])
    columns = {
        "nr": {"role": "identifier"},
        "year": {"role": "quasi", "hierarchy": {"any": "*"}},
        "sex": {"role": "quasi", "hierarchy": {"any": "*"}},
        "state": {"role": "sensitive"},
    }
    found = anonymise(
        frame,
        policy={"data": {"person": "nr"}, "columns": columns},
        k=3,
        diversity=2,
        search=search,
        suppression=share,
    )
    assert found.loss == 0
    assert found.suppressed_rows == 0
