"""Clients that race for one budget, as a process of their own: python -m tests.ledger.clients URL NAME THREADS SPENDS"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence

from discreet.ledger import Ledger


def race(url: str, name: str, threads: int, spends: int) -> int:
    """Let threads spend one each, `spends` times together; gives how often that was granted."""
    granted = [0] * threads

    with Ledger.open(url) as ledger:

        def client(number: int) -> None:
            for turn in range(number, spends, threads):
                key = f"{name}-{turn}"
                receipt = ledger.spend("prize", 1, actor="ann", event="linkage.revealed", key=key)
                granted[number] += receipt.granted

        running = [threading.Thread(target=client, args=(number,)) for number in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    return sum(granted)


def main(words: Sequence[str]) -> None:
    """Race, and print how often it was granted."""
    url, name, threads, spends = words
    sys.stdout.write(f"{race(url, name, int(threads), int(spends))}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
