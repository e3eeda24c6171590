"""Pictures: every number that a chart shows is in its table, and nothing depends on colour alone."""

from __future__ import annotations

import re

import pytest

from discreet.report.assessment import pictures
from discreet.report.charts.bars import Bar, Group, bar_chart
from discreet.report.toolkit.page import Figure
from discreet.risk import assess
from tests.report.documents import drawn, groups_of
from tests.report.samples import Outline, crowds, every_kind, people_profile

KINDS = dict(every_kind())
NUMBER = re.compile(r"[\d,]*\.?\d+")


@pytest.mark.parametrize("kind", KINDS)
def test_every_chart_can_be_read_aloud_and_its_table_has_every_number_of_the_bars(kind: str) -> None:
    for shown in pictures(KINDS[kind], people_profile()):
        chart, table = drawn(shown)
        _check_that_the_table_has_every_number(shown, chart, table)
        _check_that_it_can_be_read_aloud(chart, table)


def _check_that_the_table_has_every_number(shown: Figure, chart: Outline, table: Outline) -> None:
    cells = " ".join(text for _, text in table.texts)
    values = [bar.value for group in groups_of(shown) for bar in group.bars]
    assert values
    texts = [text for tag, text in chart.texts if tag == "text"]
    for value in values:
        assert value in texts
        assert set(NUMBER.findall(value)) <= set(NUMBER.findall(cells)), value


def _check_that_it_can_be_read_aloud(chart: Outline, table: Outline) -> None:
    image = chart.all("svg")[0]
    named = (image["aria-labelledby"] or "").split()
    assert image["role"] == "img"
    assert named == [attributes["id"] for attributes in chart.all("title", "desc")]
    assert all(attributes.get("scope") in ("row", "col") for attributes in table.all("th"))
    assert len(table.all("caption")) == 1


def test_people_at_risk_are_striped_and_said_to_be() -> None:
    shown = next(iter(pictures(assess(crowds(1, 2, 7, 30)), None)))
    assert [(group.title, group.total) for group in groups_of(shown)] == [
        ("At risk", "3 people"),
        ("Within the threshold", "37 people"),
    ]
    assert {bar.fill for bar in groups_of(shown)[0].bars} == {"risk"}
    assert {row[-1] for row in shown.table.rows} == {"at risk", "within the threshold"}


def test_a_band_that_the_threshold_divides_is_said_to_be_partly_at_risk() -> None:
    shown = next(iter(pictures(KINDS["threshold within a band"], None)))
    assert [group.title for group in groups_of(shown)] == ["At risk", "Partly at risk", "Within the threshold"]
    assert groups_of(shown)[1].bars[0].label == "5 to 9 alike"


def test_empty_bands_beyond_the_largest_class_are_left_out() -> None:
    assert [row[0] for row in next(iter(pictures(assess(crowds(1, 7)), None))).table.rows] == [
        "alone",
        "2 alike",
        "3 to 4 alike",
        "5 to 9 alike",
    ]


def test_bars_beyond_their_limit_are_striped() -> None:
    groups = groups_of(list(pictures(KINDS["population"], None))[1])
    assert [bar.fill for bar in groups[1].bars] == ["risk", "risk"]
    groups = groups_of(list(pictures(KINDS["safe"], None))[1])
    assert {bar.fill for group in groups for bar in group.bars} == {"plain"}


def test_there_is_a_figure_for_each_kind_of_number() -> None:
    assert [shown.key for shown in pictures(KINDS["sensitive, economics"], people_profile())] == [
        "crowd",
        "adversaries",
        "population",
        "sensitive",
        "combinations",
    ]
    assert [shown.key for shown in pictures(KINDS["one record"], None)] == ["crowd", "adversaries"]


def test_small_bars_are_seen_and_none_leaves_the_chart() -> None:
    bars = tuple(Bar("b", "v", share, mark=share) for share in (0.0, 1e-9, 0.5, 1.0))
    chart = Outline(str(bar_chart([Group(bars)], key="k", title="t", about="a")))
    widths = [attributes["width"] for attributes in chart.all("rect") if "bar" in (attributes["class"] or "")]
    assert widths == ["0.4%", "50%", "100%"]
    marks = [float((attributes["x1"] or "").rstrip("%")) for attributes in chart.all("line")]
    assert all(0 < mark < 100 for mark in marks)


def test_long_labels_are_clipped_in_the_picture_only() -> None:
    name = "x" * 200
    chart = str(bar_chart([Group((Bar(name, "1", 1.0, note=name),))], key="k", title="t", about="a"))
    assert max(len(run) for run in re.findall("x+", chart)) < 60
