"""Kills a process that opens cells, again and again: python -m tests.linkage.killing URL PROJECT KILLS SEED

Each round forks a child that reveals from several threads and tells on a pipe what it was shown. It is killed with SIGKILL
at a random moment. Then the store is opened again: everything that was shown must be charged and written down, and
budgets, counters and cells must say the same. Prints what was found as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Sequence

from discreet.errors import Refused
from discreet.ledger import Ledger
from discreet.linkage.project import find_project
from discreet.linkage.review import reveal
from discreet.store.tables.linkage import ASSIGNMENT, CELL
from tests.linkage.review.test_reveal import consistent, rows

THREADS = 3


def work(url: str, name: str, pipe: int, seed: int) -> None:
    """What the child does until it is killed."""
    ledger = Ledger.open(url)
    project = find_project(ledger.store, name)
    pairs = sorted({row.pair for row in rows(ledger, ASSIGNMENT) if row.worker == "ann"})

    def client(number: int) -> None:
        rng = random.Random(f"{seed}-{number}")
        turn = 0
        while True:
            turn += 1
            pair, attribute = rng.choice(pairs), rng.choice(project.attributes)
            try:
                shown = reveal.reveal(ledger, project, "ann", pair, attribute, key=f"{seed}-{number}-{turn}")
            except Refused:
                continue
            os.write(pipe, f"{pair} {attribute} {shown.cell(attribute).mode}\n".encode())

    for number in range(THREADS):
        threading.Thread(target=client, args=(number,)).start()


def one_round(url: str, name: str, seed: int, patience: float) -> set[tuple[str, str, str]]:
    """Fork, wait, kill; gives what was shown."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        work(url, name, writing, seed)
        threading.Event().wait()
    os.close(writing)
    said = bytearray(os.read(reading, 65536))
    time.sleep(patience)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(reading, 65536):
        said += more
    os.close(reading)
    lines = said.decode().splitlines()
    return {(pair, attribute, mode) for pair, attribute, mode in (line.split() for line in lines)}


def main(words: Sequence[str]) -> None:
    """Kill as often as asked, and print what was found."""
    url, name, kills, seed = words[0], words[1], int(words[2]), int(words[3])
    found = {"kills": 0, "shown": 0, "not charged": 0, "inconsistent": 0}
    rng = random.Random(seed)
    for number in range(kills):
        shown = one_round(url, name, number, rng.uniform(0, 0.03))
        with Ledger.open(url) as ledger:
            project = find_project(ledger.store, name)
            pair_of = {row.id: row.pair for row in rows(ledger, ASSIGNMENT)}
            written = {(str(pair_of[row.assignment]), row.attribute, row.mode) for row in rows(ledger, CELL)}
            found["kills"] += 1
            found["shown"] += len(shown)
            found["not charged"] += len({one for one in shown if one[2] != "masked"} - written)
            found["inconsistent"] += not (consistent(ledger, project, "ann") and ledger.verify().holds)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
