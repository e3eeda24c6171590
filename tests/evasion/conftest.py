"""Governed gateways before the clinic and before the ward, and a new user for every attack."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from discreet.gateway import parse_upstream
from discreet.policy import Policy
from tests.evasion.detours import FURNITURE
from tests.evasion.ward import POLICY, SCHEMA
from tests.gateway.governed import Guarding, close_holes, furnish, policy

_NUMBERS = itertools.count()


def _run(server: str, script: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("SET client_min_messages TO error")
        connection.execute(script.encode())


@pytest.fixture(scope="session")
def clinic(postgres_url: str) -> str:
    """The URL of a server with the clinic."""
    furnish(postgres_url)
    _run(postgres_url, FURNITURE)
    close_holes(postgres_url, policy())
    return postgres_url


@pytest.fixture(scope="session")
def guard(clinic: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarding]:
    """A gateway that enforces a limit of 2: four patients at the most."""
    yield from _guarding(clinic, tmp_path_factory.mktemp("evasion"), policy())


@pytest.fixture(scope="session")
def ward(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarding]:
    """The same before the ward."""
    _run(postgres_url, SCHEMA)
    close_holes(postgres_url, POLICY)
    yield from _guarding(postgres_url, tmp_path_factory.mktemp("ward"), POLICY)


def _guarding(server: str, folder: Path, chosen: Policy) -> Iterator[Guarding]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_KEYS", str(folder / "keys"))
        running = Guarding(parse_upstream(server), server, folder / "store.db", chosen)
        running.__enter__()
    try:
        yield running
    finally:
        running.__exit__(None, None, None)


@pytest.fixture(scope="session")
def doorman(postgres_url: str) -> Iterator[Callable[[str, str], str]]:
    """Makes a user who has seen nothing yet, with a role and a search path, and gives her name."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:

        def arrive(role: str, path: str) -> str:
            name = f"attacker{os.getpid()}_{next(_NUMBERS)}"
            connection.execute(f"CREATE ROLE {name} LOGIN IN ROLE {role}; ALTER ROLE {name} SET search_path = {path}")
            return name

        yield arrive


@pytest.fixture
def attacker(guard: Guarding, doorman: Callable[[str, str], str]) -> Callable[[], str]:
    """Makes a user of the clinic, and gives the URL by which she connects."""
    return lambda: guard.url(doorman("ann", "clinic, own, public"))


@pytest.fixture
def visitor(ward: Guarding, doorman: Callable[[str, str], str]) -> Callable[[], str]:
    """Makes a user of the ward, and gives the URL by which she connects."""
    return lambda: ward.url(doorman("nurse", "lab, public"))
