"""What this is, and files that pages load."""

from __future__ import annotations

from starlette.responses import Response

from discreet.web.context import Context, Here
from discreet.web.permissions import ROLES
from discreet.web.render import assets
from discreet.web.route import Loads

KEPT = "public, max-age=31536000, immutable"
"""Nothing personal, and every version has an address of its own."""


def about_page(context: Here) -> Response:
    """Help: what the places are for, what the words mean, how to work without a mouse."""
    return context.page("about.html", roles=ROLES)


def _find(context: Context, path: dict[str, str]) -> tuple[bytes, str] | None:
    return assets().get(path["name"])


ASSET = Loads("asset", find=_find, may=lambda context, asset: True)


def asset(context: Here) -> Response:
    """The style sheet, the mark, a module."""
    content, kind = context.loaded
    return Response(content, headers={"Content-Type": kind, "Cache-Control": KEPT})
