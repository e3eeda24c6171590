"""Kills a process that spends, again and again: python -m tests.ledger.killing URL KILLS SEED

Each round forks a child that opens the store, spends from several threads, and tells on a pipe what was confirmed.
It is killed with SIGKILL at a random moment. Then the store is opened again, as after any restart: everything that was
confirmed must be there. Prints what was found as JSON.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from discreet.ledger import Ledger

THREADS = 4
CHECK_EVERY = 50


@dataclass
class Found:
    """What the rounds have shown."""

    kills: int = 0
    confirmed: int = 0
    lost: int = 0
    unconfirmed: int = 0
    """Entries that were committed although nobody was told any more."""
    slowest_restart: float = 0.0
    broken: int = 0
    """Times that the verifier found something."""


def spend(url: str, name: str, pipe: int) -> None:
    """What the child does until it is killed."""
    ledger = Ledger.open(url)

    def client(number: int) -> None:
        turn = 0
        while True:
            key = f"{name}-{number}-{turn}"
            ledger.spend("budget", 1, actor="ann", event="linkage.revealed", key=key, subject=name)
            os.write(pipe, f"{key}\n".encode())
            turn += 1

    for number in range(THREADS):
        threading.Thread(target=client, args=(number,)).start()


def one_round(url: str, name: str, patience: float, *, early: bool) -> list[str]:
    """Fork, wait, kill; gives the keys that were confirmed. Unless early, time runs from the first of them on."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        spend(url, name, writing)
        threading.Event().wait()
    os.close(writing)
    said = bytearray()
    if not early:
        said += os.read(reading, 65536)
    end = time.monotonic() + patience
    while (rest := end - time.monotonic()) > 0:
        if select.select([reading], [], [], rest)[0]:
            said += os.read(reading, 65536)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(reading, 65536):
        said += more
    os.close(reading)
    return said.decode().splitlines()


def restart(url: str, name: str, confirmed: list[str], found: Found, *, whole: bool) -> None:
    """Open the store as after any crash, and look what is there."""
    start = time.monotonic()
    with Ledger.open(url) as ledger:
        ledger.record(actor="custodian", event="web.shown", subject="restart")
        found.slowest_restart = max(found.slowest_restart, time.monotonic() - start)
        there = {entry.key for entry in ledger.entries(subject=name)}
        found.lost += len(set(confirmed) - there)
        found.unconfirmed += len(there - set(confirmed))
        found.broken += not ledger.verify().holds if whole else 0


def main(words: Sequence[str]) -> None:
    """Kill as often as asked, and print what was found."""
    url, kills, seed = words[0], int(words[1]), int(words[2])
    rng = random.Random(seed)
    with Ledger.open(url) as ledger:
        ledger.set_budget("budget", limit=10**12, actor="custodian")
    found = Found()
    for number in range(kills):
        early = number % 5 == 0  # also while the store is being opened
        confirmed = one_round(url, f"r{number}", rng.uniform(0, 0.06), early=early)
        found.kills += 1
        found.confirmed += len(confirmed)
        restart(url, f"r{number}", confirmed, found, whole=number % CHECK_EVERY == 0 or number == kills - 1)
    json.dump(asdict(found), sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
