"""AnonTokens: the printed tables, coalitions of every size, and the generated states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernel import Classes
from discreet.reference import anontokens
from discreet.reference.anontokens import only_in_one
from discreet.reference.anontokens_numbers import KS, SUPPRESSIONS, TABLE_4, cell, printed_table_5
from discreet.reference.states import STATES
from discreet.releases.bait import plan_bait
from discreet.releases.feasibility_samples import MeanSpread
from discreet.releases.population_link import Linked

LINKED = Linked.at_node(
    Classes.of(["zip"], [(str(place),) for place in range(60)], [5] * 60),
    Classes.of(["zip"], [(str(place),) for place in range(120)], [50] * 60 + [20] * 60),
    [0],
    k=5,
)
"""Sixty released classes and as many that can be decoys."""


@given(st.integers(2, 6), st.integers(1, 10), st.sampled_from([0.0, 0.2, 0.5, 1.0]), st.integers(0, 99), st.data())
def test_a_class_of_one_copy_is_a_decoy_as_often_in_coalitions_of_every_size(
    copies: int, decoys: int, budget: float, seed: int, data: st.DataObject
) -> None:
    """In copies as the engine plans them, for every coalition of two and more."""
    names = [f"r{place}" for place in range(copies)]
    rng = np.random.default_rng(seed)
    plan = plan_bait(LINKED, names, rng=rng, decoys=decoys, removal="random", budget=budget)
    coalition = data.draw(st.lists(st.sampled_from(names), min_size=2, max_size=copies, unique=True))
    alone = len(plan.copies[0].alone)
    found, single = only_in_one([plan.seen_by(name) for name in coalition])
    assert (found, single) == (decoys * len(coalition), (decoys + alone) * len(coalition))


def test_the_printed_tables_are_whole() -> None:
    assert len(printed_table_5()) == 3 * len(KS) * len(SUPPRESSIONS)
    assert printed_table_5()[1, 5, 10] == {"classes": (9027, 35), "close_to_k": (1845, 35)}
    assert all(key in printed_table_5() for key in TABLE_4)


def test_the_worked_example_of_recipients() -> None:
    found = {item.id: item for item in anontokens.scalability((), 1)}
    assert found["anontokens.kd"].ours == found["anontokens.kd"].printed == 184
    assert found["anontokens.removal"].verdict == found["anontokens.budget"].verdict == "reproduces"


def test_examples_are_the_text_and_its_contradictions_are_named() -> None:
    found = {item.id: item for item in anontokens.examples()}
    assert {name for name, item in found.items() if item.verdict == "differs"} == {
        "anontokens.table1.intervals",
        "anontokens.sameorigin.labels",
    }
    assert found["anontokens.table3.zip"].printed[-1] == "****"
    assert found["anontokens.table3.zip"].ours[-1] == "*****"
    assert "stars" in found["anontokens.table3.zip"].why


def test_a_cell_reproduces_within_the_printed_deviation_only() -> None:
    assert cell("a", "b", "c", (100, 5), MeanSpread(104, 1)).verdict == "reproduces"
    assert cell("a", "b", "c", (100, 5), MeanSpread(106, 1)).verdict == "differs"
    assert cell("a", "b", "c", (71, 82), MeanSpread(0, 0)).verdict == "differs", (
        "a deviation above the mean allows less"
    )
    assert cell("a", "b", "c", None, MeanSpread(106, 1)).printed is None


def test_a_generated_state_has_the_printed_people_and_about_the_printed_classes() -> None:
    for state in STATES[1:]:
        counts = state.counts(seed=1)
        assert counts.sum() == state.people
        assert (counts > 0).sum() == pytest.approx(state.classes, rel=0.02)
        labels = state.labels(seed=1)
        assert len(set(labels)) == state.zips
        assert len({label[:3] for label in labels}) == state.areas


def test_algorithm_1_by_hand() -> None:
    """Fifty people are linked to each released class: classes of 20 are candidates, and of 4 or 50 none would be."""
    assert anontokens.algorithm_1(LINKED) == {(str(place),) for place in range(60, 120)}
    everybody = Classes.of(["zip"], [("1",), ("2",), ("3",), ("4",), ("5",)], [60, 40, 40, 9, 2])
    linked = Linked.at_node(Classes.of(["zip"], [("1",), ("2",)], [6, 5]), everybody, [0], k=3)
    assert anontokens.algorithm_1(linked) == {("4",)} == {*linked.candidates.classes.tuples()}


def test_a_small_state_has_the_paper_s_hierarchies() -> None:
    small = replace(STATES[0], people=20_000, zips=40, areas=4)
    classes = small.classes_of(small.counts())
    assert classes.records == 20_000
    assert dict(zip(classes.names, classes.heights, strict=True)) == {"zip": 6, "gender": 2, "yob": 5, "race": 2}


@pytest.mark.slow
def test_every_id_is_there() -> None:
    found = anontokens.reproduce(quick=True)
    ids = {item.id for item in found.items}
    assert {"anontokens.fig2", "anontokens.fig3", "anontokens.kd", "anontokens.table2.state2.eq"} <= ids
    assert all(found.item(f"anontokens.collusion.{colluders}").verdict == "reproduces" for colluders in range(2, 7))
    assert found.item("anontokens.fraction").verdict == "reproduces"
    assert found.item("anontokens.fig1.c").ours == 0
    assert found.item("anontokens.bias.state3").ours["candidates"]["near"] > 0
    for state in (1, 2, 3):
        for k in KS:
            for share in SUPPRESSIONS:
                for table, columns in (
                    (4, ("min_link", "candidate_classes", "candidate_records")),
                    (5, ("classes", "close_to_k")),
                ):
                    assert {f"anontokens.table{table}.state{state}.k{k}.s{share}.{column}" for column in columns} <= ids
