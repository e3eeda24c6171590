"""Findings about an anonymised table: who remains, what it cost, which risk is left, and how sure that is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.report import Finding, anonymised_findings
from discreet.report.anonymisation_findings import Case
from tests.examples import examples
from tests.report.anonymisation_samples import KINDS, made
from tests.report.samples import crowds


def told(case: Case) -> tuple[Finding, ...]:
    return anonymised_findings(case.result, before=case.before, after=case.after, source="people.csv")


def headline(kind: str, place: int) -> str:
    return told(KINDS[kind])[place].headline


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_three_or_more_whole_sentences(kind: str) -> None:
    found = told(KINDS[kind])
    assert len(found) >= 3
    for finding in found:
        assert finding.headline.endswith(".")
        assert finding.next_step.endswith(".")
        assert "  " not in finding.headline + finding.next_step


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_and_nouns_agree(kind: str) -> None:
    text = " ".join(f"{finding.headline} {finding.next_step}" for finding in told(KINDS[kind]))
    assert not re.search(r"(?<![\d.,])1 (people|others|columns|values|classes|combinations|were|are)\b", text)
    assert not re.search(r"\b(0\.0 %|100\.0 %|None|nan|inf)(?! of)", text)
    assert not re.search(r"(?<![\d.])\d{4,}", text), "thousands are separated"


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 4))
def test_any_table_can_be_told(sizes: list[int], k: int) -> None:
    case = made(crowds(*sizes), k=min(k, sum(sizes)), suppression=1.0)
    assert len(told(case)) == (4 if case.after else 3)


def test_who_remains() -> None:
    assert headline("one left out", 0) == (
        "13 of 14 people in people.csv (92.9 %) remain, in 2 classes (people who look alike): everybody shares zip with at "
        "least 5 others."
    )
    assert headline("unchanged", 0).startswith("All 18 people in people.csv (100 %) remain, in 3 classes")
    assert "at least one person is still alone" in headline("somebody alone", 0)


def test_nobody_remains() -> None:
    found = told(KINDS["everybody left out"])
    assert found[0].headline == (
        "None of the 3 people in people.csv remains: no class (people who look alike) satisfies what was asked for."
    )
    assert found[1].headline.endswith("to 1 (nothing left): all 3 people (100 %) are left out.")


def test_what_it_cost() -> None:
    assert headline("unchanged", 1).endswith("Every column stayed as it was; nobody is left out.")
    assert headline("one left out", 1).endswith("Every column stayed as it was; 1 of 14 people (7.1 %) is left out.")
    assert "Most was lost of age (nothing is left)" in headline("optimal", 1)
    assert "sex and zip stayed as they were; 6 of 120 people (5 %) are left out." in headline("optimal", 1)
    assert re.search(r"Of age, [\d.]+ % is kept; ", headline("one column", 1))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("optimal", "on a scale from 0 (the data as they were) to 1 (nothing left)"),
        ("precision", "The loss of precision is "),
        ("aecs", "people look alike"),
        ("discernibility", "a person who is left out counts as like everybody"),
        ("dm_star", "those left out included"),
        ("entropy", "bits (yes-no questions) per person"),
    ],
)
def test_every_loss_has_words(kind: str, words: str) -> None:
    assert words in headline(kind, 1)


def test_the_risk_before_and_after() -> None:
    assert headline("one left out", 2) == (
        "1 of 14 people (7.1 %) could be singled out by the quasi-identifiers before; now nobody can be. The highest risk of anybody falls from "
        "100 % to 16.7 %, the average risk falls from 21.4 % to 15.4 %."
    )
    assert headline("unchanged", 2) == (
        "Nobody could be singled out by the quasi-identifiers before, and nobody can be now. The highest risk of anybody stays at 20 %, the average "
        "risk stays at 16.7 %."
    )


def test_the_limit_and_the_adversary() -> None:
    assert "Anonymise with k = 5 or more" in told(KINDS["above the limit"])[2].next_step
    assert "nobody is above 1 in 5 now" in told(KINDS["unchanged"])[2].next_step
    assert "(the prosecutor)" in told(KINDS["unchanged"])[2].next_step
    assert "(the journalist)" in told(KINDS["population"])[2].next_step


def test_the_certificate_of_a_finished_search() -> None:
    certificate = KINDS["optimal"].result.certificate
    assert certificate is not None
    text = headline("optimal", 3)
    assert text.startswith(
        f"Nothing better exists: of {certificate.nodes} combinations of levels, {certificate.evaluated} "
    )
    assert f"{certificate.too_much_suppressed} were ruled out because a coarser one" in text
    assert f"{certificate.too_costly} were ruled out because they cannot lose less" in text


def test_the_bound_of_a_stopped_search() -> None:
    text = headline("stopped", 3)
    assert text.startswith("The search was stopped after ")
    assert "Nothing better exists" not in text
    assert "`--time-limit`" in told(KINDS["stopped"])[3].next_step


def test_ola_claims_no_more_than_it_knows() -> None:
    assert "as OLA is published" in headline("ola", 3)
    assert "a coarser one may lose less" in headline("ola", 3)


def test_recoding_class_by_class_claims_nothing() -> None:
    text = headline("by class", 3)
    assert text.startswith("Values were recoded class by class, into 3 classes")
    assert text.endswith("No optimality is claimed.")


def test_sensitive_columns_are_told_too() -> None:
    assert "Nobody's value of illness is certain" in headline("diverse", 4)
