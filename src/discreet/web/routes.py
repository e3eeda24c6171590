"""Route table: everything that is served; and the pages about the application itself.

The application refuses to start if something is served that is not in it. The test of authorisation is made from this
table: every role at every route, with objects of its own and of others.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.responses import JSONResponse, Response

from discreet import __version__
from discreet.reference.items import reproduction_page
from discreet.web.accounts.pages import ACCOUNT_ROUTES
from discreet.web.accounts.single_sign_on import PROVIDER_ROUTES
from discreet.web.dashboard import dashboard_page
from discreet.web.datasets.pages import DATASET_ROUTES
from discreet.web.framework.context import Context, Here
from discreet.web.framework.permissions import ANYONE, PERMISSIONS, PLACES, ROLES
from discreet.web.framework.problems import not_found
from discreet.web.framework.route import ApiGet, Loads, Page, Route, Submit
from discreet.web.framework.shared_state import assets
from discreet.web.gateway.pages import GATEWAY_ROUTES
from discreet.web.jobs.pages import JOB_ROUTES
from discreet.web.lab.pages import LAB_ROUTES
from discreet.web.ledger import LEDGER_ROUTES
from discreet.web.linkage.pages import LINKAGE_ROUTES
from discreet.web.releases.pages import RELEASE_ROUTES
from discreet.web.reports import REPORT_ROUTES
from discreet.web.search import SEARCH_ROUTES
from discreet.web.sensitivity.pages import SENSITIVITY_ROUTES

KEPT = "public, max-age=31536000, immutable"
"""Nothing personal, and every version has an address of its own."""

MEANINGS = {
    "Data set": "a table of people, one row each, that custodians manage",
    "Role of a column": "identifier names a person, quasi is what an adversary may know, sensitive is what they would like to learn",
    "Risk": "the probability that a person is re-identified; people who look alike in what an adversary may know protect each other",
    "Disclosure": "anything about people that leaves: a table, a cell, a result, a report",
    "Release": "one version of a data set for several recipients",
    "Recipient": "a person or organisation that receives a copy of a release",
    "Copy": "what one recipient receives, with control records that distinguish it from all others",
    "Trace": "identifies the copy that a leaked file, or a set of re-identified people, came from",
    "Exposure": "the misuse potential of all results that a database user has seen, taken together",
    "Misuseability weight": "what the M-score measures: the damage that a result could do in the wrong hands",
    "Distinguishing factor": "how many people of a table look like a row of a result; the M-score divides by it",
    "DMBAC": "access control by misuseability: a result is given out if the exposure stays below a limit",
    "FMDP": "the model of a planning attacker: buy a list, link it, try one candidate after another, stop",
    "Known and unknown group": "whether the attacker knows, before buying a list, how many people in it look like the target",
    "Decoy, AnonTokens": "a record of nobody in the data whose re-identification shows whose copy was used",
    "Privacy risk (KAPR)": "k-anonymised privacy risk: the score of what reviewers have opened",
    "Limit": "the highest accepted risk or exposure; what exceeds it is refused or reported",
    "Budget": "how much may be disclosed in all; only the ledger spends it",
    "Ledger": "the audit log: append-only, summarised in one signed hash, its head",
    "Head": "save one elsewhere from time to time: any later change of the entries it covers is then detected",
}
"""The terms of all pages, each with one meaning."""


def about_page(context: Here) -> Response:
    """Help: what pages are for, what terms mean, how to work without a mouse."""
    return context.page("about.html", roles=ROLES, places=PLACES, meanings=MEANINGS, papers=PAPERS)


PAPERS = {
    "fmdp": "FMDP, a planning attacker",
    "anontokens": "AnonTokens, decoys",
    "mindfirl": "MINDFIRL, privacy risk (KAPR)",
    "mscore": "M-score, misuseability weight, DMBAC",
}
"""The papers that are gone through, by the module of each in `discreet.reference`."""
GOING_THROUGH = threading.Lock()


def take_paper(context: Here) -> Response:
    """A paper gone through number by number, as one file that opens offline; computed once, in its quick form."""
    paper = context.form.choice("paper", tuple(PAPERS))
    with GOING_THROUGH:
        content = gone_through(paper)
    headers = {"Content-Disposition": f'attachment; filename="{paper}.html"'}
    return Response(content, media_type="text/html; charset=utf-8", headers=headers)


@cache
def gone_through(paper: str) -> str:
    """The page of a paper."""
    found = import_module(f"discreet.reference.{paper}").reproduce(quick=True)
    command = f"discreet reproduce {paper} --quick --out {paper}.html"
    return reproduction_page(found, created=datetime.now(UTC), command=command, version=__version__)


ASSET: Loads[Context] = Loads("asset", lambda context, path: assets().get(path["name"]), lambda context, asset: True)


def asset(context: Here) -> Response:
    """The style sheet, the mark, a module."""
    content, kind = context.loaded
    return Response(content, headers={"Content-Type": kind, "Cache-Control": KEPT})


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
    words = "Send `Authorization: Bearer TOKEN`. Every operation names the permission that its token needs (`x-permission`)."
    document = get_openapi(title="Discreet", version=__version__, description=words, routes=app.routes)
    scheme = {"type": "http", "scheme": "bearer", "description": "A token from the page Tokens."}
    document.setdefault("components", {})["securitySchemes"] = {"token": scheme}
    document["x-permissions"] = PERMISSIONS
    return document


ROUTES: tuple[Route, ...] = (
    Page("/assets/{name}", ANYONE, asset, kind="asset", loads=ASSET),
    Page("/about", ANYONE, about_page),
    Submit("/about/papers", "dashboard.read", take_paper),
    ApiGet("/api/v1/openapi.json", "api.describe", description),
    Page("/", "dashboard.read", dashboard_page),
    *SEARCH_ROUTES,
    *ACCOUNT_ROUTES,
    *PROVIDER_ROUTES,
    *LEDGER_ROUTES,
    *DATASET_ROUTES,
    *JOB_ROUTES,
    *REPORT_ROUTES,
    *LAB_ROUTES,
    *SENSITIVITY_ROUTES,
    *RELEASE_ROUTES,
    *LINKAGE_ROUTES,
    *GATEWAY_ROUTES,
)
"""Method, path, permission, handler; then kind, body and what is loaded."""
