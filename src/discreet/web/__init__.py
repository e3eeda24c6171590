"""The web application: pages for people, an API for programs, on one store.

Needs the extra `web`. Every route stands in one table (`discreet.web.routes`) with its permission; `create_app` refuses
to start if one does not. The application is an ASGI application; `discreet serve` runs it.
"""

from discreet.errors import MissingExtra

try:
    import argon2 as _argon2  # noqa: F401 - asked for here, so that its absence is said in words
    import fastapi as _fastapi  # noqa: F401
    import jinja2 as _jinja2  # noqa: F401
except ImportError:
    raise MissingExtra("web", needed_for="The web application") from None

from discreet.web.app import create_app
from discreet.web.settings import Settings

__all__ = ["Settings", "create_app"]
