"""Where values stand on a ladder, against generalising the plain way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernel import AnyValue, Classes, Flat, Mask, Rule, Tree, Widths
from discreet.releases.tracing.case import NOWHERE, STRANGER, PublishedLevel, chains_of

ZIPS = ["43001", "43002", "43101", "55001"]
YEARS = ["1960", "1961", "1963", "1971"]


def ladder(rule: Rule, values: list[str], level: int) -> PublishedLevel:
    classes = Classes.of(["x"], [(value,) for value in values], rules={"x": rule}).at({"x": level})
    return PublishedLevel("x", rule, level, chains_of("x", classes))


def labels(found: PublishedLevel, codes: list[int]) -> list[str | None]:
    return [found.hierarchy.labels[0][code] for code in codes]


@pytest.mark.parametrize("level", range(6))
@given(values=st.lists(st.sampled_from(ZIPS), min_size=1, max_size=6))
def test_raw_values_and_published_labels_meet(level: int, values: list[str]) -> None:
    found = ladder(Mask(5), ZIPS, level)
    published = [str(Mask(5).path(value)[level]) for value in values]  # type: ignore[index]
    assert labels(found, found.published(values).tolist()) == published
    assert labels(found, found.published(published).tolist()) == published


def test_what_fits_no_hierarchy_is_a_stranger_and_what_is_nowhere_is_not() -> None:
    found = ladder(Widths((2, 4)), YEARS, 1)
    assert found.published(["1960", "1999", "yes", "[1962, 1964)", "[1962, 1963)"]).tolist() == [
        0,
        NOWHERE,
        STRANGER,
        1,
        STRANGER,
    ]


def test_a_missing_value_is_a_label_where_it_is_published() -> None:
    classes = Classes.of(["x"], [("1960",), (None,)], rules={"x": Widths((2,))}).at({"x": 1})
    found = PublishedLevel("x", Widths((2,)), 1, chains_of("x", classes))
    assert labels(found, found.published([None, "1961"]).tolist()) == [None, "[1960, 1962)"]
    assert ladder(Widths((2,)), YEARS, 1).published([None]).tolist() == [NOWHERE]


def test_a_value_that_could_be_both_is_raw_among_raw_ones() -> None:
    rule = Tree((("a", "b", "*"), ("b", "c", "*"), ("d", "c", "*")))
    found = ladder(rule, ["a", "b", "d"], 1)
    assert labels(found, found.published(["b"]).tolist()) == ["b"]
    assert labels(found, found.published(["b", "a"]).tolist()) == ["c", "b"]


@pytest.mark.parametrize("rule", [Mask(5), AnyValue(), Flat()])
def test_a_column_with_one_label_tells_nothing(rule: Rule) -> None:
    top = rule.height - 1
    assert ladder(rule, ZIPS, top).open == (rule.height == 1)
    assert ladder(rule, ZIPS, 0).open


@given(values=st.lists(st.sampled_from(ZIPS), min_size=1, max_size=6), start=st.integers(0, 2), up=st.integers(0, 3))
def test_labels_are_lifted_as_the_hierarchy_lifts_them(values: list[str], start: int, up: int) -> None:
    found = ladder(Mask(5), ZIPS, 1)
    path = Mask(5).path
    shown = [str(path(value)[1 + start]) for value in values]  # type: ignore[index]
    steps = found.steps(shown)
    assert set(steps.tolist()) == {start}
    lifted = found.lifted(shown, steps, start + up if start + up < 5 else 4)
    target = min(start + up, 4)
    wanted = [path(value)[1 + target] for value in values]  # type: ignore[index]
    assert [found.hierarchy.labels[target][code] for code in lifted.tolist()] == wanted


def test_labels_above_the_target_and_strangers_have_no_code() -> None:
    found = ladder(Mask(5), ZIPS, 1)
    shown = ["430**", "4300*", "hello"]
    assert found.steps(shown).tolist() == [1, 0, -1]
    assert found.lifted(shown, found.steps(shown), 0).tolist()[0::2] == [-1, -1]


def test_chains_of_two_tables_are_joined_without_doubles() -> None:
    one = Classes.of(["x"], [("43001",)], rules={"x": Mask(5)}).at({"x": 4})
    two = Classes.of(["x"], [("43101",), ("55001",)], rules={"x": Mask(5)}).at({"x": 4})
    assert chains_of("x", one, two) == (("4****", "*****"), ("5****", "*****"))
