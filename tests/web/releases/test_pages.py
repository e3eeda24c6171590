"""The release desk: what was approved is made and handed over, nothing else, and everything is written down first."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from fastapi import FastAPI
from sqlalchemy import text

from discreet.releases.delivery.service import Registry
from discreet.store.tables.web import PARCEL
from discreet.web.releases import plan_page
from discreet.web.releases import store as plans
from tests.web.client import BOTH_STORES, Browser, make_accounts, signed_in
from tests.web.release_data import (
    CANARY,
    RECIPIENTS,
    approve,
    bring_town,
    events,
    folder_files,
    form_of,
    plan,
    released,
    seen_on,
    state_of,
    town_files,
    words_of,
    work_off,
)
from tests.web.snapshot import entries, snapshot


@pytest.fixture
def app(app: FastAPI) -> FastAPI:
    """With two custodians more."""
    make_accounts(app, "custodian2", "custodian3")
    return app


@pytest.mark.parametrize(
    ("auc", "shown", "caution"), [(0.53, "0.53", False), (0.31, "0.69", True), (0.69, "0.69", True)]
)
def test_a_classifier_that_is_mostly_wrong_tells_as_much_as_one_that_is_mostly_right(
    auc: float, shown: str, caution: bool
) -> None:
    line = plan_page._detectability({"auc": auc, "floor": 0.6})
    assert (line.figure, line.caution) == (shown, caution)


def test_from_a_plan_to_copies_that_are_handed_over(app: FastAPI) -> None:
    one, other = signed_in(app, "custodian"), signed_in(app, "custodian2")
    assert "No release yet" in one.get("/releases").text
    number = plan(app, one)
    assert work_off(app) == ["done"]
    page = words_of(one.get(f"/releases/plans/{number}"))
    for words in (
        "marks",
        "of rows lost",
        "classifier (AUC)",
        "claims until identified",
        "of about the same size",
        "row marks",
        "who finds another way",
    ):
        assert words in page
    assert "1 release awaits your approval: spring." in words_of(other.get("/"))
    assert "1 release that you planned awaits another custodian: spring." in words_of(one.get("/"))
    approve(app, number)
    assert Registry(app.state.site.ledger).find("spring") is None, "nothing is sealed by an approval"
    assert other.post(f"/releases/plans/{number}/make").status_code == 303
    assert work_off(app) == ["done"]
    copies = [hand_over(one, name) for name in RECIPIENTS]
    assert len({copy["data.csv"] for copy in copies}) == 3
    for copy in copies:
        assert set(copy) == {"data.csv", "README.md", "AGREEMENT.md"}
        assert not any(name.encode() in b"".join(copy.values()) for name in (*RECIPIENTS, CANARY))
    assert [event for event, _, _ in events(app)] == [
        "releases.planned", "releases.planned", "web.approved", "releases.sealed", "releases.made", *["releases.delivered"] * 3,
    ]  # fmt: skip
    assert app.state.site.ledger.verify().holds
    board = words_of(one.get("/releases/named/spring"))
    assert (
        "south : delivered planned: just now by custodian approved: just now by custodian2 delivered: just now" in board
    )
    assert CANARY not in json.dumps(entries(app))


def hand_over(browser: Browser, recipient: str) -> dict[str, bytes]:
    answer = browser.post("/releases/named/spring/deliver", {"recipient": recipient})
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_copies_are_made_of_the_data_that_were_looked_at(app: FastAPI) -> None:
    number = plan(app)
    work_off(app)
    approve(app, number)
    (upload,) = [path for path in folder_files(app) if CANARY.encode() in path.read_bytes()]
    upload.write_bytes(upload.read_bytes().replace(b"flu", b"flo", 1))
    assert signed_in(app, "custodian").post(f"/releases/plans/{number}/make").status_code == 303
    (problem,) = work_off(app)
    assert "not those that the plan was approved for" in problem
    page = signed_in(app, "custodian").get(f"/releases/plans/{number}")
    assert "The copies could not be made" in page.text
    assert "Withdraw the plan" in page.text, "nothing is sealed, so there is a way back"
    assert signed_in(app, "custodian").post(f"/releases/plans/{number}/withdraw").status_code == 303
    assert state_of(app, number) == "withdrawn"


def test_what_was_made_cannot_be_changed_or_made_again(app: FastAPI) -> None:
    number = released(app)
    browser, before = signed_in(app, "custodian"), snapshot(app)
    assert browser.get(f"/releases/plans/{number}/change").status_code == 409
    for act in ("make", "withdraw", "look"):
        assert browser.post(f"/releases/plans/{number}/{act}").status_code == 409, act
    with app.state.site.store.reading() as connection:
        found = plans.find(connection, number)
    assert found is not None
    form = {**form_of(found.content["dataset"], found.content["population"]), "version": "1"}
    assert browser.post(f"/releases/plans/{number}/change", form).status_code == 409
    assert {**snapshot(app), "web_session": []} == {**before, "web_session": []}


def test_the_manifest_is_never_served(app: FastAPI) -> None:
    released(app)
    kept = Registry(app.state.site.ledger).require("spring")
    manifest = Registry(app.state.site.ledger).open(kept)
    browser, sealed = signed_in(app, "custodian"), kept.sealed[:64]
    pages = ["/releases", "/releases/named/spring", "/releases/plans/1", "/api/v1/releases", "/api/v1/releases/spring", "/api/v1/plans/1", "/api/v1/jobs/1/result", "/api/v1/jobs/2/result", "/jobs/2"]  # fmt: skip
    secrets = [sealed, sealed.hex().encode(), manifest.to_bytes()[:200]]
    for path in pages:
        answer = browser.get(path)
        assert answer.status_code == 200, path
        assert not any(secret in answer.content for secret in secrets), path
    copy = hand_over(browser, "north")
    assert not any(secret in part for secret in secrets for part in copy.values())


def test_a_copy_that_was_changed_in_the_folder_is_not_handed_over(app: FastAPI) -> None:
    released(app)
    with app.state.site.store.reading() as connection:
        name = connection.execute(PARCEL.select().where(PARCEL.c.recipient == "north")).one().file
    path = app.state.site.places.folder.path / name
    path.write_bytes(path.read_bytes() + b"x")
    count = len(entries(app))
    answer = signed_in(app, "custodian").post("/releases/named/spring/deliver", {"recipient": "north"})
    assert answer.status_code == 500
    assert len(entries(app)) == count


def test_every_handing_over_is_written_down_before(app: FastAPI) -> None:
    released(app)
    browser = signed_in(app, "custodian2")
    for count in (1, 2):
        hand_over(browser, "west")
        assert [one[0] for one in events(app)].count("releases.delivered") == count
    with app.state.site.store.writing() as connection:
        connection.execute(text("DROP TABLE ledger_entry"))
    answer = browser.post("/releases/named/spring/deliver", {"recipient": "west"})
    assert answer.status_code in (500, 503), "no ledger, no copy"
    assert b"PK" not in answer.content


def test_recipients_who_come_later_wait_for_another_custodian_too(app: FastAPI) -> None:
    released(app)
    one = signed_in(app, "custodian")
    before = {name: hand_over(one, name)["data.csv"] for name in RECIPIENTS}
    answer = one.post("/releases/named/spring/recipients", {"recipients": "east"})
    assert answer.status_code == 303
    number = int(answer.headers["location"].partition("?")[0].rpartition("/")[2])
    assert work_off(app) == ["done"]
    assert "a further recipient changes no other copy" in words_of(one.get(f"/releases/plans/{number}"))
    assert one.post(f"/releases/plans/{number}/approve", {"seen": "x"}).status_code == 403
    assert one.post("/releases/named/spring/deliver", {"recipient": "east"}).status_code == 422
    approve(app, number)
    assert one.post(f"/releases/plans/{number}/make").status_code == 303
    assert work_off(app) == ["done"]
    assert len(hand_over(one, "east")["data.csv"]) > 1000
    assert {name: hand_over(one, name)["data.csv"] for name in RECIPIENTS} == before


def test_whoever_is_retired_gets_nothing_more(app: FastAPI) -> None:
    released(app)
    browser, files = signed_in(app, "custodian"), len(folder_files(app))
    assert browser.post("/releases/named/spring/retire", {"recipient": "south"}).status_code == 303
    assert len(folder_files(app)) == files - 1, "the copy that lay ready is gone"
    answer = browser.post("/releases/named/spring/deliver", {"recipient": "south"})
    assert answer.status_code == 403
    assert "retired" in answer.text
    again = browser.post("/releases/named/spring/recipients", {"recipients": "south"})
    assert again.status_code == 422
    assert browser.post("/releases/named/spring/retire", {"recipient": "nobody"}).status_code == 422


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("counts_only", "", "the confirmation that only counts"),
        ("sign_off", "", "the number under which the release was signed off"),
        ("population_licence", " ", "the licence under which"),
        ("agreement", "Be nice.", "does not say that the copy contains control records"),
        ("recipients", "", "recipients"),
        ("recipients", "north\nNorth", "Two names of a recipient are the same"),
        ("recipients", "../etc", "letters, digits"),
        ("name", "a/b", "letters, digits"),
        ("law", "2.0", "A law of presence"),
        ("k", "1", "whole number from 2"),
        ("suppression", "many", "not a number"),
        ("dataset", "", "The data is not chosen yet"),
        ("population", "99", "There is no such data set"),
    ],
)
def test_what_is_not_settled_is_refused_in_words_and_nothing_typed_is_lost(
    app: FastAPI, field: str, value: str, words: str
) -> None:
    browser, (data, crowd) = signed_in(app, "custodian"), bring_town(app)
    answer = browser.post("/releases/new", {**form_of(data, crowd), field: value})
    assert answer.status_code == 422
    assert words in words_of(answer)
    assert "a made-up town" in answer.text
    assert [one for one in events(app) if one[0].startswith("releases.")] == []


def test_a_release_that_could_not_be_traced_is_refused_before_anything_is_made(app: FastAPI) -> None:
    people = len(town_files(1)[0].splitlines()) - 1
    number = plan(app, k=str(people - 9), force="")
    (problem,) = work_off(app)
    assert "classes and rows can be marks" in problem
    page = words_of(signed_in(app, "custodian").get(f"/releases/plans/{number}"))
    assert "This release would be refused" in page
    assert "Release more people" in page
    assert seen_on(signed_in(app, "custodian2"), number) == ""


def test_a_name_has_one_open_plan_and_is_used_once(app: FastAPI) -> None:
    browser, (data, crowd) = signed_in(app, "custodian"), bring_town(app)
    assert browser.post("/releases/new", form_of(data, crowd)).status_code == 303
    assert browser.post("/releases/new", form_of(data, crowd)).status_code == 409


def test_a_rejection_says_why(app: FastAPI) -> None:
    number = plan(app)
    work_off(app)
    browser = signed_in(app, "custodian2")
    seen = seen_on(browser, number)
    assert browser.post(f"/releases/plans/{number}/reject", {"seen": seen, "reason": ""}).status_code == 422
    assert (
        browser.post(f"/releases/plans/{number}/reject", {"seen": seen, "reason": "k is too small"}).status_code == 303
    )
    page = signed_in(app, "custodian").get(f"/releases/plans/{number}").text
    assert "Rejected by custodian2" in page
    assert "k is too small" in page
    assert "k is too small" not in json.dumps(entries(app)), "what is typed freely stays out of the ledger"
    assert "rejected" in signed_in(app, "custodian").get("/releases").text


@BOTH_STORES
def test_a_making_that_was_interrupted_goes_on(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after the manifest was sealed and before the copies were there."""
    from discreet.errors import Refused
    from discreet.web.jobs import disclosure_work as work

    number = plan(app)
    work_off(app)
    approve(app, number)
    whole = work._pack
    monkeypatch.setattr(work, "_pack", lambda *given: (_ for _ in ()).throw(Refused("the power failed")))
    browser = signed_in(app, "custodian")
    assert browser.post(f"/releases/plans/{number}/make").status_code == 303
    assert work_off(app) == ["the power failed"]
    sealed = Registry(app.state.site.ledger).require("spring").digest
    assert browser.post("/releases/named/spring/deliver", {"recipient": "north"}).status_code == 404
    assert browser.post(f"/releases/plans/{number}/withdraw").status_code == 409, "it is sealed"
    monkeypatch.setattr(work, "_pack", whole)
    assert browser.post(f"/releases/plans/{number}/make").status_code == 303
    assert work_off(app) == ["done"]
    assert Registry(app.state.site.ledger).require("spring").digest == sealed
    assert hand_over(browser, "north")
    assert not list(app.state.site.places.folder.path.glob("work-*"))


def test_a_plan_whose_data_set_is_removed_goes_nowhere(app: FastAPI) -> None:
    number = plan(app)
    work_off(app)
    approve(app, number)
    with app.state.site.store.reading() as connection:
        found = plans.find(connection, number)
    assert found is not None
    browser = signed_in(app, "custodian")
    assert browser.post(f"/datasets/{found.dataset}/remove").status_code == 303
    assert browser.get(f"/releases/plans/{number}").status_code == 200
    answer = browser.post(f"/releases/plans/{number}/make")
    assert (answer.status_code, state_of(app, number)) == (409, "approved")
    assert "was removed" in answer.text
    assert browser.post(f"/releases/plans/{number}/withdraw").status_code == 303


def test_the_tab_of_a_data_set_shows_what_was_released_of_it(app: FastAPI) -> None:
    browser, (data, crowd) = signed_in(app, "custodian"), bring_town(app)
    assert "Nothing released yet" in browser.get(f"/datasets/{data}/releases").text
    browser.post("/releases/new", form_of(data, crowd))
    assert "/releases/named/spring" in browser.get(f"/datasets/{data}/releases").text
    assert "/releases/named/spring" not in browser.get(f"/datasets/{crowd}/releases").text
    page = browser.get(f"/releases/new?dataset={data}").text
    assert f'<option value="{data}" selected' in page
    assert f'<option value="{crowd}" selected' in page


def test_auditors_see_releases_and_change_nothing(app: FastAPI) -> None:
    number = released(app)
    browser = signed_in(app, "auditor")
    for path in ("/releases", "/releases/named/spring", f"/releases/plans/{number}"):
        page = browser.get(path)
        assert page.status_code == 200
        assert "<button" not in page.text.partition("<main")[2], path
    assert browser.get("/releases/new").status_code == 403
