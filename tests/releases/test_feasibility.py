"""`feasibility`: the optimum is the right one, and every figure at it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet.anonymity import anonymise
from discreet.errors import DiscreetError, PopulationError, UsageError
from discreet.kernel import AnyValue, Classes, Mask
from discreet.releases import feasibility, feasibility_grid
from discreet.releases.feasibility_samples import feasibility_samples
from tests.anonymity.brute import best
from tests.examples import examples
from tests.releases.brute import Town, expected, limit
from tests.releases.samples import state_three
from tests.releases.strategies import towns
from tests.releases.test_population_link import same

POLICY = {"columns": {"zip": {"role": "quasi", "hierarchy": {"mask": 2}}, "ill": {"role": "sensitive"}}}
ROWS = [*["11"] * 6, *["12"] * 5, "21"]
EVERYBODY = [*["11"] * 60, *["12"] * 40, *["21"] * 9, *["22"] * 3]


@settings(deadline=None, max_examples=examples(100))
@given(towns(), st.integers(1, 5), st.sampled_from([0.0, 0.1, 0.29, 0.5]), st.sampled_from(["dm_star", "loss"]))
def test_the_optimum_and_its_figures_agree_with_plain_counting(
    town: Town, k: int, suppression: float, loss: str
) -> None:
    people, everybody = town.classes()
    optimum = best(town.data, limit=limit(town.data, suppression), loss=loss, bad=lambda group: len(group) < k)
    if optimum is None or k > len(town.data.people):
        with pytest.raises(UsageError):
            feasibility(people, everybody, k=k, suppression=suppression, loss=loss)
        return
    cost, node = optimum
    wanted = expected(town, node, k)
    if wanted.refused:
        with pytest.raises(PopulationError):
            feasibility(people, everybody, k=k, suppression=suppression, loss=loss)
        return
    found = feasibility(people, everybody, k=k, suppression=suppression, loss=loss)
    assert tuple(found.levels.values()) == node
    assert found.loss == pytest.approx(cost)
    same(found, wanted)


def written(folder: Path) -> tuple[Path, Path, Path]:
    """Data as rows, the population as rows and as counts."""
    data, rows, counts = folder / "data.csv", folder / "rows.csv", folder / "counts.csv"
    data.write_text("zip,ill\n" + "".join(f"{code},flu\n" for code in ROWS), encoding="utf-8")
    rows.write_text("zip\n" + "".join(f"{code}\n" for code in EVERYBODY), encoding="utf-8")
    counts.write_text("zip,people\n11,60\n12,40\n21,9\n22,3\n", encoding="utf-8")
    return data, rows, counts


def test_rows_counts_tables_and_classes_say_the_same(tmp_path: Path) -> None:
    data, rows, counts = written(tmp_path)
    policy = discreet.Policy.from_dict(POLICY)
    by_count = discreet.Policy.from_dict({**POLICY, "population": {"count": "people"}})
    table = discreet.read(data, policy=policy)
    populations: list[discreet.Table | Classes] = [
        discreet.read(rows, policy=policy.for_population()),
        discreet.read(rows),
        discreet.read(counts, policy=by_count.for_population()),
        discreet.read(rows, policy=policy.for_population()).classes(),
    ]
    found = [feasibility(table, population, k=3, suppression=0.1).to_dict() for population in populations]
    found += [feasibility(table.classes(), populations[0], k=3).to_dict()]
    assert all(one == found[0] for one in found)
    assert found[0]["levels"] == {"zip": 0}
    assert (found[0]["min_link"], found[0]["candidate_classes"], found[0]["candidates_without_subjects"]) == (40, 2, 1)
    assert found[0]["factors"] == [40 / 3, 40 / 9]
    assert json.loads(json.dumps(found[0])) == found[0]


def test_a_population_already_counted_without_rules_is_counted_again_by_the_datas(tmp_path: Path) -> None:
    data, rows, _ = written(tmp_path)
    bare = discreet.read(rows)
    bare.classes(["zip"])
    found = feasibility(discreet.read(data, policy=discreet.Policy.from_dict(POLICY)), bare, k=6, suppression=0.0)
    assert found.levels == {"zip": 2}


def test_values_unknown_to_a_hierarchy_are_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "zip.csv").write_text("11;*\n12;*\n21;*\n", encoding="utf-8")
    data, rows, _ = written(tmp_path)
    policy = discreet.Policy.from_dict({"columns": {"zip": {"role": "quasi", "hierarchy": "zip.csv"}}}, folder=tmp_path)
    with pytest.raises(discreet.DiscreetError, match="1 of 4 distinct values") as caught:
        feasibility(discreet.read(data, policy=policy), discreet.read(rows, policy=policy))
    assert "22" not in str(caught.value)


def test_a_fraction_or_a_list_is_not_a_table() -> None:
    with pytest.raises(UsageError, match="data is a table"):
        feasibility([1, 2], Classes.of(["zip"], [("1",)]))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="population is a table"):
        feasibility(Classes.of(["zip"], [("1",)]), 3_500_000)  # type: ignore[arg-type]


def test_words_and_notebooks_hold_no_value_of_a_person() -> None:
    rules = {"zip": Mask(2)}
    people = Classes.of(["zip"], [(code,) for code in ROWS], rules=rules)
    everybody = Classes.of(["zip"], [(code,) for code in EVERYBODY], rules=rules)
    found = feasibility(people, everybody, k=3)
    assert "at least 40 look-alikes" in found.words()
    assert "13.33 times" in found.words()
    assert "Largest risk factor" in found._repr_html_()
    none = feasibility(people, people, k=3)
    assert "no room for decoys" in none.words()
    assert none.max_factor == 0.0
    nobody = feasibility(people, everybody, k=7, suppression=1.0)
    assert (nobody.classes, nobody.min_link, nobody.candidate_classes) == (0, 0, 0)
    assert "Nobody would be released" in nobody.words()


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


def test_tuples_of_many_columns() -> None:
    """Thirteen columns of more than 16 values: more than one integer holds."""
    rng = np.random.default_rng(3)
    names = [f"q{place}" for place in range(13)]
    base = [[str(value) for value in row] for row in rng.integers(0, 32, (40, 13)).tolist()]
    rules = {name: AnyValue() for name in names[:2]}
    everybody = Classes.of(names, base * 8, rules=rules)
    people = Classes.of(names, base * 3, rules=rules)
    grid = feasibility_grid(people, everybody, ks=(2,), suppressions=(0.0,))
    assert grid.counted
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


@settings(deadline=None, max_examples=examples(60))
@given(
    people=st.lists(st.tuples(st.sampled_from("FM"), st.integers(20, 29)), min_size=8, max_size=40),
    others=st.lists(st.tuples(st.sampled_from("FM"), st.integers(18, 34)), max_size=60),
    k=st.integers(1, 4),
    relaxed=st.booleans(),
)
def test_boxes_are_linked_as_algorithm_1_says(
    people: list[tuple[str, int]], others: list[tuple[str, int]], k: int, relaxed: bool
) -> None:
    """Of Mondrian's boxes: least link count, and classes of people in no box, by looking at everybody."""
    rules = {"sex": AnyValue()}
    data, everybody = (
        Classes.of(["sex", "age"], [(sex, str(age)) for sex, age in rows], rules=rules)
        for rows in (people, people + others)
    )
    search = "mondrian-relaxed" if relaxed else "mondrian"
    found = feasibility(data, everybody, k, 0.0, search=search)
    boxes = list(anonymise(data, k=k, suppression=0.0, search=search).published.tuples())

    def inside(box: tuple[str, str], person: tuple[str, int]) -> bool:
        low, high = map(int, box[1].strip("[]").split(",")) if box[1].startswith("[") else (int(box[1]), int(box[1]))
        return box[0] in ("*", person[0]) and low <= person[1] <= high

    links = [sum(inside(box, person) for person in people + others) for box in boxes]
    outside = Counter(person for person in people + others if not any(inside(box, person) for box in boxes))
    candidates = [size for size in outside.values() if k <= size < min(links)]
    assert (found.min_link, found.classes, found.levels) == (min(links), len(boxes), {})
    assert (found.candidate_classes, found.candidate_records) == (len(candidates), sum(candidates))
    assert sorted(found.factors) == sorted(min(links) / size for size in candidates)


def test_a_grid_and_samples_of_boxes() -> None:
    everybody = Classes.of(["age"], [(str(age),) for age in range(20, 60)], [30] * 39 + [4])
    data = everybody.keep(np.arange(40) < 39)
    grid = feasibility_grid(data, everybody, ks=[2, 2000], suppressions=[0.0], search="mondrian")
    assert grid.cells[0].found is not None
    assert grid.cells[0].found.candidate_classes == 1
    assert grid.cells[1].found is None
    sampled = feasibility_samples(
        everybody, samples=2, fraction=0.2, rng=np.random.default_rng(1), ks=[5], suppressions=[0.0], search="mondrian"
    )
    assert sampled.at(5, 0.0).feasible == 2
