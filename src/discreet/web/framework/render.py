"""Templates: everything escaped, nothing silently missing, one style sheet."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import markupsafe

from discreet import __version__
from discreet.report.toolkit.html import Markup
from discreet.report.toolkit.page import stylesheet
from discreet.web.framework import format as formats

FOLDER = Path(__file__).parents[1]


class Templates:
    """The pages of the application."""

    def page(self, name: str, values: dict[str, Any]) -> str:
        """A template, filled in."""
        return _environment().get_template(name).render(values)


@cache
def _environment() -> jinja2.Environment:
    """Compiles every template once, for all applications of a process."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_pass_markup,
    )
    environment.filters.update(formats.FILTERS)
    environment.filters.update(built=_built)
    environment.globals.update(version=__version__, asset=asset_address)
    return environment


def _pass_markup(value: Any) -> Any:
    """What the report builds is escaped already."""
    return markupsafe.Markup(value.text) if isinstance(value, Markup) else value  # noqa: S704 - built by element()


def _built(html: str) -> markupsafe.Markup:
    """Sections that a job had the report build, where everything was escaped before they were stored."""
    return markupsafe.Markup(html)  # noqa: S704 - built by element()


@cache
def assets() -> dict[str, tuple[bytes, str]]:
    """Every file that pages load, with its type: the style sheet, and modules of our own."""
    static = resources.files("discreet.web").joinpath("static")
    more = sorted(file.name for file in static.iterdir() if file.name.endswith(".css") and file.name != "app.css")
    sheet = stylesheet() + "".join(static.joinpath(name).read_text(encoding="utf-8") for name in ("app.css", *more))
    scripts = {file.name: file.read_bytes() for file in static.iterdir() if file.name.endswith(".js")}
    return {
        "style.css": (sheet.encode(), "text/css; charset=utf-8"),
        "mark.svg": (static.joinpath("mark.svg").read_bytes(), "image/svg+xml"),
        **{name: (content, "text/javascript; charset=utf-8") for name, content in scripts.items()},
    }


@cache
def asset_address(name: str) -> str:
    """Where a file is, with its version, so that browsers may keep it."""
    content, _ = assets()[name]
    return f"/assets/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"
