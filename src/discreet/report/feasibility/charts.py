"""The pictures: how much riskier decoys would be, and what other limits would leave room for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from discreet.releases import Feasibility, FeasibilityGrid
from discreet.report.charts.axes import Scale, linear, logarithmic
from discreet.report.charts.bars import Bar, Drawing, Group
from discreet.report.components import Figure, Table
from discreet.report.feasible.measures import share
from discreet.report.lines import Axes, Line, line_chart
from discreet.report.toolkit.words import plural
from discreet.wording import measure, percent

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
