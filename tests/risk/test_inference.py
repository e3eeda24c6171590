"""l-diversity, t-closeness and beta-likeness from their definitions, value by value."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance

from discreet.errors import UsageError
from discreet.kernel import Classes, Histogram, Tree
from discreet.risk import infer
from discreet.risk.inference import beta, distinct_l, entropy_l, equal_t, hierarchical_t, ordered_t, recursive_l
from tests.risk.strategies import Counted, climb, counted, few, some

FLAT = Tree((("flu",), ("cold",), ("none",)))
ILLNESSES = Tree((("flu", "airways", "*"), ("cold", "airways", "*"), ("ulcer", "stomach", "*"), ("none", "none", "*")))


# l


def known_rows(drawn: Counted) -> list[tuple[int, ...]]:
    """People per known value in each class; a class without one hides as much as every value at once."""
    values = sum(value is not None for value in drawn.spread.values)
    rows = [
        tuple(people for value, people in zip(drawn.values, row, strict=True) if value is not None and people)
        for row in drawn.table
    ]
    return [row or (1,) * max(values, 1) for row in rows]


@some
@given(counted())
def test_distinct_l_counts_the_known_values_of_a_class(drawn: Counted) -> None:
    assert distinct_l(drawn.spread).tolist() == [len(row) for row in known_rows(drawn)]


@some
@given(counted())
def test_entropy_l_is_the_exponential_of_the_entropy(drawn: Counted) -> None:
    shares = [[people / sum(row) for people in row] for row in known_rows(drawn)]
    expected = [math.exp(-sum(p * math.log(p) for p in row)) for row in shares]
    assert entropy_l(drawn.spread).tolist() == pytest.approx(expected)


def test_entropy_l_of_equally_common_values_is_their_number() -> None:
    spread = Counted(FLAT, ("flu", "cold", "none"), ((4, 4, 4), (7, 0, 0), (1, 1, 0))).spread
    assert entropy_l(spread).tolist() == pytest.approx([3, 1, 2])


def largest_recursive_l(row: tuple[int, ...], c: float) -> int:
    """From the definition: r_1 < c (r_l + ... + r_m), r sorted from common to rare."""
    ranked = sorted((people for people in row if people), reverse=True)
    return max((l for l in range(1, len(ranked) + 1) if ranked[0] < c * sum(ranked[l - 1 :])), default=0)  # noqa: E741


@some
@given(counted(), st.sampled_from([0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 10.0]))
def test_recursive_l_follows_its_definition(drawn: Counted, c: float) -> None:
    alone = [
        all(value is None or not people for value, people in zip(drawn.values, row, strict=True)) for row in drawn.table
    ]
    expected = [
        len(row) if unknown else largest_recursive_l(row, c)
        for row, unknown in zip(known_rows(drawn), alone, strict=True)
    ]
    assert recursive_l(drawn.spread, c).tolist() == expected


def test_recursive_l_needs_strictly_more_than_the_commonest_value() -> None:
    spread = Counted(FLAT, ("flu", "cold", "none"), ((6, 2, 1), (6, 3, 1))).spread
    assert recursive_l(spread, 2.0).tolist() == [1, 2]


@few
@given(counted())
def test_entropy_l_never_exceeds_distinct_l(drawn: Counted) -> None:
    assert (entropy_l(drawn.spread) <= distinct_l(drawn.spread) + 1e-9).all()


# t


@some
@given(counted())
def test_equal_t_is_half_the_sum_of_the_differences(drawn: Counted) -> None:
    expected = [sum(abs(p - q) for p, q in zip(shares, drawn.overall, strict=True)) / 2 for shares in drawn.within]
    assert equal_t(drawn.spread).tolist() == pytest.approx(expected, abs=1e-12)


def ground_distance(drawn: Counted) -> np.ndarray:
    """Level of the lowest common ancestor over the height, with one more level on top where there is no single root."""
    paths = [climb(drawn.tree, value) for value in drawn.values]
    top = (
        drawn.tree.height - 1 if len({path[-1] for path in paths}) == 1 and drawn.tree.height > 1 else drawn.tree.height
    )
    distance = np.zeros((len(paths), len(paths)))
    for one, other in combinations(range(len(paths)), 2):
        shared = [level for level in range(drawn.tree.height) if paths[one][level] == paths[other][level]]
        distance[one, other] = distance[other, one] = min(shared, default=top) / top
    return distance


def earth_movers_distance(p: list[float], q: list[float], distance: np.ndarray) -> float:
    """The cheapest transport of p to q, as a linear programme."""
    size = len(p)
    leaving = np.kron(np.eye(size), np.ones(size))
    arriving = np.kron(np.ones(size), np.eye(size))
    solved = linprog(distance.ravel(), A_eq=np.vstack([leaving, arriving]), b_eq=[*p, *q], method="highs")
    assert solved.success
    return float(solved.fun)


@few
@given(counted(classes=3))
def test_hierarchical_t_is_the_cheapest_transport_along_the_hierarchy(drawn: Counted) -> None:
    distance = ground_distance(drawn)
    expected = [earth_movers_distance(shares, drawn.overall, distance) for shares in drawn.within]
    assert hierarchical_t(drawn.spread).tolist() == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(
    "tree", [ILLNESSES, Tree(tuple(row[:2] for row in ILLNESSES.rows))], ids=["rooted", "unrooted"]
)
def test_hierarchical_t_by_hand(tree: Tree) -> None:
    drawn = Counted(tree, ("flu", "cold", "ulcer", "none"), ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 1)))
    # From flu alone to a quarter of each: a quarter to cold at distance 1/2, a half to the other two at distance 1.
    assert hierarchical_t(drawn.spread).tolist() == pytest.approx([0.625, 0.625, 0.5])


def test_hierarchical_t_does_not_depend_on_which_values_occur() -> None:
    """Two branches without a common root: values of one branch are half as far apart as values of two."""
    tree = Tree((("flu", "airways"), ("cold", "airways"), ("ulcer", "stomach")))
    drawn = Counted(tree, ("flu", "cold"), ((1, 0), (0, 1)))
    assert hierarchical_t(drawn.spread).tolist() == pytest.approx([0.25, 0.25])


def test_without_a_hierarchy_both_distances_are_one() -> None:
    drawn = Counted(FLAT, ("flu", "cold", "none"), ((3, 1, 0), (0, 2, 5)))
    assert hierarchical_t(drawn.spread).tolist() == pytest.approx(equal_t(drawn.spread).tolist())


@some
@given(counted())
def test_distances_lie_between_nothing_and_one(drawn: Counted) -> None:
    for distance in (equal_t(drawn.spread), hierarchical_t(drawn.spread)):
        assert (distance >= -1e-12).all()
        assert (distance <= 1 + 1e-12).all()


@some
@given(counted())
def test_distances_along_the_hierarchy_never_exceed_equal_ones(drawn: Counted) -> None:
    assert (hierarchical_t(drawn.spread) <= equal_t(drawn.spread) + 1e-9).all()


def test_a_class_that_mirrors_the_table_is_at_no_distance() -> None:
    spread = Counted(ILLNESSES, ("flu", "cold", "ulcer", "none"), ((1, 2, 3, 4), (2, 4, 6, 8))).spread
    assert equal_t(spread).tolist() == pytest.approx([0, 0])
    assert hierarchical_t(spread).tolist() == pytest.approx([0, 0])
    assert beta(spread).tolist() == pytest.approx([0, 0])


# t of ordered values


def salaries(*values: str, rows: tuple[tuple[int, ...], ...]) -> Counted:
    """People per salary in each class."""
    return Counted(Tree(tuple((value,) for value in values)), values, rows)


def test_ordered_t_of_the_salaries_of_the_paper() -> None:
    """Li et al. 2007, section 5.1: {3k, 4k, 5k} and {6k, 8k, 11k} among 3k to 11k are at 0.375 and 0.167."""
    rows = ((1, 1, 1, 0, 0, 0, 0, 0, 0), (0, 0, 0, 1, 0, 1, 0, 0, 1), (0, 0, 0, 0, 1, 0, 1, 1, 0))
    spread = salaries(*(f"{thousand}000" for thousand in range(3, 12)), rows=rows).spread
    assert ordered_t(spread).tolist()[:2] == pytest.approx([0.375, 1 / 6])


@st.composite
def ordered(draw: st.DrawFn) -> Counted:
    """Classes over numbers, of which some are spelled in two ways."""
    values = draw(st.lists(st.sampled_from(["-3", "0", "2", "2.0", "2.5", "10", "90"]), min_size=1, unique=True))
    rows = st.lists(st.integers(0, 5), min_size=len(values), max_size=len(values)).filter(any)
    table = draw(st.lists(rows, min_size=1, max_size=5))
    met = [place for place, column in enumerate(zip(*table, strict=True)) if any(column)]
    return salaries(*(values[place] for place in met), rows=tuple(tuple(row[place] for place in met) for row in table))


@some
@given(ordered())
def test_ordered_t_is_the_distance_of_wasserstein_on_ranks(drawn: Counted) -> None:
    numbers = [float(value or 0) for value in drawn.values]
    ranks = [sorted(set(numbers)).index(number) for number in numbers]
    scale = max(max(ranks), 1)
    expected = [wasserstein_distance(ranks, ranks, row, drawn.overall) / scale for row in drawn.within]
    assert ordered_t(drawn.spread).tolist() == pytest.approx(expected, abs=1e-12)
    assert (infer(drawn.spread).ordered_t or 0.0) == pytest.approx(max(expected), abs=1e-12)


@pytest.mark.parametrize(
    "values",
    [
        ("9", "10", "100"),
        ("2023-12-31", "2024-01-01", "2024-02-01"),
        ("31.12.2023", "01.01.2024", "01.02.2024"),
        ("2023/12/31", "2024/01/01", "2024/02/01"),
        ("2023-12-31 23:59:00", "2024-01-01", "2024-01-01T08:00:00"),
    ],
)
def test_numbers_and_dates_are_ordered_as_such(values: tuple[str, ...]) -> None:
    spread = salaries(*values, rows=((1, 0, 0), (0, 1, 0), (0, 0, 1))).spread
    assert ordered_t(spread).tolist() == pytest.approx([0.5, 1 / 3, 0.5])


@pytest.mark.parametrize("values", [("low", "high"), ("77", "unknown"), ("77", None), ("01/02/2024", "02/01/2024")])
def test_what_has_no_order_is_refused_without_its_values(values: tuple[str | None, ...]) -> None:
    spread = Counted(Tree(tuple((value or "?",) for value in values)), values, ((1, 2), (2, 1))).spread
    assert infer(spread).ordered_t is None
    with pytest.raises(UsageError, match="numbers, or dates") as caught:
        ordered_t(spread)
    assert "illness" in str(caught.value)
    assert not any(value and value in str(caught.value) for value in values)


# beta


@some
@given(counted())
def test_beta_is_the_largest_relative_gain(drawn: Counted) -> None:
    expected = [
        max(max((p - q) / q for p, q in zip(shares, drawn.overall, strict=True) if q), 0) for shares in drawn.within
    ]
    assert beta(drawn.spread).tolist() == pytest.approx(expected, abs=1e-12)


# merging classes


@some
@given(counted().filter(lambda drawn: len(drawn.table) > 1))
def test_merging_classes_never_tells_more(drawn: Counted) -> None:
    fine, coarse = infer(drawn.spread), infer(drawn.merged(0, 1).spread)
    assert coarse.distinct_l >= fine.distinct_l
    assert coarse.entropy_l >= fine.entropy_l - 1e-9
    assert coarse.recursive_l >= fine.recursive_l
    assert coarse.equal_t <= fine.equal_t + 1e-9
    assert coarse.beta <= fine.beta + 1e-9
    assert (coarse.hierarchical_t or 0) <= (fine.hierarchical_t or 0) + 1e-9


@few
@given(counted())
def test_one_class_for_all_tells_nothing_new(drawn: Counted) -> None:
    found = infer(drawn.classes.project([]).spreads["illness"])
    assert (found.equal_t, found.beta) == pytest.approx((0, 0))
    assert found.distinct_l == max(1, sum(value is not None for value in drawn.values))


# the summary


@few
@given(counted())
def test_the_summary_names_the_worst_class_on_each_measure(drawn: Counted) -> None:
    spread, found = drawn.spread, infer(drawn.spread, c=2.0)
    assert found.distinct_l == distinct_l(spread).min()
    known = known_rows(drawn)
    assert found.certain == sum(sum(row) for row, values in zip(drawn.table, known, strict=True) if len(values) == 1)
    assert found.entropy_l == entropy_l(spread).min()
    assert (found.recursive_l, found.recursive_c) == (recursive_l(spread, 2.0).min(), 2.0)
    assert found.equal_t == equal_t(spread).max()
    assert found.hierarchical_t == (hierarchical_t(spread).max() if drawn.tree.height > 1 else None)
    assert found.beta == beta(spread).max()


def test_people_whose_look_alikes_all_share_one_value_are_certain() -> None:
    found = infer(Counted(FLAT, ("flu", "cold", "none"), ((4, 0, 0), (1, 1, 0), (0, 0, 3))).spread)
    assert found.certain == 7


def test_without_a_hierarchy_there_is_no_distance_along_it() -> None:
    assert infer(Counted(FLAT, ("flu", "cold"), ((1, 1),)).spread).hierarchical_t is None


@pytest.mark.parametrize("other", [None, "", "hiv", "HIV ", "ＨＩＶ"])
def test_a_missing_or_respelt_value_hides_nobody(other: str | None) -> None:
    rows = [("1", "HIV", 5), ("1", other, 1)]
    classes = Classes.of(["zip"], [("1",)], [6]).with_spread(Histogram.from_rows(["zip", "illness"], rows), "illness")
    assert infer(classes.spreads["illness"]).distinct_l == 1


def test_rows_that_stand_for_nobody_do_not_make_a_class_diverse() -> None:
    rows = [("1", "flu", 2), ("1", "cold", 0)]
    classes = Classes.of(["zip"], [("1",)], [2]).with_spread(Histogram.from_rows(["zip", "illness"], rows), "illness")
    assert infer(classes.spreads["illness"]).distinct_l == 1


def test_the_summary_goes_into_json_under_its_names() -> None:
    found = infer(Counted(ILLNESSES, ("flu", "cold"), ((1, 1),)).spread).to_dict()
    assert list(found) == [
        "distinct_l",
        "certain",
        "entropy_l",
        "recursive_l",
        "recursive_c",
        "equal_t",
        "hierarchical_t",
        "ordered_t",
        "beta",
    ]
