"""Charts of an attack: outcomes, probability and decision by group size, deterrence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import cast

import numpy as np

from discreet.attacker import Attack, Attacked
from discreet.attacker.population import Staircase, Targets
from discreet.kernel.arrays import Ints
from discreet.report.charts.axes import Scale, linear, logarithmic
from discreet.report.charts.bars import Fill, Group, count_bar, counted
from discreet.report.charts.lines import Axes, Bin, Line, Mark, line_chart, strip_chart
from discreet.report.toolkit.page import Figure, Table
from discreet.report.toolkit.words import about, agree, amount, decimal, people, plural, points
from discreet.wording import brief_percent, fine_percent, measure, percent

UNHEARD = 1e15
"""No amount from here on deters anybody: it cannot be paid."""
SAME = 0.005
"""Relative difference up to which two expectations are called the same."""


def at_least(number: float) -> str:
    """A least amount, rounded up to three digits so that the sentence stays true.

    >>> at_least(16_442.3), at_least(3592.79), at_least(0.0), at_least(12.0)
    ('16,500', '3,600', '0', '12')
    """
    if number <= 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(number)) - 2)
    up = math.ceil(number / unit - 1e-9) * unit
    return amount(float(f"{up:.12g}"))


def expected(number: float) -> str:
    """An expected number of people.

    >>> expected(384.9), expected(0.31), expected(0.0), expected(2.34)
    ('about 385', '0.31', 'nobody', '2.3')
    """
    if number < 1e-9:
        return "nobody"
    return about(number) if number >= 10 else f"{number:.2g}"


@dataclass(frozen=True)
class Deterrents:
    """The least amounts that deter the adversary from everybody; None where none does."""

    attack: Attack
    smallest: int
    """The smallest group, which is the most attractive."""

    @cached_property
    def penalty(self) -> float | None:
        """The fine."""
        fine = self.attack.deterring_penalty(self.smallest)
        return fine if fine < UNHEARD else None

    @cached_property
    def price(self) -> float | None:
        """What the list must cost."""
        price = self.attack.deterring_price(self.smallest)
        return price if price < UNHEARD else None

    @cached_property
    def size(self) -> int | None:
        """The fewest people who must look alike."""
        return self.attack.least_size()

    def ways(self) -> list[str]:
        """What deters all attacks, each as a phrase."""
        phrases = []
        if self.penalty is not None and self.penalty > self.attack.penalty:
            phrases.append(f"a fine of {at_least(self.penalty)}")
        if self.price is not None and self.price > self.attack.access_cost:
            phrases.append(f"a list that costs {at_least(self.price)}")
        if self.size is not None and self.size > 1:
            phrases.append(f"groups of at least {self.size:,} people who look alike")
        return phrases


@dataclass(frozen=True, eq=False)
class Case:
    """A table under attack: the facts that words and pictures share."""

    struck: Attacked
    threshold: float

    @property
    def attack(self) -> Attack:
        return cast(Attack, self.struck.attack)

    @cached_property
    def records(self) -> int:
        return int(self.struck.people.sum())

    @cached_property
    def targets(self) -> Targets:
        """The people by what the adversary sees of them."""
        return Targets.of(self.struck)

    @cached_property
    def deterrents(self) -> Deterrents | None:
        """What deters the adversary; None where nobody of the data is in the list."""
        smallest = self.targets.smallest
        return None if smallest is None else Deterrents(self.attack, smallest)

    @property
    def guessed(self) -> float:
        """People re-identified by one random guess each, where that pays."""
        return float(self.struck.people @ self.struck.baseline.risk)

    @property
    def guessed_at(self) -> int:
        """People for whom one random guess pays."""
        return int(self.struck.people[self.struck.baseline.attacks].sum())

    @property
    def unlisted(self) -> int:
        """People of the data whom nobody in the list looks like."""
        return int(self.struck.people[self.struck.groups == 0].sum())

    @property
    def above(self) -> int:
        """People who are re-identified with a probability above the threshold."""
        return round(self.struck.known.at_risk(self.threshold) * self.records)


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
    """People attacked in full, in part or not, by what the adversary knows."""
    struck, records = case.struck, case.records
    outcomes = {KNOWN: struck.known, UNKNOWN: struck.unknown}
    guessed_at, guessed, apart = case.guessed_at, brief(case.guessed), "not distinguished"
    left = records - guessed_at
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
    one = count_bar("tries one candidate", guessed_at, records, fill="partly")
    groups.append(Group((one, count_bar("leaves alone", left, records)), GUESS, f"re-identified: {guessed}"))
    rows.append((GUESS, apart, f"{guessed_at:,}", f"{left:,}", guessed, apart))
    known, unknown = (outcome.attacked for outcome in outcomes.values())
    head = ("Adversary", "Every candidate", "Some candidates", "Left alone", "Re-identified")
    return Figure(
        key="fates",
        title="Who is attacked, by what the adversary knows",
        about=f"Attacked: {known:,} with known groups, {unknown:,} unseen, {guessed_at:,} by one guess.",
        reading=points("""
- Known group: the adversary knows how many people look alike before buying the list, for instance from a census.
  Unknown group: they learn it only from the list, and expect them to be as frequent there as everywhere.
- One guess each is the single-shot model: one random candidate, where that pays.
- The full width of a bar is everybody in the data."""),
        chart=tuple(groups),
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
    head = ("Group size", "Candidates tried", "Planning", "One guess")
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
        table=Table("Probability of re-identification by group size", head, rows, (1, 2, 3)),
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
        who = people(unlisted).capitalize()
        reading.append(f"{who} in the data {agree(unlisted, 'has', 'have')} no look-alike in the list.")
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
    sizes = (found.stops_early, found.no_access, found.no_exploit)
    together: dict[int, list[str]] = {}
    for size, words in zip(sizes, ("stops early", "does not buy the list", "does not even start"), strict=True):
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
    attack = case.attack
    deters = None if case.deterrents is None else case.deterrents.penalty
    # Fines around the present one and the one that deters, and what comes of each.
    present = [fine for fine in (attack.penalty, deters) if fine] or [attack.gain or 1.0]
    # Where the plan might go through large groups one candidate after another, each plan takes its time.
    largest = 0 if attack.risks_the_same_at_every_exploit else case.targets.worthwhile(attack).groups.max(initial=0)
    heavy = int(largest) > LARGE
    low, high = min(present) / (1 if heavy else 10), max(present) * (1.25 if deters else 30)
    fines = sorted({*np.geomspace(low, high, FEW if heavy else STEPS).tolist(), *present})
    points = list(zip(fines, case.targets.by_penalty(attack, fines), strict=True))
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
    cells = []
    for fine, outcome in rows:
        written = amount(round(fine)) if fine >= 10 else measure(fine)
        cells.append((written, _people(outcome.known), _people(outcome.unknown), f"{outcome.largest:,}"))
    head = ("Fine", KNOWN, UNKNOWN, "Largest group attacked")
    table = Table("People re-identified (expected) by the fine", head, tuple(cells), (0, 1, 2, 3))
    x = logarithmic([fine for fine, _ in points])
    shown = Figure("fine", "What a fine does", "", tuple(reading), (), table)
    return _deterrence(shown, case, lines, x, across="Fine", present=attack.penalty, deters=deters)


def by_price(case: Case) -> Figure:
    """People re-identified as the list becomes more expensive."""
    known, unknown = case.targets.by_price(case.attack)
    present = case.attack.access_cost
    deters = None if case.deterrents is None else case.deterrents.price
    most = max([*known.prices.tolist(), *unknown.prices.tolist(), present * 1.1, 1.0]) * 1.06
    prices = sorted({*linear([0, most], most=ROWS).ticks, present})
    cells = tuple((amount(price), _people(known.at(price)), _people(unknown.at(price))) for price in prices)
    caption = "People re-identified (expected) by the price of the list"
    table = Table(caption, ("Price", KNOWN, UNKNOWN), cells, (0, 1, 2))
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
    """People re-identified by an amount, with the present one and the deterring one."""
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
