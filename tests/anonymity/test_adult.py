"""The Adult and FARS tables, where they lie beside the project: a published optimum, and every node of their lattices."""

from __future__ import annotations

import math
from itertools import product

import pytest
from benchmarks import tables

import discreet
from discreet.anonymity import LOSSES
from discreet.anonymity.lattice.evaluate import BySize
from discreet.anonymity.lattice.native_engine import library
from discreet.anonymity.lattice.problem import LatticeProblem
from discreet.anonymity.losses import make_loss

pytestmark = pytest.mark.slow
ENGINES = ["numpy", *(["compiled"] if library() is not None else [])]
SHARES = (0.0, 0.02, 0.05, 0.1)


def classes_of(name: str) -> discreet.Classes:
    classes = tables.shared_classes(name)
    if classes is None:
        pytest.skip(f"the table {name} does not lie beside the project")
    return classes


def test_the_published_optimum() -> None:
    found = discreet.anonymise(classes_of("adult"), k=5, suppression=0.05)
    assert found.loss == pytest.approx(0.2419324, abs=1e-6)
    assert (found.suppressed, found.classes) == (1346, 397)


@pytest.mark.parametrize("k", [2, 5, 10])
@pytest.mark.parametrize("name", ["adult", "fars"])
def test_every_optimum_is_the_least_of_all_nodes(name: str, k: int) -> None:
    classes = classes_of(name)
    problem = LatticeProblem.of(classes)
    look = BySize(problem, k=k, engine="numpy")
    outcomes = sorted(map(look, product(*map(range, problem.shape))), key=lambda outcome: outcome.node)
    for loss in LOSSES:
        measure = make_loss(loss, problem, smallest=k, by_size=True)
        few = math.floor(max(SHARES) * problem.people)
        values = [(measure.value(outcome), outcome) for outcome in outcomes if outcome.suppressed <= few]
        for share in SHARES:
            allowed = [(cost, outcome) for cost, outcome in values if outcome.suppressed <= share * problem.people]
            least = min(cost for cost, _ in allowed)
            best = next(outcome for cost, outcome in allowed if math.isclose(cost, least, rel_tol=1e-12))
            for engine in ENGINES:
                found = discreet.anonymise(classes, k=k, suppression=share, loss=loss, engine=engine)
                assert found.loss == pytest.approx(least, rel=1e-12)
                assert (tuple(found.levels.values()), found.suppressed) == (problem.levels(best.node), best.suppressed)
