"""Axes: round ticks around every value, positions inside, words for large numbers."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.report.charts.axes import Box, Frame, fitting, linear, logarithmic, readable

positive = st.lists(st.floats(1e-6, 1e12), min_size=1, max_size=20)


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=20), st.booleans())
def test_equal_steps_hold_every_value(values: list[float], zero: bool) -> None:
    scale = linear(values, zero=zero)
    slack = 1e-6 * max(values)
    assert scale.low <= min(values) + slack
    assert scale.high >= max(values) - slack
    assert 2 <= len(set(scale.ticks)) == len(scale.ticks) <= 9
    assert not zero or scale.low == 0


@given(positive)
def test_powers_of_ten_hold_every_value(values: list[float]) -> None:
    scale = logarithmic(values)
    assert scale.low < min(values) <= max(values) < scale.high
    assert len(scale.ticks) >= 2
    assert all(scale.low <= tick <= scale.high for tick in scale.ticks)


@given(positive)
def test_more_lies_further_along(values: list[float]) -> None:
    scale = fitting(values)
    shares = [scale.share(value) for value in sorted(values)]
    assert all(0 <= share <= 1 for share in shares)
    assert all(before <= after for before, after in itertools.pairwise(shares))


def test_no_values_make_no_trouble() -> None:
    assert linear([]).ticks == (0, 0.2, 0.4, 0.6, 0.8, 1)
    assert len(logarithmic([]).ticks) >= 2
    assert fitting([]).log is False


@pytest.mark.parametrize(
    ("values", "unit"),
    [([0, 0.5], ""), ([0, 900], ""), ([0, 50_000], "thousands"), ([0, 4e7], "millions"), ([0, 3e10], "billions")],
)
def test_large_numbers_are_counted_in_words(values: list[float], unit: str) -> None:
    scale = linear(values)
    assert scale.unit[1] == unit
    assert all(len(label) <= 6 for _, label in scale.labelled())


def test_a_frame_stands_upright() -> None:
    frame = Frame(linear([0, 10]), linear([0, 10]), top=20, height=100)
    assert (frame.across(0), frame.across(5), frame.across(10)) == ("0%", "50%", "100%")
    assert (frame.down(0), frame.down(10)) == (120, 20)


boxes = st.builds(
    lambda left, top, wide, high: Box(left, left + wide, top, top + high),
    *[st.integers(0, 60)] * 2,
    *[st.integers(1, 30)] * 2,
)


@given(st.lists(st.tuples(boxes, boxes), max_size=8))
def test_labels_that_are_shown_run_into_nothing(pairs: list[tuple[Box, Box]]) -> None:
    marks, labels = [mark for mark, _ in pairs], {place: label for place, (_, label) in enumerate(pairs)}
    shown = readable(labels, marks)
    for place in shown:
        others = [mark for other, mark in enumerate(marks) if other != place]
        others += [labels[other] for other in shown if other != place]
        assert not any(labels[place].meets(other) for other in others)
    for place in labels.keys() - set(shown):
        before = [labels[other] for other in shown if other < place]
        others = [mark for other, mark in enumerate(marks) if other != place]
        assert any(labels[place].meets(other) for other in [*others, *before])
