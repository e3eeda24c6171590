"""The table of routes: everything that is served, by whom it may be asked for, and what it loads.

The application refuses to start if something is served that does not stand here. The test of authorisation is made from
this table: every role at every route, with objects of its own and of others.
"""

from __future__ import annotations

from discreet.web.api.me import me
from discreet.web.api.models import Me
from discreet.web.pages import about, dashboard, own, people, sign_in, welcome
from discreet.web.permissions import ANYONE
from discreet.web.route import Route

ROUTES: tuple[Route, ...] = (
    Route("GET", "/assets/{name}", ANYONE, about.asset, kind="asset", loads=about.ASSET),
    Route("GET", "/sign-in", ANYONE, sign_in.sign_in_page),
    Route("POST", "/sign-in", ANYONE, sign_in.sign_in, body="form"),
    Route("POST", "/sign-out", "account.own", sign_in.sign_out, body="form"),
    Route("GET", "/welcome/{secret}", ANYONE, welcome.welcome_page, loads=welcome.LINK),
    Route("POST", "/welcome/{secret}", ANYONE, welcome.welcome, body="form", loads=welcome.LINK),
    Route("GET", "/about", ANYONE, about.about_page),
    Route("GET", "/", "dashboard.read", dashboard.dashboard_page),
    Route("GET", "/account", "account.own", own.own_page),
    Route("POST", "/account/password", "account.own", own.change_password, body="form"),
    Route("GET", "/accounts", "accounts.change", people.accounts_page),
    Route("POST", "/accounts", "accounts.change", people.invite, body="form"),
    Route("GET", "/accounts/{number}", "accounts.change", people.account_page, loads=people.ACCOUNT),
    Route("POST", "/accounts/{number}/link", "accounts.change", people.new_link, body="form", loads=people.ACCOUNT),
    Route("POST", "/accounts/{number}/close", "accounts.change", people.close, body="form", loads=people.ACCOUNT),
    Route("POST", "/accounts/{number}/reopen", "accounts.change", people.reopen, body="form", loads=people.ACCOUNT),
    Route(
        "POST", "/accounts/{number}/sign-out", "accounts.change", people.end_sessions, body="form", loads=people.ACCOUNT
    ),
    Route("GET", "/api/v1/me", "dashboard.read", me, kind="api", returns=Me),
)
"""Method, path, permission, handler; then kind, body and what is loaded."""
