"""Rules that make hierarchies: what each value becomes, what is refused, and that levels nest."""

from __future__ import annotations

import datetime
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import HierarchyError
from discreet.kernel import (
    AnyValue,
    AutoMask,
    Classes,
    Cuts,
    Dates,
    Flat,
    Histogram,
    Mask,
    Prefix,
    Rule,
    TopBottomCode,
    Tree,
    Widths,
)
from discreet.kernel.rules import LONGEST, UNITS, bind, bound_columns, fitted, outside_error
from tests.kernel.strategies import few, some, trees

SCHOOLS = Tree((("Masters", "Higher", "*"), ("11th", "Secondary", "*"), ("12th", "Secondary", "*")))

EXAMPLES: list[tuple[Rule, list[str]]] = [
    (Flat(), ["", "a", "b"]),
    (Mask(3), ["907", "906", "812", "a*c"]),
    (Widths((2, 6, 12)), ["-13", "-0.5", "0", "1.99", "2", "1e1", "117"]),
    (AnyValue("Person"), ["F", "M"]),
    (
        Dates(("month", "quarter", "year", "decade", "century")),
        ["1999-12-31", "2000-01-01", "2000-02-29", "0999-05-01"],
    ),
    (SCHOOLS, ["Masters", "11th", "12th"]),
    (AutoMask(5), ["907", "90720", "9", "a*c", "***", "*"]),
    (Prefix((3, 1)), ["E11.9", "E11", "E1", "E", "I10", "E1*"]),
    (Cuts((0, 18, 65)), ["-3", "0", "17.9", "18", "64", "65", "1e2"]),
    (TopBottomCode(top=92, bottom=13, widths=(5, 10)), ["12.9", "13", "14", "19", "20", "89", "91", "92", "117"]),
    (TopBottomCode(top=90), ["-1", "89", "89.5", "90", "117"]),
    (TopBottomCode(bottom=0.5, widths=(1,)), ["0", "0.5", "0.7", "1", "7"]),
]
every_rule = pytest.mark.parametrize(("rule", "values"), EXAMPLES, ids=lambda item: type(item).__name__)


def paths(rule: Rule, values: list[str]) -> list[tuple[str | None, ...]]:
    found = [rule.path(value) for value in values]
    return [path for path in found if path is not None]


# what all rules have in common


@every_rule
def test_a_path_starts_with_its_value_and_has_an_entry_per_level(rule: Rule, values: list[str]) -> None:
    assert [path[0] for path in paths(rule, values)] == values
    assert {len(path) for path in paths(rule, values)} == {rule.height}


@every_rule
def test_values_that_are_one_at_a_level_stay_one_above(rule: Rule, values: list[str]) -> None:
    for one, other in combinations(paths(rule, values), 2):
        for level in range(rule.height - 1):
            assert one[level] != other[level] or one[level + 1] == other[level + 1]


@every_rule
def test_a_missing_value_joins_the_others_only_where_there_is_one_value_for_all(rule: Rule, values: list[str]) -> None:
    assert len(rule.missing) == rule.height
    for level, label in enumerate(rule.missing):
        at_level = {path[level] for path in paths(rule, values)}
        assert label is None or at_level == {label}


@every_rule
def test_a_missing_value_has_joined_at_the_top_of_every_rule_with_a_top(rule: Rule, values: list[str]) -> None:
    top = {path[-1] for path in paths(rule, values)}
    assert rule.missing[-1] == (top.pop() if len(top) == 1 else None)


@every_rule
def test_a_missing_value_is_counted_by_itself_until_it_joins(rule: Rule, values: list[str]) -> None:
    classes = Classes.of(["c"], [*((value,) for value in values), (None,), (None,)], rules={"c": rule})
    for level, label in enumerate(rule.missing):
        expected = 2 if label is None else len(values) + 2
        assert classes.at([level]).lookup([(label,)]).tolist() == [expected]


@every_rule
def test_a_missing_value_does_not_join_because_only_one_other_value_occurs(rule: Rule, values: list[str]) -> None:
    rule = fitted(rule, [values[0], None])
    hierarchy, _ = bind(rule, [values[0], None])
    assert hierarchy is not None
    assert [hierarchy.labels[level][hierarchy.map(0, level)[1]] for level in range(rule.height)] == list(rule.missing)


@every_rule
def test_a_column_of_missing_values_alone_can_be_bound(rule: Rule, values: list[str]) -> None:
    rule = fitted(rule, [None])
    hierarchy, strangers = bind(rule, [None])
    assert hierarchy is not None
    assert (hierarchy.height, strangers) == (rule.height, [])


@every_rule
def test_a_rule_says_in_words_what_it_expects(rule: Rule, values: list[str]) -> None:
    assert rule.expects
    assert not any(value in rule.expects.split() for value in values if len(value) > 1)


# mask


@some
@given(st.integers(1, 8).flatmap(lambda length: st.text(min_size=length, max_size=length)))
def test_a_mask_hides_one_more_character_per_level(value: str) -> None:
    path = Mask(len(value)).path(value)
    assert path == tuple(value[: len(value) - hidden] + "*" * hidden for hidden in range(len(value) + 1))


@pytest.mark.parametrize("value", ["", "12", "1234", " 123"])
def test_a_mask_does_not_know_values_of_another_length(value: str) -> None:
    assert Mask(3).path(value) is None


def test_a_mask_counts_characters_and_not_bytes() -> None:
    assert Mask(2).path("äß") == ("äß", "ä*", "**")


@pytest.mark.parametrize("length", [0, -1])
def test_a_mask_of_no_characters_is_refused(length: int) -> None:
    with pytest.raises(HierarchyError, match="mask"):
        Mask(length)


# mask of the values' own lengths


@some
@given(st.lists(st.text(alphabet="ab*", max_size=6), min_size=1, max_size=12, unique=True))
def test_values_of_different_lengths_never_become_one_before_the_top(values: list[str]) -> None:
    hierarchy, strangers = bind(AutoMask(), values)
    assert hierarchy is not None
    assert strangers == []
    longest = max(1, *map(len, values))
    assert hierarchy.height == longest + 1
    for level in range(longest):
        shown = [hierarchy.labels[level][code] for code in hierarchy.map(0, level).tolist()]
        for value, label in zip(values, shown, strict=True):
            hidden = min(level, len(value))
            assert label == value[: len(value) - hidden] + "*" * hidden
        for (one, first), (other, second) in combinations(zip(values, shown, strict=True), 2):
            alike = len(one) == len(other) and one[: max(0, len(one) - level)] == other[: max(0, len(one) - level)]
            assert (first == second) == alike
    assert hierarchy.labels[-1] == ("*",)
    assert hierarchy.leaves[-1].tolist() == [len(values)]


def test_a_value_too_long_to_mask_is_outside() -> None:
    assert bind(AutoMask(), ["a", "b" * (LONGEST + 1)]) == (None, [1])


def test_tables_whose_values_differ_in_length_are_linked_at_the_same_levels() -> None:
    sample = Classes.of(["c"], [("10115",), ("907",)], rules={"c": AutoMask()})
    everybody = Classes.of(["c"], [("10115",), ("10117",), ("907",), ("SW1A 1AA",)], rules={"c": AutoMask()})
    assert [sample.at([level]).link(everybody).tolist() for level in (0, 1, 4, 5)] == [[1, 1], [2, 1], [2, 1], [4]]


# prefixes


@some
@given(st.text(max_size=9), st.sets(st.integers(1, 9), min_size=1, max_size=4))
def test_a_prefix_gets_shorter_and_never_longer_than_the_value(value: str, lengths: set[int]) -> None:
    chosen = tuple(sorted(lengths, reverse=True))
    assert Prefix(chosen).path(value) == (value, *(value[:length] for length in chosen), "*")


@pytest.mark.parametrize("lengths", [(), (0,), (3, 0), (-1,)])
def test_prefixes_of_no_characters_are_refused(lengths: tuple[int, ...]) -> None:
    with pytest.raises(HierarchyError, match="from 1 up"):
        Prefix(lengths)


@pytest.mark.parametrize("lengths", [(1, 3), (3, 3)])
def test_prefixes_that_do_not_get_shorter_are_refused(lengths: tuple[int, ...]) -> None:
    with pytest.raises(HierarchyError, match="does not get shorter"):
        Prefix(lengths)


# dates


@pytest.mark.parametrize(
    ("value", "month", "quarter"),
    [
        ("1964-01-01", "1964-01", "1964-Q1"),
        ("1964-03-31", "1964-03", "1964-Q1"),
        ("1964-04-01", "1964-04", "1964-Q2"),
        ("2024-02-29", "2024-02", "2024-Q1"),
        ("2000-02-29", "2000-02", "2000-Q1"),
        ("1999-12-31", "1999-12", "1999-Q4"),
    ],
)
def test_days_become_months_and_quarters(value: str, month: str, quarter: str) -> None:
    assert Dates(("month", "quarter")).path(value) == (value, month, quarter, "*")


def test_days_become_years_decades_and_centuries() -> None:
    assert Dates(("year", "decade", "century")).path("1964-08-09") == ("1964-08-09", "1964", "1960s", "1900s", "*")


@pytest.mark.parametrize("value", ["2023-02-29", "1900-02-29", "2024-13-01", "2024-00-10", "1964-8-9", "", "unknown"])
def test_days_that_never_were_are_outside_the_hierarchy(value: str) -> None:
    assert Dates(("year",)).path(value) is None


@pytest.mark.parametrize("value", ["1964-08-09 10:30:00", "1964-08-09T10:30:00", "1964-08-09 10:30:00.123456+02:00"])
def test_a_time_of_day_is_let_through(value: str) -> None:
    assert Dates(("year",)).path(value) == (value, "1964", "*")


@pytest.mark.parametrize("value", ["1964-08-09xyz", "1964-08-0912", "1964-08-09 to 1972-01-01"])
def test_a_date_with_anything_else_behind_it_is_outside_the_hierarchy(value: str) -> None:
    assert Dates(("year",)).path(value) is None


@few
@given(st.dates(min_value=datetime.date(1000, 1, 1)))
def test_dates_are_read_in_their_own_format(day: datetime.date) -> None:
    written = f"{day.day:02}.{day.month:02}.{day.year:04}"
    assert Dates(("month",), "%d.%m.%Y").path(written) == (written, f"{day.year:04}-{day.month:02}", "*")


@pytest.mark.parametrize("value", ["29.02.2023", "2024-02-29", "29.02.24", "31.04.2024", "29.02.2024 "])
def test_dates_in_another_format_are_outside_the_hierarchy(value: str) -> None:
    assert Dates(("month",), "%d.%m.%Y").path(value) is None


@some
@given(st.dates(), st.dates(), st.sets(st.sampled_from(list(UNITS)), min_size=1))
def test_days_that_share_a_period_share_every_longer_one(
    one: datetime.date, other: datetime.date, units: set[str]
) -> None:
    rule = Dates(tuple(unit for unit in UNITS if unit in units))
    first, second = rule.path(one.isoformat()), rule.path(other.isoformat())
    assert first is not None
    assert second is not None
    shared = [left == right for left, right in zip(first, second, strict=True)]
    assert shared == sorted(shared)


@pytest.mark.parametrize("units", [("year", "month"), ("year", "year"), ("decade", "quarter")])
def test_periods_from_coarse_to_fine_are_refused(units: tuple[str, ...]) -> None:
    with pytest.raises(HierarchyError, match="fine to coarse"):
        Dates(units)


@pytest.mark.parametrize("units", [(), ("fortnight",), ("month", "week")])
def test_unknown_periods_are_refused(units: tuple[str, ...]) -> None:
    with pytest.raises(HierarchyError, match="month, quarter, year, decade, century"):
        Dates(units)


# any value


def test_any_value_becomes_one_value_for_all() -> None:
    assert [AnyValue("Person").path(value) for value in ("F", "")] == [("F", "Person"), ("", "Person")]


# trees


@some
@given(trees())
def test_a_tree_gives_back_its_rows(tree: Tree) -> None:
    assert tuple(tree.path(row[0]) for row in tree.rows) == tree.rows
    assert tree.path("nobody has this") is None
    assert tree.leaves == tree.rows


def test_a_tree_without_rows_is_refused() -> None:
    with pytest.raises(HierarchyError, match="empty"):
        Tree(())


def test_ragged_rows_are_refused_by_their_number() -> None:
    with pytest.raises(HierarchyError, match="row 3 of schools has 2 entries, the first row has 3"):
        Tree((("a", "x", "*"), ("b", "x", "*"), ("c", "*")), name="schools")


def test_doubled_values_are_refused_and_counted() -> None:
    with pytest.raises(HierarchyError, match="lists 2 values more than once"):
        Tree((("a", "x"), ("a", "y"), ("b", "x"), ("b", "x"), ("c", "x")))


@pytest.mark.parametrize(
    ("rows", "place"),
    [
        (
            (("a", "x", "1"), ("b", "x", "2")),
            "row 2 of the hierarchy: a value of level 1 belongs to two values of level 2",
        ),
        (
            (("a", "x", "1", "p"), ("b", "y", "2", "q"), ("c", "z", "2", "p")),
            "row 3 of the hierarchy: a value of level 2 belongs to two values of level 3",
        ),
    ],
)
def test_levels_that_do_not_nest_are_refused_by_row_and_level(rows: tuple[tuple[str, ...], ...], place: str) -> None:
    with pytest.raises(HierarchyError, match=place):
        Tree(rows)


def test_what_is_wrong_with_a_tree_is_told_without_its_values() -> None:
    for rows in [
        (("secret", "x"), ("secret", "y")),
        (("secret", "x", "1"), ("b", "x", "2")),
        (("secret",), ("b", "c")),
    ]:
        with pytest.raises(HierarchyError) as caught:
            Tree(rows)
        assert "secret" not in str(caught.value)


def test_the_same_label_may_stand_at_several_levels() -> None:
    tree = Tree((("a", "a", "b"), ("b", "a", "b"), ("c", "c", "b")))
    classes = Classes.of(["c"], [("a",), ("b",), ("c",)], rules={"c": tree})
    assert [list(classes.at([level]).tuples()) for level in range(3)] == [
        [("a",), ("b",), ("c",)],
        [("a",), ("c",)],
        [("b",)],
    ]


# binding


def test_strangers_are_told_by_their_positions() -> None:
    assert bind(SCHOOLS, ["11th", "?", None, "!"]) == (None, [1, 3])


def test_values_keep_the_order_in_which_they_are_bound() -> None:
    hierarchy, _ = bind(Mask(2), ["21", None, "10", "11"])
    assert hierarchy is not None
    assert hierarchy.labels == (("21", None, "10", "11"), ("2*", None, "1*"), ("**",))


@pytest.mark.parametrize(
    ("written", "given", "hint"),
    [
        (["31.12.1990", "01.02.1980"], None, 'format = "%d.%m.%Y"'),
        (["19901231", "19800201"], "%d.%m.%Y", 'format = "%Y%m%d"'),
        (["1990-12-31"], "%d.%m.%Y", "no format"),
        (["99.99.9999"], None, None),
        (["1990-12-31", "31.12.1990"], None, None),  # no format reads both
    ],
)
def test_dates_in_another_style_get_their_format_named(written: list[str], given: str | None, hint: str | None) -> None:
    histogram = Histogram.from_rows(["born"], [(value, 1) for value in written])
    _, outside = bound_columns(histogram, {"born": Dates(("year",), given)})
    remedy = outside_error(outside).remedy
    assert (f"give the hierarchy of column 'born' {hint}." in remedy) if hint else ("hierarchy of column" not in remedy)
