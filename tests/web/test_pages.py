"""What pages say: the dashboard's findings, the ledger with its filters, verification and export."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import text

from discreet.ledger import merkle
from discreet.ledger.verifier import verify_export
from discreet.web import dashboard as activity
from tests.web.client import Browser, Clock, make_accounts, signed_in
from tests.web.samples import SAMPLES, make_linkage
from tests.web.snapshot import entries


def disclose(app: FastAPI, clock: Clock) -> None:
    """Budgets and disclosures over some days."""
    ledger = app.state.site.ledger
    ledger.set_budget("ann", limit=10, actor="custodian")
    ledger.set_budget("bob", limit=100, actor="custodian")
    for number in range(9):
        ledger.spend(
            "ann", 1, actor="ann", event="linkage.revealed", key=f"a{number}", subject=f"project:7/pair:{number}"
        )
        clock.wait(days=1)
    ledger.spend("ann", 5, actor="ann", event="linkage.revealed", key="too much", subject="project:7/pair:99")
    ledger.record(actor="custodian", event="releases.delivered", subject="release:1/copy:2")


def test_an_empty_dashboard_says_what_will_be_there(app: FastAPI) -> None:
    page = signed_in(app, "auditor").get("/").text
    for words in ("never been verified", "Nothing was disclosed", "There are no budgets yet"):
        assert words in page
    worker = signed_in(app, "worker").get("/").text
    assert "Nothing needs your attention" in worker
    assert "budget" not in worker.replace("budgets that run low", "")


def test_the_dashboard_tells_what_needs_attention(app: FastAPI, clock: Clock) -> None:
    disclose(app, clock)
    page = signed_in(app, "custodian").get("/").text.replace("\N{NO-BREAK SPACE}", " ")
    assert "1 of 2 budgets is used to 80 % or more; ann has 10 % left." in page
    assert "1 request was refused in the last 7 days, in linkage." in page
    assert "Day by day, the last one today: 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0." in page
    assert not re.search(r"\bbob\b", page)


def test_rooms_are_counted_by_day_and_old_entries_left_out(app: FastAPI, clock: Clock) -> None:
    disclose(app, clock)
    site = app.state.site
    with site.store.reading() as connection:
        linkage, releases = sorted(activity.rooms(connection, clock()), key=lambda room: room.name)
        assert (linkage.total, linkage.refused, releases.total) == (9, 1, 1)
        for moment in ("2026-05-04", "2026-05-07T12", "2099"):
            expected = sum(entry["time"] < moment for entry in entries(app))
            assert activity.first_since(connection, moment) == expected
    clock.wait(days=30)
    with site.store.reading() as connection:
        assert activity.rooms(connection, clock()) == []


def test_verifying_is_remembered_and_grows_old(app: FastAPI, clock: Clock) -> None:
    auditor = signed_in(app, "auditor")
    assert auditor.post("/ledger/verify").headers["location"] == "/ledger?said=verified"
    clock.wait(minutes=3)
    assert "verified 3 minutes ago by auditor" in auditor.get("/").text
    clock.wait(days=8)
    auditor = signed_in(app, "auditor")
    assert "The ledger was verified 8 days ago." in auditor.get("/").text


def test_a_head_that_was_kept_elsewhere_is_held_against_the_ledger(app: FastAPI) -> None:
    ledger, auditor = app.state.site.ledger, signed_in(app, "auditor")
    ledger.record(actor="ann", event="web.shown", subject="x")
    head = ledger.head()
    assert auditor.post("/ledger/verify", {"head": json.dumps(head, indent=2)}).status_code == 303
    other = {**head, "root": "0" * 64}
    assert "The ledger is not what was written" in auditor.post("/ledger/verify", {"head": json.dumps(other)}).text
    assert "The ledger is not what was written" in signed_in(app, "custodian").get("/").text
    for nonsense in ("x", "{}", "[]", "null", "[" * 3_000):
        assert auditor.post("/ledger/verify", {"head": nonsense}).status_code == 422


def test_an_edited_ledger_is_found_out(app: FastAPI) -> None:
    auditor = signed_in(app, "auditor")
    app.state.site.ledger.record(actor="ann", event="web.shown", subject="x")
    with app.state.site.store.writing() as connection:
        connection.execute(text("DROP TRIGGER ledger_entry_no_update"))
        connection.execute(text("UPDATE ledger_entry SET actor = 'eve' WHERE sequence = 1"))
    page = auditor.post("/ledger/verify").text
    assert "Entry 1 does not say what its row says." in page
    assert "Disclose nothing more" in page


def test_a_cut_ledger_is_found_out_by_the_last_check(app: FastAPI) -> None:
    """The tail is cut and everything else set back to how it was: only a head that was kept knows better."""
    auditor, ledger = signed_in(app, "auditor"), app.state.site.ledger
    ledger.record(actor="ann", event="web.shown", subject="x")
    with app.state.site.store.reading() as connection:
        kept = dict(connection.execute(text("SELECT * FROM ledger_tree")).one()._mapping)
    ledger.record(actor="ann", event="web.shown", subject="y")
    auditor.post("/ledger/verify")
    with app.state.site.store.writing() as connection:
        connection.execute(text("DROP TRIGGER ledger_entry_no_delete"))
        connection.execute(text("DELETE FROM ledger_entry WHERE sequence = 2"))
        values = ", ".join(f"{name} = :{name}" for name in kept)
        connection.execute(text(f"UPDATE ledger_tree SET {values}"), kept)
    assert "has seen more than" in auditor.post("/ledger/verify").text


def test_the_export_verifies_offline_and_is_an_entry_itself(app: FastAPI) -> None:
    answer = signed_in(app, "auditor").post("/ledger/export")
    assert answer.headers["content-disposition"] == 'attachment; filename="ledger.jsonl"'
    lines = answer.content.splitlines(keepends=True)
    assert verify_export(lines, heads=[app.state.site.ledger.head()]).holds
    assert json.loads(lines[-2])["event"] == "web.shown"
    assert json.loads(lines[-2])["actor"] == "auditor"


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("", 19),
        ("actor=ann", 10),
        ("event=linkage.revealed&outcome=refused", 1),
        ("room=releases", 1),
        ("subject=project:7", 10),
        ("subject=project:7/pair:1", 1),
        ("subject=project", 0),
        ("since=2026-05-05&until=2026-05-06", 2),
        ("actor=%25", 0),
        ("actor=%00", 0),
    ],
)
def test_filters(app: FastAPI, clock: Clock, query: str, count: int) -> None:
    disclose(app, clock)
    page = signed_in(app, "auditor").get(f"/ledger?{query}").text
    assert page.count('<th scope="row" class="number"><a href="/ledger/') == count
    assert ("No entry fits" in page) == (count == 0)


def test_paging_goes_through_all_entries_once(app: FastAPI) -> None:
    for number in range(120):
        app.state.site.ledger.record(actor="ann", event="web.shown", subject=f"x:{number}")
    browser, seen, address = signed_in(app, "auditor"), [], "/ledger?actor=ann"
    while address:
        page = browser.get(address).text
        seen += [int(part.partition('"')[0]) for part in page.split('class="number"><a href="/ledger/')[1:]]
        address = (
            page.partition('" rel="next"')[0].rpartition('href="')[2].replace("&amp;", "&")
            if 'rel="next"' in page
            else ""
        )
    newest = app.state.site.ledger.head()["size"] - 1
    assert seen == list(range(newest, newest - 120, -1))


def test_an_entry_shows_its_proof(app: FastAPI) -> None:
    ledger = app.state.site.ledger
    for number in range(5):
        ledger.record(actor="ann", event="web.shown", subject=f"x:{number}")
    page = html.unescape(signed_in(app, "auditor").get("/ledger/3").text)
    *path, root = re.findall(
        r"^(?:root )?([0-9a-f]{64})(?:</pre>)?$",
        page.partition('aria-label="Proof">')[2].replace("</pre>", "\n</pre>"),
        re.MULTILINE,
    )[:5]
    entry = next(entry for entry in ledger.entries() if entry.sequence == 3)
    proof, size = [bytes.fromhex(one) for one in path], ledger.head()["size"]
    assert merkle.inclusion_holds(bytes.fromhex(entry.leaf), 3, size, proof, bytes.fromhex(root))


def test_what_stands_in_an_entry_is_escaped(app: FastAPI) -> None:
    app.state.site.ledger.record(actor="<b>ann", event="web.shown", subject="<b>x", details={"act": "<b>bold</b>"})
    auditor = signed_in(app, "auditor")
    assert "<b>ann" not in auditor.get("/ledger").text + auditor.get("/ledger/1").text
    assert "<b>bold" not in auditor.get("/ledger").text + auditor.get("/ledger/1").text


def test_whoever_is_signed_in_need_not_sign_in_again(app: FastAPI) -> None:
    answer: Any = signed_in(app, "worker").get("/sign-in")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert Browser(app).get("/sign-in?said=<script>").text.count("<script>") == 0


def test_an_empty_dashboard_offers_each_role_its_next_step(app: FastAPI) -> None:
    steps = {"custodian": "/datasets/new", "manager": "/linkage", "worker": "/about", "auditor": "/ledger#verify"}
    for role, path in steps.items():
        shown = signed_in(app, role).get("/").text.partition("<main")[2].partition("</main>")[0]
        assert f'href="{path}"' in shown, role


def test_lists_without_entries_say_what_will_be_there_and_offer_what_the_role_may_do(app: FastAPI) -> None:
    custodian, auditor = signed_in(app, "custodian"), signed_in(app, "auditor")
    for path, words, offered in (
        ("/datasets", "No data set yet", "/datasets/new"),
        ("/jobs", "No job yet", "/datasets/new"),
        ("/reports", "No report yet", "/datasets"),
        ("/releases", "No release yet", "/releases/new"),
        ("/sensitivity", "No study yet", "/sensitivity/new"),
    ):
        shown = custodian.get(path).text.partition("<main")[2]
        assert words in shown
        assert f'class="button" href="{offered}"' in shown
    for path, words in (("/reports", "a custodian starts that"), ("/releases", "A custodian plans one")):
        shown = auditor.get(path).text.partition("<main")[2].partition("</main>")[0]
        assert words in shown
        assert 'class="button"' not in shown


def test_whoever_comes_before_the_first_account_is_told_where_its_link_is(empty_app: FastAPI) -> None:
    assert "There is no account yet" in Browser(empty_app).get("/sign-in").text
    make_accounts(empty_app, "custodian")
    assert "There is no account yet" not in Browser(empty_app).get("/sign-in").text


def test_what_waits_for_oneself_stands_on_the_dashboard(app: FastAPI) -> None:
    project = make_linkage(app, "worker")
    SAMPLES["interview"](app, "worker")
    shown = signed_in(app, "worker").get("/").text
    assert re.search(rf"\d+ pairs? waits? for you in {re.escape(project.name)}", shown)
    assert f'href="/linkage/{project.id}/review"' in shown
    assert "You are asked how sensitive values are" in shown
    assert "for you in" not in signed_in(app, "manager").get("/").text
