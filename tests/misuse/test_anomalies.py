"""Unusual days: the formula written out, its limits, and planted misuse that it must find."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from benchmarks.anomalies import WAYS, auc, measured
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.misuse.anomalies import Anomalies, day_score, find_anomalies
from discreet.misuse.generated import Generated, generate_log, sample
from discreet.misuse.log import Scored
from tests.examples import examples


def days(user: str, scores: list[float], role: str = "nurse") -> list[Scored]:
    return [sample(user=user, role=role, day=day, score=score) for day, score in enumerate(scores)]


def z_of(found: Anomalies, user: str, place: int) -> float:
    return sorted((day.day, day.z) for day in found.days if day.user == user)[place][1]


def mad(numbers: list[float]) -> float:
    middle = statistics.median(numbers)
    return 1.4826 * statistics.median([abs(number - middle) for number in numbers])


def by_hand(own: list[float], others: list[list[float]], place: int) -> float:
    """The formula of the documentation, one user at a time, with the standard library."""
    rest = own[:place] + own[place + 1 :]
    n, p = len(rest), len(others)
    medians = [statistics.median(one) for one in others]
    residuals = [abs(y - m) for one, m in zip(others, medians, strict=True) for y in one]
    within = max(0.05, 1.4826 * statistics.median(residuals)) ** 2
    noise = math.pi / 2 * within / statistics.median([len(one) for one in others])
    between = (p * max(0.0, mad(medians) ** 2 - noise) + 3 * within) / (p + 3)
    spread = max(0.05**2, (n * (mad(rest) ** 2 if rest else 0) + 10 * within) / (n + 10))
    b = between / (between + math.pi / 2 * spread / n) if n else 0.0
    centre = b * (statistics.median(rest) if rest else 0) + (1 - b) * statistics.median(medians)
    return (own[place] - centre) / math.sqrt(spread + (1 - b) * between)


scores = st.lists(st.floats(0, 50), min_size=1, max_size=7)


@given(scores, st.lists(scores, min_size=1, max_size=4))
def test_z_is_the_formula(own: list[float], others: list[list[float]]) -> None:
    log = days("ann", own) + [one for place, its in enumerate(others) for one in days(f"peer{place}", its)]
    found = find_anomalies(log)
    levels = [math.log1p(score) for score in own]
    for place in range(len(own)):
        wanted = by_hand(levels, [[math.log1p(score) for score in its] for its in others], place)
        assert z_of(found, "ann", place) == pytest.approx(wanted, abs=1e-6)


@given(scores, st.lists(scores, min_size=1, max_size=3), st.floats(0.1, 100))
def test_more_on_a_day_is_never_less_unusual(own: list[float], others: list[list[float]], more: float) -> None:
    rest = [one for place, its in enumerate(others) for one in days(f"peer{place}", its)]
    before = find_anomalies(days("ann", own) + rest)
    after = find_anomalies(days("ann", [own[0] + more, *own[1:]]) + rest)
    assert z_of(after, "ann", 0) > z_of(before, "ann", 0)


@given(st.permutations([(user, day) for user in "abc" for day in range(3)]), scores)
def test_the_order_of_the_log_does_not_matter(order: list[tuple[str, int]], listed: list[float]) -> None:
    log = {
        (user, day): sample(user=user, day=day, score=listed[(ord(user) + day) % len(listed)]) for user, day in order
    }
    assert find_anomalies(log.values()) == find_anomalies([log[key] for key in sorted(log)])


def test_a_newcomer_is_held_against_her_peers() -> None:
    peers = [one for place in range(5) for one in days(f"peer{place}", [1.0, 1.2, 0.9, 1.1])]
    assert z_of(find_anomalies([*peers, *days("new", [30.0])]), "new", 0) > 3.5
    assert abs(z_of(find_anomalies([*peers, *days("new", [1.05])]), "new", 0)) < 1


def test_somebody_with_a_long_history_is_held_against_herself() -> None:
    peers = [one for place in range(5) for one in days(f"peer{place}", [1.0, 1.5, 0.7, 1.1])]
    heavy = days("heavy", [20.0 + number % 3 for number in range(40)])
    found = find_anomalies([*peers, *heavy])
    assert max(day.z for day in found.days if day.user == "heavy") < 2
    assert found.high[0].user == "heavy"


def test_equal_days_borrow_the_spread_of_the_peers() -> None:
    lively = [one for place in range(4) for one in days(f"peer{place}", [1.0, 3.0, 0.5, 2.0, 5.0])]
    steady = days("steady", [2.0] * 20 + [2.6])
    with_peers, alone = find_anomalies([*lively, *steady]), find_anomalies(steady)
    assert z_of(with_peers, "steady", 20) < 1
    assert z_of(alone, "steady", 20) > 3.5


def test_days_without_results_are_no_observations() -> None:
    rare = [sample(user="rare", day=day, score=4.0) for day in (0, 10, 20, 30)]
    peers = days("peer", [4.0, 4.2, 3.8, 4.1])
    assert all(abs(day.z) < 1 for day in find_anomalies([*rare, *peers]).days)


def test_the_only_day_of_the_only_user_is_not_judged() -> None:
    (day,) = find_anomalies([sample(score=9.0)]).days
    assert day.z == 0


def test_a_user_in_two_roles_has_two_histories() -> None:
    found = find_anomalies([*days("ann", [1.0] * 5, "nurse"), *days("ann", [50.0] * 5, "analyst")])
    assert len(found.standings) == 2
    assert all(abs(day.z) < 1 for day in found.days)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=6), st.sampled_from([1.0, 2.0, 3.0, math.inf]))
def test_a_day_weighs_at_least_its_worst_result_and_at_most_all(listed: list[float], x: float) -> None:
    found = day_score([sample(score=score) for score in listed], x)
    assert max(listed) <= found * (1 + 1e-12)
    assert found <= sum(listed) * (1 + 1e-9)


def test_results_scored_with_different_x_are_refused() -> None:
    other = Scored(**{**vars(sample()), "x": 3.0})
    with pytest.raises(UsageError, match="2 different x"):
        find_anomalies([sample(), other])


@pytest.fixture(scope="module")
def planted() -> Generated:
    return generate_log(np.random.default_rng(11), days=12)


def test_planted_misuse_is_found_better_than_by_counting_rows(planted: Generated) -> None:
    found = find_anomalies(planted.results)
    by_way = {name: measured(planted, found, way) for name, way in WAYS.items()}
    ours = by_way["M, z shrunk"]
    assert ours["AUC"] > 0.9
    assert ours["AUC"] > by_way["rows"]["AUC"] + 0.1
    assert ours["AUC"] > by_way["rows, z"]["AUC"] + 0.1
    assert ours["AUC"] > by_way["M, z unshrunk"]["AUC"] + 0.02
    assert ours["precision"] > 0.5 > by_way["rows"]["precision"]


@settings(max_examples=examples(30))
@given(st.lists(st.integers(0, 5), min_size=1), st.lists(st.integers(0, 5), min_size=1))
def test_auc_counts_pairs(bad: list[int], good: list[int]) -> None:
    pairs = [1.0 if b > g else 0.5 if b == g else 0.0 for b in bad for g in good]
    assert auc(np.array(bad, dtype=float), np.array(good, dtype=float)) == pytest.approx(statistics.mean(pairs))
