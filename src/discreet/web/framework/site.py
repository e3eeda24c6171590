"""Site: what all requests of one process share, templates and static files included."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import jinja2
import markupsafe

from discreet import __version__
from discreet.ledger import Ledger
from discreet.ledger.entry import timestamp
from discreet.report.toolkit.html import Markup
from discreet.report.toolkit.page import stylesheet
from discreet.store import Store
from discreet.web.accounts.passwords import Hasher
from discreet.web.datasets.files import DatasetPlaces, Folder
from discreet.web.framework import format as formats
from discreet.web.framework.route import Route
from discreet.web.framework.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

FOLDER = Path(__file__).parents[1]


class JobStarter(Protocol):
    """What starts jobs, once the server runs."""

    def wake(self) -> None:
        """Look for work now."""

    def close(self) -> None:
        """Stop, and put running jobs back."""


@dataclass
class Site:
    """Everything a handler can reach beside its request."""

    settings: Settings
    ledger: Ledger
    hasher: Hasher
    table: Mapping[tuple[str, str], Route]
    app: FastAPI | None = field(default=None, repr=False)
    foreman: JobStarter | None = field(default=None, repr=False)

    @property
    def store(self) -> Store:
        """Where the state is."""
        return self.ledger.store

    def now(self) -> datetime:
        """What the clock says."""
        return self.settings.clock()

    def stamp(self, *, ago: timedelta = timedelta(0)) -> str:
        """Now, or some time ago, as the store writes moments; such texts compare like the moments."""
        return timestamp(self.now() - ago)

    @cached_property
    def places(self) -> DatasetPlaces:
        """Where data sets are."""
        folder = Folder.of(self.settings.data, self.ledger.head()["ledger"])
        return DatasetPlaces(folder, self.settings.folders, self.ledger.keys)

    def render(self, template: str, values: Mapping[str, Any]) -> str:
        """A template, filled in: everything escaped, nothing silently missing."""
        return _environment().get_template(template).render(values)

    def wake_foreman(self) -> None:
        """Have jobs looked at now, where this process starts them."""
        if self.foreman is not None:
            self.foreman.wake()

    def close(self) -> None:
        """Put running jobs back, write what waits, then close the store."""
        if self.foreman is not None:
            self.foreman.close()
            self.foreman = None
        self.ledger.close()


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
    # Sections that a job had the report build: everything in them was escaped before they were stored.
    environment.filters.update(built=markupsafe.Markup)
    environment.globals.update(version=__version__, asset=asset_address)
    return environment


def _pass_markup(value: Any) -> Any:
    """What the report builds is escaped already."""
    return markupsafe.Markup(value.text) if isinstance(value, Markup) else value  # noqa: S704 - built by element()


@cache
def assets() -> dict[str, tuple[bytes, str]]:
    """Every file that pages load, with its type: one style sheet, and modules of our own."""
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
