"""Charts of the case study: decisions by group size, and on the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from discreet.attacker import Attack, Plan
from discreet.attacker.piecewise import buying, gamble_values
from discreet.attacker.population import Staircase
from discreet.reference.case_study import CONSTANT, ONCE, RISING, SETTINGS, CaseStudy
from discreet.report.attack.charts import stepped
from discreet.report.attack.findings import at_least, expected
from discreet.report.charts.axes import Axes, Line, Mark, line_chart, linear, logarithmic, stacked
from discreet.report.charts.bars import Bar, Fill, Group
from discreet.report.toolkit.page import Figure, Table
from discreet.report.toolkit.words import amount
from discreet.wording import brief_percent, fine_percent, measure, percent

# What the adversary does with a group, and with a belief about one.
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


PENALTIES = np.unique(np.round(np.geomspace(1000, 700_000, 56)))
ROWS = 12
KNOWS = {"known": "groups known", "unknown": "groups unknown"}


def people(study: CaseStudy) -> Figure:
    """People attacked in full, in part, not at all."""
    rows = tuple(_people_rows(study))
    return Figure(
        key="people",
        title="Whom he attacks",
        about="; ".join(f"{row[0]}, {row[1]}: {row[2]} in full, {row[3]} in part" for row in rows) + ".",
        reading=(
            (
                "People of the data for whom he tries every candidate, or some; the others he leaves alone. Unknown groups: he buys "
                "the list before he knows how many people in it look alike."
            ),
            "The full width of a bar stands for everybody in the data.",
        ),
        groups=tuple(_people_groups(study)),
        table=Table(
            f"What becomes of {study.people:,} people",
            ("Setting", "He has", "In full", "In part", "Not at all", "Re-identified", "Innocent people exploited"),
            rows,
            (2, 3, 4, 5, 6),
        ),
    )


def _people_groups(study: CaseStudy) -> Iterator[Group]:
    for key, struck in study.struck.items():
        for name, words in KNOWS.items():
            outcome = getattr(struck, name)
            parts: tuple[tuple[str, int, Fill], ...] = (
                ("in full", outcome.in_full, "risk"),
                ("in part", outcome.in_part, "partly"),
            )
            bars = tuple(
                Bar(
                    f"{label}, {words}",
                    f"{number:,} · {brief_percent(number / study.people)}",
                    number / study.people,
                    fill=fill,
                )
                for label, number, fill in parts
            )
            yield Group(
                bars,
                NAMES[key] if name == "known" else "",
                f"left alone: {outcome.not_at_all:,}" if name == "known" else "",
            )


def _people_rows(study: CaseStudy) -> Iterator[tuple[str, ...]]:
    for key, struck in study.struck.items():
        for name, words in KNOWS.items():
            outcome = getattr(struck, name)
            numbers = (outcome.in_full, outcome.in_part, outcome.not_at_all)
            yield (
                NAMES[key],
                words,
                *(f"{number:,}" for number in numbers),
                _brief(outcome.reidentified),
                _brief(outcome.harmed),
            )


def _brief(number: float) -> str:
    return expected(number).removeprefix("about ")


def prices(study: CaseStudy) -> Figure:
    """People re-identified against the price of the list."""
    stairs = {key: study.targets.by_price(attack)[0] for key, attack in SETTINGS.items()}
    most = max(float(one.prices.max(initial=1.0)) for one in stairs.values()) * 1.05
    first = next(iter(SETTINGS.values()))
    deters = first.deterring_price(study.targets.smallest or 1)
    lines = [Line(NAMES[key], _points(one, most)) for key, one in stairs.items()]
    height = max(one.at(0) for one in stairs.values())
    axes = Axes(
        linear([0, most]), linear([0, height], zero=True), "Price of the list", "People re-identified, expected"
    )
    shown = sorted({*linear([0, most], most=ROWS).ticks, first.access_cost})
    rows = tuple((amount(price), *(measure(one.at(price)) for one in stairs.values())) for price in shown)
    return Figure(
        key="price",
        title="What a dearer list does",
        about=f"At {amount(first.access_cost)}: {_brief(stairs[next(iter(stairs))].at(first.access_cost))}; nobody from {at_least(deters)} on.",
        reading=(
            (
                "People he is expected to re-identify, knowing the groups, as the list becomes dearer; every step is a group size "
                "that stops being worth it."
            ),
            _deterred(deters),
        ),
        groups=(),
        table=Table(
            "People re-identified (expected) by the price of the list", ("Price", *NAMES.values()), rows, (0, 1, 2, 3)
        ),
        drawing=line_chart(
            lines,
            axes,
            marks=_marks(first.access_cost, deters),
        ),
    )


def _points(stairs: Staircase, most: float) -> tuple[tuple[float, float], ...]:
    steps = [(price, stairs.at(price)) for price in stairs.prices.tolist() if price > 0]
    return ((0.0, stairs.at(0.0)), *steps, (most, 0.0))


def _marks(published: float, deters: float) -> list[Mark]:
    marks = [Mark(published, f"published {amount(published)}")]
    return [*marks, Mark(deters, f"{at_least(deters)} deters from all")] if deters > 0 else marks


def _deterred(deters: float) -> str:
    return f"From {at_least(deters)} on nobody is attacked." if deters > 0 else "Nobody is attacked in any case."


def penalties(study: CaseStudy) -> Figure:
    """The largest group still attacked, and people re-identified, against the penalty."""
    first = next(iter(SETTINGS.values()))
    deters = first.deterring_penalty(study.targets.smallest or 1)
    fines = sorted({*PENALTIES.tolist(), first.penalty, *([deters] if deters > 0 else [])})
    largest = {key: [_largest(replace(attack, penalty=fine)) for fine in fines] for key, attack in SETTINGS.items()}
    found = {key: [one.known for one in study.targets.by_penalty(attack, fines)] for key, attack in SETTINGS.items()}
    marks = _marks(first.penalty, deters)
    x = logarithmic(fines)
    charts = [
        line_chart(
            [Line(NAMES[key], tuple(zip(fines, map(float, values[key]), strict=True))) for key in SETTINGS],
            Axes(x, linear([0.0, *(float(max(one)) for one in values.values())], zero=True), "Penalty", upwards),
            marks=marks,
        )
        for values, upwards in ((largest, "Largest group attacked"), (found, "People re-identified, expected"))
    ]
    places = sorted({*range(0, len(fines), max(1, len(fines) // ROWS)), len(fines) - 1, fines.index(10_000.0)})
    rows = tuple(
        (amount(round(fines[place])), *(f"{largest[key][place]:,} · {measure(found[key][place])}" for key in SETTINGS))
        for place in places
    )
    head = ("Penalty", *NAMES.values())
    penalty_table = Table(
        "Largest group attacked · people re-identified (expected), by the penalty", head, rows, (0, 1, 2, 3)
    )
    return Figure(
        key="penalty",
        title="What a penalty does",
        about=f"At {amount(first.penalty)} he attacks groups of up to {_largest(first):,}; nobody of the data from {at_least(deters)} on.",
        reading=(
            (
                "Above, the largest group that he attacks at all, knowing its size; below, the people of the data he is expected to "
                "re-identify. The penalty counts in powers of ten."
            ),
            _deterred(deters),
        ),
        groups=(),
        table=penalty_table,
        drawing=stacked(*charts),
    )


def _largest(attack: Attack) -> int:
    first_spared = attack.thresholds().no_access
    return 0 if first_spared is None else first_spared - 1


# Names and sentences that findings, figures, tables and the command share.
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


def ends(sizes: tuple[int, int] | None) -> str:
    """Group sizes from one to another.

    >>> ends((14, 28)), ends((3, 3)), ends(None)
    ('14 to 28', '3', 'no size')
    """
    if sizes is None:
        return "no size"
    first, last = sizes
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"
