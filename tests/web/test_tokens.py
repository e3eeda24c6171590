"""Tokens end with what they came from: the password, the sessions and the account of their owner, the token that made them."""

from __future__ import annotations

from typing import Any, cast

import pytest
from fastapi import FastAPI, Request

from discreet.web.accounts import accounts, credentials
from discreet.web.accounts.pages import issue
from discreet.web.framework.context import Context
from discreet.web.framework.permissions import GRANTED
from discreet.web.framework.problems import Problem
from discreet.web.framework.settings import Settings
from tests.web.accounts.test_accounts import link_on
from tests.web.client import BOTH_STORES, PASSWORD, Browser, signed_in
from tests.web.samples import account_number
from tests.web.test_matrix import make_token

NEW = {"password": "another sentence for tests", "again": "another sentence for tests"}
SCOPES = ["dashboard.read", "tokens.own"]


def by_page(browser: Browser) -> str:
    """A token that a person makes; gives its secret."""
    page = browser.post("/tokens", {"name": "page", "scopes": SCOPES, "days": "7"}).text
    return "discreet_" + page.partition("discreet_")[2][:43]


def by_token(app: FastAPI, secret: str) -> str:
    """A token that a program makes with its own; gives its secret."""
    answer = ask(app, secret, "POST", "/api/v1/tokens", json={"name": "child", "scopes": SCOPES})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["secret"])


def ask(app: FastAPI, secret: str, method: str, path: str, **more: Any) -> Any:
    return Browser(app, headers={"Authorization": f"Bearer {secret}"}).send(method, path, **more)


def alive(app: FastAPI, *secrets: str) -> list[bool]:
    return [ask(app, secret, "GET", "/api/v1/me").status_code == 200 for secret in secrets]


def family(app: FastAPI) -> tuple[str, str, str]:
    """A token of the auditor, one that it made, and one that this one made."""
    first = by_page(signed_in(app, "auditor"))
    second = by_token(app, first)
    third = by_token(app, second)
    assert alive(app, first, second, third) == [True, True, True]
    return first, second, third


@BOTH_STORES
def test_a_password_that_is_set_by_a_link_ends_the_tokens(app: FastAPI) -> None:
    mine, other = family(app), make_token(app, "custodian", "dashboard.read")
    link = link_on(signed_in(app, "administrator").post(f"/accounts/{account_number(app, 'auditor')}/link").text)
    assert alive(app, *mine) == [True] * 3, "a link that nobody has used changes nothing"
    assert Browser(app).post(link, NEW).status_code == 303
    assert alive(app, *mine, other) == [False, False, False, True]


@BOTH_STORES
def test_a_password_that_its_owner_changes_ends_the_tokens(app: FastAPI) -> None:
    mine = family(app)
    answer = signed_in(app, "auditor").post("/account/password", {"old": PASSWORD, **NEW})
    assert answer.status_code == 303
    assert alive(app, *mine) == [False] * 3


@BOTH_STORES
def test_ending_all_sessions_ends_the_tokens(app: FastAPI) -> None:
    mine, other = family(app), make_token(app, "custodian", "dashboard.read")
    signed_in(app, "administrator").post(f"/accounts/{account_number(app, 'auditor')}/sign-out")
    assert alive(app, *mine, other) == [False, False, False, True]


@BOTH_STORES
def test_closing_the_account_ends_the_tokens_and_opening_it_brings_none_back(app: FastAPI) -> None:
    mine, administrator, number = family(app), signed_in(app, "administrator"), account_number(app, "auditor")
    assert administrator.post(f"/accounts/{number}/close").status_code == 303
    assert alive(app, *mine) == [False] * 3
    assert administrator.post(f"/accounts/{number}/reopen").status_code == 303
    assert alive(app, *mine) == [False] * 3
    assert alive(app, by_page(signed_in(app, "auditor"))) == [True]


@BOTH_STORES
def test_signing_out_of_one_browser_leaves_programs_alone(app: FastAPI) -> None:
    mine = family(app)
    assert signed_in(app, "auditor").post("/sign-out").status_code == 303
    assert alive(app, *mine) == [True] * 3


@BOTH_STORES
@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_token_ends_with_the_one_that_made_it(app: FastAPI, which: int) -> None:
    """Every token of the chain below it ends; those above it and beside it go on."""
    mine = family(app)
    aunt = by_token(app, mine[0])
    number = ask(app, mine[which], "GET", "/api/v1/me").json()["token"]
    assert signed_in(app, "auditor").post(f"/tokens/{number}/revoke").status_code == 303
    assert alive(app, *mine) == [place < which for place in range(3)]
    assert alive(app, aunt) == [which > 0]


@BOTH_STORES
def test_an_administrator_sees_and_revokes_tokens_of_everybody(app: FastAPI) -> None:
    mine, other = family(app), make_token(app, "custodian", "dashboard.read")
    administrator = signed_in(app, "administrator")
    page = administrator.get("/accounts/tokens").text
    assert page.count("/revoke") == 4
    assert not any(secret in page for secret in (*mine, other))
    number = ask(app, mine[1], "GET", "/api/v1/me").json()["token"]
    assert signed_in(app, "custodian").post(f"/accounts/tokens/{number}/revoke").status_code == 403
    assert administrator.post(f"/accounts/tokens/{number}/revoke").status_code == 303
    assert alive(app, *mine, other) == [True, False, False, True]
    last = list(app.state.site.ledger.entries(event="web.account"))[-1]
    assert (last.actor, last.subject, last.details["act"]) == ("administrator", "account:auditor", "revoked a token")


def test_a_program_that_revokes_its_own_token_ends_those_it_made(app: FastAPI) -> None:
    first, second, third = family(app)
    number = ask(app, second, "GET", "/api/v1/me").json()["token"]
    assert ask(app, second, "POST", f"/api/v1/tokens/{number}/revoke", json={}).json()["state"] == "revoked"
    assert alive(app, first, second, third) == [True, False, False]


def test_the_list_says_which_token_made_which(app: FastAPI) -> None:
    first, _, _ = family(app)
    listed = ask(app, first, "GET", "/api/v1/tokens").json()["tokens"]
    assert [(one["id"], one["maker"]) for one in listed] == [(3, 2), (2, 1), (1, None)]
    assert "made by token 2" in signed_in(app, "auditor").get("/tokens").text


def context_of(app: FastAPI, settings: Settings, *, secret: str = "") -> Context:
    """A person or program that was let in and is about to act: by a session, or by a token."""
    site = app.state.site
    with site.store.writing() as connection:
        found = accounts.by_name(connection, "auditor")
        assert found is not None
        cookie = credentials.begin_session(connection, site, found[0].id, proven=found[1] or "")
        assert cookie is not None
    route = site.table["POST", "/tokens"]
    context = Context(cast(Request, None), site, route, account=found[0], permissions=GRANTED["auditor"])
    if secret:
        recognised = credentials.recognise_token(site, secret)
        assert recognised is not None
        context.token = recognised[0]
    else:
        session = credentials.find_session(site, cookie)
        assert session is not None
        context.session = session[0]
    return context


@BOTH_STORES
@pytest.mark.parametrize("by", ["session", "token"])
def test_a_session_or_token_that_has_just_ended_makes_no_token(app: FastAPI, settings: Settings, by: str) -> None:
    """The request was let in before, and comes to the store after."""
    context = context_of(app, settings, secret=by_page(signed_in(app, "auditor")) if by == "token" else "")
    signed_in(app, "administrator").post(f"/accounts/{account_number(app, 'auditor')}/sign-out")
    with app.state.site.store.reading() as connection:
        before = credentials.tokens_of(connection, context.owner.id)
    with pytest.raises(Problem) as caught:
        issue(context, name="late", scopes=("dashboard.read",), life=app.state.site.settings.idle)
    assert caught.value.status == 401
    with app.state.site.store.reading() as connection:
        assert credentials.tokens_of(connection, context.owner.id) == before
