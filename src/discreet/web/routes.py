"""The table of routes: everything that is served, by whom it may be asked for, and what it loads.

The application refuses to start if something is served that does not stand here. The test of authorisation is made from
this table: every role at every route, with objects of its own and of others.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.responses import JSONResponse, Response

from discreet import __version__
from discreet.web.accounts import api as tokens_api
from discreet.web.accounts import pages as account_pages
from discreet.web.accounts import sign_in
from discreet.web.accounts.api import me
from discreet.web.dashboard import about
from discreet.web.dashboard import pages as dashboard_pages
from discreet.web.datasets.routes import DATASET_ROUTES
from discreet.web.framework import models
from discreet.web.framework.context import Here
from discreet.web.framework.permissions import ANYONE, PERMISSIONS
from discreet.web.framework.problems import not_found
from discreet.web.framework.route import Route
from discreet.web.gateway.routes import GATEWAY_ROUTES
from discreet.web.lab.routes import LAB_ROUTES
from discreet.web.ledger import api as ledger_api
from discreet.web.ledger import pages as ledger_pages
from discreet.web.linkage.routes import LINKAGE_ROUTES
from discreet.web.releases.routes import RELEASE_ROUTES
from discreet.web.sensitivity.pages import SENSITIVITY_ROUTES

# The description of the API, as OpenAPI.
ABOUT = (
    "Send `Authorization: Bearer TOKEN`. Every operation names the permission that its token needs (`x-permission`)."
)


def description(context: Here) -> Response:
    """What the API offers."""
    app = context.site.app
    if app is None:
        raise not_found()
    if app.openapi_schema is None:
        app.openapi_schema = describe(app)
    return JSONResponse(app.openapi_schema)


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of an application."""
    document = get_openapi(title="Discreet", version=__version__, description=ABOUT, routes=app.routes)
    parts = document.setdefault("components", {})
    parts["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "A token from the page Tokens."}
    }
    document["x-permissions"] = PERMISSIONS
    return document


ROUTES: tuple[Route, ...] = (
    Route("GET", "/assets/{name}", ANYONE, about.asset, kind="asset", loads=about.ASSET),
    Route("GET", "/sign-in", ANYONE, sign_in.sign_in_page),
    Route("POST", "/sign-in", ANYONE, sign_in.sign_in, body="form"),
    Route("POST", "/sign-out", "account.own", sign_in.sign_out, body="form"),
    Route("GET", "/welcome/{secret}", ANYONE, sign_in.welcome_page, loads=sign_in.LINK),
    Route("POST", "/welcome/{secret}", ANYONE, sign_in.welcome, body="form", loads=sign_in.LINK),
    Route("GET", "/about", ANYONE, about.about_page),
    Route("GET", "/", "dashboard.read", dashboard_pages.dashboard_page),
    Route("GET", "/start", "datasets.change", account_pages.start_page),
    Route("POST", "/start", "datasets.change", account_pages.show_steps, body="form"),
    Route("GET", "/account", "account.own", account_pages.own_page),
    Route("POST", "/account/password", "account.own", account_pages.change_password, body="form"),
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
    Route("GET", "/tokens", "tokens.own", account_pages.tokens_page),
    Route("POST", "/tokens", "tokens.own", account_pages.make_token, body="form"),
    Route(
        "POST", "/tokens/{number}/revoke", "tokens.own", account_pages.revoke, body="form", loads=account_pages.TOKEN
    ),
    Route("GET", "/ledger", "ledger.read", ledger_pages.ledger_page),
    Route("GET", "/ledger/{number}", "ledger.read", ledger_pages.entry_page, loads=ledger_pages.ENTRY),
    Route("POST", "/ledger/verify", "ledger.verify", ledger_pages.verify, body="form"),
    Route("POST", "/ledger/export", "ledger.export", ledger_pages.export, body="form"),
    Route("GET", "/api/v1/openapi.json", "api.describe", description, kind="api"),
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
        loads=account_pages.TOKEN,
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
