"""A governed gateway before the clinic, and a new user for every attack."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from discreet.gateway import parse_upstream
from tests.gateway.governed import Guarding, furnish, policy

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def clinic(postgres_url: str) -> str:
    """The URL of a server with the clinic."""
    furnish(postgres_url)
    return postgres_url


@pytest.fixture(scope="session")
def guard(clinic: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarding]:
    """A gateway that enforces a limit of 2: four patients at the most."""
    folder: Path = tmp_path_factory.mktemp("evasion")
    before = os.environ.get("DISCREET_KEYS")
    os.environ["DISCREET_KEYS"] = str(folder / "keys")
    try:
        with Guarding(parse_upstream(clinic), clinic, folder / "store.db", policy()) as running:
            yield running
    finally:
        os.environ.pop("DISCREET_KEYS")
        if before is not None:
            os.environ["DISCREET_KEYS"] = before


@pytest.fixture
def attacker(clinic: str, guard: Guarding) -> Callable[[], str]:
    """Makes a user who has seen nothing yet, and gives the URL by which she connects."""

    def arrive() -> str:
        name = f"attacker{os.getpid()}_{next(_NUMBERS)}"
        with psycopg.connect(clinic, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {name} LOGIN IN ROLE ann")
            connection.execute(f"ALTER ROLE {name} SET search_path = clinic, own, public")
        return guard.url(name)

    return arrive
