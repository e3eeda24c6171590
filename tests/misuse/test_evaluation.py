"""The score against experts who rank tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DataError
from discreet.misuse.evaluation import Ranking, evaluate, mean_ranks, read_rankings

SCORES = {"a": 3.0, "b": 2.0, "c": 1.0, "d": 0.5}


def test_the_same_order_is_one_and_the_opposite_minus_one() -> None:
    same, opposite = Ranking("ann", {"a": 1, "b": 2, "c": 3, "d": 4}), Ranking("ben", {"a": 4, "b": 3, "c": 2, "d": 1})
    found = evaluate(SCORES, [same, opposite])
    assert [one.tau for one in found.experts] == [1.0, -1.0]
    assert [one.others for one in found.experts] == [-1.0, -1.0]
    assert found.mean == 0
    assert found.overall is None, "together they order nothing"


@given(st.permutations(list(SCORES)))
def test_tau_counts_pairs_in_order(order: list[str]) -> None:
    ranks = {table: place + 1 for place, table in enumerate(order)}
    pairs = [(one, other) for one in SCORES for other in SCORES if SCORES[one] > SCORES[other]]
    agreeing = sum(ranks[one] < ranks[other] for one, other in pairs)
    tau = (2 * agreeing - len(pairs)) / len(pairs)
    assert evaluate(SCORES, [Ranking("ann", ranks)]).overall == pytest.approx(tau)


def test_ranks_are_averaged_over_those_who_ranked_a_table() -> None:
    ranks = mean_ranks([Ranking("ann", {"a": 1, "b": 2}), Ranking("ben", {"a": 3})])
    assert ranks == {"a": 2, "b": 2}


def test_rankings_are_read_from_a_csv(tmp_path: Path) -> None:
    file = tmp_path / "ranks.csv"
    file.write_text("expert,table,rank,seconds\nann,a,1,30\nann,b,2,12\nben,a,1,\n")
    ann, ben = read_rankings(file)
    assert (ann.expert, ann.ranks, ann.seconds) == ("ann", {"a": 1.0, "b": 2.0}, 42)
    assert ben.seconds is None


@pytest.mark.parametrize(
    "text", ["a,b\n1,2\n", "expert,table,rank\nann,a,first\n", "expert,table,rank\nann,a,1\nann,a,2\n"]
)
def test_what_is_no_list_of_rankings_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "ranks.csv"
    file.write_text(text)
    with pytest.raises(DataError):
        read_rankings(file)


@pytest.mark.parametrize(
    "rankings", [[], [Ranking("ann", {"a": 1, "b": 2})], [Ranking("ann", {"x": 1, "a": 2, "b": 3})]]
)
def test_too_little_to_compare_is_refused(rankings: list[Ranking]) -> None:
    with pytest.raises(DataError):
        evaluate(SCORES, rankings)
