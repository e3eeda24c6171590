"""The probability of a re-identification by group size: planning against one guess."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.attacker import Attack
from discreet.kernel.arrays import Ints
from discreet.report.attack.case import Case
from discreet.report.attack.charts import thresholds
from discreet.report.charts.axes import linear
from discreet.report.components import Figure, Table
from discreet.report.lines import Axes, Line, line_chart
from discreet.wording import fine_percent, percent

FEWEST, MOST = 20, 1000
"""The axis ends between these sizes."""
PLANNED, GUESSED = "Planning, knowing the group", "One random guess, where it pays"
ROUND = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 500, 700, 1000)


def chance(case: Case) -> Figure:
    """What planning adds to one guess, and takes from it."""
    sizes = _sizes(case)
    attack = case.attack
    planned, guessed = attack.known(sizes).reidentification, attack.baseline(sizes).risk
    marks = [mark for mark in thresholds(case) if mark.at <= sizes[-1]]
    lines = [stepped(PLANNED, sizes, planned.tolist()), stepped(GUESSED, sizes, guessed.tolist())]
    axes = Axes(
        linear([0, float(sizes[-1])]),
        linear([0, attack.prior], zero=True),
        "People in the list who look alike",
        "Probability that he re-identifies the target",
        percent,
    )
    return Figure(
        key="chance",
        title="What planning adds to one guess",
        about=f"In a group of 1 planning finds {fine_percent(float(planned[0]))}, one guess {fine_percent(float(guessed[0]))}.",
        reading=(
            f"The target is in the list with probability {percent(attack.prior)}: nobody can do better.",
            (
                "One guess is right with that probability divided by the size of the group. Who plans goes on to the next "
                "candidate as long as it pays, and does not begin where it does not."
            ),
        ),
        groups=(),
        table=_table(attack, sizes),
        drawing=line_chart(lines, axes, marks=marks),
    )


def stepped(label: str, sizes: Ints, values: Sequence[float]) -> Line:
    """A line with a level for each size, half a person to either side."""
    points = [(float(size) - 0.5, value) for size, value in zip(sizes.tolist(), values, strict=True)]
    return Line(label, (*points, (float(sizes[-1]) + 0.5, values[-1])))


def _sizes(case: Case) -> Ints:
    found = case.struck.thresholds
    last = max(size or 0 for size in (found.stops_early, found.no_access))
    most = last * 1.4 if last else float(case.struck.groups.max(initial=1))
    return np.arange(1, round(min(max(most, FEWEST), MOST)) + 1)


def _table(attack: Attack, sizes: Ints) -> Table:
    found = attack.thresholds()
    turns = {size - back for size in (found.stops_early, found.no_access) if size for back in (0, 1)}
    shown = np.array(sorted({*ROUND, *turns} & set(sizes.tolist())))
    plan, single = attack.known(shown), attack.baseline(shown)
    exploits = plan.exploits * plan.accesses
    rows = tuple(
        (f"{size:,}", f"{tries:,}", fine_percent(planned), fine_percent(guessed))
        for size, tries, planned, guessed in zip(
            shown.tolist(), exploits.tolist(), plan.reidentification.tolist(), single.risk.tolist(), strict=True
        )
    )
    head = ("Group size", "Candidates he would try", "Planning", "One guess")
    return Table("Probability of re-identification by group size", head, rows, (1, 2, 3))
