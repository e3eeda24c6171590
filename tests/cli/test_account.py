"""`discreet account`: accounts that no administrator is behind, and how a house that nobody else could decide in gets going."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI

from discreet.web import Settings, create_app
from discreet.web.accounts import credentials
from tests.swift import SHIM
from tests.web.accounts.test_accounts import link_on
from tests.web.client import CHEAP, ORIGIN, PASSWORD, Browser, signed_in
from tests.web.test_four_eyes import NEW, decide, propose

OTHER = {"password": "another sentence for tests", "again": "another sentence for tests"}


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FastAPI]:
    """A house in which one administrator has invited everybody but the first custodian."""
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    store = str(tmp_path / "store.db")
    app = create_app(Settings(store=store, data=tmp_path / "data", origin=ORIGIN, hashing=CHEAP))
    boss = credentials.first_link(app.state.site, "administrator")
    assert boss is not None
    assert Browser(app).post(boss.removeprefix(ORIGIN), {"name": "boss", **NEW}).status_code == 303
    for name in ("guest", "first"):
        page = signed_in(app, "boss").post("/accounts", {"name": name, "role": "custodian"}).text
        assert Browser(app).post(link_on(page), NEW).status_code == 303
    yield app
    app.state.site.close()


def account(app: FastAPI, *words: str) -> subprocess.CompletedProcess[str]:
    command = [SHIM, "account", *words, "--store", str(app.state.site.settings.store)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def link_from(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{ORIGIN}/welcome/")
    return done.stdout.strip().removeprefix(ORIGIN)


def test_an_account_from_the_operator_is_a_second_person(app: FastAPI) -> None:
    first, guest = signed_in(app, "first"), signed_in(app, "guest")
    number = propose(first)
    refused = guest.post(f"/gateway/limits/{number}/approve")
    assert refused.status_code == 403
    assert "boss opened both your account and that of first, gave out a link" in refused.text
    assert "discreet account add NAME" in refused.text
    assert "discreet account link NAME" in refused.text
    second = Browser(app)
    assert second.post(link_from(account(app, "add", "second", "--as", "operator")), NEW).status_code == 303
    assert decide(second, number) == 403, "it is younger than the proposal"
    later = propose(first)
    assert decide(second, later) == 303
    assert decide(first, propose(second)) == 303, "the other way round as well"


def test_a_link_from_the_operator_makes_an_account_independent_once_it_is_used(app: FastAPI) -> None:
    first, guest = signed_in(app, "first"), signed_in(app, "guest")
    link = link_from(account(app, "link", "guest"))
    assert decide(guest, propose(first)) == 403, "nobody has used it"
    again = Browser(app)
    assert again.post(link, OTHER).status_code == 303
    assert guest.get("/account").status_code == 303, "who was signed in before is not any more"
    assert Browser(app).sign_in("guest", PASSWORD).status_code == 403
    assert decide(again, propose(first)) == 303


def test_each_is_written_down(app: FastAPI) -> None:
    link_from(account(app, "add", "second", "--role", "auditor", "--as", "operator"))
    link_from(account(app, "link", "guest", "--as", "operator"))
    found = [(one.actor, one.subject, dict(one.details)) for one in app.state.site.ledger.entries(event="web.account")]
    assert found[-2:] == [
        ("operator", "account:second", {"act": "invited by the operator", "role": "auditor"}),
        ("operator", "account:guest", {"act": "gave a link as the operator", "role": "custodian"}),
    ]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["add", "guest"], 2, "already"),
        (["add", "No Name"], 2, "small letters"),
        (["add", "x", "--role", "king"], 2, "king"),
        (["link", "nobody"], 2, "no account with this name"),
        (["link", "guest", "--origin", "http://discreet.example"], 2, "in the clear"),
    ],
)
def test_what_does_not_fit_is_said_and_changes_nothing(app: FastAPI, words: list[str], code: int, said: str) -> None:
    before = app.state.site.ledger.head()["size"]
    done = account(app, *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert app.state.site.ledger.head()["size"] == before


def test_a_closed_account_gets_no_link(app: FastAPI) -> None:
    signed_in(app, "boss").post("/accounts/2/close")
    done = account(app, "link", "guest")
    assert done.returncode == 2
    assert "The account is closed." in done.stderr


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    command = [SHIM, "account", "add", "ann", "--store", str(tmp_path / "none.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 69
    assert not (tmp_path / "none.db").exists()
