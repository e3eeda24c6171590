"""The grid says in every cell what `feasibility` says alone, and counts no node twice."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DiscreetError, UsageError
from discreet.kernel import AnyValue, Classes
from discreet.releases import feasibility, feasibility_grid
from tests.examples import examples
from tests.releases.brute import Town
from tests.releases.samples import state_three
from tests.releases.strategies import towns


@settings(deadline=None, max_examples=examples(60))
@given(towns(), st.sampled_from(["dm_star", "loss", "entropy", "aecs"]))
def test_every_cell_is_what_feasibility_says(town: Town, loss: str) -> None:
    people, everybody = town.classes()
    grid = feasibility_grid(people, everybody, ks=(1, 2, 4), suppressions=(0.0, 0.2, 0.5), loss=loss)
    assert len(grid.cells) == 9
    assert grid.counted is not None
    assert grid.counted <= grid.nodes == len(town.data.nodes())
    for cell in grid.cells:
        try:
            alone = feasibility(people, everybody, k=cell.k, suppression=cell.suppression, loss=loss)
        except DiscreetError:
            assert cell.found is None
            assert cell.reason
            continue
        assert cell.found is not None
        assert cell.found.to_dict() == alone.to_dict()


def test_the_grid_of_the_paper_counts_each_node_once() -> None:
    people, everybody = state_three(40_000)
    grid = feasibility_grid(people, everybody)
    assert (grid.ks, grid.suppressions) == ((2, 5, 10, 20, 50), (0.0, 0.02, 0.05, 0.1, 0.15))
    assert grid.counted is not None
    assert grid.counted <= grid.nodes == 60
    assert len(grid.feasible) == 25
    assert json.loads(json.dumps(grid.to_dict())) == grid.to_dict()
    assert grid.at(5, 0.1).found is not None
    more = [grid.at(5, share).found for share in grid.suppressions]
    assert [one.loss for one in more if one] == sorted((one.loss for one in more if one), reverse=True)
    with pytest.raises(UsageError, match="no cell"):
        grid.at(3, 0.1)


def test_tuples_that_do_not_fit_into_one_integer() -> None:
    """Thirteen columns of more than 16 values: 65 bits."""
    rng = np.random.default_rng(3)
    names = [f"q{place}" for place in range(13)]
    base = [[str(value) for value in row] for row in rng.integers(0, 32, (40, 13)).tolist()]
    rules = {name: AnyValue() for name in names[:2]}
    everybody = Classes.of(names, base * 8, rules=rules)
    people = Classes.of(names, base * 3, rules=rules)
    grid = feasibility_grid(people, everybody, ks=(2,), suppressions=(0.0,))
    assert grid.counted is None
    alone = feasibility(people, everybody, k=2, suppression=0.0).to_dict()
    assert {**grid.cells[0].to_dict(), "factors": alone["factors"]} == {**alone, "reason": None}


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"ks": [0]}, "k is a whole number"),
        ({"ks": []}, "empty"),
        ({"suppressions": [1.5]}, "share from 0 to 1"),
        ({"loss": "regret"}, "no loss named"),
    ],
)
def test_nonsense_is_refused(wanted: dict[str, Any], words: str) -> None:
    people = Classes.of(["zip"], [("1",)], [5])
    with pytest.raises(UsageError, match=words):
        feasibility_grid(people, people, **wanted)
