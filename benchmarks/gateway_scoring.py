"""What deciding costs: answers about a governed table, added to all that the user has seen.

Beside a gateway that only passes on and, where it is installed, pgbouncer, in the same run. Bars: a result of 100,000 rows by
10 columns at most 130 ms CPU; a one-row result that tells nothing new at most 100 microseconds longer than
directly; a simple transaction of a governed user that touches no governed table at most twice pgbouncer's CPU.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.servers import hurry, postgres_server

from benchmarks.gateway import ROUNDS, bench, bench_setup, bouncer, cpu, started
from discreet.gateway.grants import grants
from discreet.policy import Policy

ROWS = 100_000
SECONDS = 1
SETUP = f"""
CREATE TABLE people (id int PRIMARY KEY, zip text, born int, sex text, diagnosis text, income int,
  a text, b int, c numeric, d date);
INSERT INTO people SELECT g, '1' || lpad((g % 8000)::text, 4, '0'), 1930 + g % 80, CASE g % 2 WHEN 0 THEN 'F' ELSE 'M' END,
  'diagnosis ' || g % 400, 20000 + g % 90000, md5(g::text), g % 5, g::numeric / 7, date '2000-01-01' + g % 9000
  FROM generate_series(1, {ROWS}) g;
ANALYZE people;
CREATE ROLE analyst LOGIN; CREATE ROLE keeper LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO analyst;
"""
POLICY = """
[sensitivity.diagnosis]
values = { "diagnosis 7" = 1.0, "diagnosis 8" = 0.7 }
otherwise = 0.2

[sensitivity.income]
bins = [[30000, 0.1], [60000, 0.3]]
otherwise = 0.8

[misuse]
limit = 1000000.0

[gateway]
mode = "enforce"
exempt = ["postgres"]

[gateway.tables."public.people"]
key = ["id"]
quasi = ["zip", "born", "sex"]
sensitive = ["diagnosis", "income"]
"""
EVERYTHING = "SELECT * FROM people"
ONE = r"\set key random(1, 200)" + "\nSELECT zip, born, sex, diagnosis FROM people WHERE id = :key;\n"
OTHER = r"\set aid random(1, 100000)" + "\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"


@contextmanager
def governed(
    folder: Path, url: str, *, name: str = "governed", policy: str = POLICY, held: int = 512
) -> Iterator[tuple[int, int]]:
    """Port and process of a gateway that enforces."""
    (folder / "policy.toml").write_text(policy, encoding="utf-8")
    start = "from discreet.cli import main; main()"
    own = url.replace("//postgres:@", "//keeper:@").replace("//postgres@", "//keeper@")
    words = ["gateway", "--upstream", url, "--own", own, "--listen", "127.0.0.1:0", "--held", str(held)]
    store = ["--store", str(folder / f"{name}.db"), "--policy", str(folder / "policy.toml"), "--held-in-all", "1024"]
    log = folder / f"{name}.log"
    with started([sys.executable, "-u", "-c", start, *words, *store], log=log) as running:
        for _ in range(400):
            found = re.search(r"listens on [\d.]+:(\d+)", log.read_text(encoding="utf-8"))
            if found:
                break
            time.sleep(0.05)
        else:
            raise SystemExit(log.read_text(encoding="utf-8"))
        yield int(found[1]), running.pid


def big(port: int, pid: int, *, binary: bool, user: str) -> float:
    """CPU of one result of everything."""
    import psycopg

    with psycopg.connect(f"postgresql://{user}@127.0.0.1:{port}/postgres", autocommit=True) as connection:
        before = cpu(pid)
        cursor = connection.cursor(binary=binary)
        cursor.execute(EVERYTHING)
        used = cpu(pid) - before
        assert cursor.rowcount == ROWS
        return used


def threads_cpu(pid: int) -> float:
    """Seconds that all threads of a process have been on a CPU, to the nanosecond."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(one.read_text(encoding="ascii").split()[0]) for one in tasks) / 1e9


def big_results(places: dict[str, tuple[int, int, str]]) -> None:
    """100,000 by 10, in text and binary: first seen, and seen before."""
    for binary in (False, True):
        for name, (port, pid, user) in places.items():
            costs = []
            for _ in range(ROUNDS + 2):
                before = threads_cpu(pid)
                big(port, pid, binary=binary, user=user)
                time.sleep(0.2)
                costs.append(threads_cpu(pid) - before)
            kind = "binary" if binary else "text"
            print(
                f"{ROWS} x 10, {kind}, {name:20} first {costs[0] * 1e3:7.0f} ms, best {min(costs) * 1e3:7.0f} ms CPU  (bar 130)"
            )


def small_results(places: dict[str, tuple[int | str, str]], folder: Path) -> None:
    """One row of a governed table that was seen before, and of another table: how long it takes."""
    for kind, script in (("one governed row, seen before", ONE), ("one row of another table", OTHER)):
        (folder / "script.sql").write_text(script, encoding="utf-8")
        best: dict[str, float] = {}
        for number in range(ROUNDS + 1):
            for name, (port, user) in places.items():
                words = ["-M", "prepared", "-f", str(folder / "script.sql"), "-T", str(SECONDS)]
                latency = benched(port, words, user)[1]
                if number:
                    best[name] = min(best.get(name, 9e9), latency)
        floor = best["directly"]
        for name, cost in best.items():
            print(f"{kind}, {name:20}{cost * 1e3:8.0f} us   {(cost - floor) * 1e3:+6.0f} us  (bar +100)")


def benched(port: int | str, words: list[str], user: str) -> tuple[int, float]:
    """As `bench`, as somebody else."""
    os.environ["PGUSER"] = user
    return bench(port, words if user == "postgres" else [*words, "-U", user])


def transactions(places: dict[str, tuple[int, int, str]]) -> None:
    """CPU of simple transactions on tables that are not governed."""
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, (port, pid, user) in places.items():
            before = threads_cpu(pid)
            number, _ = benched(port, ["-S", "-T", str(SECONDS)], user)
            best[name] = min(best.get(name, 9e9), (threads_cpu(pid) - before) / number)
    floor = best.get("pgbouncer")
    for name, cost in best.items():
        ratio = f"{cost / floor:6.2f}x pgbouncer  (bar 2)" if floor else ""
        print(f"one select, simple, {name:20}{cost * 1e6:8.1f} us CPU per transaction {ratio}")


def new_rows(port: int) -> None:
    """What a result costs that tells something new: its entry is on the disk before the first byte goes."""
    import psycopg

    with psycopg.connect(f"postgresql://analyst@127.0.0.1:{port}/postgres", autocommit=True) as connection:
        times = []
        for key in range(50_000, 50_200):
            begin = time.perf_counter()
            connection.execute(f"SELECT zip, born, sex, diagnosis FROM people WHERE id = {key}")
            times.append(time.perf_counter() - begin)
    times.sort()
    print(f"one new row, durable entry first: median {times[100] * 1e3:.1f} ms, 99 % {times[197] * 1e3:.1f} ms")


def resident(pid: int) -> float:
    """MiB that a process holds."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
    return int(found[1]) / 1024 if found else 0.0


def server(stack: ExitStack) -> tuple[Path, str]:
    """A server with people, and a folder."""
    import psycopg

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
    (folder / "server").mkdir(mode=0o700)
    url = stack.enter_context(postgres_server(folder / "server"))
    hurry(url)
    bench_setup(url.partition("host=")[2])
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SETUP.encode())
        section = Policy.parse(POLICY).gateway
        assert section is not None
        connection.execute(grants(section.tables, ["analyst"], "keeper").encode())
    return folder, url


def main() -> None:
    """All figures."""
    with ExitStack() as stack:
        folder, url = server(stack)
        port, pid = stack.enter_context(governed(folder, url))
        words = [sys.executable, "-m", "benchmarks.gateway", "gateway", url, "open", "usual"]
        log = folder / "open.log"
        opened = stack.enter_context(started(words, log=log))
        from benchmarks.gateway import port_of

        places = {"open": (port_of(log), opened.pid, "postgres"), "governed": (port, pid, "analyst")}
        direct = url.partition("host=")[2]
        big_results(places)
        small_results(
            {"directly": (direct, "analyst"), **{name: (one[0], one[2]) for name, one in places.items()}}, folder
        )
        if found := bouncer(stack, folder, direct):
            transactions({"pgbouncer": (*found, "postgres"), **places})
        new_rows(port)


if __name__ == "__main__":
    main()
