"""Single sign-on against a provider that really runs, and against one that lies."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from fastapi import FastAPI
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey, RSAKey
from oidc_provider_mock import run_server_in_thread

from discreet.errors import UsageError
from discreet.web import Settings, create_app
from discreet.web.accounts import single_sign_on
from discreet.web.accounts.single_sign_on import read_token
from discreet.web.framework.problems import Problem
from discreet.web.framework.settings import Provider
from tests.web.accounts.test_accounts import acts
from tests.web.client import Browser, signed_in
from tests.web.samples import account_number
from tests.web.test_four_eyes import decide, propose

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the provider's own parts
ROLES = {"data-office": "custodian", "it": "administrator", "audit": "auditor"}


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    """A provider of OpenID Connect on loopback."""
    with run_server_in_thread() as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture
def house(settings: Settings, app: FastAPI, issuer: str) -> Iterator[FastAPI]:
    """The application with the provider; its clock is the real one, since the provider's is."""
    provider = Provider(issuer, "discreet", "a secret", ROLES, title="the clinic")
    made = create_app(replace(settings, provider=provider, clock=lambda: datetime.now(UTC)))
    yield made
    made.state.site.close()


def person(issuer: str, sub: str, *groups: str, **claims: Any) -> None:
    """Somebody whom the provider knows."""
    answer = httpx.put(
        f"{issuer}/users/{sub}", json={"preferred_username": sub, "groups": list(groups), **claims}, trust_env=False
    )
    assert answer.status_code == 204, answer.text


def leave(app: FastAPI, **query: str) -> tuple[Browser, str]:
    """A browser on its way to the provider, and where it is sent."""
    browser = Browser(app)
    answer = browser.get("/sign-in/provider", params=query)
    assert answer.status_code == 303, answer.text
    return browser, answer.headers["location"]


def agree(address: str, sub: str) -> str:
    """Sign in at the provider; gives the path that it sends the browser back to."""
    answer = httpx.post(address, data={"sub": sub}, trust_env=False)
    assert answer.status_code == 302, answer.text
    parts = urlsplit(answer.headers["location"])
    return f"{parts.path}?{parts.query}"


def come(app: FastAPI, sub: str) -> Browser:
    browser, address = leave(app)
    answer = browser.get(agree(address, sub))
    assert answer.status_code == 303, answer.text
    return browser


def test_a_person_of_the_organisation_signs_in_and_has_the_role_of_their_groups(house: FastAPI, issuer: str) -> None:
    person(issuer, "Ann.Lee", "staff", "data-office")
    browser, address = leave(house, next="/datasets")
    asked = parse_qs(urlsplit(address).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert {"state", "nonce", "code_challenge"} <= {*asked}
    answer = browser.get(agree(address, "Ann.Lee"))
    assert answer.headers["location"] == "/datasets"
    page = browser.get("/account").text
    assert 'href="/account">ann.lee</a>' in page
    assert "single sign-on" in page
    assert browser.get("/accounts").status_code == 200
    assert browser.post("/accounts", {"name": "eve", "role": "worker"}).status_code == 403
    come(house, "Ann.Lee")
    assert acts(house) == [("ann.lee", "came by single sign-on", "account:ann.lee")], (
        "the second time it is the same account"
    )
    assert "Sign in with the clinic" in Browser(house).get("/sign-in").text
    assert Browser(house).sign_in("ann.lee", "").status_code == 403


def test_other_groups_give_another_role_and_end_the_old_sessions(house: FastAPI, issuer: str) -> None:
    person(issuer, "ben", "data-office")
    before = come(house, "ben")
    person(issuer, "ben", "audit")
    after = come(house, "ben")
    assert before.get("/account").status_code == 303
    assert after.get("/ledger").status_code == 200
    assert after.get("/datasets").status_code == 403
    person(issuer, "ben", "staff")
    browser, address = leave(house)
    answer = browser.get(agree(address, "ben"))
    assert answer.status_code == 403
    assert "none of the groups" in answer.text


def test_two_people_of_the_organisation_decide_together(house: FastAPI, issuer: str) -> None:
    """No administrator led to their accounts; and none makes a link to one."""
    for name in ("carla", "dora"):
        person(issuer, name, "data-office")
    carla, dora = come(house, "carla"), come(house, "dora")
    assert decide(carla, propose(carla)) == 403
    assert decide(dora, propose(carla)) == 303
    administrator = signed_in(house, "administrator")
    assert administrator.post(f"/accounts/{account_number(house, 'carla')}/link").status_code == 409


def test_a_name_that_another_account_has_is_not_taken_over(house: FastAPI, issuer: str) -> None:
    person(issuer, "custodian", "data-office")
    browser, address = leave(house)
    answer = browser.get(agree(address, "custodian"))
    assert answer.status_code == 409
    assert browser.get("/account").status_code == 303
    person(issuer, "x1", "data-office", preferred_username="***")
    browser, address = leave(house)
    assert browser.get(agree(address, "x1")).status_code == 403


def test_a_closed_account_stays_closed(house: FastAPI, issuer: str) -> None:
    person(issuer, "eve", "data-office")
    browser = come(house, "eve")
    administrator = signed_in(house, "administrator")
    assert administrator.post(f"/accounts/{account_number(house, 'eve')}/close").status_code == 303
    assert browser.get("/account").status_code == 303
    browser, address = leave(house)
    assert browser.get(agree(address, "eve")).status_code == 403


def test_an_answer_that_was_not_asked_for_here_signs_nobody_in(house: FastAPI, issuer: str) -> None:
    """Sign-in by an attacker's code (login CSRF), a replay, another state, a refusal."""
    person(issuer, "fay", "data-office")
    mine, address = leave(house)
    back = agree(address, "fay")
    assert Browser(house).get(back).status_code == 403, "another browser"
    other, _ = leave(house)
    assert other.get(back).status_code == 403, "another sign-in"
    assert mine.get(back.replace("state=", "state=x")).status_code == 403
    assert (
        mine.get(
            f"/sign-in/provider/back?error=access_denied&state={parse_qs(urlsplit(back).query)['state'][0]}"
        ).status_code
        == 403
    )
    assert mine.get(back).status_code == 303
    assert Browser(house, cookies=mine.cookies).get(back).status_code in (403, 503), "a code works once"


def test_signing_out_leads_to_the_provider_as_well(house: FastAPI, issuer: str) -> None:
    person(issuer, "gus", "audit")
    browser = come(house, "gus")
    page = browser.get(browser.post("/sign-out").headers["location"]).text
    assert 'href="/sign-in/provider/end"' in page
    assert browser.get("/sign-in/provider/end").headers["location"].startswith(f"{issuer}/oauth2/end_session?")


CLAIMS = {"iss": "http://localhost:1", "aud": "discreet", "sub": "hal", "nonce": "n", "groups": ["data-office"]}
Lie = Callable[[dict[str, Any]], dict[str, Any]]
LIES: dict[str, Lie] = {
    "another issuer": lambda claims: {**claims, "iss": "http://localhost:2"},
    "for another application": lambda claims: {**claims, "aud": "other"},
    "for several, and not for us": lambda claims: {**claims, "aud": ["discreet", "other"], "azp": "other"},
    "of another sign-in": lambda claims: {**claims, "nonce": "m"},
    "without a nonce": lambda claims: {name: value for name, value in claims.items() if name != "nonce"},
    "expired": lambda claims: {**claims, "exp": time.time() - 120},
    "without an end": lambda claims: {name: value for name, value in claims.items() if name != "exp"},
    "of the future": lambda claims: {**claims, "iat": time.time() + 3600},
    "about nobody": lambda claims: {**claims, "sub": ""},
}


@pytest.mark.parametrize("lie", LIES.values(), ids=list(LIES))
def test_a_token_that_is_not_for_this_sign_in_is_refused(
    settings: Settings, app: FastAPI, monkeypatch: pytest.MonkeyPatch, lie: Lie
) -> None:
    """Signed by the right key, and wrong in one thing."""
    key, site = RSAKey.generate_key(2048, {"kid": "k"}), app.state.site
    claims = {**CLAIMS, "exp": time.time() + 60, "iat": time.time()}
    said = {"claims": claims}

    def ask(address: str, *_: Any, **__: Any) -> dict[str, Any]:
        if address.endswith("/jwks"):
            return {"keys": [key.as_dict(private=False)]}
        return {"id_token": jwt.encode({"alg": "RS256", "kid": "k"}, said["claims"], key)}

    found = {"token_endpoint": "http://localhost:1/token", "jwks_uri": "http://localhost:1/jwks"}
    monkeypatch.setattr(single_sign_on, "_ask", ask)
    monkeypatch.setattr(single_sign_on, "discover", lambda *_: found)
    monkeypatch.setattr(site, "now", lambda: datetime.now(UTC), raising=False)
    provider = Provider("http://localhost:1", "discreet", "a secret", ROLES)
    leaving = single_sign_on.Leaving("s", "n", "v", "", "/")
    assert single_sign_on.checked_claims(site, provider, "code", leaving)["sub"] == "hal"
    said["claims"] = lie(claims)
    with pytest.raises(Problem):
        single_sign_on.checked_claims(site, provider, "code", leaving)


def test_a_token_that_another_key_or_none_has_signed_is_refused() -> None:
    """Another key, no signature, and the public key taken for a shared secret."""
    mine, other = RSAKey.generate_key(2048, {"kid": "k"}), RSAKey.generate_key(2048, {"kid": "k"})
    keys = KeySet([mine]).as_dict(private=False)
    claims = {"sub": "x"}
    assert read_token(jwt.encode({"alg": "RS256", "kid": "k"}, claims, mine), keys) == claims
    shared = OctKey.import_key(mine.as_dict(private=False)["n"], {"kid": "k"})
    bad = [
        jwt.encode({"alg": "RS256", "kid": "k"}, claims, other),
        jwt.encode({"alg": "HS256", "kid": "k"}, claims, shared),
        jwt.encode({"alg": "ES256", "kid": "k"}, claims, ECKey.generate_key("P-256", {"kid": "k"})),
        "eyJhbGciOiJub25lIn0." + jwt.encode({"alg": "RS256"}, claims, mine).split(".")[1] + ".",
        "",
        "a.b.c",
        json.dumps(claims),
    ]
    for token in bad:
        with pytest.raises(Problem):
            read_token(token, keys)


@pytest.mark.parametrize(
    ("issuer", "roles"), [("http://id.example", ROLES), ("ftp://x", ROLES), ("https://id.example", {})]
)
def test_a_provider_without_tls_or_groups_is_refused(issuer: str, roles: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        Provider(issuer, "discreet", "x", roles)


def test_a_provider_that_does_not_answer_is_said_in_words(settings: Settings, app: FastAPI) -> None:
    made = create_app(replace(settings, provider=Provider("http://127.0.0.1:9", "discreet", "x", ROLES)))
    answer = Browser(made).get("/sign-in/provider")
    assert answer.status_code == 503
    assert "did not answer" in answer.text
    made.state.site.close()
