"""The tables of the page: the figures at the chosen limits, and at every pair of limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from discreet.policy import Policy
from discreet.releases import Cell, Feasibility, FeasibilityGrid
from discreet.report.components import Table
from discreet.report.toolkit.html import Markup, element, join
from discreet.report.toolkit.words import people
from discreet.wording import fine_percent, measure, percent

Column = tuple[str, Callable[[Feasibility], str]]


def share(value: float) -> str:
    """A share as it was asked for.

    >>> share(0.02), share(0.0)
    ('2 %', '0 %')
    """
    return f"{100 * value:g} %"


def measured(found: Feasibility) -> Table:
    """Every figure with its meaning."""
    return Table("Room for decoys", ("Measure", "Value", "Meaning"), tuple(_measured(found)), (1,))


def _measured(found: Feasibility) -> Iterator[tuple[str, ...]]:
    yield "Classes released", f"{found.classes:,}", "groups of people who look alike in the released table"
    yield "Left out", f"{found.suppressed:,}", f"people in smaller groups, of {found.records:,}"
    yield "Close to k", f"{found.close_to_k:,}", "released classes of k to 1.1 k people, both included"
    yield "Least link count", f"{found.min_link:,}", "people of the population in the rarest released class (minLink)"
    yield (
        "Candidates",
        f"{found.candidate_classes:,}",
        "classes not released, with at least k people but fewer than that",
    )
    yield "People in them", f"{found.candidate_records:,}", "of the population"
    yield "Without subjects", f"{found.candidates_without_subjects:,}", "candidates that hold nobody who was left out"
    yield "Largest factor", measure(found.max_factor), "least link count divided by that of the rarest candidate"
    yield "Not in the population", f"{found.uncovered:,}", "released classes that nobody of the population is in"
    yield found.loss_name, measure(found.loss, digits=6), "what the table loses"


ANONYMISED: tuple[Column, ...] = (
    ("Levels", lambda found: ", ".join(str(level) for level in found.levels.values())),
    ("Left out", lambda found: f"{found.suppressed:,} ({percent(found.suppressed / found.records)})"),
    ("Classes", lambda found: f"{found.classes:,}"),
    ("Close to k", lambda found: f"{found.close_to_k:,}"),
)
DECOYS: tuple[Column, ...] = (
    ("Least link count", lambda found: f"{found.min_link:,}"),
    ("Candidates", lambda found: f"{found.candidate_classes:,}"),
    ("Without subjects", lambda found: f"{found.candidates_without_subjects:,}"),
    ("Largest factor", lambda found: measure(found.max_factor)),
)


def anonymised(grid: FeasibilityGrid) -> Table:
    """The released table at every pair of limits (the paper's Table 4)."""
    names = ", ".join(next((tuple(found.levels) for found in grid.feasible), ()))
    return _table(grid, f"The least lossy table at each pair of limits (levels of {names})", ANONYMISED)


def decoys(grid: FeasibilityGrid) -> Table:
    """The room for decoys at every pair of limits (the paper's Table 5)."""
    return _table(grid, "Room for decoys at each pair of limits", DECOYS)


def _table(grid: FeasibilityGrid, caption: str, columns: tuple[Column, ...]) -> Table:
    head = ("k, left out at most", *(name for name, _ in columns))
    rows = tuple(_row(cell, columns) for cell in grid.cells)
    return Table(caption, head, rows, tuple(range(1, len(head))))


def _row(cell: Cell, columns: tuple[Column, ...]) -> tuple[str, ...]:
    name = f"{cell.k:,}, {share(cell.suppression)}"
    if cell.found is None:
        return name, *["not possible"] * len(columns)
    return name, *(write(cell.found) for _, write in columns)


def parameters(found: Feasibility, *, policy: Policy | None) -> Table:
    """What was asked for."""
    return Table("What was asked for", ("Parameter", "Value"), tuple(_parameters(found, policy)))


def _parameters(found: Feasibility, policy: Policy | None) -> Iterator[tuple[str, str | Markup]]:
    yield "k", f"{found.k:,}: so many people look alike at least"
    yield "Left out", f"at most {share(found.suppression)} of the people"
    yield "Loss", join(element("code", found.loss_name), ", to be as small as possible")
    yield "Levels", join(", ".join(f"{name} {level}" for name, level in found.levels.items()))
    yield "People in the data", people(found.records)
    yield (
        "Population",
        f"{people(found.population)}; {fine_percent(found.sampling)} of them are as many as the data have",
    )
    if policy is not None and policy.file:
        yield "Policy", element("code", policy.file)
