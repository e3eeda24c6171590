"""The web application: pages for people, an API for programs, on one store.

Needs the extra `web`. Every route is in one table (`discreet.web.routes`) with its permission; `create_app` refuses
to start if one does not. The application is an ASGI application; `discreet serve` runs it. The processes of jobs import
their work from below here, so that nothing is loaded before it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import MissingExtra

if TYPE_CHECKING:
    from discreet.web.framework.app import create_app
    from discreet.web.framework.settings import Settings

__all__ = ["Settings", "create_app"]

_PLACES = {"Settings": "discreet.web.framework.settings", "create_app": "discreet.web.framework.app"}
_NEEDED = ("argon2", "fastapi", "jinja2", "python_multipart", "uvicorn")


def require_extra() -> None:
    """Say in words what is missing, if anything is."""
    try:
        for needed in _NEEDED:
            import_module(needed)
    except ImportError:
        raise MissingExtra("web", needed_for="The web application") from None


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'discreet.web' has no attribute '{name}'")
    require_extra()
    return getattr(import_module(_PLACES[name]), name)
