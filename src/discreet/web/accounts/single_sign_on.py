"""Single sign-on: OpenID Connect, authorization code with PKCE; groups of the provider become roles.

Between leaving for the provider and coming back, the browser keeps a sealed cookie with state, nonce and verifier; nothing
is stored. The identity token is checked against the provider's keys, and what it says against what was asked.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from sqlalchemy import Connection, select
from starlette.responses import RedirectResponse, Response

from discreet.errors import IntegrityError, MissingExtra
from discreet.store.tables.web import ACCOUNT
from discreet.web.accounts import accounts
from discreet.web.accounts import sign_in as door
from discreet.web.accounts.accounts import Account, Act
from discreet.web.datasets.files import seal, unseal
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.permissions import ANYONE
from discreet.web.framework.problems import Problem, not_found
from discreet.web.framework.route import Page, Route
from discreet.web.framework.settings import Provider, is_loopback
from discreet.web.framework.shared_state import Site

BACK = "/sign-in/provider/back"
LEAVING = "__Host-discreet-provider"
LEAVING_LIFE = timedelta(minutes=10)
SECONDS, LARGEST = 10, 1024 * 1024
"""How long the provider may take, and how much it may say."""
ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]
"""Signatures by a key that the provider publishes; never a shared secret, never none."""
REMEMBERED = 300
"""Seconds for which its addresses are remembered, so that visitors cannot make this server ask it all the time."""
LEEWAY = 60
"""Seconds that two clocks may differ by."""
METHOD = "single sign-on"


def provider_failed(
    words: str, remedy: str = "Try again; if it stays so, sign in with a password, or ask the operator."
) -> Problem:
    """The provider cannot be reached, or does not answer as OpenID Connect says."""
    return Problem(503, words, remedy=remedy, title="The provider of single sign-on does not answer")


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """The provider is asked at its own addresses only."""


_opener = build_opener(_NoRedirect)


def _ask(
    address: str, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """JSON of the provider; https, except on this machine."""
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise provider_failed(
            "The provider gives an address without TLS.", "Ask the operator to correct its configuration."
        )
    data = None if form is None else urlencode(form).encode()
    try:
        with _opener.open(Request(address, data, dict(headers or {})), timeout=SECONDS) as answer:  # noqa: S310 - checked above
            content = json.loads(answer.read(LARGEST))
    except (URLError, TimeoutError, OSError, ValueError) as error:
        words = f"The provider of single sign-on did not answer as expected ({type(error).__name__})."
        raise provider_failed(words) from None
    if not isinstance(content, dict):
        raise provider_failed("The provider of single sign-on answered with something else.", "Ask the operator.")
    return content


def discover(site: Site, provider: Provider) -> dict[str, Any]:
    """Addresses of the provider (OpenID Connect Discovery, section 4), asked for once in a while."""
    return _discovered(provider.issuer, int(site.now().timestamp()) // REMEMBERED)


@lru_cache(maxsize=4)
def _discovered(issuer: str, _: int) -> dict[str, Any]:
    found = _ask(f"{issuer}/.well-known/openid-configuration")
    if found.get("issuer") != issuer:
        raise provider_failed(
            "The provider calls itself by another name.", "Ask the operator to give that as the issuer."
        )
    return found


@dataclass(frozen=True)
class Leaving:
    """What the browser keeps while it is at the provider."""

    state: str
    nonce: str
    verifier: str
    until: str
    next: str


def leave(context: Here, next: str = "/") -> Response:  # noqa: A002 - the name in the address
    """Send the browser to the provider."""
    site, provider = context.site, context.site.settings.provider
    if provider is None:
        return go("/sign-in")
    found = discover(site, provider)
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    leaving = Leaving(state, nonce, verifier, site.stamp(ago=-LEAVING_LIFE), door.safe_path(context, next))
    challenge = base64.urlsafe_b64encode(hashlib.sha256(leaving.verifier.encode()).digest()).rstrip(b"=").decode()
    asked = {
        "response_type": "code",
        "client_id": provider.client,
        "redirect_uri": site.settings.origin + BACK,
        "scope": "openid profile email",
        "state": leaving.state,
        "nonce": leaving.nonce,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    joint = "&" if "?" in str(found["authorization_endpoint"]) else "?"
    response = RedirectResponse(f"{found['authorization_endpoint']}{joint}{urlencode(asked)}", status_code=303)
    sealed = seal(site.ledger.keys, json.dumps(asdict(leaving)))
    response.set_cookie(LEAVING, sealed, path="/", secure=True, httponly=True, samesite="lax")
    return response


def come_back(context: Here, code: str = "", state: str = "", error: str = "") -> Response:
    """Check what the provider says, and sign in; a person who comes the first time gets an account."""
    site, provider = context.site, context.site.settings.provider
    if provider is None:
        return go("/sign-in")
    try:
        leaving = Leaving(**json.loads(unseal(site.ledger.keys, context.request.cookies.get(LEAVING, ""))))
    except (IntegrityError, TypeError, ValueError):
        raise _again("This sign-in began in another browser, or took too long.") from None
    if leaving.until <= site.stamp() or not secrets.compare_digest(leaving.state.encode(), state.encode()):
        raise _again("This sign-in began in another browser, or took too long.")
    if error or not code:
        raise _again("The provider did not sign you in.")
    claims = checked_claims(site, provider, code, leaving)
    role = provider.role_of(claims)
    if role is None:
        words = "You are signed in at the provider, but in none of the groups that have a role here."
        raise Problem(403, words, remedy="Ask the people who look after the groups.", title="No role")
    account = _account(context, provider.issuer, claims, role)
    if account.disabled:
        raise Problem(403, "The account is closed.", remedy="Ask an administrator.", title="That did not work")
    done = go(leaving.next)
    done.delete_cookie(LEAVING, path="/", secure=True, httponly=True, samesite="lax")
    return door.begin_session(context, account.id, done, proven=None, method=METHOD) or go("/sign-in")


def checked_claims(site: Site, provider: Provider, code: str, leaving: Leaving) -> dict[str, Any]:
    """The checked claims of the identity token (OpenID Connect Core, section 3.1.3.7), with those of userinfo."""
    found = discover(site, provider)
    asked = {"grant_type": "authorization_code", "code": code, "redirect_uri": site.settings.origin + BACK}
    asked |= {"client_id": provider.client, "code_verifier": leaving.verifier}
    basic = base64.b64encode(f"{provider.client}:{provider.secret}".encode()).decode()
    given = _ask(str(found["token_endpoint"]), asked, {"Authorization": f"Basic {basic}"})
    claims = read_token(str(given.get("id_token", "")), _ask(str(found["jwks_uri"])))
    now, audience = site.now().timestamp(), claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    checks = (
        claims.get("iss") == provider.issuer,
        provider.client in audiences,
        len(audiences) == 1 or claims.get("azp") == provider.client,
        isinstance(claims.get("exp"), int | float) and claims["exp"] > now - LEEWAY,
        isinstance(claims.get("iat"), int | float) and claims["iat"] < now + LEEWAY,
        claims.get("nonce") == leaving.nonce,
        isinstance(claims.get("sub"), str) and 0 < len(claims["sub"]) <= 255,
    )
    if not all(checks):
        raise _again("What the provider says of you is not meant for this sign-in.")
    if provider.claim not in claims and "userinfo_endpoint" in found and "access_token" in given:
        more = _ask(str(found["userinfo_endpoint"]), headers={"Authorization": f"Bearer {given['access_token']}"})
        if more.get("sub") == claims["sub"]:
            claims = {**more, **claims}
    return claims


def read_token(token: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    """The claims of a token that one of these keys has signed."""
    try:
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet
    except ImportError:
        raise MissingExtra("sso", needed_for="Single sign-on") from None
    try:
        return dict(jwt.decode(token, KeySet.import_key_set(dict(keys)), algorithms=ALGORITHMS).claims)  # type: ignore[arg-type, unused-ignore]
    except (JoseError, ValueError, KeyError, TypeError):
        raise _again("What the provider says of you is not signed by its keys.") from None


def _account(context: Context, issuer: str, claims: Mapping[str, Any], role: str) -> Account:
    """The account of a person at the provider: the same by their number there, in the role of their groups."""
    site, subject = context.site, str(claims["sub"])
    known = (ACCOUNT.c.issuer == issuer, ACCOUNT.c.subject == subject)
    with site.store.reading() as connection:
        row = connection.execute(select(ACCOUNT).where(*known)).one_or_none()
    if row is not None:
        account = accounts.account_of(row)
        if account.role != role and not account.disabled:
            _change_role(context, account, role)
            with site.store.reading() as connection:
                return accounts.find(connection, account.id) or account
        return account
    name = name_of(claims)
    if not accounts.NAME.fullmatch(name):
        raise Problem(
            403, "The provider gives no name that can be used here.", remedy=accounts.NAME_WORDS, title="No name"
        )

    def along(connection: Connection) -> int:
        return accounts.add(connection, name=name, role=role, now=site.stamp(), issuer=issuer, subject=subject)

    about = {"act": Act.SSO_MADE.value, "role": role}
    number = context.act("web.account", f"account:{name}", actor=name, along=along, **about)
    with site.store.reading() as connection:
        made = accounts.find(connection, number)
    if made is None:
        raise not_found()
    return made


def _change_role(context: Context, account: Account, role: str) -> None:
    """The role of the groups as they are now; sessions and tokens of the old one end."""
    now = context.site.stamp()

    def along(connection: Connection) -> None:
        if not accounts.change_role(connection, account.id, role, was=account.role, now=now):
            raise _again("The account has just changed.")

    about = {"act": Act.SSO_ROLE.value, "role": role, "was": account.role}
    context.act("web.account", f"account:{account.name}", actor=account.name, along=along, **about)


def name_of(claims: Mapping[str, Any]) -> str:
    """A name for the account: the person's user name at the provider, else the beginning of their address.

    >>> name_of({"preferred_username": "Ann.Lee"}), name_of({"email": "b.ito@hospital.example"})
    ('ann.lee', 'b.ito')
    """
    given = claims.get("preferred_username") or str(claims.get("email") or claims["sub"])
    plain = str(given).lower().partition("@")[0]
    return re.sub(r"[^a-z0-9._-]+", "-", plain).strip(".-_")[:40]


def end_address(site: Site) -> str | None:
    """Where a person also signs out of the provider; None if there is none."""
    if site.settings.provider is None:
        return None
    try:
        found = discover(site, site.settings.provider)
    except Problem:
        return None
    end = found.get("end_session_endpoint")
    back = {"client_id": site.settings.provider.client, "post_logout_redirect_uri": f"{site.settings.origin}/sign-in"}
    return None if not end else f"{end}?{urlencode(back)}"


def sign_out_page(context: Here) -> Response:
    """Go to where the provider ends its own session."""
    address = end_address(context.site)
    return go("/sign-in") if address is None else RedirectResponse(address, status_code=303)


def _again(words: str) -> Problem:
    return Problem(403, words, remedy="Begin at the sign-in page again.", title="That did not work")


PROVIDER_ROUTES: tuple[Route, ...] = (
    Page("/sign-in/provider", ANYONE, leave),
    Page(BACK, ANYONE, come_back),
    Page("/sign-in/provider/end", ANYONE, sign_out_page),
)
