"""A store that is ready: made once, copied for every test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from discreet.ledger import Ledger
from tests.releases.world import known_keys


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "store.db"
    known_keys(path.with_name("store.db.keys"))
    Ledger.open(path).close()
    return path


@pytest.fixture(autouse=True)
def _known_keys(tmp_path: Path) -> None:
    """Where `store_url` looks for them."""
    known_keys(tmp_path / "store.keys")


@pytest.fixture
def store(template: Path, tmp_path: Path) -> Path:
    """A new store with its keys beside it."""
    return _copied(template, tmp_path)


@pytest.fixture(scope="module")
def shared_store(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for all tests of a file that do not mind each other."""
    return _copied(template, tmp_path_factory.mktemp("shared"))


def _copied(template: Path, folder: Path) -> Path:
    for end in ("", ".keys"):
        shutil.copy2(f"{template}{end}", folder / f"store.db{end}")
    return folder / "store.db"
