"""Charts of anonymising: risk before and after, columns kept, the frontier."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from discreet.anonymity import Point
from discreet.report.anonymisation.findings import Case, Kept
from discreet.report.assessment.charts import alike, inhabited, standing
from discreet.report.charts.axes import FOOT, Box, Frame, Scale, anchor, dot, fitting, foot, logarithmic, upright
from discreet.report.charts.bars import Bar, Drawing, Fill, Group, text
from discreet.report.toolkit.html import Markup, join
from discreet.report.toolkit.page import Figure, Table
from discreet.report.toolkit.words import listed, one_in, people, plural
from discreet.risk import Assessment, Band
from discreet.wording import brief_percent, fine_percent, measure, percent

# The crowds that people hide in and the risks they run, before and after.
ARROW = " → "
THIN = "Thin grey bars: before. Thick bars: as published."
Pair = tuple[Band, int]
"""A band as it was, and the people who are in it now."""


def crowds(case: Case) -> Figure:
    """People by the size of their class, before and after."""
    pairs = _pairs(case)
    bars = [_crowd(pair, case) for pair in pairs]
    return Figure(
        key="crowd",
        title="The crowd each person hides in",
        about=f"{people(case.before.uniques).capitalize()} alone before, {_alone_now(case)} after.",
        reading=tuple(_crowd_reading(case, striped=any(bar.fill != "plain" for bar in bars))),
        groups=(Group((*bars, _bar("left out", 0, case.suppressed, case))),),
        table=_crowd_table(case, pairs),
    )


def _alone_now(case: Case) -> str:
    return people(case.after.uniques if case.after else 0)


def _crowd_reading(case: Case, *, striped: bool) -> Iterator[str]:
    yield "A class is a set of people who look alike. The smaller it is, the surer a guess."
    yield THIN
    yield "The full width of a bar stands for everybody in the data."
    if striped and case.after is not None:
        yield f"Striped bars are people above the threshold of {one_in(case.after.threshold)} still."


def _pairs(case: Case) -> tuple[Pair, ...]:
    """Bands up to the largest class on either side."""
    before, after = case.before.bands, case.after.bands if case.after else ()
    now = {band.smallest: band.records for band in after}
    most = max(len(inhabited(before)), len(inhabited(after)))
    return tuple((band, now.get(band.smallest, 0)) for band in before[:most])


def _crowd(pair: Pair, case: Case) -> Bar:
    band, now = pair
    return _bar(alike(band), band.records, now, case, fill=_at_risk(band, case) if now else "plain")


def _at_risk(band: Band, case: Case) -> Fill:
    """By the prosecutor; to the journalist the size of a class in the data says nothing."""
    if case.after is None or _adversary(case) != "prosecutor":
        return "plain"
    return standing(band, case.after.threshold)


def _bar(label: str, before: int, now: int, case: Case, *, fill: Fill = "plain") -> Bar:
    value = f"{before:,}{ARROW}{now:,}"
    return Bar(label, value, now / case.records, fill=fill, before=before / case.records)


def _crowd_table(case: Case, pairs: tuple[Pair, ...]) -> Table:
    rows = [_row_change(alike(band), band.records, now, case.records) for band, now in pairs]
    gone = _row_change("left out", 0, case.suppressed, case.records)
    head = ("Class size", "People before", "Share", "People after", "Share")
    return Table("People by the size of their class, before and after", head, (*rows, gone), (1, 2, 3, 4))


def _row_change(label: str, before: int, now: int, everybody: int) -> tuple[str, ...]:
    return label, f"{before:,}", brief_percent(before / everybody), f"{now:,}", brief_percent(now / everybody)


def risks(case: Case, after: Assessment) -> Figure:
    """The highest and the average risk, and the people above the threshold, before and after."""
    bars = tuple(_risks(case, after))
    return Figure(
        key="risk",
        title="The risk that remains",
        about=f"{'; '.join(f'{bar.label}: {bar.value}' for bar in bars)}.",
        reading=_risk_reading(case, after),
        groups=(Group(bars, f"For the {_adversary(case)}"),),
        table=_risk_table(bars),
    )


def _adversary(case: Case) -> str:
    return case.views[0] if case.views else "prosecutor"


def _risk_reading(case: Case, after: Assessment) -> tuple[str, ...]:
    knows = {
        "prosecutor": "The prosecutor knows that his target is in the data, and guesses once among those who look alike.",
        "journalist": "The journalist knows that his target is in the population, and guesses once among those who look "
        "alike there.",
    }
    marks = f"Ticks mark the threshold of {one_in(after.threshold)}, and the share of people who may be above it"
    return (knows[_adversary(case)], THIN, f"{marks}; striped bars go beyond them.")


def _risks(case: Case, after: Assessment) -> Iterator[Bar]:
    _, then, now = case.views or ("", case.before.prosecutor, after.prosecutor)
    yield _risk("Highest risk of anybody", then.highest, now.highest, mark=after.threshold)
    yield _risk("Average risk", then.success, now.success)
    if case.same_threshold:
        yield _risk("People above the threshold", then.at_risk, now.at_risk, mark=case.before.allowed_at_risk)


def _risk(label: str, before: float, after: float, *, mark: float | None = None) -> Bar:
    fill: Fill = "risk" if mark is not None and after > mark else "plain"
    value = f"{fine_percent(before)}{ARROW}{fine_percent(after)}"
    return Bar(label, value, after, fill=fill, mark=mark, before=before)


def _risk_table(bars: tuple[Bar, ...]) -> Table:
    rows = tuple((bar.label, *bar.value.split(ARROW), _limit(bar)) for bar in bars)
    return Table("Risk before and after", ("Risk", "Before", "After", "Limit"), rows, (1, 2, 3))


def _limit(bar: Bar) -> str:
    return "none set" if bar.mark is None else brief_percent(bar.mark)


# What is kept of each column, and at which level it is published.
def kept(case: Case) -> Figure:
    """Per column, the share of its information that is kept, with its level."""
    return Figure(
        key="kept",
        title="What is kept of each column",
        about=_about_columns(case),
        reading=_reading_columns(case),
        groups=(Group(tuple(_bar_columns(column, case) for column in case.columns)),),
        table=_table_columns(case),
    )


def _about_columns(case: Case) -> str:
    shares = [f"{column.name} {brief_percent(column.share)}" for column in case.columns]
    return f"Kept of {plural(len(shares), 'column', 'columns')}: {listed(shares, most=12)}."


def _reading_columns(case: Case) -> tuple[str, ...]:
    full = "A full bar is a column as it was; an empty one says nothing any more."
    levels = (
        "Values were recoded class by class, so that a column has no single level."
        if case.by_class
        else "The chips are the steps that its hierarchy offers, filled as far as they were taken: level 0 is the value itself."
    )
    return (full, levels, *_left_out(case))


def _left_out(case: Case) -> tuple[str, ...]:
    if not case.suppressed:
        return ()
    share = percent(1 - case.suppressed / case.records)
    return (f"Ticks mark the {share} of people who are published: more can be kept of no column.",)


def _bar_columns(column: Kept, case: Case) -> Bar:
    return Bar(
        column.name,
        brief_percent(column.share),
        column.share,
        note=_standing(column),
        mark=1 - case.suppressed / case.records if case.suppressed else None,
        steps=None if column.level is None else (column.level, column.top),
    )


def _standing(column: Kept) -> str:
    if column.untouched:
        return f"{_level(column)}, as it was"
    return f"{_level(column)}, one value for all" if column.after == 1 else _level(column)


def _level(column: Kept) -> str:
    return "by class" if column.level is None else f"level {column.level} of {column.top}"


def _table_columns(case: Case) -> Table:
    head = ("Column", "Level", "Kept", "Values before", "Values published")
    rows = tuple(
        (
            join(column.name),
            _standing(column),
            brief_percent(column.share),
            f"{column.before:,}",
            f"{column.after:,}",
        )
        for column in case.columns
    )
    return Table("What is kept of each column", head, rows, (2, 3, 4))


TOP, HEIGHT = 52, 240
PHONE, DESK, LETTER = 240, 400, 7.5
"""Width of the room on a phone and on a small desk, and of a character, in pixels."""


@dataclass(frozen=True)
class Place:
    """Points that lie on each other."""

    points: tuple[Point, ...]
    chosen: bool

    @property
    def at(self) -> Point:
        """Any of them."""
        return self.points[0]

    @property
    def label(self) -> str:
        """Which k they stand for."""
        first, last = self.points[0].k, self.points[-1].k
        return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def frontier(case: Case, points: Sequence[Point]) -> Figure:
    """Risk against loss, with this table marked."""
    chosen = _chosen(case, points)
    shown = sorted([*points, *([] if chosen is None or chosen in points else [chosen])], key=lambda point: point.k)
    return Figure(
        key="frontier",
        title="What more protection would cost",
        about=_about(shown),
        reading=tuple(_reading(shown, chosen)),
        groups=(),
        table=_table(case, shown, chosen),
        drawing=_drawing(shown, chosen),
    )


def _chosen(case: Case, points: Sequence[Point]) -> Point | None:
    """The point of this table, or one of its own where none is."""
    same = [point for point in points if _is(case, point) and case.k in (None, point.k)]
    return same[-1] if same else _own(case)


def _is(case: Case, point: Point) -> bool:
    found = case.result
    return (point.suppressed, point.classes) == (found.suppressed, found.classes) and math.isclose(
        point.loss, found.loss
    )


def _own(case: Case) -> Point | None:
    if case.after is None:
        return None
    found, risk = case.result, case.after.prosecutor
    k = case.k if case.k is not None else case.after.k
    return Point(k, found.loss, found.suppressed, found.classes, risk.success, risk.highest, found.levels)


def _about(shown: Sequence[Point]) -> str:
    first, last = shown[0], shown[-1]
    return (
        f"{plural(len(shown), 'point', 'points')}: from k = {first.k:,} with a loss of {measure(first.loss)} to "
        f"k = {last.k:,} with {measure(last.loss)}."
    )


def _reading(shown: Sequence[Point], chosen: Point | None) -> Iterator[str]:
    yield (
        "For each k (so many people look alike at least) the least loss that reaches it. Further right, more is lost; "
        "further down, the risk is lower."
    )
    counts = "Loss and risk count" if _losses(shown).log else "Risk counts"
    yield (
        f"{counts} in powers of ten: open circles are the highest risk of anybody, filled ones the average, to an adversary "
        "who knows that his target is in the data."
    )
    following = [point for point in shown if chosen is not None and point.k > chosen.k]
    if chosen is not None and following:
        yield _next(chosen, following[0])
    if not all(map(drawable, shown)):
        yield "Where nobody is left there is no risk to draw; the table has those points."


def _next(chosen: Point, after: Point) -> str:
    if after.loss <= chosen.loss:
        return f"k = {after.k:,} would lose no more than this table."
    return (
        f"From k = {chosen.k:,} to k = {after.k:,} the loss rises from {measure(chosen.loss)} to {measure(after.loss)}, and "
        f"the average risk goes from {fine_percent(chosen.average_risk)} to {fine_percent(after.average_risk)}."
    )


def _losses(shown: Sequence[Point]) -> Scale:
    return fitting([point.loss for point in shown if drawable(point)])


def drawable(point: Point) -> bool:
    """Whether anybody is left to run a risk."""
    return point.average_risk > 0 and point.highest_risk > 0


def _drawing(shown: Sequence[Point], chosen: Point | None) -> Drawing:
    drawn = [point for point in shown if drawable(point)]
    risks = [risk for point in drawn for risk in (point.average_risk, point.highest_risk)]
    frame = Frame(_losses(shown), logarithmic(risks), TOP, HEIGHT)
    places = _places(drawn, chosen)
    parts = join(
        text("Risk: ○ highest, ● on average", x="-64", y=14, class_="note"),
        frame.grid(written=fine_percent),
        [_marks(frame, place) for place in places],
        _labels(frame, places),
        _foot(frame),
    )
    return Drawing(parts, frame.bottom + FOOT, "chart axes")


def _foot(frame: Frame) -> Markup:
    _, unit = frame.x.unit
    return foot(frame.x.labelled(), y=frame.bottom, title=f"Loss, in {unit}" if unit else "Loss")


def _places(drawn: Sequence[Point], chosen: Point | None) -> list[Place]:
    together: dict[tuple[float, float, float], list[Point]] = {}
    for point in drawn:
        together.setdefault((point.loss, point.average_risk, point.highest_risk), []).append(point)
    return [Place(tuple(points), chosen in points) for points in together.values()]


def _marks(frame: Frame, place: Place) -> Markup:
    x, point = frame.across(place.at.loss), place.at
    top, bottom = frame.down(point.highest_risk), frame.down(point.average_risk)
    kind = " this" if place.chosen else ""
    return join(
        upright(x, top, bottom, class_=f"link{kind}"),
        dot(x, top, r=4.5, class_=f"dot open{kind}"),
        dot(x, bottom, r=5, class_=f"dot{kind}"),
        _callout(frame, place) if place.chosen else None,
    )


def _callout(frame: Frame, place: Place) -> Markup:
    """The words above the plot, where no point can be, with a line down to the mark."""
    x, share = frame.across(place.at.loss), frame.x.share(place.at.loss)
    words = text(f"k = {place.label}, this table", x=x, y=TOP - 14, class_="heading", text_anchor=anchor(share))
    return join(upright(x, TOP - 8, frame.down(place.at.highest_risk) - 8, class_="lead"), words)


def _labels(frame: Frame, places: Sequence[Place]) -> list[Markup]:
    """The k of each mark above it, as far as there is room; this table has its callout."""
    phone, desk = (_readable(frame, places, width) for width in (PHONE, DESK))
    return [
        _label(frame, place, words, class_="label lifted" if (place, words) in phone else "label lifted roomy")
        for place, words in desk
    ]


def _label(frame: Frame, place: Place, words: str, *, class_: str) -> Markup:
    y = round(frame.down(place.at.highest_risk)) - 10
    return text(words, x=frame.across(place.at.loss), y=y, class_=class_, text_anchor="middle")


def _readable(frame: Frame, places: Sequence[Place], width: int) -> list[tuple[Place, str]]:
    """The labels that run into nothing at a width; the first come first."""
    labels: list[tuple[Place, str]] = []
    taken: list[Box] = []
    others = [place for place in places if not place.chosen]
    for rank, place in enumerate(others):
        words = place.label if rank else f"k = {place.label}"
        box = _above(frame, place, words, width)
        marks = [_room(frame, other, width) for other in places if other is not place]
        if not any(box.meets(other) for other in [*marks, *taken]):
            labels.append((place, words))
            taken.append(box)
    return labels


def _above(frame: Frame, place: Place, words: str, width: int) -> Box:
    """What a label takes."""
    middle, bottom = frame.x.share(place.at.loss) * width, frame.down(place.at.highest_risk) - 8
    half = len(words) * LETTER / 2
    return Box(middle - half, middle + half, bottom - 12, bottom)


def _room(frame: Frame, place: Place, width: int) -> Box:
    """What the two circles and the line between them take."""
    middle = frame.x.share(place.at.loss) * width
    top, bottom = frame.down(place.at.highest_risk), frame.down(place.at.average_risk)
    return Box(middle - 6, middle + 6, TOP - 8 if place.chosen else top - 6, bottom + 6)


def _table(case: Case, shown: Sequence[Point], chosen: Point | None) -> Table:
    head = ("k", "Loss", "Average risk", "Highest risk", "Left out", "Classes")
    rows = tuple(_row(point, this=point is chosen or point == chosen) for point in shown)
    return Table(f"The least loss for each k, of {people(case.records)}", head, rows, (1, 2, 3, 4, 5))


def _row(point: Point, *, this: bool) -> tuple[str, ...]:
    return (
        f"{point.k:,}{' (this table)' if this else ''}",
        measure(point.loss),
        fine_percent(point.average_risk),
        fine_percent(point.highest_risk),
        f"{point.suppressed:,}",
        f"{point.classes:,}",
    )
