"""What must be settled before anything is released."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.errors import Refused
from discreet.releases.preconditions import AGREEMENT, DECLARATION, Gates, declares
from tests.releases.world import GATES


def test_gates_that_are_all_open_let_through() -> None:
    assert GATES.check() is GATES
    assert declares(AGREEMENT)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("population_source", ""),
        ("population_source", "   "),
        ("population_licence", ""),
        ("population_licence", "x" * 501),
        ("counts_only", False),
        ("sign_off", ""),
        ("sign_off", "two\nlines"),
    ],
)
def test_each_missing_answer_is_named(name: str, value: object) -> None:
    with pytest.raises(Refused) as caught:
        replace(GATES, **{name: value}).check()
    assert f"({name})" in caught.value.remedy
    assert caught.value.exit_code == 5


def test_all_missing_answers_are_named_at_once() -> None:
    with pytest.raises(Refused, match="4 missing") as caught:
        Gates().check()
    assert caught.value.remedy.count("(") == 4


@pytest.mark.parametrize("agreement", ["", "Use it well.", "This copy contains no control records.", "control records"])
def test_an_agreement_that_hides_control_records_is_refused(agreement: str) -> None:
    with pytest.raises(Refused, match="control records") as caught:
        replace(GATES, agreement=agreement).check()
    assert DECLARATION in caught.value.remedy


def test_an_agreement_of_ones_own_may_break_lines_anywhere() -> None:
    text = "Vertrag\n\nTHIS COPY\ncontains   control\trecords. Diese Kopie enthält Kontrollsätze."
    assert replace(GATES, agreement=text).check().agreement == text
