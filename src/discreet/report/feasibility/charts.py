"""Charts and tables of feasibility at the chosen and at other limits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

from discreet.policy import Policy
from discreet.releases import Cell, Feasibility, FeasibilityGrid
from discreet.report.charts.axes import Axes, Line, Scale, line_chart, linear, logarithmic
from discreet.report.charts.bars import Bar, Drawing, Group
from discreet.report.toolkit.html import Markup, element, join
from discreet.report.toolkit.page import Figure, Table
from discreet.report.toolkit.words import people, plural
from discreet.wording import fine_percent, measure, percent

STEPS = (1, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000, math.inf)
"""Bands of factors."""


def factors(found: Feasibility) -> Figure:
    """How many candidates are how much riskier."""
    counts = _banded(found)
    most = max((many for _, many in counts), default=1)
    bars = tuple(
        Bar(label, f"{many:,}", many / most, note=f"{percent(many / found.candidate_classes)} of the candidates")
        for label, many in counts
    )
    return Figure(
        key="factors",
        title="How much riskier decoys would be than the riskiest real person",
        about=f"{plural(found.candidate_classes, 'candidate', 'candidates')}, with factors up to {measure(found.max_factor)}.",
        reading=(
            (
                "A bar is a number of candidate classes. The factor is the least number of look-alikes that a released person "
                "has in the population, divided by the number that a decoy would have."
            ),
            "The larger the factor, the surer an adversary who goes by risk meets the decoy before a real person.",
        ),
        groups=(Group(bars),),
        table=Table(
            "Candidates by risk factor",
            ("Times as risky", "Candidates", "Share"),
            tuple((label, f"{many:,}", percent(many / found.candidate_classes)) for label, many in counts),
            (1, 2),
        ),
    )


def _banded(found: Feasibility) -> list[tuple[str, int]]:
    """Bands that hold somebody, and those between them."""
    bands = [
        (_band(low, high), int(((found.factors >= low) & (found.factors < high)).sum()))
        for low, high in itertools.pairwise(STEPS)
    ]
    while bands and not bands[-1][1]:
        bands.pop()
    return bands


def _band(low: float, high: float) -> str:
    return f"{low:,g} or more" if high == math.inf else f"{low:,g} to {high:,g}"


def candidates(grid: FeasibilityGrid) -> Figure:
    """How many candidates there are, by k and suppression (the paper's Figure 2)."""
    return _by_limits(
        grid,
        key="candidates",
        title="How many classes could hold decoys",
        upwards="Candidate classes",
        value=lambda found: float(found.candidate_classes),
        cell=lambda found: f"{found.candidate_classes:,} ({found.candidates_without_subjects:,})",
        reading="In brackets in the table: candidates that hold nobody of the data who was left out.",
    )


def largest(grid: FeasibilityGrid) -> Figure:
    """How risky decoys can be, by k and suppression (the paper's Figure 3)."""
    return _by_limits(
        grid,
        key="largest",
        title="How risky decoys could be",
        upwards="Largest risk factor",
        value=lambda found: found.max_factor,
        cell=_spread,
        reading="The table has the largest factor and, in brackets, the middle half of all factors.",
    )


def _spread(found: Feasibility) -> str:
    if not found.quartiles:
        return "none"
    _, lower, _, upper, most = found.quartiles
    return f"{measure(most)} ({measure(lower)} to {measure(upper)})"


def _by_limits(
    grid: FeasibilityGrid,
    *,
    key: str,
    title: str,
    upwards: str,
    value: Callable[[Feasibility], float],
    cell: Callable[[Feasibility], str],
    reading: str,
) -> Figure:
    rows = tuple(
        (f"{k:,}", *("not possible" if found is None else cell(found) for found in _row(grid, k))) for k in grid.ks
    )
    return Figure(
        key=key,
        title=title,
        about=f"{plural(len(grid.feasible), 'pair', 'pairs')} of limits: k from {min(grid.ks)} to {max(grid.ks)}, up to "
        f"{share(max(grid.suppressions))} left out.",
        reading=(
            (
                "One line for each k, by the largest share of people that may be left out. What is left out is decided by "
                "the least lossy table, so that a line can go either way."
            ),
            reading,
        ),
        groups=(),
        table=Table(title, ("k", *map(share, grid.suppressions)), rows, tuple(range(1, len(grid.suppressions) + 1))),
        drawing=_drawing(grid, upwards, value),
    )


def _row(grid: FeasibilityGrid, k: int) -> list[Feasibility | None]:
    return [grid.at(k, one).found for one in grid.suppressions]


def _drawing(grid: FeasibilityGrid, upwards: str, value: Callable[[Feasibility], float]) -> Drawing:
    lines = [
        Line(
            f"k = {k:,}",
            tuple(
                (100 * at, value(found))
                for at, found in zip(grid.suppressions, _row(grid, k), strict=True)
                if found is not None
            ),
            steps=False,
        )
        for k in grid.ks
    ]
    heights = [height for line in lines for _, height in line.points]
    axes = Axes(
        linear([100 * at for at in grid.suppressions], zero=True),
        _upwards(heights),
        "Left out at most, in per cent",
        upwards,
    )
    return line_chart(lines, axes)


def _upwards(heights: Sequence[float]) -> Scale:
    """Equal steps, or powers of ten where that shows more and nothing is zero."""
    positive = bool(heights) and min(heights) > 0
    return logarithmic(heights) if positive and max(heights) > 50 * min(heights) else linear([0.0, *heights])


# The tables of the page: the figures at the chosen limits, and at every pair of limits.
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
    rows = tuple(_row_measures(cell, columns) for cell in grid.cells)
    return Table(caption, head, rows, tuple(range(1, len(head))))


def _row_measures(cell: Cell, columns: tuple[Column, ...]) -> tuple[str, ...]:
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
