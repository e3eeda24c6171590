"""Route table: everything that is served, with its permission and what it loads.

The application refuses to start if something is served that is not in it. The test of authorisation is made from this
table: every role at every route, with objects of its own and of others.
"""

from __future__ import annotations

from discreet.web.about import ABOUT_ROUTES
from discreet.web.accounts.pages import ACCOUNT_ROUTES
from discreet.web.dashboard import dashboard_page
from discreet.web.datasets.api import DATASET_ROUTES
from discreet.web.framework.route import Page, Route
from discreet.web.gateway.pages import GATEWAY_ROUTES
from discreet.web.jobs.pages import JOB_ROUTES
from discreet.web.lab.pages import LAB_ROUTES
from discreet.web.ledger import LEDGER_ROUTES
from discreet.web.linkage.pages import LINKAGE_ROUTES
from discreet.web.releases.pages import RELEASE_ROUTES
from discreet.web.reports import REPORT_ROUTES
from discreet.web.sensitivity.pages import SENSITIVITY_ROUTES

ROUTES: tuple[Route, ...] = (
    *ABOUT_ROUTES,
    Page("/", "dashboard.read", dashboard_page),
    *ACCOUNT_ROUTES,
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
