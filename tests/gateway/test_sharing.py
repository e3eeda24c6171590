"""Several gateways and several sessions of one user: none forgets what another gave out, and none exceeds the limit."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.ledger import Ledger
from discreet.misuse import Exposure
from discreet.store import Exposures
from tests.gateway.governed import POLICY, connected
from tests.servers import fresh_schema
from tests.swift import SHIM

pytestmark = [pytest.mark.postgres, pytest.mark.usefixtures("swift")]
LIMIT = 3.0
MOST = 9
"""Patients that a limit of 3 allows at x = 2."""


@contextmanager
def gateway(
    clinic: str, folder: Path, store: str, *more: str, program: tuple[str, ...] = (SHIM,)
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command, as it is installed; gives the process and the URL by which users connect."""
    (folder / "policy.toml").write_text(
        POLICY.format(limit=LIMIT, mode="enforce", action="deny", days=""), encoding="utf-8"
    )
    words = ["gateway", "--upstream", clinic, "--own", clinic, "--store", store, "--listen", "127.0.0.1:0"]
    command = [*program, *words, "--policy", str(folder / "policy.toml"), *more]
    environment = {**os.environ, "DISCREET_KEYS": str(folder / "keys"), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as running:
        try:
            assert running.stderr is not None
            line = running.stderr.readline()
            found = re.search(r"listens on ([\d.]+:\d+)", line)
            assert found, line + running.stderr.read()
            yield running, f"postgresql://ann@{found[1]}/postgres"
        finally:
            running.kill()


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, clinic: str, tmp_path: Path) -> str:
    return str(tmp_path / "store.db") if request.param == "sqlite" else fresh_schema(clinic)


def stored(store: str, folder: Path) -> float:
    """Ann's exposure."""
    with Ledger.open(store) as ledger:
        assert ledger.verify().holds
        kept = Exposures(ledger.store).of("postgres/ann")
    return 0.0 if kept is None else Exposure.from_bytes(kept.content).value


def seen_by(url: str, keys: list[int], seen: set[str], lock: threading.Lock) -> None:
    """Ask for one patient after the other, whatever the answers are."""
    with contextlib.suppress(psycopg.OperationalError), connected(url) as ann:
        for key in keys:
            with contextlib.suppress(psycopg.errors.InsufficientPrivilege, psycopg.errors.SystemError):
                row = ann.execute(f"SELECT diagnosis FROM patients WHERE id = {key}").fetchone()
                with lock:
                    seen.update(row or ())


def race(urls: list[str], *, sessions: int, keys: int) -> set[str]:
    """Sessions of one user at all gateways at once, each after other patients."""
    seen: set[str] = set()
    lock = threading.Lock()
    work = [
        threading.Thread(
            target=seen_by,
            args=(urls[number % len(urls)], list(range(number * keys + 1, (number + 1) * keys + 1)), seen, lock),
        )
        for number in range(sessions)
    ]
    for one in work:
        one.start()
    for one in work:
        one.join(60)
    return seen


def test_two_gateways_and_racing_sessions(
    clinic: str, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    with ExitStack() as stack:
        urls = [stack.enter_context(gateway(clinic, tmp_path, store))[1] for _ in range(2)]
        seen = race(urls, sessions=8, keys=6)
        assert len(seen) == MOST  # all of the limit, and not one more
        for url in urls:
            with connected(url) as ann, pytest.raises(psycopg.errors.InsufficientPrivilege):
                ann.execute("SELECT diagnosis FROM patients WHERE id = 199")
    assert stored(store, tmp_path) == pytest.approx(LIMIT)


def test_a_killed_gateway_forgets_nothing(
    clinic: str, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    seen: set[str] = set()
    lock = threading.Lock()
    for life in range(3):
        with gateway(clinic, tmp_path, store) as (running, url):
            keys = list(range(life * 40 + 1, life * 40 + 41))
            asking = threading.Thread(target=seen_by, args=(url, keys, seen, lock))
            asking.start()
            time.sleep(0.15)
            running.send_signal(signal.SIGKILL)
            running.wait(10)
            asking.join(30)
    with gateway(clinic, tmp_path, store) as (_, url):
        seen_by(url, list(range(121, 140)), seen, lock)
    assert 0 < len(seen) <= MOST
    assert stored(store, tmp_path) <= LIMIT + 1e-9
    assert stored(store, tmp_path) >= len(seen) ** 0.5 - 1e-9


def test_it_ends_in_order(clinic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    store = str(tmp_path / "store.db")
    with gateway(clinic, tmp_path, store, "--grace", "1") as (running, url):
        with connected(url) as ann:
            for _ in range(3):
                ann.execute("SELECT diagnosis FROM patients WHERE id = 1")
        running.send_signal(signal.SIGTERM)
        assert running.wait(15) == 0
    with Ledger.open(store) as ledger:
        events = [(entry.event, entry.outcome) for entry in ledger.entries(room="gateway")]
        repeated = list(ledger.entries(event="gateway.repeated"))
    assert events[0] == ("gateway.started", "done")
    assert events.count(("gateway.answered", "reserved")) == events.count(("gateway.answered", "settled")) == 1
    assert [entry.details["results"] for entry in repeated] == [2]


def test_rows_that_reached_nobody_count(clinic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client has gone before the first byte of its rows: else another session reads their weight, and pays nothing."""
    from discreet.gateway import parse_upstream
    from tests.gateway.governed import Guarding, policy
    from tests.gateway.raw import Raw, query, startup
    from tests.gateway.running import wait_for

    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    with (
        ThreadPoolExecutor() as threads,
        Guarding(parse_upstream(clinic), clinic, tmp_path / "store.db", policy()) as running,
    ):
        slow, gone = threading.Event(), threading.Event()
        grant = running.governor._books.ledger.submit

        def granted_late(request: Any) -> Any:
            assert gone.wait(10)
            time.sleep(0.5)  # until the gateway has noticed
            return grant(request).result()

        def held_up(request: Any) -> Any:
            if request.event != "gateway.answered" or slow.is_set():
                return grant(request)
            slow.set()
            return threads.submit(granted_late, request)

        monkeypatch.setattr(running.governor._books.ledger, "submit", held_up)
        session = Raw(("127.0.0.1", running.port), first=startup(user="ann", database="postgres"))
        session.send(query("SELECT diagnosis FROM clinic.patients WHERE id = 1"))
        assert slow.wait(10)
        session.socket.close()
        gone.set()

        def outcomes() -> list[str]:
            return [entry.outcome for entry in running.ledger.entries(actor="ann")]

        wait_for(lambda: outcomes() == ["reserved", "settled"])
        assert running.exposure() > 0.0


def test_a_killed_gateway_forgets_no_answer(
    clinic: str, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed anywhere between deciding, writing and sending: what was answered is in the account, and the ledger holds."""
    from discreet.store.gateway_answers import totals

    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    answered: list[int] = []

    def ask(url: str, numbers: range) -> None:
        with contextlib.suppress(psycopg.OperationalError), connected(url) as ann:
            for number in numbers:
                ann.execute(f"SELECT count(*) FROM patients WHERE diagnosis < 'canary{number:03}'").fetchall()
                answered.append(number)

    for life in range(3):
        with gateway(clinic, tmp_path, store) as (running, url):
            asking = threading.Thread(target=ask, args=(url, range(life * 12, life * 12 + 12)))
            asking.start()
            before = len(answered)
            while asking.is_alive() and len(answered) < before + 2 + 2 * life:
                time.sleep(0.002)
            running.send_signal(signal.SIGKILL)
            running.wait(10)
            asking.join(30)
    with Ledger.open(store) as ledger:
        assert ledger.verify().holds
        with ledger.store.reading() as connection:
            (total,) = totals(connection, "postgres", "user:ann")
        assert 6 <= len(answered) <= total.used <= len(answered) + 3
        assert sum(1 for _ in ledger.entries(event="gateway.counted")) == total.used


def test_a_full_disk_gives_out_nothing(clinic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be written down is refused; the session lives, and so does what was written before."""
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    store = str(tmp_path / "store.db")
    itself = (sys.executable, "-m", "discreet")
    with gateway(clinic, tmp_path, store, program=itself) as (running, url), connected(url) as ann:
        ann.execute("SELECT diagnosis FROM patients WHERE id = 1")
        resource.prlimit(running.pid, resource.RLIMIT_FSIZE, (4096, 4096))
        for text in (
            "SELECT diagnosis FROM patients WHERE id = 2",
            "SELECT count(*) FROM patients WHERE diagnosis < 'x'",
        ):
            with pytest.raises(psycopg.errors.SystemError):
                ann.execute(text.encode())
        assert ann.execute("SELECT 7").fetchone() == (7,)
        assert ann.execute("SELECT diagnosis FROM patients WHERE id = 1").fetchone() == ("canary000",)
    assert stored(store, tmp_path) == pytest.approx(1.0)
    with gateway(clinic, tmp_path, store) as (_, url), connected(url) as ann:
        assert ann.execute("SELECT diagnosis FROM patients WHERE id = 1").fetchone() == ("canary000",)
