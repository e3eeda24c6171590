"""Cards in notebooks: whole, escaped whatever is in a name, and one for every kind of result."""

from __future__ import annotations

import importlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernel import Classes
from discreet.kernel.serialise import card, escape
from tests.report.samples import HOSTILE, Outline

RESULTS = {
    "anonymity.Anonymised", "attacker.Attack", "attacker.Attacked", "attacker.Plan", "attacker.Thresholds",
    "kernel.Classes", "linkage.Display", "misuse.Exposure", "misuse.Score", "policy.Policy", "releases.Feasibility",
    "releases.Plan", "releases.Release", "releases.Trace", "report.project.Story", "risk.Assessment", "risk.Profile",
    "sources.Table",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_every_kind_of_result_shows_itself(name: str) -> None:
    module, _, kind = name.rpartition(".")
    assert callable(getattr(importlib.import_module(f"discreet.{module}"), kind)._repr_html_)


@given(st.text(), st.lists(st.tuples(st.text(), st.text(), st.integers())), st.booleans())
def test_a_card_is_well_formed_whatever_is_in_it(words: str, rows: list[tuple[str, str, int]], headed: bool) -> None:
    head = ("a", "b", "c") if headed else ()
    outline = Outline(card(words, rows, head=head))
    assert {tag for tag, _ in outline.tags} <= {"table", "caption", "tr", "th", "td"}
    assert len(outline.all("tr")) == len(rows) + headed
    assert len(outline.all("td")) == 2 * len(rows)


@given(st.text())
def test_escaped_text_holds_nothing_that_could_break_out(text: str) -> None:
    shown = escape(text)
    assert not set(shown) & {"<", ">", '"', "'", "\x00", "\x1b", "\u202e"}


def test_classes_show_counts_and_names_but_no_value() -> None:
    shown = Classes.of([HOSTILE, "zip"], [("secret", "1"), ("secret", "2")], [1, 4])._repr_html_()
    assert "secret" not in shown
    assert HOSTILE not in shown
    assert [text for _, text in Outline(shown).texts][-1] == "4"
    assert "look alike on nothing" in Classes.of([], [()], [3])._repr_html_()


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    shown = card(
        "x", [("a", 1, "as it was"), ("b", "none", "2 of 3"), ("c", 3, "gone")], head=("name", "rows", "level")
    )
    looks = [attributes["style"] for attributes in Outline(shown).all("td")]
    assert looks == ["text-align:right", "text-align:left"] * 3
