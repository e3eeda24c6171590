"""Running a gateway as operators do: as a process, with a monitoring port, a log, a console, signals, two databases."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.gateway.governed import furnish
from tests.gateway.running import wait_for
from tests.servers import fresh_database

POLICY = """
[misuse]
limit = {limit}
[gateway]
mode = "shadow"
exempt = ["ben"]
[gateway.tables."clinic.patients"]
key = ["id"]
sensitive = ["diagnosis"]
"""


@dataclass
class Process:
    """A gateway in a process of its own."""

    process: subprocess.Popen[str]
    port: int
    monitoring: int
    said: list[str]

    def url(self, user: str = "ann", database: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}?connect_timeout=20"

    def got(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.monitoring}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def hears(self, words: str) -> None:
        """Read what the process says until it says this."""
        assert self.process.stderr is not None
        while words not in (line := self.process.stderr.readline()):
            assert line, self.said
            self.said.append(line)
        self.said.append(line)


@contextmanager
def begun(folder: Path, upstream: str, *words: str) -> Iterator[Process]:
    command = [sys.executable, "-m", "discreet", "gateway", "--upstream", upstream, "--listen", "127.0.0.1:0"]
    command += ["--monitoring", "127.0.0.1:0", "--store", str(folder / "store.db"), "--grace", "0.2", *words]
    environment = {**os.environ, "DISCREET_KEYS": str(folder / "keys")}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        one = Process(process, 0, 0, [])
        try:
            one.hears("Monitoring answers")
            one.monitoring = int(re.findall(r":(\d+)", one.said[-1])[-1])
            one.hears("The gateway listens")
            one.port = int(re.findall(r":(\d+)", one.said[-1])[0])
            yield one
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


@pytest.fixture(scope="module")
def clinic(postgres_url: str) -> str:
    furnish(postgres_url)
    return postgres_url


@pytest.fixture(scope="module")
def second(postgres_url: str) -> Iterator[str]:
    """Another database on the same server."""
    with fresh_database(postgres_url, name="second") as url:
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE visits (patient int, reason text); GRANT SELECT ON visits TO PUBLIC")
        yield url


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("policies")
    (folder / "clinic.toml").write_text(POLICY.format(limit=2), encoding="utf-8")
    other = POLICY.format(limit=2).replace("clinic.patients", "public.visits")
    other = other.replace('"id"', '"patient"').replace("diagnosis", "reason")
    (folder / "second.toml").write_text(other, encoding="utf-8")
    return folder / "clinic.toml", folder / "second.toml"


@pytest.fixture(scope="module")
def running(
    clinic: str, second: str, policies: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("operations")
    (folder / "own").write_text(f"{clinic}\n{second}\n", encoding="utf-8")
    words = ["--policy", str(policies[0]), "--policy", str(policies[1]), "--own-file", str(folder / "own")]
    words += ["--console", "postgres", "--log", str(folder / "log.json")]
    with begun(folder, clinic, *words) as process:
        process.said.insert(0, str(folder / "log.json"))
        yield process


def asked(url: str, text: str) -> list[Any]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(text.encode()).fetchall()


def ended(link: psycopg.Connection[Any]) -> bool:
    try:
        link.execute("SELECT 1")
    except psycopg.OperationalError:
        return True
    return False


def test_shadow_mode_says_what_enforcing_would_lack(running: Process) -> None:
    running.hears("Enforcing would be refused: ")
    running.hears("  -> ")


def test_health_readiness_and_metrics(running: Process) -> None:
    assert running.got("/healthz") == (200, "ok\n")
    assert running.got("/readyz") == (200, "ready\n")
    assert running.got("/else")[0] == 404
    assert asked(running.url(), "SELECT 7") == [(7,)]
    with psycopg.connect(running.url()):
        status, text = running.got("/metrics")
    assert status == 200
    figures = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(figures["discreet_gateway_sessions"]) >= 1
    assert int(figures['discreet_gateway_connections_total{event="login"}']) >= 2
    assert figures["discreet_gateway_holes"] == "0"
    assert int(figures["discreet_gateway_ledger_entries"]) >= 2


def test_the_log_is_json_and_holds_no_statement(running: Process) -> None:
    asked(running.url(), "SELECT 'secret value' || 1")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(running.url("nobody_of_this_name"))
    log = Path(running.said[0])
    wait_for(lambda: "login_failed" in log.read_text(encoding="utf-8"))
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    login = next(line for line in lines if line["event"] == "login" and line["user"] == "ann")
    assert (login["database"], login["governed"], login["encrypted"]) == ("postgres", True, False)
    assert {"time", "session", "address"} <= login.keys()
    assert any(line["event"] == "login_failed" and line["user"] == "nobody_of_this_name" for line in lines)
    assert any(line["event"] == "ended" and line["seconds"] >= 0 for line in lines)
    assert "secret" not in log.read_text(encoding="utf-8")


def test_two_databases_behind_one_gateway(running: Process) -> None:
    assert asked(running.url(), "SELECT current_database()") == [("postgres",)]
    assert asked(running.url(database="second"), "SELECT current_database()") == [("second",)]
    with pytest.raises(psycopg.Error, match="does not govern that database"):
        asked(running.url(database="template1"), "SELECT 1")
    assert asked(running.url("ben", "template1"), "SELECT 1") == [(1,)]  # exempt in both


def test_the_console_is_for_administrators(running: Process) -> None:
    with pytest.raises(psycopg.OperationalError, match="console of the gateway's administrators"):
        psycopg.connect(running.url("ann", "discreet"))
    with (
        psycopg.connect(running.url("ann")),
        psycopg.connect(running.url("postgres", "discreet"), autocommit=True) as link,
    ):
        sessions = link.execute("show  sessions;").fetchall()
        assert [row[:2] for row in sessions if row[0] == "ann"] == [("ann", "postgres")]
        assert {"RELOAD", "DRAIN", "SHOW ACCOUNTS"} <= {name for (name,) in link.execute("SHOW HELP").fetchall()}
        accounts = link.execute("SHOW ACCOUNTS").fetchall()
        assert next(row[:2] for row in accounts if row[1] == "ann") == ("postgres", "ann")
        assert link.execute("SHOW HOLES").fetchall() == []
        assert dict(link.execute("SHOW EVENTS").fetchall())["login"]
        with pytest.raises(psycopg.errors.SyntaxError, match="does not know"):
            link.execute("SELECT 1")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            link.execute("SHOW SESSIONS", binary=True)
        assert link.execute("SHOW EVENTS").rowcount


def test_a_signal_reads_the_policy_again(running: Process, policies: tuple[Path, Path]) -> None:
    with psycopg.connect(running.url(), autocommit=True) as before:
        assert before.execute("SELECT 1").fetchone() == (1,)
        policies[0].write_text("[misuse", encoding="utf-8")
        running.process.send_signal(signal.SIGHUP)
        running.hears("Not reloaded")
        assert asked(running.url(), "SELECT 1") == [(1,)]
        policies[0].write_text(POLICY.format(limit=3).replace('["ben"]', '["ben", "eve"]'), encoding="utf-8")
        running.process.send_signal(signal.SIGHUP)
        running.hears("read its policies")
        assert before.execute("SELECT 1").fetchone() == (1,)
    with (
        psycopg.connect(running.url("eve")),
        psycopg.connect(running.url("postgres", "discreet"), autocommit=True) as link,
    ):
        governed = {row[0]: row[5] for row in link.execute("SHOW SESSIONS").fetchall()}
        assert governed["eve"] == "False"
        link.execute("RELOAD")


@pytest.mark.slow
def test_a_locked_store_keeps_nobody_waiting_at_the_door(
    clinic: str, policies: tuple[Path, Path], tmp_path: Path
) -> None:
    with begun(tmp_path, clinic, "--policy", str(policies[0]), "--own", clinic) as running:
        locked = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
        try:
            locked.execute("BEGIN IMMEDIATE")
            began = time.monotonic()
            with psycopg.connect(running.url(), autocommit=True):
                assert time.monotonic() - began < 15
        finally:
            locked.execute("ROLLBACK")
            locked.close()
        assert asked(running.url(), "SELECT 1") == [(1,)]


def test_draining_ends_sessions_as_they_fall_idle(clinic: str, tmp_path: Path) -> None:
    with begun(tmp_path, clinic, "--console", "postgres") as running, psycopg.connect(running.url()) as busy:
        busy.execute("SELECT 1")  # in a transaction
        idle = psycopg.connect(running.url("postgres", "postgres"), autocommit=True)
        asked(running.url("postgres", "discreet"), "SHOW HELP")
        with psycopg.connect(running.url("postgres", "discreet"), autocommit=True) as link:
            link.execute("DRAIN")
        wait_for(lambda: running.got("/readyz")[0] == 503)
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(running.url())
        wait_for(lambda: ended(idle))
        assert busy.execute("SELECT 2").fetchone() == (2,)
