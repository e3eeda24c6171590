"""The Adult table, where it lies beside the project: published optima, and every node of its lattice."""

from __future__ import annotations

import math

import pytest
from benchmarks import tables

import discreet
from discreet.anonymity import LOSSES, sweep

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(tables.shared_policy("adult") is None, reason="the Adult table does not lie beside the project"),
]


@pytest.fixture(scope="module")
def adult() -> discreet.Classes:
    classes = tables.shared_classes("adult")
    assert classes is not None
    return classes


def test_the_published_optimum(adult: discreet.Classes) -> None:
    found = discreet.anonymise(adult, k=5, suppression=0.05)
    assert found.loss == pytest.approx(0.2419324, abs=1e-6)
    assert (found.suppressed, found.classes) == (1346, 397)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("share", [0.0, 0.05, 0.1])
def test_the_optimum_equals_the_least_of_all_12960_nodes(adult: discreet.Classes, loss: str, share: float) -> None:
    found = discreet.anonymise(adult, k=5, suppression=share, loss=loss, engine="numpy")
    seen = [one for one in sweep(adult, found.limits, loss=loss, engine="numpy") if one.allowed]
    least = min(one.loss for one in seen)
    assert found.loss == pytest.approx(least, rel=1e-12)
    best = min(one.node for one in seen if math.isclose(one.loss, least, rel_tol=1e-12))
    assert tuple(found.levels.values()) == best
