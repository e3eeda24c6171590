"""Pairs of values: masked, in part, in full."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.linkage import Comparison, compare, compare_names
from discreet.linkage.masking.text import LONGEST, MARKS, characters
from tests.linkage import brute
from tests.linkage.strategies import CELLS, DATES, IDS, KINDS, NAMES, words

EVERY_KIND = [(KINDS[name], CELLS[name]) for name in ("given", "id", "born", "sex")]
VALUES = st.sampled_from(EVERY_KIND).flatmap(lambda one: st.tuples(st.just(one[0]), one[1], one[1]))


def icons(pair: Comparison) -> list[str]:
    return [mark.name for mark in pair.markup]


@pytest.mark.parametrize(
    ("kind", "a", "b", "masked", "partial", "marks"),
    [
        ("fixed", "1742682819", "1742668281", "*********@ ****&*****", "*********9 ****6*****", ["indel"]),
        ("fixed", "2530042971", "2350082931", "*@&**@**@* *&@**&**&*", "*53**4**7* *35**8**3*", ["transpose", "replace"]),
        ("fixed", "123456", "1234567", "@@@@@@ &&&&&&&", None, ["different"]),
        ("fixed", "1234567890", "0987654321", "@@@@@@@@@@ &&&&&&&&&&", None, ["different"]),
        ("fixed", "1234", "1234", "**** ****", "**** ****", ["equal"]),
        ("string", "Mary", "Mark", "***@ ***&", "***y ***k", ["replace"]),
        ("string", "Brain", "Brian", "**@&* **&@*", "**ai* **ia*", ["transpose"]),
        ("string", "Miller", "Miller-Hart", "****** ******&&&&&", "****** ******-Hart", ["indel"]),
        ("string", "Maryann", "ann", "@@@@@@@ &&&", "Maryann ann", ["different"]),
        ("string", "Joann", "ann", "@@*** ***", "Jo*** ***", ["indel"]),
        ("string", "Al", "Alexander", "@@ &&&&&&&&&", "Al Alexander", ["different"]),
        ("string", "Smith", "Jones", "@@@@@ &&&&&", None, ["different"]),
        ("string", "Zoe\u0308", "Zoe", "**@ **&", "**e\u0308 **e", ["replace"]),
        ("date", "08/09/1964", "09/08/1964", "*@/*&/**** *&/*@/****", "*8/*9/**** *9/*8/****", ["date-swap"]),
        ("date", "08/28/1964", "28/08/1946", "@*/&*/**@& &*/@*/**&@", "0*/2*/**64 2*/0*/**46", ["date-swap", "transpose"]),
        ("date", "1964-08-09", "1964-08-19", "****-**-@* ****-**-&*", "****-**-0* ****-**-1*", ["replace"]),
        ("date", "1964-08-09", "08/19/1964", "****-**-@* **/&*/****", "****-**-0* **/1*/****", ["replace"]),
        ("date", "1964-08-09", "08/09/1964", "****-**-** **/**/****", "****-**-** **/**/****", ["equal"]),
        ("date", "08/09/1964", "10/28/1990", "@@/@@/@@@@ &&/&&/&&&&", None, ["different"]),
        ("date", "08/08/1964", "09/09/1964", "*@/*@/**** *&/*&/****", "*8/*8/**** *9/*9/****", ["replace"]),
        ("date", "about 1964", "08/09/1964", "@@@@@@@@@@ &&/&&/&&&&", None, ["different"]),
        ("date", "unknown", "unknown", "******* *******", "******* *******", ["equal"]),
        ("category", "Hispanic", "Black", "@ &", None, ["different"]),
        ("category", "Black", "Black", "* *", None, ["equal"]),
        ("string", None, "Mary", "? ****", None, ["missing"]),
        ("string", "Mary", "?", "**** ?", None, ["missing"]),
        ("date", "", "08/09/1964", "? **/**/****", None, ["missing"]),
        ("category", math.nan, "Black", "? *", None, ["missing"]),
        ("fixed", None, None, "? ?", None, ["missing"]),
    ],
)  # fmt: skip
def test_what_is_seen(kind: Any, a: Any, b: Any, masked: str, partial: str | None, marks: list[str]) -> None:
    pair = compare(kind, a, b)
    assert " ".join(pair.masked) == masked
    assert pair.partial is None if partial is None else " ".join(pair.partial or ()) == partial
    assert icons(pair) == marks
    assert pair.equal == (marks == ["equal"])


def test_exchanged_day_and_month_in_whole() -> None:
    pair = compare("date", "08/09/1964", "09/08/1964", date_swap="whole")
    assert pair.masked == ("@@/&&/****", "&&/@@/****")
    assert pair.partial == ("08/09/****", "09/08/****")
    assert icons(pair) == ["date-swap"]


def test_exchanged_parts_are_crossed_as_the_first_row_writes_them() -> None:
    """What has one sign in a row is found under the same sign in the other."""
    german = compare("date", "09.08.1964", "08.09.1964", formats="DD.MM.YYYY")
    assert german.masked == ("*@.*&.****", "*&.*@.****")
    mixed = compare("date", "08/09/1964", "1964-09-08")
    assert mixed.masked == ("*@/*&/****", "****-*&-*@")


def test_declared_formats() -> None:
    assert compare("date", "09.08.1964", "08.09.1964", formats="DD.MM.YYYY").partial == ("*9.*8.****", "*8.*9.****")
    assert compare("date", "09.08.1964", "08.09.1964").partial is None


@given(VALUES)
def test_the_partial_view_is_that_of_the_definition(values: tuple[Any, Any, Any]) -> None:
    kind, a, b = values
    pair = compare(kind, a, b)
    if a == b:
        assert pair.equal
        assert pair.partial == (None if kind == "category" else pair.masked)
        return
    expected = brute.partial(kind, a, b)
    assert pair.has_partial == (expected[0] is not None)
    for side, value, view in zip(pair.sides, (a, b), expected, strict=True):
        if view is None:
            continue
        separators = {2, 5} if kind == "date" else set()
        signs = list(value) if kind == "date" else characters(value)
        seen = [sign if view[place] is not None or place in separators else "*" for place, sign in enumerate(signs)]
        assert side.text("partial") == "".join(seen)
        assert side.disclosed("partial") == len(view) - view.count(None)


@given(VALUES, st.sampled_from(["masked", "partial", "full"]))
def test_pieces_are_the_text(values: tuple[Any, Any, Any], mode: Any) -> None:
    pair = compare(*values)
    assert tuple("".join(piece.text for piece in row) for row in pair.pieces(mode)) == pair.text(mode)
    assert pair.full == values[1:]


@given(VALUES)
def test_masked_shows_no_character(values: tuple[Any, Any, Any]) -> None:
    separators = "/" if values[0] == "date" else ""
    for text in compare(*values).masked:
        assert set(text) <= set("*@&" + separators)


@given(
    a=words("abcd"),
    b=words("abcd"),
    kind=st.sampled_from(["string", "fixed", "category"]),
    to=st.permutations("abcdwxyz"),
)
def test_two_worlds_that_differ_in_hidden_characters_look_the_same(a: str, b: str, kind: Any, to: list[str]) -> None:
    other = str.maketrans("abcd", "".join(to[:4]))
    here, there = compare(kind, a, b), compare(kind, a.translate(other), b.translate(other))
    assert (here.masked, here.markup, here.pieces("masked")) == (there.masked, there.markup, there.pieces("masked"))
    assert repr(here) == repr(there)


@given(a=DATES, b=DATES, to=st.permutations("0123456789"))
def test_two_worlds_of_dates_look_the_same(a: str, b: str, to: list[str]) -> None:
    other = str.maketrans("0123456789", "".join(to))
    here, there = compare("date", a, b), compare("date", a.translate(other), b.translate(other))
    assert (here.masked, here.markup) == (there.masked, there.markup)


@given(a=words("ab*", 5), b=words("ab*", 5))
def test_stars_hide_characters_that_correspond(a: str, b: str) -> None:
    """The hidden characters of both values, read one after the other, are the same; so one shows nothing of them."""
    pair = compare("string", a, b)
    if pair.has_partial:
        hidden = [
            [unit for unit, sign in zip(side.units, side.signs, strict=True) if sign == "="] for side in pair.sides
        ]
        assert hidden[0] == hidden[1]


def test_without_partial_mode_the_partial_text_shows_nothing() -> None:
    pair = compare("string", "Smith", "Jones")
    assert pair.text("partial") == pair.masked
    assert pair.pieces("partial") == pair.pieces("masked")


def test_a_repr_holds_no_character() -> None:
    pair = compare("string", "Mary", "Mark")
    assert repr(pair) == "Comparison(string, replace)"
    assert repr(pair.left) == "ValueView(***@)"


def test_normalisation_is_declared() -> None:
    assert not compare("string", "ZOE\u0308 ", "zo\u00eb").equal
    assert compare("string", "ZOE\u0308 ", "zo\u00eb", normalise=["nfc", "strip", "casefold"]).equal


def test_values_that_are_too_long_to_align() -> None:
    long = "a" * (LONGEST + 1)
    assert compare("string", long, long[1:] + "b").partial is None
    assert compare("fixed", long, "b" + long[1:]).partial is None
    assert compare("string", long, long).equal
    huge = "ab" * 500_000
    assert compare("string", huge, huge + "c").partial is None
    assert compare("string", "a" * LONGEST, "b" + "a" * (LONGEST - 1)).partial is not None


def test_what_may_be_opened_next() -> None:
    differs, agrees, other = (
        compare("string", *both) for both in (("Mary", "Mark"), ("Ann", "Ann"), ("Smith", "Jones"))
    )
    assert [differs.next_mode(mode) for mode in ("masked", "partial", "full")] == ["partial", "full", None]
    assert agrees.next_mode("masked") == other.next_mode("masked") == "full"
    assert agrees.takes("partial")
    assert not other.takes("partial")
    assert not compare("string", None, "").hides


def test_names_that_changed_places() -> None:
    given_name, surname = compare_names(("Ann", "Miller"), ("Miller", "Ann"))
    assert given_name.masked == ("@@@", "&&&&&&")
    assert surname.masked == ("&&&&&&", "@@@")
    assert icons(given_name) == icons(surname) == ["name-swap"]
    assert given_name.partial is surname.partial is None
    assert given_name.full == ("Ann", "Miller")
    assert given_name.pieces("full")[0][0].kind == "swap"


@pytest.mark.parametrize(
    ("first", "second"),
    [(("Ann", "Ann"), ("Ann", "Ann")), (("Ann", None), (None, "Ann")), (("Ann", "Hart"), ("Hart", "Anne"))],
)
def test_names_that_did_not(first: tuple[Any, Any], second: tuple[Any, Any]) -> None:
    found = compare_names(first, second)
    assert found == (compare("string", first[0], second[0]), compare("string", first[1], second[1]))


@given(NAMES, NAMES, IDS)
def test_shares(a: str, b: str, other: str) -> None:
    for kind, x, y in (("string", a, b), ("fixed", other, other[::-1])):
        pair = compare(kind, x, y)  # type: ignore[arg-type]
        for side in pair.sides:
            assert 0 == side.share("masked") <= side.share("partial") <= side.share("full") == 1


def test_nonsense_is_refused() -> None:
    with pytest.raises(UsageError, match="kind"):
        compare("text", "a", "b")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="exchanged days"):
        compare("date", "a", "b", date_swap="month")  # type: ignore[arg-type]


def test_every_mark_has_words() -> None:
    assert len({mark.name for mark in MARKS}) == len(MARKS) == 12
    assert all(mark.words for mark in MARKS)
