"""However many race for a budget, from however many processes, exactly what it holds is granted."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from discreet.ledger import Ledger, merkle
from tests.swift import PYTHON

pytestmark = pytest.mark.usefixtures("swift")
ROOT = Path(__file__).parents[2]


def race(url: str, *, processes: int, threads: int, spends: int) -> int:
    """Processes with threads that together ask `spends` times; gives how often it was granted."""
    command = [PYTHON, "-m", "tests.ledger.clients", url]
    running = [
        subprocess.Popen(
            [*command, f"p{number}", str(threads), str(spends // processes)], cwd=ROOT, stdout=subprocess.PIPE
        )
        for number in range(processes)
    ]
    answers = [process.communicate()[0] for process in running]
    assert all(process.returncode == 0 for process in running)
    return sum(int(answer) for answer in answers)


def check(url: str, *, budget: int, spends: int) -> None:
    with Ledger.open(url) as ledger:
        assert ledger.budget("prize").spent == budget
        entries = list(ledger.entries())
        assert [entry.sequence for entry in entries] == list(range(spends + 2))
        assert sum(entry.outcome == "done" and entry.actor == "ann" for entry in entries) == budget
        assert (
            ledger.head()["root"] == merkle.over([bytes.fromhex(entry.leaf) for entry in entries])(0, spends + 2).hex()
        )
        assert ledger.verify().holds


def run(url: str, *, budget: int, processes: int, threads: int, spends: int) -> None:
    with Ledger.open(url) as ledger:
        ledger.set_budget("prize", limit=budget, actor="custodian")
    assert race(url, processes=processes, threads=threads, spends=spends) == budget
    check(url, budget=budget, spends=spends)


def test_two_processes_with_several_clients_each(store_url: str) -> None:
    run(store_url, budget=300, processes=2, threads=4, spends=800)


@pytest.mark.slow
def test_a_hundred_thousand_spends_by_32_clients_in_two_processes(store_url: str) -> None:
    run(store_url, budget=60_001, processes=2, threads=16, spends=100_000)
