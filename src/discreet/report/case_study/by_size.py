"""What the adversary does with a group, and with a belief about one."""

from __future__ import annotations

import numpy as np

from discreet.attacker import Plan
from discreet.attacker.piecewise import buying, gamble_values
from discreet.reference.case_study import SETTINGS, CaseStudy
from discreet.report.attack.charts import stepped
from discreet.report.case_study.words import NAMES
from discreet.report.charts.axes import Axes, Line, Mark, line_chart, linear, logarithmic
from discreet.report.toolkit.page import Figure, Table
from discreet.report.toolkit.words import amount
from discreet.wording import fine_percent, measure, percent

SIZES = np.arange(1, 61)
SHOWN = (1, 2, 5, 10, 13, 14, 20, 28, 29, 40, 44, 45, 46, 47, 48, 50, 51, 53, 54, 60)
"""Sizes in the tables."""
ACROSS = "People in the list who look alike"


def exploits() -> Figure:
    """How many candidates he tries."""
    plans = {key: attack.known(SIZES) for key, attack in SETTINGS.items()}
    lines = [
        stepped(NAMES[key], SIZES, (plan.exploits * plan.accesses).astype(float).tolist())
        for key, plan in plans.items()
    ]
    axes = Axes(linear([0, 60]), linear([0, 50], zero=True), ACROSS, "Candidates he tries")
    rows = tuple(
        (f"{size:,}", *(f"{_tried(plan, size):,} / {plan.exploits[size - 1]:,}" for plan in plans.values()))
        for size in SHOWN
    )
    return Figure(
        key="exploits",
        title="How many candidates he tries",
        about="; ".join(
            f"{NAMES[key]}: at most {int((plan.exploits * plan.accesses).max()):,}" for key, plan in plans.items()
        ),
        reading=(
            "The number of exploits on the way on which he is never right and never detected; he knows the size of the group.",
            "On the diagonal he tries everybody; at 0 he does not buy the list. The table also has what he does once he has it.",
        ),
        groups=(),
        table=Table(
            "Candidates tried, before buying the list / with the list in hand",
            ("Group size", *NAMES.values()),
            rows,
            (1, 2, 3),
        ),
        drawing=line_chart(lines, axes),
    )


def _tried(plan: Plan, size: int) -> int:
    return int(plan.exploits[size - 1] * plan.accesses[size - 1])


def chances() -> Figure:
    """How likely he succeeds."""
    found = {NAMES[key]: attack.known(SIZES).reidentification for key, attack in SETTINGS.items()}
    prior = next(iter(SETTINGS.values())).prior
    found["One random guess"] = prior / SIZES
    axes = Axes(linear([0, 60]), linear([0, prior], zero=True), ACROSS, "Probability of re-identification", percent)
    rows = tuple((f"{size:,}", *(fine_percent(float(values[size - 1])) for values in found.values())) for size in SHOWN)
    return Figure(
        key="chance",
        title="How likely he succeeds",
        about=f"In a group of 10: {', '.join(f'{name} {fine_percent(float(one[9]))}' for name, one in found.items())}.",
        reading=(
            f"Where he tries everybody he succeeds with probability {percent(prior)}: that the target is in the list at all.",
            "One random guess is far below that in groups he attacks, and above 0 in groups he leaves alone.",
        ),
        groups=(),
        table=Table("Probability of re-identification", ("Group size", *found), rows, (1, 2, 3, 4)),
        drawing=line_chart([stepped(name, SIZES, values.tolist()) for name, values in found.items()], axes),
    )


def gambles(study: CaseStudy) -> Figure:
    """What buying is worth where he does not know the group."""
    people = study.attacked.external_size
    expected = np.geomspace(0.01, min(100.0, people / 2), 160)
    values = {key: np.maximum(gamble_values(attack, expected, people), 0) for key, attack in SETTINGS.items()}
    intervals = {key: buying(attack, people) for key, attack in SETTINGS.items()}
    lines = [
        Line(NAMES[key], tuple(zip(expected.tolist(), one.tolist(), strict=True)), steps=False)
        for key, one in values.items()
    ]
    axes = Axes(
        logarithmic([0.0125, 80]),
        linear([0.0, *(float(one.max()) for one in values.values())], zero=True),
        "People expected to look alike",
        "What the attack is worth",
    )
    rows = tuple(
        (NAMES[key], *_interval(ends, people), amount(round(float(values[key].max()))))
        for key, ends in intervals.items()
    )
    head = ("Setting", "Buys from", "Up to", "Highest density", "Highest value")
    return Figure(
        key="gamble",
        title="What buying unseen is worth",
        about=f"{people:,} people in the list; he buys between {rows[0][1]} and {rows[0][2]} expected people.",
        reading=(
            (
                f"He knows only how frequent such people are; among the {people:,} in the list their number is binomial. Densities are "
                "drawn as the number to be expected, in powers of ten."
            ),
            (
                "Too rare, and probably nobody in the list looks alike; too frequent, and too many do. The marks are the ends of the "
                "interval for constant detection and unlimited penalties."
            ),
        ),
        groups=(),
        table=Table("Numbers of people expected to look alike at which he buys", head, rows, (1, 2, 3, 4)),
        drawing=line_chart(lines, axes, marks=_ends(next(iter(intervals.values())))),
    )


def _ends(interval: tuple[float, float] | None) -> list[Mark]:
    """Where buying begins and ceases to pay."""
    if interval is None:
        return []
    first, last = interval
    return [Mark(first, f"buys from {measure(first, digits=2)}"), Mark(last, f"to {measure(last, digits=4)}")]


def _interval(ends: tuple[float, float] | None, people: int) -> tuple[str, str, str]:
    if ends is None:
        return "never", "never", "0"
    return measure(ends[0], digits=2), measure(ends[1], digits=4), f"{ends[1] / people:.3g}"
