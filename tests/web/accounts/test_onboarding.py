"""Getting started: steps are ticked by what was done, by nothing else, and can be put away by each account."""

from __future__ import annotations

import re

from fastapi import FastAPI

from discreet.web.accounts import accounts
from discreet.web.accounts.onboarding import Guide, guide_of
from tests.web.client import BOTH_STORES, make_accounts, signed_in
from tests.web.samples import account_number, make_dataset, make_job


def guide(app: FastAPI, name: str = "custodian") -> Guide:
    with app.state.site.store.reading() as connection:
        account = accounts.find(connection, account_number(app, name))
        assert account is not None
        return guide_of(connection, account)


def ticked(app: FastAPI, name: str = "custodian") -> list[bool]:
    return [step.done for step in guide(app, name).steps]


@BOTH_STORES
def test_steps_are_ticked_by_what_was_done(app: FastAPI) -> None:
    assert ticked(app) == [False, False, False, False]
    browser = signed_in(app, "custodian")
    number = make_dataset(app, "custodian", policy=None)
    assert ticked(app) == [True, False, False, False]
    nothing = {"version": "0", "role-0": "other", "role-1": "sensitive", "rule-0": "", "rule-1": ""}
    assert browser.post(f"/datasets/{number}/roles", nothing).status_code == 303
    assert ticked(app) == [True, False, False, False]  # there is nothing that could be measured
    form = {"version": "1", "role-0": "quasi", "role-1": "quasi", "rule-0": "", "rule-1": ""}
    assert browser.post(f"/datasets/{number}/roles", form).status_code == 303
    assert ticked(app) == [True, True, False, False]
    assert guide(app).steps[2].words == "It is being measured now."
    job = make_job(app, "custodian")  # done, with a report
    assert ticked(app) == [True, True, True, False]
    following = guide(app).following
    assert following is not None
    assert following.path == f"/reports/{job}"
    browser.get(following.path)
    assert ticked(app) == [True] * 4
    make_accounts(app, "custodian2")
    assert ticked(app, "custodian2") == [True, True, True, False]  # everybody reads for oneself


def test_what_is_removed_takes_its_ticks_with_it(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    number = make_dataset(app, "custodian")
    browser.post(f"/datasets/{number}/assess")
    assert ticked(app) == [True, True, False, False]
    browser.post(f"/datasets/{number}/remove")
    assert ticked(app) == [False, False, False, False]


def test_the_next_step_leads_through_the_pages(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    assert 'href="/datasets/new">Add a data set</a>' in browser.get("/").text
    strip = re.compile(r'<aside class="next-step".*?</aside>', re.S)
    assert not strip.findall(browser.get("/datasets").text)  # the page itself says what to do
    number = make_dataset(app, "custodian")
    (above,) = strip.findall(browser.get("/datasets").text)
    assert "step 2 of 4" in above
    assert f'href="/datasets/{number}"' in above
    (there,) = strip.findall(browser.get(f"/datasets/{number}").text)
    assert f'href="/datasets/{number}"' not in there  # one is there already
    assert not strip.findall(browser.get("/ledger").text)


@BOTH_STORES
def test_each_account_puts_the_steps_away_and_takes_them_out_again(app: FastAPI) -> None:
    make_accounts(app, "custodian2")
    browser, other = signed_in(app, "custodian"), signed_in(app, "custodian2")
    answer = browser.post("/start", {"show": "no"})
    assert answer.headers["location"] == "/?said=steps-away"
    home = browser.get(answer.headers["location"]).text
    assert "Getting-started guide hidden." in home
    assert 'id="guide"' not in home
    assert "next-step" not in browser.get("/datasets").text
    assert 'id="guide"' in other.get("/").text
    assert "Show the guide on the dashboard" in browser.get("/start").text
    browser.post("/start", {"show": "yes"})
    assert 'id="guide"' in browser.get("/").text
    assert browser.post("/start", {"show": "maybe"}).status_code == 422


def test_only_who_looks_after_data_sets_is_guided(app: FastAPI) -> None:
    for role in ("manager", "worker", "auditor"):
        home = signed_in(app, role).get("/").text
        assert 'id="guide"' not in home
        assert "/start" not in home


def test_whoever_has_done_all_is_told_so_in_a_line(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    browser.get(f"/reports/{make_job(app, 'custodian')}")
    home = browser.get("/").text
    assert "All steps are done." in home
    assert '<ol class="guide"' not in home
    assert "next-step" not in browser.get("/datasets").text


def test_at_first_there_is_the_path_and_nothing_else(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    home = browser.get("/").text
    assert '<ol class="guide"' in home
    assert "What needs attention" not in home
    assert "Disclosures of the last" not in home
    make_dataset(app, "custodian", policy=None)
    home = browser.get("/").text
    assert "What needs attention" in home
