"""What more protection would cost: risk against loss, one point for each k."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from discreet.anonymity import Point
from discreet.report.anonymised.case import Case
from discreet.report.charts.axes import FOOT, Box, Frame, Scale, anchor, dot, fitting, foot, logarithmic, upright
from discreet.report.charts.bars import Drawing, text
from discreet.report.components import Figure, Table
from discreet.report.toolkit.html import Markup, join
from discreet.report.toolkit.words import people, plural
from discreet.wording import fine_percent, measure

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
