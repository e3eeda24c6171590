"""Killed at any moment, nothing that was confirmed is lost, and a restart needs neither time nor hands."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.errors import StoreError
from discreet.ledger import Ledger
from tests.conftest import scratch
from tests.servers import postgres_server
from tests.swift import PYTHON

pytestmark = pytest.mark.usefixtures("swift")
ROOT = Path(__file__).parents[2]


def kill(url: str, times: int) -> dict[str, Any]:
    command = [PYTHON, "-m", "tests.ledger.killing", url, str(times), "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def check(found: dict[str, Any], times: int) -> None:
    assert found["kills"] == times
    assert found["confirmed"] >= times * 4 / 5
    assert found["lost"] == found["broken"] == 0
    assert found["slowest_restart"] <= 2


def test_twenty_kills(store_url: str) -> None:
    check(kill(store_url, 20), 20)


@pytest.mark.slow
@pytest.mark.postgres
def test_the_server_is_killed_under_its_clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed backend makes PostgreSQL throw everybody out and recover from its log."""
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    monkeypatch.delenv("DISCREET_TEST_POSTGRES", raising=False)
    confirmed: list[str] = []
    stop = threading.Event()
    with scratch() as folder, postgres_server(folder) as url, Ledger.open(url) as ledger:
        ledger.set_budget("ann", limit=10**9, actor="custodian")

        def client(number: int) -> None:
            for turn in itertools.count():
                if stop.is_set():
                    return
                with suppress(StoreError):
                    receipt = ledger.spend("ann", 1, actor="ann", event="web.shown", key=f"{number}-{turn}")
                    confirmed.append(receipt.entry.key)

        threads = [threading.Thread(target=client, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(5):
            time.sleep(1)
            with suppress(psycopg.OperationalError), psycopg.connect(url) as connection:
                (victim,) = connection.execute("SELECT pg_backend_pid()").fetchone() or (0,)
                os.kill(victim, signal.SIGKILL)
        time.sleep(2)
        stop.set()
        for thread in threads:
            thread.join()
        there = {entry.key for entry in ledger.entries(actor="ann")}
        assert len(confirmed) > 100
        assert set(confirmed) <= there
        assert ledger.budget("ann").spent == len(there)
        assert ledger.verify().holds


@pytest.mark.slow
def test_a_thousand_kills(store_url: str) -> None:
    check(kill(store_url, 1000), 1000)
