"""Charts of the case study: decisions by group size, and on the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discreet.attacker import Attack
from discreet.attacker.piecewise import buying, gamble_values
from discreet.reference.case_study import CONSTANT, ONCE, RISING, SETTINGS, CaseStudy
from discreet.report.attack_charts import ACROSS, at_least, brief, stairs, stepped
from discreet.report.charts.axes import linear, logarithmic
from discreet.report.charts.bars import Group, count_bar
from discreet.report.charts.lines import Axes, Line, Mark, line_chart, stacked
from discreet.report.toolkit.page import Figure, Table
from discreet.report.toolkit.words import amount
from discreet.wording import fine_percent, measure, percent

NAMES = {
    CONSTANT: "Constant detection, unlimited penalties",
    ONCE: "Constant detection, one penalty",
    RISING: "Rising detection, unlimited penalties",
}
"""The three settings."""
BRIEF = {CONSTANT: "constant detection", ONCE: "one penalty", RISING: "rising detection"}
"""The same within a sentence."""
OWN = (
    "This is our own case study after Xia et al. (2015), not a reproduction of theirs: the adversary's amounts are the "
    "printed ones, but the people are others, the registry is the whole population instead of a sample of it, and the five "
    "statements are not the paper's five findings."
)
SIZES = np.arange(1, 61)
SHOWN = (1, 2, 5, 10, 13, 14, 20, 28, 29, 40, 44, 45, 46, 47, 48, 50, 51, 53, 54, 60)
"""Sizes in the tables."""
PENALTIES = np.unique(np.round(np.geomspace(1000, 700_000, 56)))
ROWS = 12
KNOWS = {"known": "groups known", "unknown": "groups unknown"}


def pictures(study: CaseStudy) -> Sequence[Figure]:
    """Six figures."""
    return (exploits(), chances(), gambles(study), people(study), prices(study), penalties(study))


def exploits() -> Figure:
    """How many candidates are tried."""
    plans = {key: attack.known(SIZES) for key, attack in SETTINGS.items()}
    tried = {key: plan.exploits * plan.accesses for key, plan in plans.items()}
    lines = [stepped(NAMES[key], SIZES, candidates.astype(float).tolist()) for key, candidates in tried.items()]
    axes = Axes(linear([0, 60]), linear([0, 50], zero=True), ACROSS, "Candidates tried")
    rows = tuple(
        (f"{size:,}", *(f"{tried[key][size - 1]:,} / {plan.exploits[size - 1]:,}" for key, plan in plans.items()))
        for size in SHOWN
    )
    return Figure(
        key="exploits",
        title="How many candidates are tried",
        about="; ".join(f"{NAMES[key]}: at most {int(candidates.max()):,}" for key, candidates in tried.items()),
        reading=(
            "The number of exploits on the path on which no guess is right and none is detected; the size of the group is known.",
            "On the diagonal everybody is tried; at 0 the list is not bought. The table also has what happens with the list in hand.",
        ),
        chart=line_chart(lines, axes),
        table=Table(
            "Candidates tried, before buying the list / with the list in hand",
            ("Group size", *NAMES.values()),
            rows,
            (1, 2, 3),
        ),
    )


def chances() -> Figure:
    """How likely success is."""
    found = {NAMES[key]: attack.known(SIZES).reidentification for key, attack in SETTINGS.items()}
    prior = next(iter(SETTINGS.values())).prior
    found["One random guess"] = prior / SIZES
    axes = Axes(linear([0, 60]), linear([0, prior], zero=True), ACROSS, "Probability of re-identification", percent)
    rows = tuple((f"{size:,}", *(fine_percent(float(values[size - 1])) for values in found.values())) for size in SHOWN)
    of_ten = ", ".join(f"{name} {fine_percent(float(values[9]))}" for name, values in found.items())
    return Figure(
        key="chance",
        title="How likely success is",
        about=f"In a group of 10: {of_ten}.",
        reading=(
            f"Where everybody is tried, success has probability {percent(prior)}: that the target is in the list at all.",
            "One random guess is far below that in groups that are attacked, and above 0 in groups that are left alone.",
        ),
        chart=line_chart([stepped(name, SIZES, values.tolist()) for name, values in found.items()], axes),
        table=Table("Probability of re-identification", ("Group size", *found), rows, (1, 2, 3, 4)),
    )


def gambles(study: CaseStudy) -> Figure:
    """What buying is worth where the group is not known."""
    people = study.attacked.external_size
    expected = np.geomspace(0.01, min(100.0, people / 2), 160)
    lines, rows, marks, highest = [], [], [], []
    for key, attack in SETTINGS.items():
        values = np.maximum(gamble_values(attack, expected, people), 0)
        highest.append(float(values.max()))
        lines.append(Line(NAMES[key], tuple(zip(expected.tolist(), values.tolist(), strict=True)), steps=False))
        interval = buying(attack, people)
        ends = ("never", "never", "0")
        if interval is not None:
            ends = (measure(interval[0], digits=2), measure(interval[1], digits=4), f"{interval[1] / people:.3g}")
            if key == CONSTANT:
                marks = [Mark(interval[0], f"buys from {ends[0]}"), Mark(interval[1], f"to {ends[1]}")]
        rows.append((NAMES[key], *ends, amount(round(highest[-1]))))
    axes = Axes(
        logarithmic([0.0125, 80]),
        linear([0.0, *highest], zero=True),
        "People expected to look alike",
        "What the attack is worth",
    )
    return Figure(
        key="gamble",
        title="What buying unseen is worth",
        about=f"{people:,} people in the list; the adversary buys between {rows[0][1]} and {rows[0][2]} expected people.",
        reading=(
            (
                f"Only the frequency of such people is known; among the {people:,} in the list their number is binomial. Densities are "
                "drawn as the number to be expected, in powers of ten."
            ),
            (
                "Too rare, and probably nobody in the list looks alike; too frequent, and too many do. The marks are the ends of the "
                "interval for constant detection and unlimited penalties."
            ),
        ),
        chart=line_chart(lines, axes, marks=marks),
        table=Table(
            "Numbers of people expected to look alike at which the list is bought",
            ("Setting", "Buys from", "Up to", "Highest density", "Highest value"),
            tuple(rows),
            (1, 2, 3, 4),
        ),
    )


def people(study: CaseStudy) -> Figure:
    """People attacked in full, in part, not at all."""
    groups, rows = [], []
    for key, struck in study.struck.items():
        for name, words in KNOWS.items():
            outcome = getattr(struck, name)
            full = count_bar(f"in full, {words}", outcome.in_full, study.people, fill="risk")
            some = count_bar(f"in part, {words}", outcome.in_part, study.people, fill="partly")
            alone = f"left alone: {outcome.not_at_all:,}"
            groups.append(Group((full, some), NAMES[key], alone) if name == "known" else Group((full, some)))
            numbers = (f"{number:,}" for number in (outcome.in_full, outcome.in_part, outcome.not_at_all))
            rows.append((NAMES[key], words, *numbers, brief(outcome.reidentified), brief(outcome.harmed)))
    head = ("Setting", "Knowledge", "In full", "In part", "Not at all", "Re-identified", "Innocent people exploited")
    return Figure(
        key="people",
        title="Who is attacked",
        about="; ".join(f"{row[0]}, {row[1]}: {row[2]} in full, {row[3]} in part" for row in rows) + ".",
        reading=(
            (
                "People of the data for whom every candidate is tried, or some; the others are left alone. Unknown groups: the list is "
                "bought before it is known how many people in it look alike."
            ),
            "The full width of a bar is everybody in the data.",
        ),
        chart=tuple(groups),
        table=Table(f"What becomes of {study.people:,} people", head, tuple(rows), (2, 3, 4, 5, 6)),
    )


def prices(study: CaseStudy) -> Figure:
    """People re-identified against the price of the list."""
    by_price = {key: study.targets.by_price(attack)[0] for key, attack in SETTINGS.items()}
    most = max(float(people.prices.max(initial=1.0)) for people in by_price.values()) * 1.05
    first = SETTINGS[CONSTANT]
    deters = first.deterring_price(study.targets.smallest or 1)
    height = max(people.at(0) for people in by_price.values())
    axes = Axes(
        linear([0, most]), linear([0, height], zero=True), "Price of the list", "People re-identified, expected"
    )
    shown = sorted({*linear([0, most], most=ROWS).ticks, first.access_cost})
    rows = tuple((amount(price), *(measure(people.at(price)) for people in by_price.values())) for price in shown)
    now = brief(by_price[CONSTANT].at(first.access_cost))
    return Figure(
        key="price",
        title="What a more expensive list does",
        about=f"At {amount(first.access_cost)}: {now}; nobody from {at_least(deters)} on.",
        reading=(
            (
                "People expected to be re-identified, knowing the groups, as the list becomes more expensive; every step is a group size "
                "that stops being worth it."
            ),
            _deterred(deters),
        ),
        chart=line_chart(
            [stairs(NAMES[key], people, most) for key, people in by_price.items()],
            axes,
            marks=_marks(first.access_cost, deters),
        ),
        table=Table(
            "People re-identified (expected) by the price of the list", ("Price", *NAMES.values()), rows, (0, 1, 2, 3)
        ),
    )


def penalties(study: CaseStudy) -> Figure:
    """The largest group still attacked, and people re-identified, against the penalty."""
    first = SETTINGS[CONSTANT]
    deters = first.deterring_penalty(study.targets.smallest or 1)
    fines = sorted({*PENALTIES.tolist(), first.penalty, *([deters] if deters > 0 else [])})
    largest = {key: [_largest(replace(attack, penalty=fine)) for fine in fines] for key, attack in SETTINGS.items()}
    found = {
        key: [people.known for people in study.targets.by_penalty(attack, fines)] for key, attack in SETTINGS.items()
    }
    charts = [
        line_chart(
            [Line(NAMES[key], tuple(zip(fines, map(float, values[key]), strict=True))) for key in SETTINGS],
            Axes(
                logarithmic(fines),
                linear([0.0, *(float(max(numbers)) for numbers in values.values())], zero=True),
                "Penalty",
                upwards,
            ),
            marks=_marks(first.penalty, deters),
        )
        for values, upwards in ((largest, "Largest group attacked"), (found, "People re-identified, expected"))
    ]
    shown = sorted({*range(0, len(fines), max(1, len(fines) // ROWS)), len(fines) - 1, fines.index(10_000.0)})
    rows = tuple(
        (amount(round(fines[place])), *(f"{largest[key][place]:,} · {measure(found[key][place])}" for key in SETTINGS))
        for place in shown
    )
    return Figure(
        key="penalty",
        title="What a penalty does",
        about=f"At {amount(first.penalty)} groups of up to {_largest(first):,} are attacked; nobody of the data from {at_least(deters)} on.",
        reading=(
            (
                "Above, the largest group that is attacked at all, knowing its size; below, the people of the data expected to be "
                "re-identified. The penalty counts in powers of ten."
            ),
            _deterred(deters),
        ),
        chart=stacked(*charts),
        table=Table(
            "Largest group attacked · people re-identified (expected), by the penalty",
            ("Penalty", *NAMES.values()),
            rows,
            (0, 1, 2, 3),
        ),
    )


def _marks(published: float, deters: float) -> list[Mark]:
    marks = [Mark(published, f"published {amount(published)}")]
    return [*marks, Mark(deters, f"{at_least(deters)} deters from all")] if deters > 0 else marks


def _deterred(deters: float) -> str:
    return f"From {at_least(deters)} on nobody is attacked." if deters > 0 else "Nobody is attacked in any case."


def _largest(attack: Attack) -> int:
    first_spared = attack.thresholds().no_access
    return 0 if first_spared is None else first_spared - 1
