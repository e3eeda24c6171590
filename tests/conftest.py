"""Real parts for tests: a PostgreSQL server and a Spark cluster, started once per test worker that needs them."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.servers import fresh_schema, hurry, postgres_server, roomy_memory, spark_session
from tests.swift import PYTHON, waiting

# Compiled files are kept, whatever the machine's habit: tests start hundreds of processes.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

if room := roomy_memory():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", room)  # where pytest makes its temporary folders

settings.register_profile("daily", max_examples=20, deadline=None, derandomize=True, database=None)
settings.register_profile("thorough", max_examples=1_000, deadline=None)
settings.load_profile(os.environ.get("DISCREET_TEST_EXAMPLES", "daily"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests that share something costly go to one worker; the others are dealt out one by one."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return together(nodeid, config.rootpath)

    return Together(config, log)


def together(nodeid: str, root: Path) -> str:
    """What a test shares: the one Spark cluster, what its file makes once, or nothing. Browsers stay last."""
    if "spark" in nodeid:
        return "spark"
    file = nodeid.partition("::")[0]
    return file if "browser/" not in nodeid and _makes_once(root / file) else nodeid


@cache
def _makes_once(file: Path) -> bool:
    text = file.read_text(encoding="utf-8")
    return 'scope="module"' in text or "\n@cache\n" in text


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browsers last, an hour for slow tests, and no test on Spark that hides from the scheduler, which knows names only."""
    items.sort(
        key=lambda item: "browser/" in item.nodeid
    )  # last: Playwright leaves an event loop running in its process
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(3600))
    hidden = [item.nodeid for item in items if item.get_closest_marker("spark") and "spark" not in item.nodeid]
    if hidden:
        raise pytest.UsageError(f"Tests on Spark say so in their names; {hidden[0]} does not.")


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for a server. Not one of pytest's: other runs on the machine clear those while a server still uses them."""
    with tempfile.TemporaryDirectory(
        prefix="discreet-tests-", dir=roomy_memory(), ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a real PostgreSQL server: from DISCREET_TEST_POSTGRES, or started here on loopback."""
    with scratch() as folder, postgres_server(folder) as url:
        if "DISCREET_TEST_POSTGRES" not in os.environ:
            hurry(url)
        yield url


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session on a real standalone Spark cluster with two workers on loopback."""
    with scratch() as folder, spark_session(folder, brief=True) as session:
        yield session


@pytest.fixture(scope="session")
def swift() -> Iterator[None]:
    """Commands start at once; see tests/swift.py."""
    with waiting():
        yield


@pytest.fixture
def swift_jobs(swift: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of jobs start at once, too."""
    from discreet.web.jobs import supervisor

    monkeypatch.setattr(supervisor, "INTERPRETER", PYTHON)


@pytest.fixture(autouse=True)
def quick_stores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty stores cost little, except where stores themselves are tested."""
    if "/tests/store/" not in request.node.path.as_posix():
        from discreet.store import connection
        from discreet.store import connection as store_connection
        from tests.quickly import alike, recorded

        monkeypatch.setattr(store_connection, "migrate", recorded(store_connection.migrate))
        monkeypatch.setattr(connection, "create_engine", alike(connection.create_engine))


STORES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture(params=STORES)
def store_url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a store that nobody has used yet, on each kind of database in turn; its keys are beside it."""
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "store.keys"))
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    return fresh_schema(request.getfixturevalue("postgres_url"))


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Writes a small file and gives its path."""

    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file
