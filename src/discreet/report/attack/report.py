"""What deters the adversary: people re-identified against the fine, and against the price of the list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from discreet.attacker.population import Expected, Staircase
from discreet.report.attack.case import Case
from discreet.report.attack.fates import KNOWN, UNKNOWN
from discreet.report.attack.words import at_least
from discreet.report.charts.axes import Scale, linear, logarithmic
from discreet.report.charts.bars import Drawing
from discreet.report.components import Figure, Table
from discreet.report.lines import Axes, Line, Mark, line_chart
from discreet.report.toolkit.words import amount
from discreet.wording import measure

STEPS, FEW = 48, 8
"""Fines that are tried, and where each takes its time."""
LARGE = 4000
ROWS = 12


def by_fine(case: Case) -> Figure | None:
    """People re-identified as the fine rises; None where he never pays one."""
    if case.attack.max_penalties == 0:
        return None
    points = _tried(case)
    found = None if case.deterrents is None else case.deterrents.penalty
    return Figure(
        key="fine",
        title="What a fine does",
        about=_about("fine", case.attack.penalty, case.struck.known.reidentified, found),
        reading=tuple(_fine_reading(case, found)),
        groups=(),
        table=_fine_table(points),
        drawing=_chart(
            _lines(points), logarithmic([fine for fine, _ in points]), "Fine", _marks(case.attack.penalty, found)
        ),
    )


def _fine_reading(case: Case, found: float | None) -> Iterator[str]:
    yield "People he is expected to re-identify if he had to pay another fine when he is detected; all else stays the same."
    chance = float(case.attack.detection(np.zeros(1, dtype=np.int64))[0])
    yield f"His first attempt is detected with probability {measure(chance, digits=2)}. The fine counts in powers of ten."
    if found is None:
        yield "No fine deters him from everybody."
    elif found > case.attack.penalty:
        yield f"From {at_least(found)} on he attacks nobody of whom he knows how many people look alike."


def _tried(case: Case) -> list[tuple[float, Expected]]:
    """Fines around the present one and the one that deters, and what comes of each."""
    present, gain = case.attack.penalty, case.attack.gain
    found = case.deterrents.penalty if case.deterrents is not None else None
    there = [amount for amount in (present, found) if amount] or [gain or 1.0]
    heavy = _heavy(case)
    low, high = min(there) / (1 if heavy else 10), max(there) * (1.25 if found else 30)
    fines = sorted({*np.geomspace(low, high, FEW if heavy else STEPS).tolist(), *there})
    return list(zip(fines, case.targets.by_penalty(case.attack, fines), strict=True))


def _heavy(case: Case) -> bool:
    """Whether he might go through groups so large that each plan takes its time."""
    if case.attack.risks_the_same_at_every_exploit:
        return False
    return int(case.targets.worthwhile(case.attack).groups.max(initial=0)) > LARGE


def _lines(points: Sequence[tuple[float, Expected]]) -> list[Line]:
    known = tuple((fine, one.known) for fine, one in points)
    return [Line(KNOWN, known), Line(UNKNOWN, tuple((fine, one.unknown) for fine, one in points))]


def _fine_table(points: Sequence[tuple[float, Expected]]) -> Table:
    shown = points[:: max(1, len(points) // ROWS)]
    shown = [*shown, *([points[-1]] if points[-1] not in shown else [])]
    rows = tuple(
        (
            amount(round(fine)) if fine >= 10 else measure(fine),
            _people(one.known),
            _people(one.unknown),
            f"{one.largest:,}",
        )
        for fine, one in shown
    )
    head = ("Fine", KNOWN, UNKNOWN, "Largest group attacked")
    return Table("People re-identified (expected) by the fine", head, rows, (0, 1, 2, 3))


def by_price(case: Case) -> Figure:
    """People re-identified as the list becomes dearer."""
    known, unknown = case.targets.by_price(case.attack)
    found = None if case.deterrents is None else case.deterrents.price
    most = max([*known.prices.tolist(), *unknown.prices.tolist(), case.attack.access_cost * 1.1, 1.0]) * 1.06
    lines = [_stairs(KNOWN, known, most), _stairs(UNKNOWN, unknown, most)]
    return Figure(
        key="price",
        title="What a dearer list does",
        about=_about("price", case.attack.access_cost, case.struck.known.reidentified, found),
        reading=tuple(_price_reading(case, found)),
        groups=(),
        table=_price_table(known, unknown, case.attack.access_cost, most),
        drawing=_chart(lines, linear([0.0, most]), "Price of the list", _marks(case.attack.access_cost, found)),
    )


def _price_reading(case: Case, found: float | None) -> Iterator[str]:
    yield "People he is expected to re-identify if the list of named people had another price, paid for each target anew."
    yield "The price decides only whether he buys; every step is a group size that stops being worth it."
    if found is not None and found > case.attack.access_cost:
        yield f"From {at_least(found)} on he attacks nobody of whom he knows how many people look alike."


def _stairs(label: str, stairs: Staircase, most: float) -> Line:
    points = [(0.0, stairs.at(0.0))]
    points += [(price, stairs.at(price)) for price in stairs.prices.tolist() if price > 0]
    return Line(label, (*points, (most, 0.0)))


def _price_table(known: Staircase, unknown: Staircase, present: float, most: float) -> Table:
    prices = sorted({*linear([0, most], most=ROWS).ticks, present})
    rows = tuple((amount(price), _people(known.at(price)), _people(unknown.at(price))) for price in prices)
    return Table("People re-identified (expected) by the price of the list", ("Price", KNOWN, UNKNOWN), rows, (0, 1, 2))


def _people(number: float) -> str:
    return measure(number) if number < 1000 else f"{number:,.0f}"


def _about(what: str, present: float, people: float, found: float | None) -> str:
    deters = "nothing deters him from all" if found is None else f"{at_least(found)} deters him from all"
    return f"At the present {what} of {amount(present)} he re-identifies {_people(people)}; {deters}."


def _marks(present: float, found: float | None) -> list[Mark]:
    marks = [Mark(present, f"now {amount(present)}")]
    if found is not None and found > present:
        marks.append(Mark(found, f"{at_least(found)} deters him from all"))
    return marks


def _chart(lines: Sequence[Line], x: Scale, across: str, marks: Sequence[Mark]) -> Drawing:
    people = [height for line in lines for _, height in line.points]
    axes = Axes(x, linear([0.0, *people], zero=True), across, "People re-identified, expected")
    return line_chart(lines, axes, marks=[mark for mark in marks if mark.at > 0 or not x.log])
