"""Large tables: Adult where it lies beside the project, and a state of the paper's size."""

from __future__ import annotations

import csv
from collections import Counter

import pytest
from benchmarks import tables
from benchmarks.measure import SHARED

import discreet
from discreet.releases import feasibility, feasibility_grid
from tests.releases.samples import state_three

ADULT = SHARED / "adult"
LIMITS = [(5, 0.1, None), (10, 0.02, ("sex", "age", "race", "marital-status")), (3, 0.1, ("sex", "age", "education"))]


def rows(name: str) -> list[dict[str, str]]:
    with (ADULT / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=";"))


def paths(column: str) -> dict[str, list[str]]:
    with (ADULT / f"adult_hierarchy_{column}.csv").open(encoding="utf-8") as file:
        return {row[0]: row for row in csv.reader(file, delimiter=";")}


@pytest.mark.slow
@pytest.mark.skipif(
    tables.shared_policy("adult") is None or not (ADULT / "adult_subset.csv").exists(),
    reason="the Adult table does not lie beside the project",
)
@pytest.mark.parametrize(("k", "share", "columns"), LIMITS)
def test_a_tenth_of_adult_beside_all_of_it(k: int, share: float, columns: tuple[str, ...] | None) -> None:
    policy = discreet.Policy.from_dict(tables.shared_policy("adult") or {})
    data, population = (discreet.read(ADULT / name, policy=policy) for name in ("adult_subset.csv", "adult.csv"))
    found = feasibility(data.classes(columns), population.classes(columns), k=k, suppression=share)
    if columns is None:
        assert (found.suppressed, found.classes, found.min_link, found.candidate_classes) == (268, 234, 25, 103)
    trees = {name: paths(name) for name in found.levels}

    def counted(name: str) -> Counter[tuple[str, ...]]:
        return Counter(tuple(trees[one][row[one]][level] for one, level in found.levels.items()) for row in rows(name))

    people, everybody = counted("adult_subset.csv"), counted("adult.csv")
    released = {look for look, size in people.items() if size >= k}
    least = min(everybody[look] for look in released if everybody[look])
    candidates = {look: many for look, many in everybody.items() if look not in released and k <= many < least}
    assert found.min_link == least
    assert (found.candidate_classes, found.candidate_records) == (len(candidates), sum(candidates.values()))
    assert found.candidates_without_subjects == sum(look not in people for look in candidates)
    assert found.max_factor == least / min(candidates.values())
    assert found.close_to_k == sum(10 * people[look] <= 11 * k for look in released)
    assert found.loss == sum(size**2 for size in people.values())


@pytest.mark.slow
def test_a_state_of_the_papers_size_leaves_room_wherever_somebody_may_be_left_out() -> None:
    grid = feasibility_grid(*state_three(3_500_000, 0.01))
    assert len(grid.feasible) == 25
    for found in grid.feasible:
        assert bool(found.candidate_classes) == (found.suppression > 0)
        assert found.uncovered == 0
