"""What becomes of the people in the data, and what deters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from discreet.attacker import Attack
from discreet.attacker.population import Staircase
from discreet.reference.case_study import SETTINGS, CaseStudy
from discreet.report.attack.findings import at_least, expected
from discreet.report.case_study.words import NAMES
from discreet.report.charts.axes import Axes, Line, Mark, line_chart, linear, logarithmic, stacked
from discreet.report.charts.bars import Bar, Fill, Group
from discreet.report.toolkit.page import Figure, Table
from discreet.report.toolkit.words import amount
from discreet.wording import brief_percent, measure

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
        table=_penalty_table(fines, largest, found),
        drawing=stacked(*charts),
    )


def _largest(attack: Attack) -> int:
    first_spared = attack.thresholds().no_access
    return 0 if first_spared is None else first_spared - 1


def _penalty_table(fines: list[float], largest: dict[str, list[int]], found: dict[str, list[float]]) -> Table:
    places = sorted({*range(0, len(fines), max(1, len(fines) // ROWS)), len(fines) - 1, fines.index(10_000.0)})
    rows = tuple(
        (amount(round(fines[place])), *(f"{largest[key][place]:,} · {measure(found[key][place])}" for key in SETTINGS))
        for place in places
    )
    head = ("Penalty", *NAMES.values())
    return Table("Largest group attacked · people re-identified (expected), by the penalty", head, rows, (0, 1, 2, 3))
