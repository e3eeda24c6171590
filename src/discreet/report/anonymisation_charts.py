"""Charts of anonymising: risk before and after, columns kept, frontier, lattice, certificate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from discreet.anonymity import Certificate, Point, Seen
from discreet.report.anonymisation_findings import Case
from discreet.report.assessment import alike, inhabited, sensitive, standing
from discreet.report.charts.axes import (
    DESK,
    LETTER,
    PHONE,
    Box,
    Frame,
    anchor,
    dot,
    fitting,
    logarithmic,
    readable,
    upright,
)
from discreet.report.charts.bars import Bar, Drawing, Fill, Group, Segment, segmented_bar, text
from discreet.report.charts.lattice import MOST_STEPS, Lattice, Step, lattice_chart
from discreet.report.toolkit import words
from discreet.report.toolkit.html import Markup, element, join
from discreet.report.toolkit.page import Figure, Table
from discreet.report.toolkit.words import agree, listed, one_in, people, plural
from discreet.risk import Assessment
from discreet.wording import brief_percent, fine_percent, measure, percent

ARROW = " → "
THIN = "Thin grey bars: before. Thick bars: as published."
TOP, HEIGHT = 52, 240
KNOWS = {
    "prosecutor": "The prosecutor knows that the target is in the data, and guesses once among those who look alike.",
    "journalist": "The journalist knows that the target is in the population, and guesses once among those who look "
    "alike there.",
}


def pictures(case: Case, frontier_points: Sequence[Point], nodes: Sequence[Seen]) -> Iterator[Figure]:
    """Every figure that there are numbers for, in the order of the findings."""
    yield crowds(case)
    yield kept(case)
    if case.after is not None:
        yield risks(case, case.after)
    if any(map(drawable, frontier_points)):
        yield frontier(case, frontier_points)
    if nodes:
        yield lattice(case, nodes)
    if case.result.certificate is not None:
        yield certificate(case.result.certificate)
    if case.after is not None and case.after.inference:
        yield sensitive(case.after)


# The crowds that people hide in and the risks they run, before and after.
def crowds(case: Case) -> Figure:
    """People by the size of their class, before and after."""
    after, everybody = case.after, case.records
    bands = case.before.bands, after.bands if after else ()
    now = {band.smallest: band.records for band in bands[1]}
    changes: list[tuple[str, int, int, Fill]] = []
    for band in bands[0][: max(len(inhabited(side)) for side in bands)]:
        # To the journalist the size of a class in the data says nothing.
        prosecuted = after is not None and case.views is not None and case.views[0] == "prosecutor"
        number = now.get(band.smallest, 0)
        fill = standing(band, after.threshold) if after and prosecuted and number else "plain"
        changes.append((alike(band), band.records, number, fill))
    changes.append(("left out", 0, case.suppressed, "plain"))
    bars = tuple(
        Bar(label, f"{before:,}{ARROW}{number:,}", number / everybody, fill=fill, before=before / everybody)
        for label, before, number, fill in changes
    )
    reading = [
        "A class is a set of people who look alike. The smaller it is, the surer a guess.",
        THIN,
        "The full width of a bar is everybody in the data.",
    ]
    if after is not None and any(bar.fill != "plain" for bar in bars):
        reading.append(f"Striped bars are people above the threshold of {one_in(after.threshold)} still.")
    rows = tuple(
        (label, f"{before:,}", brief_percent(before / everybody), f"{number:,}", brief_percent(number / everybody))
        for label, before, number, _ in changes
    )
    alone = people(after.uniques if after else 0)
    head = ("Class size", "People before", "Share", "People after", "Share")
    return Figure(
        key="crowd",
        title="How many people look alike",
        about=f"{people(case.before.uniques).capitalize()} alone before, {alone} after.",
        reading=tuple(reading),
        chart=(Group(bars),),
        table=Table("People by the size of their class, before and after", head, rows, (1, 2, 3, 4)),
    )


def risks(case: Case, after: Assessment) -> Figure:
    """Highest risk, average risk and people above the threshold, before and after."""
    adversary, then, now = case.views or ("prosecutor", case.before.prosecutor, after.prosecutor)
    changes: list[tuple[str, float, float, float | None]] = [
        ("Highest risk of anybody", then.highest, now.highest, after.threshold),
        ("Average risk", then.success, now.success, None),
    ]
    if case.same_threshold:
        changes.append(("People above the threshold", then.at_risk, now.at_risk, case.before.allowed_at_risk))
    bars, rows = [], []
    for label, was, became, limit in changes:
        both, beyond = (fine_percent(was), fine_percent(became)), limit is not None and became > limit
        fill: Fill = "risk" if beyond else "plain"
        bars.append(Bar(label, ARROW.join(both), became, fill=fill, mark=limit, before=was))
        rows.append((label, *both, "none set" if limit is None else brief_percent(limit)))
    marks = f"Ticks mark the threshold of {one_in(after.threshold)}, and the share of people who may be above it"
    return Figure(
        key="risk",
        title="The risk that remains",
        about=f"{'; '.join(f'{bar.label}: {bar.value}' for bar in bars)}.",
        reading=(KNOWS[adversary], THIN, f"{marks}; striped bars go beyond them."),
        chart=(Group(tuple(bars), f"For the {adversary}"),),
        table=Table("Risk before and after", ("Risk", "Before", "After", "Limit"), tuple(rows), (1, 2, 3)),
    )


def kept(case: Case) -> Figure:
    """Per column, the share of its information that is kept, with its level."""
    published = 1 - case.result.suppressed_rows / case.rows
    bars, rows = [], []
    for column in case.columns:
        share = brief_percent(column.share)
        level = "by class" if column.level is None else f"level {column.level} of {column.top}"
        if column.untouched:
            level = f"{level}, as it was"
        elif column.after == 1:
            level = f"{level}, one value for all"
        mark = published if case.suppressed else None
        steps = None if column.level is None else (column.level, column.top)
        bars.append(Bar(column.name, share, column.share, note=level, mark=mark, steps=steps))
        rows.append((join(column.name), level, share, f"{column.before:,}", f"{column.after:,}"))
    shares = [f"{bar.label} {bar.value}" for bar in bars]
    reading = [
        "A full bar is a column as it was; an empty one says nothing any more.",
        "Values were recoded class by class, so that a column has no single level."
        if case.by_class
        else "The chips are the steps that its hierarchy offers, filled as far as they were taken: level 0 is the value itself.",
    ]
    if case.suppressed:
        what = "people who are" if case.result.rows is None else "rows that are"
        reading.append(f"Ticks mark the {percent(published)} of {what} published: no column can retain more.")
    head = ("Column", "Level", "Kept", "Values before", "Values published")
    return Figure(
        key="kept",
        title="What is kept of each column",
        about=f"Kept of {plural(len(shares), 'column')}: {listed(shares, most=12)}.",
        reading=tuple(reading),
        chart=(Group(tuple(bars)),),
        table=Table("What is kept of each column", head, tuple(rows), (2, 3, 4)),
    )


# Risk against loss for every k.
@dataclass(frozen=True)
class Spot:
    """Points of the frontier that are drawn at the same position."""

    points: tuple[Point, ...]
    chosen: bool

    @property
    def label(self) -> str:
        """Which k they are for."""
        first, last = self.points[0].k, self.points[-1].k
        return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def drawable(point: Point) -> bool:
    """Whether anybody is left to run a risk."""
    return point.average_risk > 0 and point.highest_risk > 0


def frontier(case: Case, points: Sequence[Point]) -> Figure:
    """Risk against loss, with this table marked."""
    # The point of this table, or one of its own where none is.
    result, after = case.result, case.after
    same = [
        point
        for point in points
        if (point.suppressed, point.classes) == (result.suppressed, result.classes)
        and math.isclose(point.loss, result.loss)
        and case.k in (None, point.k)
    ]
    chosen, shown = same[-1] if same else None, list(points)
    if chosen is None and after is not None:
        risk, k = after.prosecutor, case.k if case.k is not None else after.k
        own = (result.loss, result.suppressed, result.classes, risk.success, risk.highest, result.levels)
        chosen = Point(k, *own)
        shown += [] if chosen in points else [chosen]
    shown.sort(key=lambda point: point.k)
    drawn = [point for point in shown if drawable(point)]
    risks = [risk for point in drawn for risk in (point.average_risk, point.highest_risk)]
    frame = Frame(fitting([point.loss for point in drawn]), logarithmic(risks), TOP, HEIGHT)
    counted = "Loss and risk count" if frame.x.log else "Risk counts"
    reading = [
        *words.points(f"""
- For each k (so many people look alike at least) the least loss that reaches it. Further right, more is lost; further
  down, the risk is lower.
- {counted} in powers of ten: open circles are the highest risk of anybody, filled ones the average, to an adversary who
  knows that the target is in the data.""")
    ]
    larger = next((point for point in shown if chosen is not None and point.k > chosen.k), None)
    if chosen is not None and larger is not None:
        reading.append(
            f"k = {larger.k:,} would lose no more than this table."
            if larger.loss <= chosen.loss
            else f"From k = {chosen.k:,} to k = {larger.k:,} the loss rises from {measure(chosen.loss)} to "
            f"{measure(larger.loss)}, and the average risk goes from {fine_percent(chosen.average_risk)} to "
            f"{fine_percent(larger.average_risk)}."
        )
    if len(drawn) < len(shown):
        reading.append("Where nobody is left there is no risk to draw; the table has those points.")
    rows = []
    for point in shown:
        name = f"{point.k:,}{' (this table)' if point == chosen else ''}"
        both = fine_percent(point.average_risk), fine_percent(point.highest_risk)
        rows.append((name, measure(point.loss), *both, f"{point.suppressed:,}", f"{point.classes:,}"))
    first, last = shown[0], shown[-1]
    head, caption = (
        ("k", "Loss", "Average risk", "Highest risk", "Left out", "Classes"),
        "The least loss for each k, of",
    )
    return Figure(
        key="frontier",
        title="What more protection would cost",
        about=f"{plural(len(shown), 'point')}: from k = {first.k:,} with a loss of {measure(first.loss)} to "
        f"k = {last.k:,} with {measure(last.loss)}.",
        reading=tuple(reading),
        chart=frontier_chart(frame, drawn, chosen),
        table=Table(f"{caption} {people(case.records)}", head, tuple(rows), (1, 2, 3, 4, 5)),
    )


def frontier_chart(frame: Frame, drawn: Sequence[Point], chosen: Point | None) -> Drawing:
    """Two circles per point with a line between them; k where there is room."""
    together: dict[tuple[float, float, float], list[Point]] = {}
    for point in drawn:
        together.setdefault((point.loss, point.average_risk, point.highest_risk), []).append(point)
    spots = [Spot(tuple(points), chosen in points) for points in together.values()]
    marks: list[Markup] = []
    for (loss, average, highest), spot in zip(together, spots, strict=True):
        x, top, bottom = frame.across(loss), frame.down(highest), frame.down(average)
        kind = " this" if spot.chosen else ""
        marks += [
            upright(x, top, bottom, class_=f"link{kind}"),
            dot(x, top, r=4.5, class_=f"dot open{kind}"),
            dot(x, bottom, r=5, class_=f"dot{kind}"),
        ]
        if spot.chosen:
            # The words are above the plot, where no point can be, with a line down to the mark.
            side = anchor(frame.x.share(loss))
            label = f"k = {spot.label}, this table"
            marks.append(upright(x, TOP - 8, top - 8, class_="lead"))
            marks.append(text(label, x=x, y=TOP - 14, class_="heading", text_anchor=side))
    phone, desk = (_readable_labels(frame, spots, width) for width in (PHONE, DESK))
    labels = []
    for place, label in desk.items():
        point = spots[place].points[0]
        class_ = "label lifted" if phone.get(place) == label else "label lifted roomy"
        y = round(frame.down(point.highest_risk)) - 10
        labels.append(text(label, x=frame.across(point.loss), y=y, class_=class_, text_anchor="middle"))
    return frame.drawing(
        marks, labels, upwards="Risk: ○ highest, ● on average", across=frame.x.named("Loss"), written=fine_percent
    )


def _readable_labels(frame: Frame, spots: Sequence[Spot], width: int) -> dict[int, str]:
    """Labels (k) that overlap nothing at a width; this table has its callout."""
    others = [place for place, spot in enumerate(spots) if not spot.chosen]
    labels = {place: spots[place].label if rank else f"k = {spots[place].label}" for rank, place in enumerate(others)}
    boxes, marks = {}, []
    for place, spot in enumerate(spots):
        point = spot.points[0]
        middle, top = frame.x.share(point.loss) * width, frame.down(point.highest_risk)
        bottom = frame.down(point.average_risk)
        marks.append(Box(middle - 6, middle + 6, TOP - 8 if spot.chosen else top - 6, bottom + 6))
        if place in labels:
            half = len(labels[place]) * LETTER / 2
            boxes[place] = Box(middle - half, middle + half, top - 20, top - 8)
    return {place: labels[place] for place in readable(boxes, marks)}


# Every combination of levels, and why nothing better exists.
def lattice_of(
    nodes: Sequence[Seen], chosen: tuple[int, ...] | None, address: Callable[[tuple[int, ...]], str] | None = None
) -> Lattice:
    """Combinations by the sum of their levels, in at most so many steps; `address` says where each leads."""
    top = max(sum(seen.node) for seen in nodes)
    wide = math.ceil((top + 1) / MOST_STEPS)
    starts = range(0, top + 1, wide)
    losses: list[list[float]] = [[] for _ in starts]
    ways: list[list[str]] = [[] for _ in starts]
    refused, position = [0 for _ in starts], None
    for seen in nodes:
        step = sum(seen.node) // wide
        if not seen.allowed or not math.isfinite(seen.loss):
            refused[step] += 1
            continue
        if seen.node == chosen:
            position = step, len(losses[step])
        losses[step].append(seen.loss)
        if address is not None:
            ways[step].append(address(seen.node))
    ends = [min(top, start + wide - 1) for start in starts]
    return Lattice(tuple(map(Step, starts, ends, refused, map(tuple, losses), map(tuple, ways))), position)


def lattice_map(nodes: Sequence[Seen], chosen: tuple[int, ...], address: Callable[[tuple[int, ...]], str]) -> Markup:
    """The same for a page: each mark leads to its combination."""
    drawn = lattice_chart(lattice_of(nodes, chosen, address))
    size = {"class_": drawn.class_, "width": "100%", "height": str(drawn.height)}
    return element("svg", drawn.parts, role="group", aria_label="Every combination of levels, by sum and loss", **size)


def lattice(case: Case, nodes: Sequence[Seen]) -> Figure:
    """All combinations by sum of levels and loss, with this table marked."""
    names = case.result.recoding.classes.names
    data = lattice_of(nodes, None if case.by_class else tuple(case.result.levels[name] for name in names))
    count, allowed, loss = plural(len(nodes), "combination"), len(data.losses), data.loss
    reading = [
        (
            f"{count if len(nodes) == 1 else f'All {count}'} of levels, from the data as they were at the left to the coarsest at "
            f"the right. Further down, less is lost{', in powers of ten' if data.frame.y.log else ''}."
        ),
        f"Each cell counts allowed combinations: the fuller the colour, the more, up to {max(data.cells.values(), default=0):,} in one cell."
        if data.crowded
        else "Each dot is an allowed combination; dots of one sum are spread sideways, to be seen.",
    ]
    if data.refused:
        reading.append(
            "The strip below counts those that are not allowed, because too many people would have to be left out."
        )
    if loss is not None and allowed > 1:
        better = sum(other < loss * (1 - 1e-12) for other in data.losses)
        verb = f"{better:,} {agree(better, 'loses', 'lose')}" if better else "none loses"
        reading.append(f"Of the {allowed:,} allowed, {verb} less than this table: {measure(loss)}.")

    def row(label: str, refused: int, losses: Sequence[float]) -> tuple[str, ...]:
        least = measure(min(losses)) if losses else "none allowed"
        return label, f"{refused + len(losses):,}", f"{refused:,}", f"{len(losses):,}", least

    rows = []
    for place, step in enumerate(data.steps):
        this = " (this table)" if data.chosen is not None and data.chosen[0] == place else ""
        rows.append(row(f"{step.label}{this}", step.refused, step.losses))
    this = "" if loss is None else f" This table loses {measure(loss)}."
    return Figure(
        key="lattice",
        title="Every combination of levels",
        about=f"{count}, of which {allowed:,} {agree(allowed, 'is', 'are')} allowed.{this}",
        reading=tuple(reading),
        chart=lattice_chart(data),
        table=Table(
            "Combinations by the sum of their levels",
            ("Sum of levels", "Combinations", "Not allowed", "Allowed", "Least loss"),
            (*rows, row("All", data.refused, data.losses)),
            (1, 2, 3, 4),
        ),
    )


def certificate(found: Certificate) -> Figure:
    """The account of the search as one bar."""
    segments = fates_of(found)
    if found.search == "ola":
        reading = (
            (
                f"{found.evaluated:,} of {found.nodes:,} combinations {agree(found.evaluated, 'was', 'were')} counted; what is "
                "finer than one that leaves out too many, or coarser than an allowed one, needs no look."
            ),
            "The finest allowed ones were compared. A coarser one may lose less, so nothing is proven.",
        )
    else:
        reading = (
            (
                "To count a combination is to count the people of its classes. One that leaves out too many of them, to be allowed "
                "or to be better, rules out all finer ones: their classes are smaller still."
            ),
            "What a combination loses at least is known before anybody is counted: where that is no less than the loss of "
            "this table, no look is needed."
            if found.optimal
            else f"The search was stopped. No combination loses less than {measure(found.lower_bound, digits=4)}; this table "
            f"loses {measure(found.loss, digits=4)}.",
        )
    rows = [(fate.label, f"{fate.number:,}", brief_percent(fate.number / found.nodes)) for fate in segments]
    head = ("What became of them", "Combinations", "Share")
    return Figure(
        key="certificate",
        title="Why nothing better exists" if found.optimal else "What the search looked at",
        about="; ".join(f"{fate.label}: {fate.number:,}" for fate in segments) + f". All: {found.nodes:,}.",
        reading=reading,
        chart=segmented_bar(segments, whole=found.nodes, key="certificate"),
        table=Table("The search in numbers", head, (*rows, ("All", f"{found.nodes:,}", "100 %")), (1, 2)),
    )


def fates_of(found: Certificate) -> tuple[Segment, ...]:
    """Outcomes of the search: parts that add up to all combinations."""
    if found.search == "ola":
        # OLA knows of every node whether it is allowed; which of them were counted is no part of that.
        return (
            Segment("Leaves out too many", found.too_much_suppressed, "ruled"),
            Segment("Allowed, finest compared", found.nodes - found.too_much_suppressed, "counted"),
        )
    rest = found.nodes - found.evaluated - found.too_much_suppressed
    return (
        Segment("Counted", found.evaluated, "counted"),
        Segment("Leaves out too many", found.too_much_suppressed, "ruled"),
        Segment("Cannot lose less" if found.optimal else "Not looked at", rest, "open"),
    )
