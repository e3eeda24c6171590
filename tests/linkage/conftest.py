"""A small linkage project on each kind of store."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.ledger import Ledger
from discreet.linkage.dispatch import Limits, assign
from discreet.linkage.project import Project
from tests.linkage.worlds import folder_of, registered


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project of eight people and seven pairs."""
    return folder_of(tmp_path_factory.mktemp("linkage") / "people")[0].path


@pytest.fixture
def ledger(store_url: str) -> Iterator[Ledger]:
    with Ledger.open(store_url) as opened:
        yield opened


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    """A ledger on SQLite only, for what does not depend on the store."""
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "store.keys"))
    with Ledger.open(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def project(ledger: Ledger, folder: Path) -> Project:
    """A project whose pairs Ann and Ben both have."""
    made = registered(ledger, folder)
    assign(ledger, made, ["ann", "ben"], actor="manager", overlap=2, limits=Limits.of("0.5"), rng=random.Random(1))
    return made
