"""What custodians and auditors see of the gateway: users ranked, one user, refusals, incidents, the dashboard."""

from __future__ import annotations

import html
import re
import time

import pytest
from fastapi import FastAPI
from sqlalchemy import insert

from discreet.gateway.statistics import Admission
from discreet.store.tables.gateway import DAY, USER, WATCHED
from discreet.web.gateway import users
from discreet.web.gateway.users import follow, incidents
from tests.gateway.statistics.worlds import SUM, PeopleWorld, answers
from tests.web.client import BOTH_STORES, Clock, signed_in
from tests.web.gateway_data import MILLION, answered, not_run, proposed, refused, repeated, somebody, started

STRANGE = 'o\'brien "<b>&/user:x" %2F'


def names(page: str) -> list[str]:
    """The users of a table, in order."""
    found = re.findall(r'<th scope="row" class="anywhere"><a href="/gateway/users/\d+">(.*?)</a>', page)
    return [html.unescape(name) for name in found]


def test_without_a_gateway_the_page_says_how_to_start_one(app: FastAPI) -> None:
    page = signed_in(app, "custodian").get("/gateway").text
    assert "No gateway has written into this ledger yet" in page
    assert "in front of a database, with a policy" in page


def test_the_page_says_what_the_gateway_is_not_with_and_without_users(app: FastAPI) -> None:
    browser = signed_in(app, "auditor")
    before = browser.get("/gateway").text
    answered(app.state.site.ledger, "low", "0", "1", limit="2")
    for page in (before, browser.get("/gateway").text):
        assert "It is not a barrier against an attacker" in page


@BOTH_STORES
def test_users_are_ranked_by_the_share_of_their_limit(app: FastAPI) -> None:
    ledger = app.state.site.ledger
    started(ledger)
    answered(ledger, "low", "0", "1", limit="2")
    answered(ledger, "high", "0", "0.9", limit="1")
    answered(ledger, "over", "0", "3", limit="2", decision="alert")
    answered(ledger, STRANGE, "0", "0.1")
    not_run(ledger, "unknown", "Refused: no.")
    page = signed_in(app, "auditor").get("/gateway").text
    assert names(page) == ["over", "high", "low", STRANGE, "unknown"]
    assert "<b>0.90</b>" in page
    assert "▲</span> 90 %" in page
    assert 'aria-valuetext="3.00 of 2.00, above the limit"' in page
    assert "<b>&/user" not in page


@BOTH_STORES
def test_a_limit_that_was_agreed_on_ranks_anew(app: FastAPI) -> None:
    site = app.state.site
    answered(site.ledger, "one", "0", "1", limit="2")
    answered(site.ledger, "two", "0", "0.5", limit="2")
    browser = signed_in(app, "custodian")
    assert names(browser.get("/gateway").text) == ["one", "two"]
    number = proposed(app, "auditor", name="two", allowed=MILLION // 2)
    assert names(browser.get("/gateway").text) == ["one", "two"], "a proposal changes nothing"
    assert browser.post(f"/gateway/limits/{number}/approve").status_code == 303
    assert names(browser.get("/gateway").text) == ["two", "one"]
    everybody = proposed(app, "auditor", name="*", allowed=MILLION // 4)
    assert browser.post(f"/gateway/limits/{everybody}/approve").status_code == 303
    assert names(browser.get("/gateway").text) == ["one", "two"]


def test_users_are_found_by_a_part_of_the_name_and_by_database(app: FastAPI) -> None:
    ledger = app.state.site.ledger
    started(ledger)
    started(ledger, "other")
    for name in ("ann", "anna", "ben", "a_n", STRANGE):
        answered(ledger, name, "0", "1")
    answered(ledger, "ann", "0", "1", database="other")
    browser = signed_in(app, "custodian")
    assert sorted(names(browser.get("/gateway?name=ann").text)) == ["ann", "ann", "anna"]
    assert names(browser.get("/gateway?name=ann&database=other").text) == ["ann"]
    assert names(browser.get("/gateway?name=a_n").text) == ["a_n"], "no wildcard"
    assert names(browser.get("/gateway?name=%252F").text) == [STRANGE]
    assert "No user matches" in browser.get("/gateway?name=%00").text
    assert browser.get("/gateway?page=999").status_code == 200
    assert browser.get("/gateway?page=0").status_code == 422


def test_one_user_has_a_chart_results_and_refusals_and_no_text_of_a_statement(app: FastAPI, clock: Clock) -> None:
    ledger = app.state.site.ledger
    started(ledger)
    answered(ledger, STRANGE, "0", "0.75", rows=1234)
    clock.wait(days=2)
    entry = refused(ledger, STRANGE, "0.75", "2.31")
    repeated(ledger, STRANGE, 3)
    browser = signed_in(app, "custodian")
    browser.get("/gateway")
    with app.state.site.store.reading() as connection:
        user = users.named(connection, "clinic", STRANGE, now=app.state.site.stamp())
    assert user is not None
    page = browser.get(f"/gateway/users/{user.id}").text
    assert "<svg" in page
    assert 'class="stroke one"' in page
    assert 'class="stroke two"' in page
    assert "1,234" in page
    assert f"/gateway/why?reference={entry.sequence:04X}" in page
    assert "9 rows would have raised the exposure from 0.75 to 2.31; the limit was 2.00." in page
    assert html.escape(STRANGE, quote=False).replace('"', "&#34;").replace("'", "&#39;") in page
    assert browser.get("/gateway/users/999").status_code == 404


@BOTH_STORES
def test_one_user_has_what_is_left_of_audit_and_budget(app: FastAPI) -> None:
    """Their own account, and that of a project they have used; nobody else's."""
    ledger, world = app.state.site.ledger, PeopleWorld()
    answered(ledger, "eve", "0", "0.5")
    settings = {"answers": 2, "projects": {"heart": frozenset({"cardiology"})}}
    question = [world.question("p", SUM, a=range(8)), world.question("q", SUM, a=range(9))]
    assert isinstance(answers(ledger, **settings).admit("eve", question, world.ask), Admission)
    assert isinstance(answers(ledger, **settings).admit("eve", question[:1], world.ask, {"cardiology"}), Admission)
    assert isinstance(answers(ledger, **settings).admit("ann", question[:1], world.ask), Admission)
    browser = signed_in(app, "custodian")
    browser.get("/gateway")
    page = browser.get("/gateway/users/1").text
    assert page.count("<code>people.income</code>") == 2
    assert "project heart, shared" in page
    assert 'aria-valuetext="3.1 % of at most 20 %"' in page
    assert "none</span>" in page
    given = browser.get("/api/v1/gateway/users/1").json()["statistics"]
    assert [(one["account"], one["answers"], one["left"], one["limit"]) for one in given] == [
        ("project:heart", 1, 1, 0.2),
        ("user:eve", 2, 0, 0.2),
    ]


def test_a_result_that_was_taken_back_is_not_shown(app: FastAPI) -> None:
    ledger = app.state.site.ledger
    answered(ledger, "eve", "0", "0.5", rows=11)
    answered(ledger, "eve", "0.5", "1.5", rows=777, taken_back=True)
    browser = signed_in(app, "custodian")
    browser.get("/gateway")
    page = browser.get("/gateway/users/1").text
    assert "777" not in page
    assert "<b>0.50</b>" in page


def test_refusals_are_paged_newest_first(app: FastAPI) -> None:
    ledger = app.state.site.ledger
    for number in range(60):
        not_run(ledger, f"user{number}", f"Refused: reason {number}.")
    browser = signed_in(app, "auditor")
    first = browser.get("/gateway/refusals").text
    assert [f"eason {number}." in first for number in (59, 10, 9)] == [True, True, False]
    older = re.search(r'href="(/gateway/refusals\?[^"]*before=\d+)"', first)
    assert older
    second = browser.get(html.unescape(older[1])).text
    assert [f"eason {number}." in second for number in (10, 9, 0)] == [False, True, True]
    assert "This is the oldest" in second


def test_the_dashboard_says_who_is_near_the_limit_and_what_waits(app: FastAPI) -> None:
    ledger = app.state.site.ledger
    answered(ledger, "fine", "0", "1.6", limit="2")
    browser = signed_in(app, "custodian")
    assert "of their limit" not in browser.get("/").text, "80 % is not above 80 %"
    answered(ledger, "eve", "0", "1.7", limit="2")
    page = browser.get("/").text
    assert "1 database user is above 80" in page
    assert "eve has used 85\N{NO-BREAK SPACE}% of it in clinic" in page
    proposed(app, "auditor")
    assert "1 limit of a database user awaits your approval: eve." in browser.get("/").text
    assert "awaits your approval" not in signed_in(app, "auditor").get("/").text
    assert "database user" not in signed_in(app, "worker").get("/").text


def test_incidents_are_ranked_by_what_was_held(app: FastAPI, clock: Clock) -> None:
    ledger, held = app.state.site.ledger, dict.fromkeys(("ann", "ben", "eve", "kim"), 0.0)
    for day in range(12):
        for name in held:
            after = held[name] + 0.01 + 0.001 * ((day * 7 + len(name)) % 3)
            answered(ledger, name, f"{held[name]:.6f}", f"{after:.6f}")
            held[name] = after
        clock.wait(days=1)
    answered(ledger, "eve", f"{held['eve']:.6f}", "1.5")
    answered(ledger, "kim", f"{held['kim']:.6f}", "2.5", decision="alert", limit="2")
    for _ in range(5):
        refused(ledger, "ben", f"{held['ben']:.6f}", "9")
    assert follow(app.state.site.store)
    with app.state.site.store.reading() as connection:
        found = incidents(connection, clock())
    assert [one.name for one in found] == ["kim", "eve", "ben"]
    kim, eve, ben = found
    assert eve.reasons[0].startswith("The day added 1.49 to what was known before; 0.0")
    assert kim.reasons[1] == "1 result was let through although the exposure was above the limit."
    assert ben.reasons == ("5 refusals in a row, with no new information given out in between.",)
    page = signed_in(app, "auditor").get("/gateway/incidents").text
    assert page.index("kim") < page.index("eve")
    clock.wait(days=31)
    assert "Nothing unusual" in signed_in(app, "auditor").get("/gateway/incidents").text


def test_four_refusals_in_a_row_are_no_incident_and_an_answer_ends_the_row(app: FastAPI, clock: Clock) -> None:
    ledger = app.state.site.ledger
    for _ in range(2):
        for _ in range(4):
            refused(ledger, "eve", "0.1", "9")
        answered(ledger, "eve", "0.1", "0.1")
    assert follow(app.state.site.store)
    with app.state.site.store.reading() as connection:
        assert incidents(connection, clock()) == []


@pytest.mark.parametrize("path", ["/gateway", "/gateway/refusals", "/gateway/incidents", "/gateway/limits"])
def test_other_roles_do_not_see_it(app: FastAPI, path: str) -> None:
    somebody(app)
    for role in ("manager", "worker"):
        assert signed_in(app, role).get(path).status_code == 403


def test_a_thousand_users_are_a_page(app: FastAPI) -> None:
    site, days = app.state.site, [f"2026-04-{day:02}" for day in range(5, 31)]
    with site.store.writing() as connection:
        connection.execute(
            insert(WATCHED).values(name="clinic", entry=0, since=site.stamp(), mode="enforce", tables=1, x="2")
        )
        zero = dict.fromkeys(("answers", "repeated", "refused", "would", "over", "streak"), 0)
        people = [
            {"id": number, "database": "clinic", "name": f"user{number:04}", "exposure": number, "allowed": 2_000}
            for number in range(1, 1_001)
        ]
        connection.execute(insert(USER), [{**one, **zero, "rule": "", "seen": site.stamp()} for one in people])
        quiet = dict.fromkeys(("rows", "refused", "would", "over", "streak"), 0)
        listed = [
            {
                "user": one["id"],
                "day": day,
                **quiet,
                "answers": 1,
                "opened": place * 10**4,
                "closed": (place + 1) * 10**4,
            }
            for one in people
            for place, day in enumerate(days)
        ]
        connection.execute(insert(DAY), listed)
    browser = signed_in(app, "custodian")
    begin = time.process_time()
    page = browser.get("/gateway").text
    spent = time.process_time() - begin
    assert names(page)[:2] == ["user1000", "user0999"]
    assert "1,000 users, page 1 of 20" in page
    assert names(browser.get("/gateway?page=20").text)[-1] == "user0001"
    assert spent < 4, f"{spent:.1f} s"
