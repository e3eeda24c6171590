"""Search finds what an account may open and nothing else; the ledger speaks in sentences; a demonstration has cards."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fastapi import FastAPI

from discreet.ledger import EVENTS, Ledger
from discreet.web.entry_sentences import VERBS, sentence
from discreet.web.framework.permissions import ROLES
from tests.web.client import Browser, make_accounts, signed_in
from tests.web.samples import make_dataset, make_plan


def hits(browser: Browser, words: str) -> set[str]:
    """The pages that a search leads to."""
    page = browser.get("/search", params={"q": words})
    assert page.status_code == 200
    main = page.text.partition("<main")[2]
    return set(re.findall(r'<li><a href="([^"]+)"', main))


def test_each_role_finds_what_it_may_open(app: FastAPI) -> None:
    dataset = make_dataset(app, "custodian")
    plan, release = make_plan(app, "custodian")
    make_accounts(app, "custodian2")
    found = {
        role: {word: hits(signed_in(app, role), word) for word in ("people", release, "custodian2", "0", "lab")}
        for role in ROLES
    }
    assert f"/datasets/{dataset}" in found["custodian"]["people"]
    assert f"/releases/plans/{plan}" in found["custodian"][release] & found["auditor"][release]
    assert "/accounts" in found["administrator"]["custodian2"]
    assert "/ledger/0" in found["auditor"]["0"]
    assert "/lab" in found["manager"]["lab"]
    for role in ROLES:
        browser = signed_in(app, role)
        for path in set().union(*found[role].values()):
            assert browser.get(path).status_code == 200, (role, path)
    assert found["worker"]["people"] == set()
    assert found["administrator"][release] == set()


@pytest.mark.parametrize(
    "words", ["", " ", "<script>alert(1)</script>", "%", "_", "\x00", "'; DROP TABLE x", "é" * 200]
)
def test_nonsense_finds_nothing_and_breaks_nothing(app: FastAPI, words: str) -> None:
    page = signed_in(app, "custodian").get("/search", params={"q": words})
    assert page.status_code == 200
    assert "<script>alert" not in page.text


def test_search_and_palette_only_after_signing_in(app: FastAPI) -> None:
    assert Browser(app).get("/search").status_code == 303
    assert "palette" not in Browser(app).get("/sign-in").text
    assert 'id="palette"' in signed_in(app, "worker").get("/").text


def test_every_event_has_a_sentence(app: FastAPI) -> None:
    assert VERBS.keys() == EVENTS.keys()
    ledger: Ledger = app.state.site.ledger
    for event in EVENTS:
        for outcome in ("done", "refused"):
            write = ledger.record if outcome == "done" else ledger.refuse
            entry = write(actor="ann", event=event, subject="dataset:3/job:7").entry
            said = sentence(entry)
            assert event not in said
            assert said.endswith("data set 3, job 7")
            assert (outcome == "refused") == ("refused" in said)
    page = signed_in(app, "auditor").get("/ledger").text
    rows = re.findall(r'<td class="words" data-event="[^"]+">(.*?)</td>', page)
    assert len(rows) == 50
    assert not any(re.search(r"[a-z]+\.[a-z]+", row) for row in rows), "sentences, no codes"


def test_refusals_of_a_minute_are_one_sentence(app: FastAPI) -> None:
    details: dict[str, Any] = {"more": 12, "minute": "2026-05-04T09:00Z"}
    entry = app.state.site.ledger.refuse(
        actor="ann", event="web.approved", subject="release:a/plan:1", details=details
    ).entry
    assert sentence(entry) == "was refused to approve release a, plan 1, 12 more times in a minute"


def test_cards_of_a_demonstration_sign_in(app: FastAPI) -> None:
    from tests.web.client import PASSWORD

    assert "role-cards" not in Browser(app).get("/sign-in").text
    app.state.site.visitors = tuple((role, role, PASSWORD) for role in ROLES)
    page = Browser(app).get("/sign-in").text
    assert len(re.findall('<form method="post" action="/sign-in"><input type="hidden"', page)) == len(ROLES)
    form = dict(
        re.findall(r'name="(name|password)" value="([^"]*)"', page.partition("role-cards")[2].partition("</form>")[0])
    )
    browser = Browser(app)
    assert browser.post("/sign-in", {**form, "next": "/"}).status_code == 303
    assert "Dashboard" in browser.get("/").text
