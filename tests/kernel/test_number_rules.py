"""Rules for numbers: every number is in its interval, intervals nest, and odd parameters are refused."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import HierarchyError
from discreet.kernel import Cuts, Rule, TopBottomCode, Widths
from discreet.kernel.rules import bind
from tests.kernel.strategies import some

numbers = st.one_of(st.integers(-200, 200).map(Decimal), st.decimals(-200, 200, places=2))
ends = st.one_of(st.integers(-150, 150), st.integers(-600, 600).map(lambda quarters: quarters / 4))

# intervals of growing width


def interval(label: str | None) -> tuple[int, int]:
    found = re.fullmatch(r"\[(-?\d+), (-?\d+)\)", label or "")
    assert found is not None
    return int(found[1]), int(found[2])


@some
@given(
    st.one_of(st.integers(-(10**18), 10**18).map(Decimal), st.decimals(-(10**6), 10**6, places=3)),
    st.lists(st.integers(2, 5), min_size=1, max_size=4),
)
def test_every_number_lies_in_aligned_nested_intervals(number: Decimal, factors: list[int]) -> None:
    widths = [factors[0]]
    for factor in factors[1:]:
        widths.append(widths[-1] * factor)
    path = Widths(tuple(widths)).path(str(number))
    assert path is not None
    intervals = [interval(label) for label in path[1:-1]]
    for (low, high), width in zip(intervals, widths, strict=True):
        assert low <= number < high
        assert (low % width, high - low) == (0, width)
    for (low, high), (wide_low, wide_high) in pairwise(intervals):
        assert wide_low <= low < high <= wide_high


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("0", "[0, 5)"),
        ("4.999", "[0, 5)"),
        ("5", "[5, 10)"),
        ("-0.001", "[-5, 0)"),
        ("-5", "[-5, 0)"),
        ("-5.5", "[-10, -5)"),
        ("1e2", "[100, 105)"),
        ("+7", "[5, 10)"),
    ],
)
def test_intervals_are_half_open_also_below_zero(value: str, label: str) -> None:
    assert Widths((5,)).path(value) == (value, label, "*")


@pytest.mark.parametrize("value", ["", "abc", "NaN", "sNaN", "Infinity", "-inf", "1 2", "12,5", "0x10", "*"])
def test_widths_do_not_know_what_is_no_number(value: str) -> None:
    assert Widths((5,)).path(value) is None


@pytest.mark.parametrize("value", ["1e5000", "-1e5000"])
def test_a_number_of_absurd_size_is_outside_the_hierarchy(value: str) -> None:
    assert Widths((5,)).path(value) is None


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("4." + "9" * 40, "[0, 5)"),
        ("123456789012345678901234567890123", "[123456789012345678901234567890120, 123456789012345678901234567890125)"),
    ],
)
def test_numbers_of_many_digits_lie_in_their_intervals(value: str, label: str) -> None:
    assert Widths((5,)).path(value) == (value, label, "*")


@pytest.mark.parametrize("widths", [(2, 3), (4, 2), (5, 5), (2, 4, 6), (10, 5)])
def test_widths_that_do_not_nest_are_refused(widths: tuple[int, ...]) -> None:
    with pytest.raises(HierarchyError, match="do not nest"):
        Widths(widths)


@pytest.mark.parametrize("widths", [(), (0,), (-5,), (0, 5)])
def test_widths_that_are_no_widths_are_refused(widths: tuple[int, ...]) -> None:
    with pytest.raises(HierarchyError, match="from 1 up"):
        Widths(widths)


# cut points and top and bottom codes


def holds(label: str | None, number: Decimal) -> bool:
    """Whether a label, read as people read it, is true of a number."""
    text = label or ""
    if found := re.fullmatch(r"\[(-?[\d.]+), (-?[\d.]+)\)", text):
        return Decimal(found[1]) <= number < Decimal(found[2])
    if found := re.fullmatch(r"<(-?[\d.]+)", text):
        return number < Decimal(found[1])
    if found := re.fullmatch(r"(-?[\d.]+)\+", text):
        return number >= Decimal(found[1])
    return text == "*" or Decimal(text) == number


@st.composite
def number_rules(draw: st.DrawFn) -> Rule:
    widths = [draw(st.integers(1, 6))]
    for factor in draw(st.lists(st.integers(2, 4), max_size=2)):
        widths.append(widths[-1] * factor)
    low, high = sorted(draw(st.lists(ends, min_size=2, max_size=2, unique=True)))
    top, bottom = draw(st.sampled_from([(high, low), (high, None), (None, low)]))
    return draw(
        st.sampled_from(
            [
                Cuts(tuple(sorted(draw(st.sets(ends, min_size=1, max_size=6))))),
                TopBottomCode(top, bottom, tuple(widths)),
                TopBottomCode(top, bottom),
            ]
        )
    )


@some
@given(number_rules(), st.lists(numbers, min_size=1, max_size=12, unique=True))
def test_labels_are_true_and_no_two_of_a_level_overlap(rule: Rule, values: list[Decimal]) -> None:
    hierarchy, strangers = bind(rule, [str(value) for value in values])
    assert hierarchy is not None
    assert strangers == []
    for level in range(1, rule.height):
        codes = hierarchy.map(0, level).tolist()
        for value, code in zip(values, codes, strict=True):
            held = [holds(label, value) for label in hierarchy.labels[level]]
            assert held.count(True) == 1
            assert held[code]
        assert hierarchy.leaves[level].tolist() == [codes.count(code) for code in range(len(hierarchy.labels[level]))]
    assert hierarchy.size == len(values)


@some
@given(number_rules(), numbers, numbers)
def test_numbers_that_share_a_label_share_every_coarser_one(rule: Rule, one: Decimal, other: Decimal) -> None:
    first, second = rule.path(str(one)), rule.path(str(other))
    assert first is not None
    assert second is not None
    shared = [left == right for left, right in zip(first, second, strict=True)][1:]
    assert shared == sorted(shared)


def test_a_cut_belongs_to_the_interval_that_it_begins() -> None:
    rule = Cuts((0.1, 0.3))
    assert [rule.path(value)[1] for value in ("0.09", "0.1", "0.29", "0.3")] == [  # type: ignore[index]
        "<0.1",
        "[0.1, 0.3)",
        "[0.1, 0.3)",
        "0.3+",
    ]


def test_decimal_commas_are_read_and_written() -> None:
    assert Widths((5,), decimal=",").path("12,5") == ("12,5", "[10, 15)", "*")
    assert Cuts((0.5, 1.5), decimal=",").path("0,75") == ("0,75", "[0,5; 1,5)", "*")
    assert TopBottomCode(top=2.5, decimal=",").path("3,1") == ("3,1", "2,5+", "*")
    assert TopBottomCode(bottom=2.5, widths=(2,), decimal=",").path("3,1") == ("3,1", "[2,5; 4)", "*")


@pytest.mark.parametrize("rule", [Widths((5,), decimal=","), Cuts((0,), decimal=","), TopBottomCode(9, decimal=",")])
def test_a_point_among_decimal_commas_is_outside(rule: Rule) -> None:
    assert [rule.path(value) for value in ("1.234", "1.234,5", "1,2,3")] == [None] * 3
    assert "','" in rule.expects


@pytest.mark.parametrize("cuts", [(1, 1), (3, 2), (0, 5, 4)])
def test_cuts_that_do_not_grow_are_refused(cuts: tuple[int, ...]) -> None:
    with pytest.raises(HierarchyError, match="do not grow"):
        Cuts(cuts)


@pytest.mark.parametrize("cuts", [(), (float("inf"),), (0, float("nan"))])
def test_cuts_that_are_no_numbers_are_refused(cuts: tuple[float, ...]) -> None:
    with pytest.raises(HierarchyError, match="at least one number"):
        Cuts(cuts)


@pytest.mark.parametrize("numbers", [(None, None), (float("nan"), None), (None, float("-inf"))])
def test_top_and_bottom_must_be_numbers(numbers: tuple[float | None, float | None]) -> None:
    with pytest.raises(HierarchyError, match="must be numbers"):
        TopBottomCode(*numbers, widths=(5,))


@pytest.mark.parametrize(("top", "bottom"), [(15, 90), (15, 15)])
def test_a_bottom_not_below_the_top_is_refused(top: int, bottom: int) -> None:
    with pytest.raises(HierarchyError, match="not below top"):
        TopBottomCode(top, bottom)


def test_widths_between_top_and_bottom_must_nest() -> None:
    with pytest.raises(HierarchyError, match="do not nest"):
        TopBottomCode(90, widths=(5, 7))
