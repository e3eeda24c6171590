"""Charts of an attack: outcomes, probability and decision by group size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from discreet.attacker import Attack, Outcome
from discreet.kernel.arrays import Ints
from discreet.report.attack.findings import Case, expected, none_listed
from discreet.report.charts.axes import (
    FOOT,
    LEGEND,
    MARGIN,
    MARK,
    Axes,
    Frame,
    Line,
    Mark,
    Scale,
    foot,
    line_chart,
    linear,
    marked,
)
from discreet.report.charts.bars import Bar, Drawing, Fill, Group, percentage, rect, stripes, text
from discreet.report.toolkit.html import Markup, element, join
from discreet.report.toolkit.page import Figure, Table
from discreet.report.toolkit.words import plural
from discreet.wording import brief_percent, fine_percent, percent

# People attacked in full, in part or not at all, by what the adversary knows.
KNOWN, UNKNOWN, GUESS = "He knows the groups", "He buys the list unseen", "One guess each"


def fates(case: Case) -> Figure:
    """Three adversaries and what becomes of the people."""
    known, unknown = case.struck.known, case.struck.unknown
    return Figure(
        key="fates",
        title="Whom he attacks, by what he knows",
        about=f"Attacked: {known.attacked:,} with known groups, {unknown.attacked:,} unseen, {case.guessed_at:,} by one guess.",
        reading=(
            (
                "He may know how many people look alike before he buys the list, for instance from a census; or he learns it only "
                "from the list and expects them to be as frequent there as everywhere."
            ),
            "One guess each is the single-shot model: one random candidate, where that pays.",
            "The full width of a bar stands for everybody in the data.",
        ),
        groups=tuple(_groups(case)),
        table=_table_fates(case),
    )


def _groups(case: Case) -> Iterator[Group]:
    for name, outcome in ((KNOWN, case.struck.known), (UNKNOWN, case.struck.unknown)):
        yield Group(tuple(_bars_fates(outcome, case.records)), name, f"re-identified: {_brief(outcome.reidentified)}")
    single = (
        _bar("tries one candidate", case.guessed_at, case.records, "partly"),
        _bar("leaves alone", case.records - case.guessed_at, case.records, "plain"),
    )
    yield Group(single, GUESS, f"re-identified: {_brief(case.guessed)}")


def _brief(number: float) -> str:
    return expected(number).removeprefix("about ")


def _bars_fates(outcome: Outcome, records: int) -> Iterator[Bar]:
    yield _bar("tries every candidate", outcome.in_full, records, "risk")
    yield _bar("tries some candidates", outcome.in_part, records, "partly")
    yield _bar("leaves alone", outcome.not_at_all, records, "plain")


def _bar(label: str, people: int, records: int, fill: Fill) -> Bar:
    return Bar(label, f"{people:,} · {brief_percent(people / records)}", people / records, fill=fill)


def _table_fates(case: Case) -> Table:
    rows = [_row(KNOWN, case.struck.known), _row(UNKNOWN, case.struck.unknown)]
    left = case.records - case.guessed_at
    rows.append((GUESS, "not told apart", f"{case.guessed_at:,}", f"{left:,}", _brief(case.guessed), "not told apart"))
    head = (
        "Adversary",
        "Every candidate",
        "Some candidates",
        "Left alone",
        "Re-identified",
        "Innocent people exploited",
    )
    return Table(f"What becomes of {case.records:,} people", head, tuple(rows), (1, 2, 3, 4, 5))


def _row(name: str, outcome: Outcome) -> tuple[str, ...]:
    numbers = (outcome.in_full, outcome.in_part, outcome.not_at_all)
    return (name, *(f"{number:,}" for number in numbers), _brief(outcome.reidentified), _brief(outcome.harmed))


# The probability of a re-identification by group size: planning against one guess.
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
        table=_table_chance(attack, sizes),
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


def _table_chance(attack: Attack, sizes: Ints) -> Table:
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


Fate = Literal["risk", "partly", "plain"]
FATES: dict[Fate, str] = {
    "risk": "tries every candidate",
    "partly": "tries some candidates",
    "plain": "leaves them alone",
}
EACH = 2000
"""Sizes up to here are looked at one by one."""
BINS = 8
"""Bars per power of ten."""
HEIGHT, BAND, GAP, SWATCH = 160, 20, 8, 14


@dataclass(frozen=True)
class Bin:
    """Group sizes from one to another, and the people of the data in such groups."""

    first: int
    last: int
    people: int
    fate: Fate

    @property
    def words(self) -> str:
        """The sizes."""
        return f"{self.first:,}" if self.first == self.last else f"{self.first:,} to {self.last:,}"


def strip(case: Case) -> Figure:
    """Group size against what he does, with the thresholds and the people."""
    bins = bins_of(case)
    return Figure(
        key="strip",
        title="How far he goes, by the size of the crowd",
        about=_about(case),
        reading=tuple(_reading(case)),
        groups=(),
        table=_table(case, bins),
        drawing=_drawing(case, bins),
    )


def thresholds(case: Case) -> list[Mark]:
    """The sizes at which he changes his mind, those that there are."""
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
    sizes, people = case.targets.groups, case.targets.people
    most = _most(case)
    rough = np.round(np.geomspace(1, most + 1, 1 + round(BINS * np.log10(most)))).astype(np.int64).tolist()
    fates = dict(fates_by_size(case.attack, most))
    edges = sorted({*rough, *fates})
    bins, now = [], fates[1]
    for first, after in pairwise(edges):
        now = fates.get(first, now)
        bins.append(Bin(first, after - 1, int(people[(sizes >= first) & (sizes < after)].sum()), now))
    return bins


def _most(case: Case) -> int:
    found = case.struck.thresholds
    last = max(size or 1 for size in (found.stops_early, found.no_access, found.no_exploit))
    return max(int(case.struck.groups.max(initial=1)), round(last * 1.25), 10)


def fates_by_size(attack: Attack, most: int) -> list[tuple[int, Fate]]:
    """The sizes at which what he does changes, from 1 on."""
    near = np.arange(1, min(most, EACH) + 1)
    far = np.unique(np.geomspace(EACH + 1, most, 60).astype(np.int64)) if most > EACH else near[:0]
    found = attack.thresholds()
    turning = [size for size in (found.stops_early, found.no_access) if size is not None and EACH < size <= most]
    sizes = np.unique(np.concatenate([near, far, np.array(turning, dtype=np.int64)]))
    plan = attack.known(sizes)
    exploits = plan.exploits * plan.accesses
    code = np.where(exploits == 0, 2, np.where(exploits < sizes, 1, 0))
    turns = [0, *(np.flatnonzero(np.diff(code)) + 1).tolist()]
    names: tuple[Fate, ...] = ("risk", "partly", "plain")
    return [(int(sizes[turn]), names[code[turn]]) for turn in turns]


def _about(case: Case) -> str:
    known = case.struck.known
    return (
        f"He tries every candidate for {known.in_full:,} people, some for {known.in_part:,}, and leaves "
        f"{known.not_at_all:,} alone."
    )


def _reading(case: Case) -> Iterator[str]:
    yield (
        "A group are the people in the list who look like somebody in the data. The area of a bar is the number of people in "
        "the data whose group has that size; the band below says what he does with such a group, whether anybody has it or not."
    )
    yield "He knows how many there are before he buys. Sizes count in powers of ten."
    if case.unlisted:
        yield none_listed(case)


def _drawing(case: Case, bins: Sequence[Bin]) -> Drawing:
    marks = thresholds(case)
    words = len(FATES) * LEGEND + 10
    frame = Frame(_scale(bins), Scale(0, 1, ()), words + len(marks) * MARK, HEIGHT)
    band = frame.bottom + GAP
    parts = join(
        element("defs", stripes("strip-risk", 6), stripes("strip-partly", 14)),
        [_legend(fate, place, case) for place, fate in enumerate(FATES)],
        _bars(frame, bins),
        element("line", x1="0", x2="100%", y1=str(frame.bottom), y2=str(frame.bottom), class_="grid"),
        [_piece(frame, piece, band, BAND) for piece in _runs(bins)],
        marked(frame, marks, words),
        foot(frame.x.labelled(), y=band + BAND, title="People in the list who look alike"),
    )
    return Drawing(parts, band + BAND + FOOT, "chart axes")


def _scale(bins: Sequence[Bin]) -> Scale:
    """From half a person to half a person beyond the largest group: each size has room of its own."""
    most = bins[-1].last
    powers = [float(10**power) for power in range(12) if 10**power <= most]
    ticks = powers if len(powers) > 2 else [tick for tick in (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0) if tick <= most]
    return Scale(0.5, most + 0.5, tuple(ticks), log=True)


def _legend(fate: Fate, place: int, case: Case) -> Markup:
    known = case.struck.known
    people = {"risk": known.in_full, "partly": known.in_part, "plain": known.not_at_all}[fate]
    y = place * LEGEND
    swatch = rect(x=str(MARGIN), y=y + 3, width=str(SWATCH), height=SWATCH, class_=f"bar {fate}", fill=_paint(fate))
    label = text(FATES[fate].capitalize(), x=str(MARGIN + SWATCH + 10), y=y + 15, class_="label")
    value = f"{people:,} · {brief_percent(people / case.records)}"
    return join(swatch, label, text(value, x="100%", y=y + 15, class_="value", text_anchor="end"))


def _paint(fate: Fate) -> str | None:
    return None if fate == "plain" else f"url(#strip-{fate})"


def _bars(frame: Frame, bins: Sequence[Bin]) -> list[Markup]:
    dense = [one.people / _width(frame, one) for one in bins]
    tallest = max(dense, default=0.0) or 1.0
    return [
        _piece(frame, one, frame.bottom - high, high)
        for one, density in zip(bins, dense, strict=True)
        if one.people
        for high in [max(1, round(density / tallest * frame.height))]
    ]


def _width(frame: Frame, one: Bin) -> float:
    return frame.x.share(one.last + 0.5) - frame.x.share(one.first - 0.5)


def _piece(frame: Frame, one: Bin, y: int, height: int) -> Markup:
    left = frame.x.share(one.first - 0.5) * 100
    width = percentage(max(0.15, _width(frame, one) * 100 - 0.15))
    return rect(x=percentage(left), y=y, width=width, height=height, class_=f"bar {one.fate}", fill=_paint(one.fate))


def _runs(bins: Sequence[Bin]) -> list[Bin]:
    """Neighbouring bins of one fate as one."""
    runs: list[Bin] = []
    for one in bins:
        if runs and runs[-1].fate == one.fate:
            before = runs.pop()
            runs.append(Bin(before.first, one.last, before.people + one.people, one.fate))
        else:
            runs.append(one)
    return runs


def _table(case: Case, bins: Sequence[Bin]) -> Table:
    nobody = [("0", f"{case.unlisted:,}", brief_percent(case.unlisted / case.records), FATES["plain"])]
    rows = [
        (one.words, f"{one.people:,}", brief_percent(one.people / case.records), FATES[one.fate])
        for one in bins
        if one.people
    ]
    turns = "; ".join(mark.label for mark in thresholds(case))
    caption = f"{plural(case.records, 'person', 'people')} by the size of the group" + (f" ({turns})" if turns else "")
    head = ("Group size", "People in the data", "Share", "What he does")
    return Table(caption, head, (*(nobody if case.unlisted else []), *rows), (1, 2))
