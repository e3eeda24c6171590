"""Line charts: paths that go where the values are, and words that no line crosses."""

from __future__ import annotations

from discreet.report.charts.axes import linear
from discreet.report.charts.lines import Axes, Line, Mark, line_chart, stacked
from discreet.report.toolkit.html import element
from tests.report.samples import Outline

AXES = Axes(linear([0, 10]), linear([0, 4], zero=True), "size", "people")


def paths(*lines: Line) -> list[str | None]:
    """What is drawn, the first line last."""
    outline = Outline(str(element("g", line_chart(lines, AXES).parts)))
    return [attributes["d"] for attributes in reversed(outline.all("path"))]


def test_steps_hold_their_value_until_the_next_point() -> None:
    assert paths(Line("a", ((0, 4), (5, 2), (10, 0)))) == ["M0 0H500V120H1000V240"]


def test_equal_values_are_one_stroke() -> None:
    assert paths(Line("a", ((0, 2), (1, 2), (5, 2), (10, 2)))) == ["M0 120H1000"]


def test_points_can_be_joined() -> None:
    assert paths(Line("a", ((0, 4), (10, 0)), steps=False)) == ["M0 0L1000 240"]


def test_nothing_is_drawn_of_nothing() -> None:
    assert paths(Line("a", ())) == [""]


def test_each_line_has_its_stroke_and_its_words() -> None:
    outline = Outline(str(element("g", line_chart([Line(name, ((0, 1),)) for name in "abcde"], AXES).parts)))
    strokes = [attributes["class"] for attributes in outline.all("path")]
    assert sorted(map(str, strokes)) == sorted(f"stroke {name}" for name in ("one", "two", "three", "four", "five"))
    assert {"a", "b", "c", "d", "e"} <= {text for _, text in outline.texts}


def test_marks_nearer_to_an_edge_stand_higher() -> None:
    marks = [Mark(6, "six"), Mark(9, "nine"), Mark(1, "one"), Mark(3, "three")]
    outline = Outline(str(element("g", line_chart([], AXES, marks=marks).parts)))
    words = [text for tag, text in outline.texts if text in ("one", "three", "six", "nine")]
    assert words == ["nine", "six", "one", "three"]
    places = [attributes for attributes in outline.all("text") if attributes.get("dx")]
    assert [attributes["text-anchor"] for attributes in places] == ["end", "end", "start", "start"]


def test_drawings_are_stacked() -> None:
    one = line_chart([Line("a", ((0, 1),))], AXES)
    both = stacked(one, one, gap=10)
    assert both.height == 2 * one.height + 10
    assert f"translate(0 {one.height + 10})" in str(both.parts)
