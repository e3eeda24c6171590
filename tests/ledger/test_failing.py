"""If the nth write fails, for every n: no half state, and nothing is disclosed without its entry."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

from discreet.errors import DiscreetError, StoreError
from discreet.ledger import Ledger, Receipt
from tests.swift import PYTHON

pytestmark = pytest.mark.usefixtures("swift")
ROOT = Path(__file__).parents[2]
WHO = {"actor": "ann", "event": "gateway.answered"}


@dataclass
class Faults:
    """Makes calls to the database fail where SQLAlchemy meets the driver: statements and commits alike."""

    ledger: Ledger
    first: int
    """The number of the first call that fails."""
    lasting: bool
    """Do all calls after it fail, too?"""
    late: bool
    """Does the call do its work, and only its answer gets lost?"""
    calls: int = 0
    log: list[str] = field(default_factory=list)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> Faults:
        dialect = self.ledger.store.engine.dialect
        for name in ("do_execute", "do_executemany", "do_execute_no_params", "do_commit"):
            monkeypatch.setattr(dialect, name, self._failing(getattr(dialect, name), name))
        return self

    def _failing(self, call: Callable[..., Any], name: str) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            self.calls += 1
            fails = self.calls == self.first or (self.lasting and self.calls > self.first)
            if fails and not self.late:
                raise self._error()
            answer = call(*arguments, **options)
            if fails:
                raise self._error()
            return answer

        return wrapped

    def _error(self) -> Exception:
        if self.ledger.store.address.embedded:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorname = "SQLITE_IOERR"
            return error
        return psycopg.OperationalError("server closed the connection unexpectedly")


def scenario(ledger: Ledger, name: str, sent: list[Receipt]) -> None:
    """All that a ledger is asked for; what a room sends is remembered."""
    asked = {**WHO, "subject": name}
    steps: list[Callable[[], object]] = [
        lambda: ledger.set_budget(name, limit=10, actor="custodian", key=f"{name} limit"),
        lambda: ledger.disclose(sent.append, budget=name, cost=4, key=f"{name} spend", **asked),
        lambda: ledger.disclose(sent.append, budget=name, cost=40, key=f"{name} too much", **asked),
        lambda: ledger.settle(ledger.reserve(name, 3, key=f"{name} reserve", **asked).require(), 2),
        lambda: ledger.disclose(sent.append, key=f"{name} free", **asked),
    ]
    for step in steps:
        with suppress(DiscreetError):
            step()


def check(ledger: Ledger, name: str, sent: list[Receipt]) -> None:
    """Nothing was sent without an entry; who asks again with the same keys gets everything, once."""
    granted = {entry.key for entry in ledger.entries(subject=name) if entry.outcome == "done"}
    assert {receipt.entry.key for receipt in sent} <= granted
    again: list[Receipt] = []
    scenario(ledger, name, again)
    assert [receipt.entry.key for receipt in again] == [f"{name} spend", f"{name} free"]
    budget = ledger.budget(name)
    assert (budget.spent, budget.reserved, budget.limit) == (6, 0, 10)
    outcomes = [entry.outcome for entry in ledger.entries(subject=name)]
    assert sorted(outcomes) == ["done", "done", "refused", "reserved", "settled"]


def calls_of(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many calls to the database the scenario makes."""
    with monkeypatch.context() as patch:
        faults = Faults(ledger, first=0, lasting=False, late=False).install(patch)
        scenario(ledger, "untroubled", [])
    check(ledger, "untroubled", [])
    return faults.calls


@pytest.mark.parametrize("late", [False, True], ids=["fails", "answer lost"])
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
def test_the_nth_write_fails_for_every_n(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, lasting: bool, late: bool
) -> None:
    calls, failed = calls_of(ledger, monkeypatch), 0
    assert calls > 40
    for number in range(1, calls + 1):
        sent: list[Receipt] = []
        with monkeypatch.context() as patch:
            Faults(ledger, first=number, lasting=lasting, late=late).install(patch)
            scenario(ledger, f"{number}", sent)
        failed += len(sent) < 2
        check(ledger, f"{number}", sent)
    assert failed or not lasting
    assert ledger.verify().holds  # also: every budget is exactly what the entries make of it


@pytest.mark.postgres
def test_a_connection_that_is_really_cut_is_made_anew_and_nothing_is_spent_twice(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.servers import fresh_schema

    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    cut = text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE '%ledger_%'"
    )
    with Ledger.open(fresh_schema(postgres_url)) as ledger:
        ledger.set_budget("ann", limit=1000, actor="custodian")
        for number in range(20):
            with psycopg.connect(postgres_url, autocommit=True) as other:
                other.execute(str(cut))
            assert ledger.spend("ann", 1, key=f"{number}", **WHO).granted
        assert ledger.budget("ann").spent == 20
        assert ledger.verify().holds


LIMITED = """
import json, resource, signal, sys
from discreet.errors import StoreError
from discreet.ledger import Ledger
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write past the limit fails, as on a full disk
sent, refused = [], 0
ledger = Ledger.open(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
for number in range(30):
    try:
        ledger.disclose(lambda receipt: sent.append(receipt.entry.key), budget="ann", cost=1, key=f"{number}",
                        actor="ann", event="linkage.revealed", subject="x" * 400)
    except StoreError:
        refused += 1
print(json.dumps([sent, refused]))
"""


def test_a_disk_that_fills_up_anywhere_loses_nothing_and_discloses_nothing_without_an_entry(tmp_path: Path) -> None:
    """Real writes to a real file fail from some byte on, for many such bytes."""
    with Ledger.open(tmp_path / "start.db") as ledger:
        ledger.set_budget("ann", limit=1000, actor="custodian")
    refusals = 0
    for limit in range(4_000, 400_000, 80_000):
        place = tmp_path / f"{limit}.db"
        for end in ("", ".keys"):
            place.with_name(place.name + end).write_bytes((tmp_path / f"start.db{end}").read_bytes())
            place.with_name(place.name + end).chmod(0o600)
        command = [PYTHON, "-c", LIMITED, str(place), str(limit)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        sent, refused = json.loads(done.stdout)
        assert len(sent) + refused == 30
        refusals += refused
        with Ledger.open(place) as ledger:
            assert {entry.key for entry in ledger.entries(actor="ann")} >= set(sent)
            assert ledger.verify().holds
    assert refusals


def test_no_ledger_no_answer(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger.open(store_url) as ledger, monkeypatch.context() as patch:
        Faults(ledger, first=1, lasting=True, late=False).install(patch)
        with pytest.raises(StoreError):
            ledger.disclose(lambda _: pytest.fail("sent"), key="k", actor="ann", event="web.shown")
