"""Why was this refused: in words, by its reference, to whom it concerns."""

from __future__ import annotations

import pytest
from fastapi import FastAPI

from tests.web.client import signed_in
from tests.web.gateway_data import answered, not_run, proposed, refused, started


def test_it_says_what_was_asked_what_it_would_have_brought_and_what_to_do(app: FastAPI) -> None:
    ledger = app.state.site.ledger
    entry = refused(ledger, "eve", "1.5", "2.31", rows=40, rule="gateway.limits 2", application="bi")
    page = signed_in(app, "custodian").get(f"/gateway/why?reference={entry.sequence:X}").text
    for words in (
        "A result was refused: 40 rows would have raised the exposure from 1.50 to 2.31; the limit was 2.00.",
        "40 rows, with <code>public.patients.diagnosis</code>",
        "if every value were the most sensitive of its column",
        "rule 2 of [[gateway.limits]] in the policy",
        "<code>bi</code>",
        "Ask for fewer rows.",
        f"with the reference {entry.sequence:04X}",
        f'href="/ledger/{entry.sequence}"',
    ):
        assert words in page, words


def test_a_limit_that_was_agreed_on_is_named_with_its_reason(app: FastAPI) -> None:
    number = proposed(app, "custodian", reason="until the audit is done")
    entry = refused(app.state.site.ledger, "eve", "1.5", "2.31", rule=f"agreed {number}")
    page = signed_in(app, "auditor").get(f"/gateway/why?reference={entry.sequence:04x}").text
    assert f"limit {number}, approved by two people: until the audit is done" in page
    assert f'href="/gateway/limits/{number}"' in page


def test_a_statement_that_was_not_run_says_why(app: FastAPI) -> None:
    entry = not_run(app.state.site.ledger, "eve", "Refused: EXPLAIN tells of values.")
    page = signed_in(app, "auditor").get(f"/gateway/why?reference={entry.sequence:04X}").text
    assert "A statement was refused: EXPLAIN tells of values." in page
    assert "Propose a limit" not in page


def test_shadow_mode_and_questions_have_words_of_their_own(app: FastAPI) -> None:
    ledger, browser = app.state.site.ledger, signed_in(app, "auditor")
    shadow = answered(ledger, "eve", "1", "3", decision="deny", enforced=False)
    page = browser.get(f"/gateway/why?reference={shadow.sequence:04X}").text
    assert "A result would have been refused, but the gateway was in shadow mode: 3 rows raised the exposure" in page
    question = refused(ledger, "eve", "1", "3", rows=0)
    page = browser.get(f"/gateway/why?reference={question.sequence:04X}").text
    assert "The answer to a question was refused: the answer to a question would have raised" in page
    assert "Ask for counts of larger groups" in page


@pytest.mark.parametrize("role", ["manager", "worker"])
def test_without_the_right_to_see_everybody_one_finds_only_ones_own(app: FastAPI, role: str) -> None:
    ledger, browser = app.state.site.ledger, signed_in(app, role)
    own, foreign = refused(ledger, role, "1.5", "2.31"), refused(ledger, "eve", "1.25", "7.77")
    answer = browser.get(f"/gateway/why?reference={own.sequence:04X}")
    assert answer.status_code == 200
    assert "from 1.50 to 2.31" in answer.text
    assert "/ledger/" not in answer.text
    assert "/gateway/users" not in answer.text
    missing = browser.get("/gateway/why?reference=FFFF")
    hidden = browser.get(f"/gateway/why?reference={foreign.sequence:04X}")
    assert hidden.status_code == missing.status_code == 404
    assert "7.77" not in hidden.text
    assert hidden.text.replace(f"{foreign.sequence:04X}", "FFFF") == missing.text
    api = browser.get(f"/api/v1/gateway/why?reference={foreign.sequence:04X}")
    assert api.status_code == 404
    assert api.json() == browser.get("/api/v1/gateway/why?reference=FFFF").json()


@pytest.mark.parametrize("reference", ["", "0", "xyz", "-1", "F" * 40, "0x1", "%00", "１", "1 2"])
def test_what_is_no_reference_of_a_refusal_leads_nowhere(app: FastAPI, reference: str) -> None:
    started(app.state.site.ledger)
    answered(app.state.site.ledger, "eve", "0", "1")
    answer = signed_in(app, "custodian").get(f"/gateway/why?reference={reference}")
    assert answer.status_code == (404 if reference else 200)


def test_something_given_out_has_no_reason_why_it_was_refused(app: FastAPI) -> None:
    given = answered(app.state.site.ledger, "eve", "0", "1")
    assert signed_in(app, "custodian").get(f"/gateway/why?reference={given.sequence:X}").status_code == 404
