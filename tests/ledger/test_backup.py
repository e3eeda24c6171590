"""Backup and restore: whole or not there, whatever stops them; what comes back is what was written."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from discreet.errors import IntegrityError, UsageError
from discreet.ledger import Ledger
from discreet.ledger import backup as backups
from discreet.ledger.backup import back_up, read_backup, restore, verify_backup
from discreet.store import Store
from discreet.store.tables import metadata
from tests.servers import fresh_schema


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for a store; its keys are beside it."""
    monkeypatch.delenv("DISCREET_KEYS", raising=False)
    return tmp_path


def furnish(ledger: Ledger, data: Path) -> None:
    """A ledger with a budget, and files of uploads."""
    ledger.set_budget("ann", limit=1_000, actor="custodian")
    for number in range(40):
        ledger.spend("ann", 2, actor="ann", event="linkage.revealed", key=str(number), subject=f"pair:{number}")
    (data / "x").mkdir(parents=True)
    for number in range(3):
        (data / "x" / f"upload-{number}.csv").write_text(f"a,b\n{number},2\n" * 1_000, encoding="utf-8")


def rows(address: str) -> dict[str, list[Any]]:
    store = Store.open(address, create=False)
    try:
        with store.reading() as connection:
            return {
                table.name: sorted(map(repr, connection.execute(select(table)))) for table in metadata.sorted_tables
            }
    finally:
        store.close()


def texts(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_what_comes_back_is_what_was_there(place: Path) -> None:
    address, data = str(place / "store.db"), place / "data"
    with Ledger.open(address) as ledger:
        furnish(ledger, data)
        head = ledger.head()
        made = back_up(address, place / "kept", data=data)
    verify_backup(made, heads=[head])
    assert (made.entries, made.missing) == (42, ())
    there = place / "elsewhere"
    restore(made, str(there / "store.db"), data=there / "data")
    assert rows(str(there / "store.db")) == rows(address)
    assert texts(there / "data") == texts(data)
    with Ledger.open(there / "store.db") as again:
        assert again.verify(heads=[head]).holds
        assert again.spend("ann", 2, actor="ann", event="linkage.revealed", key="3", subject="pair:3").sequence == 5
        assert again.budget("ann").spent == 80


@pytest.mark.postgres
def test_between_kinds_of_stores(place: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From PostgreSQL into a file and back into another PostgreSQL; numbers go on where they were."""
    monkeypatch.setenv("DISCREET_KEYS", str(place / "keys"))
    first, second = fresh_schema(postgres_url), fresh_schema(postgres_url)
    with Ledger.open(first) as ledger:
        furnish(ledger, place / "data")
        made = back_up(first, place / "kept", data=place / "data")
    restore(made, second, data=place / "there")
    assert rows(second) == rows(first)
    with pytest.raises(UsageError, match="not empty"):
        restore(made, second, data=place / "there")
    restore(made, str(place / "store.db"), data=place / "there")
    assert rows(str(place / "store.db")) == rows(first)


def test_while_a_program_goes_on_writing(place: Path) -> None:
    """Files that a row of the moment names are in the backup, and the head fits."""
    address, data, stopping = str(place / "store.db"), place / "data", threading.Event()
    with Ledger.open(address) as ledger:
        furnish(ledger, data)

        def work() -> None:
            number = 0
            while not stopping.is_set():
                (data / "x" / f"late-{number}").write_text("x")
                ledger.record(actor="ann", event="web.dataset", subject=f"late-{number}")
                number += 1

        thread = threading.Thread(target=work)
        thread.start()
        try:
            made = [back_up(address, place / f"kept{number}", data=data) for number in range(3)]
        finally:
            stopping.set()
            thread.join()
    for one in made:
        verify_backup(one)
        copied = shutil.copy(one.folder / "store.db", place / f"{one.folder.name}.db")
        with Store.open(copied) as store, store.reading() as connection:
            table = metadata.tables["ledger_entry"]
            subjects = connection.execute(select(table.c.subject).where(table.c.event == "web.dataset")).scalars().all()
        assert all(f"data/x/{subject}" in one.files for subject in subjects)


def killed_at(step: int, work: Any) -> bool:
    """Do it in a process that is killed before this file operation; False if it ended before."""
    child = os.fork()
    if child == 0:
        left = [step]

        def counted(real: Any) -> Any:
            def call(*args: Any, **options: Any) -> Any:
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*args, **options)

            return call

        try:
            backups.shutil.copyfile = counted(shutil.copyfile)  # type: ignore[assignment]
            Path.rename = counted(Path.rename)  # type: ignore[method-assign]
            Path.mkdir = counted(Path.mkdir)  # type: ignore[method-assign]
            backups._sync = counted(backups._sync)
            backups._copy_rows = counted(backups._copy_rows)
            work()
        except BaseException:
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, status
    return os.WIFSIGNALED(status)


def test_killed_at_every_step_there_is_a_whole_backup_or_none(place: Path) -> None:
    address, data = str(place / "store.db"), place / "data"
    with Ledger.open(address) as ledger:
        furnish(ledger, data)
    step = 0
    while killed_at(step, lambda: back_up(address, place / "kept", data=data)):
        if (place / "kept").exists():
            verify_backup(read_backup(place / "kept"))
            shutil.rmtree(place / "kept")
        step += 1
    assert step >= 10, "it was killed at many steps"
    verify_backup(read_backup(place / "kept"))
    assert not (place / "kept.partial").exists()


def test_killed_at_every_step_there_is_a_whole_store_or_none(place: Path) -> None:
    address, data = str(place / "store.db"), place / "data"
    with Ledger.open(address) as ledger:
        furnish(ledger, data)
    made, there, step = back_up(address, place / "kept", data=data), place / "there", 0
    while killed_at(step, lambda: restore(made, str(there / "store.db"), data=there / "data")):
        if (there / "store.db").exists():
            break
        step += 1
    assert step >= 8, "it was killed at many steps, and went on where it was"
    assert rows(str(there / "store.db")) == rows(address)
    assert texts(there / "data") == texts(data)
    with Ledger.open(there / "store.db") as again:
        assert again.verify().holds


def test_whatever_was_changed_is_found(place: Path) -> None:
    """Each file changed or removed, the head of another moment, a path that leads out."""
    address, data = str(place / "store.db"), place / "data"
    with Ledger.open(address) as ledger:
        furnish(ledger, data)
        made = back_up(address, place / "kept", data=data)
        ledger.record(actor="ann", event="web.shown")
        later = ledger.head()
    for name in made.files:
        path = made.folder / name
        content = path.read_bytes()
        for bad in (content[:-1] + bytes([content[-1] ^ 1]), content[:-1]):
            path.write_bytes(bad)
            with pytest.raises(IntegrityError):
                verify_backup(made)
        path.unlink()
        with pytest.raises(IntegrityError):
            verify_backup(made)
        path.write_bytes(content)
        path.chmod(0o600)
    verify_backup(made)
    with pytest.raises(IntegrityError):
        verify_backup(made, heads=[later])  # an older state than what was saved elsewhere
    manifest = json.loads((made.folder / "backup.json").read_text())
    for change in (
        {"head": {**manifest["head"], "root": "0" * 64}},
        {"files": {**manifest["files"], "../store.db": "0"}},
    ):
        (made.folder / "backup.json").write_text(json.dumps({**manifest, **change}))
        with pytest.raises(IntegrityError):
            verify_backup(read_backup(made.folder))


def test_nothing_is_replaced(place: Path) -> None:
    address, data = str(place / "store.db"), place / "data"
    with Ledger.open(address) as ledger:
        furnish(ledger, data)
    made = back_up(address, place / "kept", data=data, with_keys=False)
    assert "keys.json" not in made.files
    with pytest.raises(UsageError, match="exists already"):
        back_up(address, place / "kept", data=data)
    with pytest.raises(UsageError, match="a store at"):
        restore(made, address, data=place / "other")
    with pytest.raises(UsageError, match="without its keys"):
        restore(made, str(place / "b" / "store.db"), data=place / "other")
    (data / "x" / "upload-0.csv").write_text("another")
    shutil.copy(place / "store.db.keys", place / "new.db.keys")
    with pytest.raises(UsageError, match="another file"):
        restore(made, str(place / "new.db"), data=data)
    assert not (place / "new.db").exists()
    with pytest.raises(UsageError, match="not a backup"):
        read_backup(place)
