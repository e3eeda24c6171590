"""The application: every row of the table becomes a route behind the guard, and nothing else is served."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse

from discreet import __version__
from discreet.errors import DiscreetError
from discreet.ledger import Ledger
from discreet.web.accounts.passwords import Hasher
from discreet.web.framework import middleware
from discreet.web.framework.error_handlers import Answers
from discreet.web.framework.guard import GuardedRoute
from discreet.web.framework.models import PROBLEMS
from discreet.web.framework.render import Templates
from discreet.web.framework.route import Route, Undeclared, complaints
from discreet.web.framework.settings import Settings
from discreet.web.framework.site import Site
from discreet.web.jobs.foreman import Foreman
from discreet.web.routes import ROUTES

NO_TELEMETRY = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""Newer versions of FastAPI tell OpenTelemetry about requests and exceptions, words included; this one tells nobody."""


def create_app(settings: Settings | None = None, *, routes: Sequence[Route] = ROUTES) -> FastAPI:
    """Open the store and the ledger, and serve the table of routes. Refuses if a row is not complete."""
    if found := complaints(routes):
        raise Undeclared(f"Routes are not complete: {'; '.join(found)}.", remedy="Complete discreet.web.routes.")
    site = _site(settings or Settings(), routes)
    try:
        return _assemble(site, routes)
    except BaseException:
        site.close()
        raise


def _site(settings: Settings, routes: Sequence[Route]) -> Site:
    ledger = Ledger.open(settings.store, clock=settings.clock)
    table = {route.key: route for route in routes}
    return Site(settings, ledger, Hasher(settings.hashing), Templates(), table)


def _assemble(site: Site, routes: Sequence[Route]) -> FastAPI:
    answers = Answers(site)
    app = FastAPI(
        title="Discreet",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
        exception_handlers={
            DiscreetError: answers.of_ours,
            HTTPException: answers.of_starlette,
            RequestValidationError: answers.of_validation,
        },
        telemetry=NO_TELEMETRY,  # type: ignore[arg-type, unused-ignore]
    )
    app.state.site = site
    site.app = app
    app.router.routes.extend(_guarded(tuple(routes)))
    app.add_middleware(middleware.Hosts, settings=site.settings, answer=answers.problem)
    app.add_middleware(middleware.Shield, answer=answers.problem)
    app.add_middleware(middleware.Headers, settings=site.settings)
    refuse_undeclared(app, routes)
    return app


@cache
def _guarded(routes: tuple[Route, ...]) -> tuple[GuardedRoute, ...]:
    """The table as FastAPI serves it: looked into once, and shared by all applications of a process."""
    return tuple(GuardedRoute(route, **_options(route)) for route in routes)


def _options(route: Route) -> dict[str, Any]:
    if route.kind != "api":
        return {"include_in_schema": False, "response_class": HTMLResponse, "response_model": None}
    return {
        "response_model": route.returns,
        "response_class": JSONResponse,
        "status_code": route.status,
        "responses": PROBLEMS,
        "operation_id": f"{route.method.lower()}_{route.path.removeprefix('/api/v1/').replace('/', '_')}".replace("{", "").replace("}", ""),
        "openapi_extra": {"security": [{"token": []}], "x-permission": route.permission},
    }  # fmt: skip


def refuse_undeclared(app: FastAPI, routes: Sequence[Route]) -> None:
    """Whatever is served must stand in the table, with its permission."""
    declared = {route.key for route in routes}
    for served in app.router.routes:
        keys = {(method, getattr(served, "path", "")) for method in getattr(served, "methods", None) or {"?"}}
        if not isinstance(served, GuardedRoute) or not keys <= declared:
            raise Undeclared(
                f"{getattr(served, 'path', 'Something')} is served but does not stand in the table of routes.",
                remedy="Add it to discreet.web.routes, with its permission.",
            )


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    refuse_undeclared(app, list(app.state.site.table.values()))
    app.state.site.foreman = Foreman(app.state.site)
    app.state.site.foreman.start()
    yield
    app.state.site.close()
