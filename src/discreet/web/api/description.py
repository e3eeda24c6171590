"""The description of the API, as OpenAPI."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.responses import JSONResponse, Response

from discreet import __version__
from discreet.web.framework.context import Here
from discreet.web.framework.problems import not_found
from discreet.web.permissions import PERMISSIONS

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
