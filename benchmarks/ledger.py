"""Figures of the ledger on SQLite and PostgreSQL: python -m benchmarks.ledger [rates] [races] [kills]

rates  durable spends per second, each of its own budget, each on the disk before it is confirmed; targets 5,000 on SQLite
       and 2,000 on PostgreSQL. Floors in the same run: bare appends of as many bytes with an fsync each, and the same
       spends one by one. Wall time, not CPU: waiting for the disk is what a group commit saves. Best of several.
races  100,000 spends of one budget by 32 clients in two processes; target: granted is exactly what it holds.
kills  1,000 kills with SIGKILL at random moments; targets: nothing lost that was confirmed, a restart within 2 s.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from benchmarks.measure import cpu_seconds

CLIENTS = 32
SPENDS = {"sqlite": 20_000, "postgresql": 10_000}
TARGETS = {"sqlite": 5_000, "postgresql": 2_000}
RUNS = 3


@contextmanager
def address(kind: str, folder: Path) -> Iterator[str]:
    """A new store of a kind."""
    os.environ["DISCREET_KEYS"] = str(folder / "keys")
    if kind == "sqlite":
        yield str(folder / "store.db")
        return
    from tests.servers import fresh_schema, postgres_server

    with postgres_server(folder / "server") as url:
        yield fresh_schema(url)


@dataclass(frozen=True, order=True)
class Rate:
    """How many a second, and the CPU microseconds of each."""

    per_second: float
    cpu: float


def rate(job: Callable[[], object], number: int) -> Rate:
    """The rate at which a job does a number of things."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    job()
    return Rate(number / (time.perf_counter() - wall), (cpu_seconds() - cpu) / number * 1e6)


def appends(folder: Path, number: int = 500) -> Rate:
    """The floor: a file that grows by the size of an entry, synced each time."""

    def append() -> None:
        with (folder / "floor").open("ab", buffering=0) as file:
            for _ in range(number):
                file.write(b"x" * 700)
                os.fsync(file.fileno())

    return rate(append, number)


def spends(url: str, number: int, clients: int) -> Rate:
    """Clients in threads; each waits for its receipt before it asks again, and no two share a budget."""
    from discreet.ledger import Ledger, Request
    from discreet.ledger.operations import Limit

    run = secrets.token_hex(4)
    with Ledger.open(url) as ledger:
        limits = [Limit(f"{run}-{place}", Fraction(1000), 1) for place in range(clients * 10)]
        wait([ledger.submit(Request.of(actor="custodian", event="ledger.budget", step=step)) for step in limits])

        def client(place: int) -> None:
            for turn in range(number // clients):
                name = f"{run}-{place + clients * (turn % 10)}"
                ledger.spend(
                    name, 1, actor=f"user{place}", event="linkage.revealed", key=f"{name}-{turn}", subject="pair:1"
                )

        def race() -> None:
            threads = [threading.Thread(target=client, args=(place,)) for place in range(clients)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        return rate(race, number)


def measure(kind: str) -> bool:
    """One kind of store: floors, then ours; says whether the target is met."""
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name, address(kind, Path(name)) as url:
        floor = max(appends(Path(name)) for _ in range(RUNS))
        single = max(spends(url, 1_000, 1) for _ in range(RUNS))
        group = max(spends(url, SPENDS[kind], CLIENTS) for _ in range(RUNS))
    print(f"{kind:34}{'per second':>12}{'CPU us each':>13}")
    print(f"{'bare append and fsync':34}{floor.per_second:12,.0f}")
    print(f"{'spends one by one':34}{single.per_second:12,.0f}{single.cpu:13,.0f}")
    print(f"{f'spends of {CLIENTS} clients, in groups':34}{group.per_second:12,.0f}{group.cpu:13,.0f}")
    met = group.per_second >= TARGETS[kind]
    print(
        f"{group.per_second / single.per_second:.1f} times one by one, {group.per_second / floor.per_second:.1f} times bare fsyncs;"
        f" target {TARGETS[kind]:,}: {'met' if met else 'NOT met'}\n"
    )
    return met


def race(kind: str) -> None:
    """Clients race for a budget that is too small for all of them."""
    from discreet.ledger import Ledger

    budget, spends = 60_001, 100_000
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name, address(kind, Path(name)) as url:
        with Ledger.open(url) as ledger:
            ledger.set_budget("prize", limit=budget, actor="custodian")
        command = [sys.executable, "-m", "tests.ledger.clients", url]
        words = [[*command, f"p{number}", str(CLIENTS // 2), str(spends // 2)] for number in (1, 2)]
        running = [subprocess.Popen(word, stdout=subprocess.PIPE, text=True) for word in words]
        granted = sum(int(process.communicate()[0]) for process in running)
        with Ledger.open(url) as ledger:
            whole = ledger.verify().holds
    print(f"{kind}: {granted:,} of {spends:,} spends granted, the budget held {budget:,}; ledger whole: {whole}")


def kill(kind: str) -> None:
    """A process that spends is killed again and again."""
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name, address(kind, Path(name)) as url:
        command = [sys.executable, "-m", "tests.ledger.killing", url, "1000", "1"]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    print(
        f"{kind}: {found['kills']:,} kills, {found['confirmed']:,} spends confirmed, {found['lost']} lost,"
        f" {found['unconfirmed']} committed unconfirmed, slowest restart {found['slowest_restart']:.2f} s,"
        f" ledger broken {found['broken']} times"
    )


FIGURES: dict[str, Callable[[str], object]] = {"rates": measure, "races": race, "kills": kill}


def main(figures: list[str] | None = None) -> None:
    """The figures that are asked for, or the rates."""
    for figure in figures or ["rates"]:
        for kind in TARGETS:
            FIGURES[figure](kind)


if __name__ == "__main__":
    main(sys.argv[1:])
