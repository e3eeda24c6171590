"""The real application on a fresh store; on each kind of store where a test says so (`@BOTH_STORES`)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI

from discreet.store import Store
from discreet.web import Settings, create_app
from tests.servers import fresh_schema
from tests.web.client import CHEAP, ORIGIN, Browser, Clock, make_accounts


@pytest.fixture(autouse=True)
def at_once(swift_jobs: None) -> None:
    """Jobs start at once."""


@pytest.fixture
def store_kind() -> str:
    """Which kind of store, where a test does not ask for both."""
    return "sqlite"


@pytest.fixture(scope="session")
def migrated_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty store that is up to date, to be copied: quicker than migrating one for every test."""
    path = tmp_path_factory.mktemp("web") / "store.db"
    Store.open(path).close()
    return path


@pytest.fixture(scope="session")
def peopled_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with one account per role, named like the role; its keys are beside it."""
    path = tmp_path_factory.mktemp("web") / "store.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_KEYS", str(path.with_suffix(".keys")))
        app = create_app(Settings(store=str(path), data=path.parent, origin=ORIGIN, clock=Clock(), hashing=CHEAP))
        make_accounts(app)
        app.state.site.close()
    return path


@pytest.fixture
def store_url(
    store_kind: str,
    migrated_store: Path,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """The address of a store that nobody has used yet; its keys are beside it."""
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "store.keys"))
    if store_kind == "postgresql":
        return fresh_schema(request.getfixturevalue("postgres_url"))
    if "app" in request.fixturenames:
        peopled: Path = request.getfixturevalue("peopled_store")
        shutil.copy(peopled.with_suffix(".keys"), tmp_path)
        return str(shutil.copy(peopled, tmp_path))
    return str(shutil.copy(migrated_store, tmp_path))


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
def app(empty_app: FastAPI, store_kind: str) -> FastAPI:
    """The application with one account per role, named like the role."""
    if store_kind != "sqlite":
        make_accounts(empty_app)
    return empty_app


@pytest.fixture
def browser(app: FastAPI) -> Browser:
    """A browser in which nobody has signed in."""
    return Browser(app)
