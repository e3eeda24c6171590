"""Markup that escapes everything by default."""

from __future__ import annotations

import html

from hypothesis import given
from hypothesis import strategies as st

from discreet.kernel.serialise import escape
from discreet.report.toolkit.html import Markup, element, join
from tests.report.samples import HOSTILE, Outline


@given(st.text())
def test_no_text_opens_a_tag_or_leaves_its_attribute(text: str) -> None:
    outline = Outline(str(element("p", text, title=text)))
    assert [tag for tag, _ in outline.tags] == ["p"]
    assert outline.all("p") == [{"title": _readable(text)}]


def _readable(text: str) -> str:
    return html.unescape(escape(text))


@given(st.text(alphabet=st.characters(categories=["Cc", "Cs", "Cf"])))
def test_what_breaks_a_document_is_replaced(text: str) -> None:
    shown = escape(text)
    shown.encode()
    assert not set(shown) & {"\x00", "\x1b", "\u202e", "\u2066", "\x9b"}


def test_ordinary_letters_of_any_script_stay() -> None:
    assert escape("größe 年齢 عمر\t\n") == "größe 年齢 عمر\t\n"


def test_markup_is_the_only_way_around() -> None:
    assert str(join(Markup("<i>"), HOSTILE, None, ["a", [Markup("</i>")]])).count("<") == 2


def test_attributes_that_are_off_are_left_out() -> None:
    assert str(element("details", open=True, hidden=False, id=None)) == "<details open></details>"


def test_void_elements_have_no_end() -> None:
    assert str(element("meta", charset="utf-8")) == '<meta charset="utf-8">\n'
