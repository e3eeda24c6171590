"""pg_dump by a governed user: tables that are not governed are dumped as ever, governed ones are refused by PostgreSQL."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from tests.gateway.governed import CANARIES, Guarding
from tests.gateway.matrix.test_psql import program

pytestmark = pytest.mark.postgres


def dumped(running: Guarding, *words: str) -> subprocess.CompletedProcess[str]:
    command = [program("pg_dump"), "-d", running.url("ann"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    "words", [["-t", "own.places"], ["-n", "own"], ["-n", "own", "--inserts", "--serializable-deferrable"]]
)
def test_tables_that_are_not_governed(guard: Callable[..., Guarding], words: list[str]) -> None:
    done = dumped(guard(), *words)
    assert done.returncode == 0, done.stderr
    assert "Here" in done.stdout
    assert "CREATE TABLE own.places" in done.stdout


def test_governed_tables(guard: Callable[..., Guarding]) -> None:
    done = dumped(guard(), "-t", "clinic.patients")
    assert done.returncode == 1
    assert "permission denied for table patients" in done.stderr
    assert not any(canary in done.stdout + done.stderr for canary in CANARIES)
