"""The table of routes: everything that is served, by whom it may be asked for, and what it loads.

The application refuses to start if something is served that does not stand here. The test of authorisation is made from
this table: every role at every route, with objects of its own and of others.
"""

from __future__ import annotations

from discreet.web.accounts import api as tokens_api
from discreet.web.accounts import pages as account_pages
from discreet.web.accounts import sign_in
from discreet.web.api import description
from discreet.web.api.me import me
from discreet.web.dashboard import about
from discreet.web.dashboard import pages as dashboard_pages
from discreet.web.datasets.routes import DATASET_ROUTES
from discreet.web.framework import models
from discreet.web.framework.route import Route
from discreet.web.gateway.routes import GATEWAY_ROUTES
from discreet.web.lab.routes import LAB_ROUTES
from discreet.web.ledger import api as ledger_api
from discreet.web.ledger import pages as ledger_pages
from discreet.web.linkage.routes import LINKAGE_ROUTES
from discreet.web.pages import own, programs, start, welcome
from discreet.web.permissions import ANYONE
from discreet.web.releases.routes import RELEASE_ROUTES
from discreet.web.sensitivity.routes import SENSITIVITY_ROUTES

ROUTES: tuple[Route, ...] = (
    Route("GET", "/assets/{name}", ANYONE, about.asset, kind="asset", loads=about.ASSET),
    Route("GET", "/sign-in", ANYONE, sign_in.sign_in_page),
    Route("POST", "/sign-in", ANYONE, sign_in.sign_in, body="form"),
    Route("POST", "/sign-out", "account.own", sign_in.sign_out, body="form"),
    Route("GET", "/welcome/{secret}", ANYONE, welcome.welcome_page, loads=welcome.LINK),
    Route("POST", "/welcome/{secret}", ANYONE, welcome.welcome, body="form", loads=welcome.LINK),
    Route("GET", "/about", ANYONE, about.about_page),
    Route("GET", "/", "dashboard.read", dashboard_pages.dashboard_page),
    Route("GET", "/start", "datasets.change", start.start_page),
    Route("POST", "/start", "datasets.change", start.show_steps, body="form"),
    Route("GET", "/account", "account.own", own.own_page),
    Route("POST", "/account/password", "account.own", own.change_password, body="form"),
    Route("GET", "/accounts", "accounts.change", account_pages.accounts_page),
    Route("POST", "/accounts", "accounts.change", account_pages.invite, body="form"),
    Route("GET", "/accounts/{number}", "accounts.change", account_pages.account_page, loads=account_pages.ACCOUNT),
    Route(
        "POST",
        "/accounts/{number}/link",
        "accounts.change",
        account_pages.new_link,
        body="form",
        loads=account_pages.ACCOUNT,
    ),
    Route(
        "POST",
        "/accounts/{number}/close",
        "accounts.change",
        account_pages.close,
        body="form",
        loads=account_pages.ACCOUNT,
    ),
    Route(
        "POST",
        "/accounts/{number}/reopen",
        "accounts.change",
        account_pages.reopen,
        body="form",
        loads=account_pages.ACCOUNT,
    ),
    Route(
        "POST",
        "/accounts/{number}/sign-out",
        "accounts.change",
        account_pages.end_sessions,
        body="form",
        loads=account_pages.ACCOUNT,
    ),
    Route("GET", "/tokens", "tokens.own", programs.tokens_page),
    Route("POST", "/tokens", "tokens.own", programs.make_token, body="form"),
    Route("POST", "/tokens/{number}/revoke", "tokens.own", programs.revoke, body="form", loads=programs.TOKEN),
    Route("GET", "/ledger", "ledger.read", ledger_pages.ledger_page),
    Route("GET", "/ledger/{number}", "ledger.read", ledger_pages.entry_page, loads=ledger_pages.ENTRY),
    Route("POST", "/ledger/verify", "ledger.verify", ledger_pages.verify, body="form"),
    Route("POST", "/ledger/export", "ledger.export", ledger_pages.export, body="form"),
    Route("GET", "/api/v1/openapi.json", "api.describe", description.description, kind="api"),
    Route("GET", "/api/v1/me", "dashboard.read", me, kind="api", returns=models.Me),
    Route("GET", "/api/v1/ledger/head", "ledger.read", ledger_api.head, kind="api", returns=models.Head),
    Route(
        "GET", "/api/v1/ledger/entries", "ledger.read", ledger_api.entry_list, kind="api", returns=models.EntriesPage
    ),
    Route(
        "GET",
        "/api/v1/ledger/entries/{number}",
        "ledger.read",
        ledger_api.entry,
        kind="api",
        loads=ledger_pages.ENTRY,
        returns=models.EntryModel,
    ),
    Route("GET", "/api/v1/tokens", "tokens.own", tokens_api.token_list, kind="api", returns=models.Tokens),
    Route(
        "POST",
        "/api/v1/tokens",
        "tokens.own",
        tokens_api.make_token,
        kind="api",
        body="json",
        returns=models.MadeToken,
        status=201,
    ),
    Route(
        "POST",
        "/api/v1/tokens/{number}/revoke",
        "tokens.own",
        tokens_api.revoke,
        kind="api",
        body="json",
        loads=programs.TOKEN,
        returns=models.TokenModel,
    ),
    *DATASET_ROUTES,
    *LAB_ROUTES,
    *SENSITIVITY_ROUTES,
    *RELEASE_ROUTES,
    *LINKAGE_ROUTES,
    *GATEWAY_ROUTES,
)
"""Method, path, permission, handler; then kind, body and what is loaded."""
