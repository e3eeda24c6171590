"""The frontier: one point for each k, this table marked, labels that do not run into each other."""

from __future__ import annotations

import re
from dataclasses import replace

from discreet.anonymity import Point
from discreet.report.anonymisation_charts import frontier
from discreet.report.anonymisation_findings import Case
from discreet.report.toolkit.page import Figure
from tests.report.anonymisation_samples import KINDS, made, points, town
from tests.report.documents import markup_of
from tests.report.samples import Outline, crowds


def marked(shown: Figure) -> list[str]:
    return [str(row[0]) for row in shown.table.rows if "this table" in str(row[0])]


def words(shown: Figure) -> list[tuple[str, str]]:
    """The labels in the plot with their class."""
    markup = markup_of(shown)
    return re.findall(r'<text [^>]*class="(label lifted(?: roomy)?|heading)"[^>]*>([^<]*)', markup)


def test_this_table_is_marked_in_picture_and_table() -> None:
    case = made(town(600), k=5, suppression=0.1)
    shown = frontier(case, points(case))
    assert marked(shown) == ["5 (this table)"]
    assert ("heading", "k = 5, this table") in words(shown)
    assert [row[0] for row in shown.table.rows] == ["2", "3", "5 (this table)", "10", "20"]


def test_a_k_that_was_not_tried_gets_a_point_of_its_own() -> None:
    case = made(town(600), k=7, suppression=0.1)
    shown = frontier(case, points(case, 2, 20))
    assert [row[0] for row in shown.table.rows] == ["2", "7 (this table)", "20"]


def test_a_table_under_more_requirements_is_not_taken_for_a_point() -> None:
    case = made(town(600), k=5, suppression=0.1)
    better = tuple(replace(point, loss=point.loss / 2) for point in points(case))
    assert [row[0] for row in frontier(case, better).table.rows] == ["2", "3", "5", "5 (this table)", "10", "20"]


def test_points_that_lie_on_each_other_have_one_label() -> None:
    case = made(crowds(9, 9), k=4)
    shown = frontier(case, points(case, 2, 3, 4))
    assert words(shown) == [("heading", "k = 2 to 4, this table")]
    assert marked(shown) == ["4 (this table)"]


def test_recoding_class_by_class_is_found_by_its_numbers() -> None:
    case = KINDS["by class"]
    assert case.after is not None
    own = Point(5, case.result.loss, 0, case.result.classes, 1 / 6, 0.2, {})
    shown = frontier(case, (Point(2, 0.1, 0, 4, 0.2, 0.4, {}), own))
    assert marked(shown) == ["5 (this table)"]


def test_labels_that_would_meet_are_left_to_larger_screens_or_to_the_table() -> None:
    case = made(town(600), k=5, suppression=0.1)
    crowd = [Point(k, 0.2 + k / 100_000, 0, 9, 0.05, 1 / k, {}) for k in range(2, 60)]
    shown = frontier(case, crowd)
    drawn = words(shown)
    assert 2 <= len(drawn) < 30
    assert len(shown.table.rows) == len(crowd) + 1
    assert {"label lifted", "label lifted roomy"} >= {class_ for class_, _ in drawn if class_ != "heading"}


def test_points_without_people_are_in_the_table_only() -> None:
    case = made(town(600), k=5, suppression=0.1)
    nobody = Point(100, 1.0, 120, 0, 0.0, 0.0, {})
    shown = frontier(case, (*points(case), nobody))
    assert any("nobody is left" in text for text in shown.reading)
    assert shown.table.rows[-1][0] == "100"


def test_the_next_k_is_put_into_words() -> None:
    case = made(town(600), k=5, suppression=0.1)
    reading = " ".join(frontier(case, points(case)).reading)
    assert "From k = 5 to k = 10 the loss rises from" in reading


def test_large_losses_are_counted_in_millions() -> None:
    case = made(town(600), k=5, suppression=0.1)
    large = Case(replace(case.result, loss=case.result.loss * 1e8), case.before, case.after)
    shown = frontier(large, [replace(point, loss=point.loss * 1e8) for point in points(case)])
    assert "Loss, in millions" in markup_of(shown)
    Outline(markup_of(shown))
