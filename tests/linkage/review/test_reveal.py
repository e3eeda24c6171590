"""The one door: what it shows, what it charges, and what it refuses."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import BudgetExhausted, KeyReused, NotThere, Outdated, Refused, UsageError
from discreet.kernel import parts_up
from discreet.ledger import Ledger
from discreet.linkage import Display, ProjectFolder
from discreet.linkage.masking.kapr import PARTS
from discreet.linkage.project import Project, close_project
from discreet.linkage.review import reveal as door
from discreet.linkage.review.assignments import Limits, assign, records_of, withdraw
from discreet.store.tables.linkage import ASSIGNMENT, CELL, PROJECT, WORKER
from tests.linkage.worlds import PAIRS, registered


def rows(ledger: Ledger, table: Any) -> list[Any]:
    with ledger.store.reading() as connection:
        return list(connection.execute(table.select()).all())


def numbers_of(ledger: Ledger, project: Project) -> dict[int, tuple[int, int]]:
    with ledger.store.reading() as connection:
        return records_of(connection, project)


def owed(ledger: Ledger, worker: str) -> Fraction:
    """What the pairs of a reviewer cost as they stand, in the parts of her budget."""
    held = [row for row in rows(ledger, ASSIGNMENT) if row.worker == worker]
    return Fraction(sum(parts_up(Fraction(row.contribution), PARTS) for row in held), PARTS)


def consistent(ledger: Ledger, project: Project, *workers: str) -> bool:
    """Whether budgets, counters and open cells say the same of every reviewer and of the project."""
    whole = rows(ledger, PROJECT)[0]
    people = {row.worker: row for row in rows(ledger, WORKER)}
    spent = {worker: ledger.budget(project.budget(worker)).spent for worker in workers}
    shown = {
        worker: sum(row.characters_shown for row in rows(ledger, ASSIGNMENT) if row.worker == worker)
        for worker in workers
    }
    return (
        all(spent[worker] == owed(ledger, worker) for worker in workers)
        and all(shown[worker] == people[worker].characters_shown for worker in workers)
        and Fraction(whole.risk_spent, PARTS) == sum(spent.values())
        and whole.characters_shown == sum(shown.values())
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("kappa", "strict"), [(1, False), (2, False), (1, True)])
def test_after_any_reveals_the_budget_is_the_score_of_the_display(
    local: Ledger, folder: Path, seed: int, kappa: int, strict: bool
) -> None:
    project = registered(local, folder, kappa=kappa, strict=strict)
    assign(local, project, ["ann"], actor="manager", rng=random.Random(seed))
    numbers, rng = numbers_of(local, project), random.Random(seed)
    home = ProjectFolder.open(folder)
    display = Display(
        home.identifying(), project.kinds, numbers.values(), kappa=kappa, strict=strict,
        swaps=[("given", "family")], names=("given", "family"),
    )  # fmt: skip
    place = {number: at for at, number in enumerate(numbers)}
    for turn in range(25):
        number, name = rng.choice(list(numbers)), rng.choice(project.attributes)
        seen = door.view(local, project, "ann", number)
        price, mode = seen.cell(name).next, display.next_mode(place[number], name)
        try:
            shown = door.reveal(local, project, "ann", number, name, key=f"k{turn}", seen=seen.version)
        except Refused:
            assert price is not None
            assert mode is not None
            assert price.refused == "kappa"
            with pytest.raises(Refused):
                display.open(place[number], name, mode)
            continue
        if price is not None and mode is not None:
            assert price.mode == mode
            assert price.risk >= display.price(place[number], name)  # what is quoted is the most it can take
            assert price.characters >= 0
            display = display.open(place[number], name, mode)
        for cell in shown.cells:
            sized = kappa == 1 and not strict and "equal" not in [mark.name for mark in cell.marks]
            if cell.mode == "full" or sized:
                assert tuple(row.text for row in cell.rows) == display.text(place[number], cell.attribute)
    exact = [Fraction(row.contribution) for row in rows(local, ASSIGNMENT)]
    assert display.meter.score(exact) == (display.strict_score if strict else display.score)
    score = display.meter.spent(local.budget(project.budget("ann")).spent)
    assert 0 <= score - display.meter.score(exact) <= display.meter.slack
    assert consistent(local, project, "ann")


def test_a_click_opens_one_step_of_both_values(ledger: Ledger, project: Project) -> None:
    number = find(ledger, project, lambda view: "date-swap" in [mark.name for mark in view.cell("born").marks])
    first = door.view(ledger, project, "ann", number)
    assert [row.text for row in first.cell("born").rows] == ["****-*@-*&", "****-*&-*@"]
    second = door.reveal(ledger, project, "ann", number, "born", key="a", seen=first.version)
    assert second.cell("born").mode == "partial"
    assert {row.text for row in second.cell("born").rows} == {"****-*8-*9", "****-*9-*8"}
    third = door.reveal(ledger, project, "ann", number, "born", key="b", seen=second.version)
    assert {row.text for row in third.cell("born").rows} == {"1964-08-09", "1964-09-08"}
    assert third.cell("born").next is None
    assert door.reveal(ledger, project, "ann", number, "born", key="c") == third
    assert door.view(ledger, project, "ben", number).cells == first.cells  # nobody sees by another's eyes


def test_exchanged_names_open_together_and_once(ledger: Ledger, project: Project) -> None:
    number = find(ledger, project, lambda view: view.cell("given").together is not None)
    shown = door.reveal(ledger, project, "ann", number, "family", key="a")
    assert shown.cell("given").mode == shown.cell("family").mode == "full"
    assert shown.cell("given").next is None
    assert len(rows(ledger, CELL)) == 2
    assert [entry.details["mode"] for entry in ledger.entries(event="linkage.revealed")] == ["full"]


def test_the_same_key_again_gives_the_same_answer_and_costs_nothing(ledger: Ledger, project: Project) -> None:
    first = door.reveal(ledger, project, "ann", 1, "sex", key="a")
    spent = ledger.budget(project.budget("ann")).spent
    assert door.reveal(ledger, project, "ann", 1, "sex", key="a", seen=0) == first
    assert door.reveal(ledger, project, "ben", 1, "sex", key="a").cell("sex").mode == "full"  # keys are one's own
    with pytest.raises(KeyReused):
        door.reveal(ledger, project, "ann", 1, "born", key="a")
    with pytest.raises(KeyReused):
        door.reveal(ledger, project, "ann", 2, "sex", key="a")
    assert ledger.budget(project.budget("ann")).spent == spent
    assert consistent(ledger, project, "ann", "ben")


def test_a_second_window_is_told_to_look_again(ledger: Ledger, project: Project) -> None:
    seen = door.view(ledger, project, "ann", 1)
    door.reveal(ledger, project, "ann", 1, "number", key="a", seen=seen.version)
    spent = ledger.budget(project.budget("ann")).spent
    for name in ("number", "born"):
        with pytest.raises(Outdated, match="nothing was opened"):
            door.reveal(ledger, project, "ann", 1, name, key=f"b-{name}", seen=seen.version)
    assert ledger.budget(project.budget("ann")).spent == spent


def test_a_pair_of_somebody_else_is_not_there(ledger: Ledger, folder: Path) -> None:
    project = registered(ledger, folder)
    assign(ledger, project, ["ann", "ben"], actor="manager", rng=random.Random(1))
    mine = {row.pair for row in rows(ledger, ASSIGNMENT) if row.worker == "ann"}
    other = next(number for number in numbers_of(ledger, project) if number not in mine)
    said = set()
    for number in (other, 10_000, -1):
        for ask in (door.view, lambda *words: door.reveal(*words, "sex", key="k")):
            with pytest.raises(NotThere) as caught:
                ask(ledger, project, "ann", number)
            said.add(str(caught.value))
    assert len(said) == 1
    with pytest.raises(NotThere):
        door.view(ledger, project, "eve", other)
    assert list(ledger.entries(event="linkage.revealed")) == []
    withdraw(ledger, project, "ann", actor="manager")
    with pytest.raises(NotThere):
        door.view(ledger, project, "ann", min(mine))


def test_there_is_no_such_attribute(ledger: Ledger, project: Project) -> None:
    with pytest.raises(UsageError, match="No attribute 'salary'"):
        door.reveal(ledger, project, "ann", 1, "salary", key="a")


def exhausted(ledger: Ledger, project: Project, worker: str = "ann") -> tuple[str, Exception]:
    """Open everything until a step is refused; gives why by the ledger, and the error.

    What the view says before holds: a step that it calls refused is, and what it quotes is enough.
    """
    for turn, (number, name) in enumerate((n, a) for n in numbers_of(ledger, project) for a in project.attributes * 2):
        price = door.view(ledger, project, worker, number).cell(name).next
        if price is None:
            continue
        try:
            door.reveal(ledger, project, worker, number, name, key=f"{worker}-{turn}")
        except Refused:
            error = refused(ledger, project, worker, number, name)
            reason = str(next(iter(ledger.entries(last=1))).details.get("reason", "risk"))
            assert price.refused in (None, reason)
            return reason, error
        assert price.refused is None
    raise AssertionError


def refused(ledger: Ledger, project: Project, worker: str, number: int, name: str) -> Exception:
    """The refusal of a click, which is the same when it is repeated, and an entry."""
    said = []
    for _ in range(2):
        with pytest.raises(Refused) as caught:
            door.reveal(ledger, project, worker, number, name, key="refused")
        said.append(caught.value)
    entry = next(iter(ledger.entries(last=1)))
    assert (entry.event, entry.outcome) == ("linkage.revealed", "refused")
    assert f"entry {entry.sequence} " in said[0].remedy
    assert str(said[0]) == str(said[1])
    return said[0]


@pytest.mark.parametrize(
    ("settings", "limits", "reason"),
    [
        ({}, Limits.of("0.05"), "risk"),
        ({}, Limits.of(None, "0.1"), "characters"),
        ({"risk_limit": "0.05"}, Limits.of(), "project risk"),
        ({"characters_limit": "1/13"}, Limits.of(), "project characters"),
        ({"kappa": 3}, Limits.of(), "kappa"),
        ({}, Limits.of(0), "risk"),
    ],
)
def test_every_limit_refuses_and_is_written_down(
    ledger: Ledger, folder: Path, settings: dict[str, Any], limits: Limits, reason: str
) -> None:
    project = registered(ledger, folder, **settings)
    assign(ledger, project, ["ann", "ben"], actor="manager", overlap=2, limits=limits, rng=random.Random(1))
    because, error = exhausted(ledger, project)
    assert because == reason
    assert isinstance(error, BudgetExhausted) == (reason != "kappa")
    assert consistent(ledger, project, "ann", "ben")
    if reason.startswith("project"):  # what one reviewer has used up nobody else has
        assert exhausted(ledger, project, "ben")[0] == reason


def test_in_a_closed_project_nothing_opens(ledger: Ledger, project: Project) -> None:
    closed = close_project(ledger, project, actor="manager")
    assert closed.state == "closed"
    for one in (project, closed):  # whoever still holds the project as it was is refused as well
        with pytest.raises(Refused, match="closed"):
            door.reveal(ledger, one, "ann", 1, "sex", key=f"{one.state}")
    assert rows(ledger, CELL) == []


def at_once(jobs: list[Callable[[], Any]]) -> list[Any]:
    """Run all jobs in threads that start together; gives answers and errors."""
    barrier = threading.Barrier(len(jobs))

    def run(job: Callable[[], Any]) -> Any:
        barrier.wait()
        try:
            return job()
        except Refused as error:
            return error

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(run, jobs))


def click(ledger: Ledger, project: Project, number: int, name: str, key: str) -> Callable[[], Any]:
    return lambda: door.reveal(ledger, project, "ann", number, name, key=key)


def test_24_clicks_at_once_never_pass_the_limit(ledger: Ledger, folder: Path) -> None:
    project = registered(ledger, folder)
    assign(ledger, project, ["ann"], actor="manager", limits=Limits.of("0.08", "0.2"), rng=random.Random(1))
    cells = [(number, name) for number in numbers_of(ledger, project) for name in project.attributes]
    found: list[Any] = []
    for turn in range(4):  # a click on a pair that another click has just changed is outdated, and not counted
        chosen = random.Random(turn).sample(cells, 24)
        found += at_once([click(ledger, project, *cell, f"{turn}-{at}") for at, cell in enumerate(chosen)])
    assert any(isinstance(one, BudgetExhausted) for one in found)
    budget, counted = ledger.budget(project.budget("ann")), rows(ledger, WORKER)[0]
    assert 0 < budget.spent <= budget.limit
    assert counted.characters_shown <= counted.characters_allowed
    assert consistent(ledger, project, "ann")
    assert ledger.verify().holds


def test_24_clicks_on_one_cell_charge_each_step_once(ledger: Ledger, project: Project) -> None:
    jobs = [click(ledger, project, 1, "number", f"k{turn}") for turn in range(24)]
    at_once(jobs)
    steps = [entry for entry in ledger.entries(event="linkage.revealed") if entry.outcome == "done"]
    assert len(steps) == len(rows(ledger, CELL)) <= 2
    assert consistent(ledger, project, "ann", "ben")


def test_24_times_the_same_click_is_one(ledger: Ledger, project: Project) -> None:
    found = at_once([click(ledger, project, 1, "number", "k")] * 24)
    assert len({repr(one.to_dict()) for one in found}) == 1
    assert len(list(ledger.entries(event="linkage.revealed"))) == 1
    assert consistent(ledger, project, "ann", "ben")


def find(ledger: Ledger, project: Project, wanted: Callable[[Any], bool]) -> int:
    """The first pair whose view is as wanted."""
    return next(n for n in range(1, len(PAIRS) + 1) if wanted(door.view(ledger, project, "ann", n)))
