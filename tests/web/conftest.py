"""The real application on a fresh store of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI

from discreet.web import Settings, create_app
from tests.web.client import CHEAP, ORIGIN, Browser, Clock, make_accounts


@pytest.fixture
def clock() -> Clock:
    """Time for the application."""
    return Clock()


@pytest.fixture
def settings(store_url: str, tmp_path: Path, clock: Clock) -> Settings:
    """What the application is told."""
    return Settings(store=store_url, data=tmp_path / "data", origin=ORIGIN, clock=clock, hashing=CHEAP)


@pytest.fixture
def empty_app(settings: Settings) -> Iterator[FastAPI]:
    """The application, without any account."""
    app = create_app(settings)
    yield app
    app.state.site.close()


@pytest.fixture
def app(empty_app: FastAPI) -> FastAPI:
    """The application with one account per role, named like the role."""
    make_accounts(empty_app)
    return empty_app


@pytest.fixture
def browser(app: FastAPI) -> Browser:
    """A browser in which nobody has signed in."""
    return Browser(app)
