"""Giving pairs out and taking them back: limits follow the pairs, and what was seen stays charged."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BudgetExhausted, NotThere, UsageError
from discreet.ledger import Ledger
from discreet.linkage import Display, ProjectFolder
from discreet.linkage.project import Initial, Project, find_project, list_projects, register_project
from discreet.linkage.review import reveal
from discreet.linkage.review.assignments import Limits, assign, bring_pairs, deal, rebalance, withdraw
from discreet.linkage.review.decisions import decide
from discreet.linkage.review.views import Gauge
from discreet.store.tables.linkage import ASSIGNMENT, CELL, WORKER
from tests.linkage.review.test_reveal import consistent, numbers_of, rows
from tests.linkage.worlds import PAIRS, registered


def loads(ledger: Ledger) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows(ledger, ASSIGNMENT):
        found[row.worker] = found.get(row.worker, 0) + (row.state != "withdrawn")
    return found


def test_every_pair_is_seen_by_as_many_as_asked(ledger: Ledger, folder: Path) -> None:
    project = registered(ledger, folder)
    assert bring_pairs(ledger, project) == 0  # they are there already
    done = assign(ledger, project, ["ann", "ben", "eve"], actor="manager", overlap=2, rng=random.Random(1))
    assert sum(done.pairs.values()) == 2 * len(PAIRS)
    assert done.left_over == 0
    again = assign(ledger, project, ["ann", "ben", "eve"], actor="manager", overlap=2, rng=random.Random(1))
    assert sum(again.pairs.values()) == 0
    assert len({(row.pair, row.worker) for row in rows(ledger, ASSIGNMENT)}) == 2 * len(PAIRS)
    more = assign(ledger, project, ["ann", "ben", "eve"], actor="manager", overlap=3, rng=random.Random(1))
    assert sum(more.pairs.values()) == len(PAIRS)


def test_nobody_gets_more_pairs_than_she_may(ledger: Ledger, folder: Path) -> None:
    project = registered(ledger, folder)
    done = assign(ledger, project, ["ann", "ben"], actor="manager", overlap=2, most=4, rng=random.Random(1))
    assert dict(done.pairs) == {"ann": 4, "ben": 4}
    assert done.left_over == 2 * len(PAIRS) - 8


@pytest.mark.parametrize("initial", ["masked", "minimum", "moderate", "full"])
def test_what_is_open_at_first_is_charged_at_once(ledger: Ledger, folder: Path, initial: Initial) -> None:
    project = registered(ledger, folder, initial=initial)
    assign(ledger, project, ["ann"], actor="manager", rng=random.Random(1))
    home, numbers = ProjectFolder.open(folder), numbers_of(ledger, project)
    display = Display(home.identifying(), project.kinds, numbers.values(), swaps=[("given", "family")])
    for place, number in enumerate(numbers):
        for cell in reveal.view(ledger, project, "ann", number).cells:
            expected = expected_mode(initial, display, place, cell.attribute)
            assert cell.mode == expected
            if expected != "masked":
                display = display.open(place, cell.attribute, expected)
    used = reveal.view(ledger, project, "ann", 1).risk.used
    assert 0 <= used - display.score <= display.meter.slack
    assert consistent(ledger, project, "ann")
    assert {row.reason for row in rows(ledger, CELL)} <= {"initial"}


def expected_mode(initial: str, display: Display, place: int, name: str) -> str:
    cell = display.cell(place, name)
    if initial == "masked" or not cell.hides or (cell.equal and initial != "full"):
        return "masked"
    if initial == "full":
        return "full"
    if cell.partial is not None:
        return "partial"
    return "full" if initial == "moderate" else "masked"


@pytest.mark.parametrize(
    ("settings", "limits"),
    [
        ({}, Limits.of("0.1")),
        ({}, Limits.of(None, "0.1")),
        ({"risk_limit": "0.1"}, Limits.of()),
        ({"characters_limit": "0.1"}, Limits.of()),
    ],
)
def test_an_initial_display_that_does_not_fit_is_refused(
    ledger: Ledger, folder: Path, settings: dict[str, str], limits: Limits
) -> None:
    project = registered(ledger, folder, initial="full", **settings)
    with pytest.raises(BudgetExhausted, match="from the start"):
        assign(ledger, project, ["ann"], actor="manager", limits=limits, rng=random.Random(1))
    assert rows(ledger, ASSIGNMENT) == rows(ledger, CELL) == []
    last = next(iter(ledger.entries(last=1)))
    assert (last.event, last.outcome) == ("linkage.assigned", "refused")


def test_kappa_keeps_cells_shut_at_first(ledger: Ledger, folder: Path) -> None:
    project = registered(ledger, folder, initial="full", kappa=2)
    assign(ledger, project, ["ann"], actor="manager", rng=random.Random(1))
    index = Display(
        ProjectFolder.open(folder).identifying(), project.kinds, numbers_of(ledger, project).values(),
        swaps=[("given", "family")],
    )  # fmt: skip
    for place, number in enumerate(numbers_of(ledger, project)):
        for cell in reveal.view(ledger, project, "ann", number).cells:
            if cell.mode != "masked":
                index = index.open(place, cell.attribute, cell.mode)
    assert min(index.anonymity) >= 2
    assert rows(ledger, CELL)


def test_pairs_that_nobody_saw_are_taken_back_for_nothing(ledger: Ledger, project: Project) -> None:
    reveal.reveal(ledger, project, "ann", 1, "sex", key="a")
    decide(ledger.store, project, "ann", 2, 6)
    before = ledger.budget(project.budget("ann"))
    assert withdraw(ledger, project, "ann", actor="manager") == len(PAIRS) - 1
    after = ledger.budget(project.budget("ann"))
    row = next(row for row in rows(ledger, WORKER) if row.worker == "ann")
    assert row.displays == 2  # the one decided, and the one of which she saw something
    assert after.spent == before.spent > 0
    assert after.limit == max(project.meter(2).allowance("0.5"), after.spent)
    with pytest.raises(NotThere):
        reveal.view(ledger, project, "ann", 1)
    assert reveal.view(ledger, project, "ann", 2).risk == Gauge(project.meter(2).spent(after.spent), Fraction(1, 2))
    assert withdraw(ledger, project, "ann", actor="manager") == 0
    assert consistent(ledger, project, "ann", "ben")


def test_what_is_withdrawn_goes_to_somebody_else(ledger: Ledger, project: Project) -> None:
    withdraw(ledger, project, "ann", actor="manager")
    done = assign(ledger, project, ["ann", "ben", "eve"], actor="manager", overlap=2, rng=random.Random(1))
    assert dict(done.pairs) == {"ann": 0, "ben": 0, "eve": len(PAIRS)}


def test_rebalancing_leaves_what_was_begun(ledger: Ledger, folder: Path) -> None:
    project = registered(ledger, folder)
    assign(ledger, project, ["ann"], actor="manager", rng=random.Random(1))
    reveal.reveal(ledger, project, "ann", 1, "sex", key="a")
    decide(ledger.store, project, "ann", 2, 1)
    done = rebalance(ledger, project, ["ben", "eve"], actor="manager", rng=random.Random(1))
    assert sum(done.pairs.values()) == len(PAIRS) - 2
    assert loads(ledger)["ann"] == 2
    assert abs(loads(ledger)["ben"] - loads(ledger)["eve"]) <= 1


def test_projects_are_found_by_name(ledger: Ledger, folder: Path) -> None:
    project = register_project(ledger, folder, actor="manager", name="clinic x registry", risk_limit="0.2")
    assert find_project(ledger.store, "clinic x registry") == project
    assert list_projects(ledger.store) == [project]
    assert project.to_dict()["risk_limit"] == "1/5"
    for name in ("clinic x registry", "../etc", "", "a" * 81):
        with pytest.raises(UsageError):
            register_project(ledger, folder, actor="manager", name=name)
    with pytest.raises(NotThere):
        find_project(ledger.store, "other")
    for wrong in ({"initial": "bright"}, {"kappa": 0}, {"risk_limit": 2}):
        with pytest.raises(UsageError):
            register_project(ledger, folder, actor="manager", name="b", **wrong)  # type: ignore[arg-type]


@given(
    pairs=st.integers(0, 60), people=st.integers(1, 6), overlap=st.integers(1, 6), most=st.none() | st.integers(0, 30),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_a_deal_is_fair_and_complete(pairs: int, people: int, overlap: int, most: int | None, seed: int) -> None:
    workers = [f"w{number}" for number in range(people)]
    overlap = min(overlap, people)
    dealt = deal(range(pairs), workers, overlap=overlap, most=most, rng=random.Random(seed))
    looks = Counter(pair for mine in dealt.pairs.values() for pair in mine)
    assert sum(looks.values()) + dealt.left_over == pairs * overlap
    assert all(count <= overlap for count in looks.values())
    assert all(len(set(mine)) == len(mine) for mine in dealt.pairs.values())
    sizes = [len(mine) for mine in dealt.pairs.values()]
    assert max(sizes) - min(sizes) <= 1
    assert most is None or max(sizes) <= most
    if most is None:
        assert dealt.left_over == 0


def test_everybody_has_an_order_of_her_own() -> None:
    dealt = deal(range(50), ["ann", "ben"], overlap=2, rng=random.Random(1))
    assert sorted(dealt.pairs["ann"]) == sorted(dealt.pairs["ben"]) == list(range(50))
    assert dealt.pairs["ann"] != dealt.pairs["ben"]
    assert list(dealt.pairs["ann"]) != sorted(dealt.pairs["ann"])


def test_who_has_a_pair_counts_and_who_had_it_does_not_get_it_again() -> None:
    dealt = deal([1, 2], ["ann", "ben", "eve"], overlap=2, had={1: ["ann"]}, seen_by={1: ["ben"]}, rng=random.Random(1))
    assert sorted(worker for worker, mine in dealt.pairs.items() if 1 in mine) == ["eve"]
    assert sum(2 in mine for mine in dealt.pairs.values()) == 2


@pytest.mark.parametrize(("workers", "overlap"), [([], 1), (["ann", "ann"], 1), (["ann"], 2), (["ann"], 0)])
def test_what_cannot_be_dealt_is_refused(workers: list[str], overlap: int) -> None:
    with pytest.raises(UsageError):
        deal([1], workers, overlap=overlap, rng=random.Random(1))


def test_managers_who_assign_at_the_same_time_give_each_pair_once(ledger: Ledger, folder: Path) -> None:
    """Eight at once, each to people of their own choice: no pair has more reviewers than asked, and budgets follow."""
    project = registered(ledger, folder)
    done: list[int] = []

    def one(place: int) -> None:
        given = assign(ledger, project, [f"ann{place % 3}", f"ben{place}"], actor="manager", overlap=1)
        done.append(sum(given.pairs.values()))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(8)))
    held = Counter(row.pair for row in rows(ledger, ASSIGNMENT))
    assert set(held.values()) == {1}
    assert sum(done) == len(held) == len(PAIRS)
    assert consistent(ledger, project)


def test_nobody_gets_pairs_if_they_do_not_fit_for_one(ledger: Ledger, folder: Path) -> None:
    project = registered(ledger, folder, initial="full")
    assign(ledger, project, ["zoe"], actor="manager", most=1, rng=random.Random(1))
    before = rows(ledger, ASSIGNMENT)
    with pytest.raises(BudgetExhausted):
        assign(ledger, project, ["ann", "zoe"], actor="manager", overlap=2, limits=Limits.of("0.0001"))
    assert rows(ledger, ASSIGNMENT) == before
