"""Charts of an attack: outcomes, probability and decision by group size, deterrence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from discreet.attacker import Attack
from discreet.attacker.population import Expected, Staircase
from discreet.kernel.arrays import Ints
from discreet.report.attack.findings import Case, at_least, expected
from discreet.report.charts.axes import Scale, linear, logarithmic
from discreet.report.charts.bars import Fill, Group, count_bar, counted
from discreet.report.charts.lines import Axes, Line, Mark, line_chart
from discreet.report.charts.strip import Bin, strip_chart
from discreet.report.toolkit.components import Figure, Table
from discreet.report.toolkit.words import agree, amount, decimal, people, plural
from discreet.wording import brief_percent, fine_percent, measure, percent

KNOWN, UNKNOWN, GUESS = "Knows the groups", "Buys the list unseen", "One guess each"
ACROSS = "People in the list who look alike"
FATES: dict[Fill, str] = {
    "risk": "tries every candidate",
    "partly": "tries some candidates",
    "plain": "leaves them alone",
}
EACH = 2000
"""Sizes up to here are looked at one by one."""
BINS = 8
"""Bars per power of ten."""
FEWEST, MOST = 20, 1000
"""The axis of probabilities ends between these sizes."""
ROUND = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
STEPS, FEW = 48, 8
"""Fines that are tried, and how many where each takes its time."""
LARGE = 4000
ROWS = 12


def pictures(case: Case) -> Iterator[Figure]:
    """Every figure that there are numbers for, in the order of the findings."""
    yield strip(case)
    yield chance(case)
    yield fates(case)
    if case.attack.max_penalties != 0:
        yield by_fine(case)
    yield by_price(case)


def brief(number: float) -> str:
    """An expected number of people where there is little room."""
    return expected(number).removeprefix("about ")


def fates(case: Case) -> Figure:
    """People attacked in full, in part or not at all, by what the adversary knows."""
    outcomes = {KNOWN: case.struck.known, UNKNOWN: case.struck.unknown}
    left, records = case.records - case.guessed_at, case.records
    groups, rows = [], []
    for name, outcome in outcomes.items():
        bars = (
            count_bar("tries every candidate", outcome.in_full, records, fill="risk"),
            count_bar("tries some candidates", outcome.in_part, records, fill="partly"),
            count_bar("leaves alone", outcome.not_at_all, records),
        )
        found = brief(outcome.reidentified)
        groups.append(Group(bars, name, f"re-identified: {found}"))
        numbers = (f"{number:,}" for number in (outcome.in_full, outcome.in_part, outcome.not_at_all))
        rows.append((name, *numbers, found, brief(outcome.harmed)))
    single = (
        count_bar("tries one candidate", case.guessed_at, records, fill="partly"),
        count_bar("leaves alone", left, records),
    )
    guessed = brief(case.guessed)
    apart = "not distinguished"
    rows.append((GUESS, apart, f"{case.guessed_at:,}", f"{left:,}", guessed, apart))
    known, unknown = (outcome.attacked for outcome in outcomes.values())
    head = ("Adversary", "Every candidate", "Some candidates", "Left alone", "Re-identified")
    return Figure(
        key="fates",
        title="Who is attacked, by what the adversary knows",
        about=f"Attacked: {known:,} with known groups, {unknown:,} unseen, {case.guessed_at:,} by one guess.",
        reading=(
            (
                "The adversary may know how many people look alike before buying the list, for instance from a census; or learns it only "
                "from the list and expects them to be as frequent there as everywhere."
            ),
            "One guess each is the single-shot model: one random candidate, where that pays.",
            "The full width of a bar is everybody in the data.",
        ),
        chart=(*groups, Group(single, GUESS, f"re-identified: {guessed}")),
        table=Table(
            f"What becomes of {records:,} people", (*head, "Innocent people exploited"), tuple(rows), (1, 2, 3, 4, 5)
        ),
    )


def chance(case: Case) -> Figure:
    """The probability of a re-identification by group size: planning against one guess."""
    attack, found = case.attack, case.struck.thresholds
    last = max(size or 0 for size in (found.stops_early, found.no_access))
    most = last * 1.4 if last else float(case.struck.groups.max(initial=1))
    sizes = np.arange(1, round(min(max(most, FEWEST), MOST)) + 1)
    planned, guessed = attack.known(sizes).reidentification, attack.baseline(sizes).risk
    lines = [
        stepped("Planning, knowing the group", sizes, planned.tolist()),
        stepped("One random guess, where it pays", sizes, guessed.tolist()),
    ]
    upwards = "Probability that the target is re-identified"
    axes = Axes(linear([0, float(sizes[-1])]), linear([0, attack.prior], zero=True), ACROSS, upwards, percent)
    marks = [mark for mark in thresholds(case) if mark.at <= sizes[-1]]
    turns = {size - back for size in (found.stops_early, found.no_access) if size for back in (0, 1)}
    shown = np.array(sorted({*ROUND, *turns} & set(sizes.tolist())))
    plan = attack.known(shown)
    tried, risks = (plan.exploits * plan.accesses).tolist(), attack.baseline(shown).risk.tolist()
    rows = tuple(
        (f"{size:,}", f"{tries:,}", fine_percent(plans), fine_percent(risk))
        for size, tries, plans, risk in zip(shown.tolist(), tried, plan.reidentification.tolist(), risks, strict=True)
    )
    return Figure(
        key="chance",
        title="What planning adds to one guess",
        about=f"In a group of 1 planning finds {fine_percent(float(planned[0]))}, one guess {fine_percent(float(guessed[0]))}.",
        reading=(
            f"The target is in the list with probability {percent(attack.prior)}: nobody can do better.",
            (
                "One guess is right with that probability divided by the size of the group. Planning goes on to the next "
                "candidate as long as it pays, and does not begin where it does not."
            ),
        ),
        chart=line_chart(lines, axes, marks=marks),
        table=Table(
            "Probability of re-identification by group size",
            ("Group size", "Candidates tried", "Planning", "One guess"),
            rows,
            (1, 2, 3),
        ),
    )


def stepped(label: str, sizes: Ints, values: Sequence[float]) -> Line:
    """A line with a level for each size, half a person to either side."""
    points = [(float(size) - 0.5, value) for size, value in zip(sizes.tolist(), values, strict=True)]
    return Line(label, (*points, (float(sizes[-1]) + 0.5, values[-1])))


def strip(case: Case) -> Figure:
    """Group size against what the adversary does, with the thresholds and the people."""
    bins, marks, known, unlisted = bins_of(case), thresholds(case), case.struck.known, case.unlisted
    numbers = {"risk": known.in_full, "partly": known.in_part, "plain": known.not_at_all}
    legend = [(fate, words.capitalize(), counted(numbers[fate], case.records)) for fate, words in FATES.items()]
    rows = [
        (data.words, f"{data.people:,}", brief_percent(data.people / case.records), FATES[data.fate])
        for data in bins
        if data.people
    ]
    reading = [
        (
            "A group is the people in the list who look like a person in the data. The area of a bar is the number of people in "
            "the data whose group has that size; the band below says what the adversary does with such a group, whether anybody has it or not."
        ),
        "The adversary knows how many there are before buying. Sizes count in powers of ten.",
    ]
    if unlisted:
        rows.insert(0, ("0", f"{unlisted:,}", brief_percent(unlisted / case.records), FATES["plain"]))
        none = (
            f"{people(unlisted).capitalize()} in the data {agree(unlisted, 'has', 'have')} no look-alike in the list."
        )
        reading.append(none)
    turns = "; ".join(mark.label for mark in marks)
    caption = f"{plural(case.records, 'person', 'people')} by the size of the group" + (f" ({turns})" if turns else "")
    return Figure(
        key="strip",
        title="How far the attack goes, by group size",
        about=f"The adversary tries every candidate for {known.in_full:,} people, some for {known.in_part:,}, and leaves "
        f"{known.not_at_all:,} alone.",
        reading=tuple(reading),
        chart=strip_chart(bins, key="strip", legend=legend, marks=marks, across=ACROSS),
        table=Table(
            caption, ("Group size", "People in the data", "Share", "What the adversary does"), tuple(rows), (1, 2)
        ),
    )


def thresholds(case: Case) -> list[Mark]:
    """The sizes at which the decision changes, those that there are."""
    found = case.struck.thresholds
    named = (
        (found.stops_early, "stops early"),
        (found.no_access, "does not buy the list"),
        (found.no_exploit, "does not even start"),
    )
    together: dict[int, list[str]] = {}
    for size, words in named:
        if size is not None:
            together.setdefault(size, []).append(words)
    return [Mark(size - 0.5, f"{size:,}: {', '.join(words)}") for size, words in sorted(together.items())]


def bins_of(case: Case) -> list[Bin]:
    """The data by group size, so that no bar holds people of two fates."""
    sizes, people, found = case.targets.groups, case.targets.people, case.struck.thresholds
    last = max(size or 1 for size in (found.stops_early, found.no_access, found.no_exploit))
    most = max(int(case.struck.groups.max(initial=1)), round(last * 1.25), 10)
    rough = np.round(np.geomspace(1, most + 1, 1 + round(BINS * np.log10(most)))).astype(np.int64).tolist()
    fates = dict(fates_by_size(case.attack, most))
    bins, now = [], fates[1]
    for first, after in pairwise(sorted({*rough, *fates})):
        now = fates.get(first, now)
        bins.append(Bin(first, after - 1, int(people[(sizes >= first) & (sizes < after)].sum()), now))
    return bins


def fates_by_size(attack: Attack, most: int) -> list[tuple[int, Fill]]:
    """The sizes at which the decision changes, from 1 on."""
    near = np.arange(1, min(most, EACH) + 1)
    far = np.unique(np.geomspace(EACH + 1, most, 60).astype(np.int64)) if most > EACH else near[:0]
    found = attack.thresholds()
    turning = [size for size in (found.stops_early, found.no_access) if size is not None and EACH < size <= most]
    sizes = np.unique(np.concatenate([near, far, np.array(turning, dtype=np.int64)]))
    plan = attack.known(sizes)
    exploits = plan.exploits * plan.accesses
    code = np.where(exploits == 0, 2, np.where(exploits < sizes, 1, 0))
    turns = [0, *(np.flatnonzero(np.diff(code)) + 1).tolist()]
    names = tuple(FATES)
    return [(int(sizes[turn]), names[code[turn]]) for turn in turns]


def by_fine(case: Case) -> Figure:
    """People re-identified as the fine rises."""
    attack, points = case.attack, fines_tried(case)
    deters = None if case.deterrents is None else case.deterrents.penalty
    detected = float(attack.detection(np.zeros(1, dtype=np.int64))[0])
    reading = [
        "People expected to be re-identified if the fine for a detection were another; all else stays the same.",
        f"The first attempt is detected with probability {decimal(detected)}. The fine counts in powers of ten.",
    ]
    if deters is None:
        reading.append("No fine deters all attacks.")
    rows = points[:: max(1, len(points) // ROWS)]
    rows = [*rows, *([points[-1]] if points[-1] not in rows else [])]
    lines = [
        Line(KNOWN, tuple((fine, people.known) for fine, people in points)),
        Line(UNKNOWN, tuple((fine, people.unknown) for fine, people in points)),
    ]
    table = Table(
        "People re-identified (expected) by the fine",
        ("Fine", KNOWN, UNKNOWN, "Largest group attacked"),
        tuple(
            (
                amount(round(fine)) if fine >= 10 else measure(fine),
                _people(people.known),
                _people(people.unknown),
                f"{people.largest:,}",
            )
            for fine, people in rows
        ),
        (0, 1, 2, 3),
    )
    x = logarithmic([fine for fine, _ in points])
    shown = Figure("fine", "What a fine does", "", tuple(reading), (), table)
    return _deterrence(shown, case, lines, x, across="Fine", present=attack.penalty, deters=deters)


def fines_tried(case: Case) -> list[tuple[float, Expected]]:
    """Fines around the present one and the one that deters, and what comes of each."""
    attack = case.attack
    deters = case.deterrents.penalty if case.deterrents is not None else None
    present = [amount for amount in (attack.penalty, deters) if amount] or [attack.gain or 1.0]
    # Where the plan might go through large groups one candidate after another, each plan takes its time.
    largest = 0 if attack.risks_the_same_at_every_exploit else case.targets.worthwhile(attack).groups.max(initial=0)
    heavy = int(largest) > LARGE
    low, high = min(present) / (1 if heavy else 10), max(present) * (1.25 if deters else 30)
    fines = sorted({*np.geomspace(low, high, FEW if heavy else STEPS).tolist(), *present})
    return list(zip(fines, case.targets.by_penalty(attack, fines), strict=True))


def by_price(case: Case) -> Figure:
    """People re-identified as the list becomes more expensive."""
    known, unknown = case.targets.by_price(case.attack)
    present = case.attack.access_cost
    deters = None if case.deterrents is None else case.deterrents.price
    most = max([*known.prices.tolist(), *unknown.prices.tolist(), present * 1.1, 1.0]) * 1.06
    prices = sorted({*linear([0, most], most=ROWS).ticks, present})
    table = Table(
        "People re-identified (expected) by the price of the list",
        ("Price", KNOWN, UNKNOWN),
        tuple((amount(price), _people(known.at(price)), _people(unknown.at(price))) for price in prices),
        (0, 1, 2),
    )
    reading = [
        "People expected to be re-identified if the list of named people had another price, paid for each target.",
        "The price decides only whether the list is bought; every step is a group size that stops being worth it.",
    ]
    lines = [stairs(KNOWN, known, most), stairs(UNKNOWN, unknown, most)]
    shown = Figure("price", "What a more expensive list does", "", tuple(reading), (), table)
    x = linear([0.0, most])
    return _deterrence(shown, case, lines, x, across="Price of the list", present=present, deters=deters)


def stairs(label: str, people: Staircase, most: float) -> Line:
    """People by price as a line, from a list that is free."""
    steps = [(price, people.at(price)) for price in people.prices.tolist() if price > 0]
    return Line(label, ((0.0, people.at(0.0)), *steps, (most, 0.0)))


def _people(number: float) -> str:
    return measure(number) if number < 1000 else f"{number:,.0f}"


def _deterrence(
    shown: Figure, case: Case, lines: Sequence[Line], x: Scale, *, across: str, present: float, deters: float | None
) -> Figure:
    """A figure with people re-identified by an amount: what it is now, and what would deter all attacks."""
    marks, more = [Mark(present, f"now {amount(present)}")], []
    deterred = "nothing deters all attacks" if deters is None else f"{at_least(deters)} deters all attacks"
    if deters is not None and deters > present:
        marks.append(Mark(deters, deterred))
        more = [f"From {at_least(deters)} on nobody is attacked of whom it is known how many people look alike."]
    y = linear([0.0, *(height for line in lines for _, height in line.points)], zero=True)
    axes = Axes(x, y, across, "People re-identified, expected")
    found = _people(case.struck.known.reidentified)
    return replace(
        shown,
        about=f"At the present {shown.key} of {amount(present)}, {found} are re-identified; {deterred}.",
        reading=(*shown.reading, *more),
        chart=line_chart(lines, axes, marks=[mark for mark in marks if mark.at > 0 or not x.log]),
    )
