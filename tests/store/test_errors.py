"""What goes wrong with databases is said in words, with a remedy and an exit code, on the real thing."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from sqlalchemy import insert, text

from discreet.errors import (
    IntegrityError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnreachable,
)
from discreet.store import Store
from discreet.store import connection as store_connection
from discreet.store.tables.ledger import BUDGET
from tests.servers import free_port, fresh_schema

ROW = {"name": "a", "parts": 1, "allowed": 1, "spent": 0, "reserved": 0, "version": 1}


def write_something(store: Store) -> None:
    with store.writing() as connection:
        connection.execute(insert(BUDGET), [ROW])


def test_every_branch_has_its_exit_code_and_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable) as caught:
        Store.open(tmp_path / "none.db", create=False)
    assert caught.value.exit_code == 69
    assert "--store" in caught.value.remedy


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable):
        Store.open(tmp_path)


def test_a_file_in_the_way_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnreachable):
        Store.open(tmp_path / "file" / "store.db")


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_text("Zaphod " * 1000)
    with pytest.raises(IntegrityError, match="not a SQLite file") as caught:
        Store.open(tmp_path / "store.db")
    assert "Zaphod" not in str(caught.value)


def fill(store: Store) -> None:
    with store.writing() as connection:
        connection.execute(text("PRAGMA max_page_count = 1"))  # SQLite rounds this up to what there is
        connection.execute(insert(BUDGET), [ROW | {"name": f"{number}" * 500} for number in range(500)])


def test_a_full_disk(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store, pytest.raises(StoreFull, match="full"):
        fill(store)


def test_a_lock_that_is_not_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        store_connection, "SQLITE_PRAGMAS", ("PRAGMA busy_timeout = 50", *store_connection.SQLITE_PRAGMAS[1:])
    )
    with Store.open(tmp_path / "store.db") as store:
        other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="locked"):
            write_something(store)
        other.execute("ROLLBACK")
        other.close()
        write_something(store)


READ_ONLY = """
import os, sys
from discreet.errors import StoreError
from discreet.store import Store
from tests.store.test_errors import write_something
if os.getuid() == 0: os.setuid(65534)
try:
    with Store.open(sys.argv[1]) as store: write_something(store)
except StoreError as error:
    print(type(error).__name__, error.remedy)
"""


def test_a_store_that_may_only_be_read() -> None:
    """As another user where this runs as root, who may write everywhere."""
    with tempfile.TemporaryDirectory(prefix="discreet-tests-") as name:
        folder = Path(name)
        Store.open(folder / "store.db").close()
        (folder / "store.db").chmod(0o444)
        folder.chmod(0o555)
        command = [sys.executable, "-c", READ_ONLY, str(folder / "store.db")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        folder.chmod(0o755)
    assert done.stdout.startswith(("StoreReadOnly", "StoreUnreachable")), done.stderr


def test_no_server() -> None:
    with pytest.raises(StoreUnreachable, match="cannot be reached") as caught:
        Store.open(f"postgresql://ann:geheim@127.0.0.1:{free_port()}/db")
    assert "geheim" not in str(caught.value)


@pytest.mark.postgres
def test_no_such_database(postgres_url: str) -> None:
    with pytest.raises(StoreUnreachable):
        Store.open(
            postgres_url.replace("/postgres?", "/nowhere?") if "?" in postgres_url else f"{postgres_url}_nowhere"
        )


@pytest.mark.postgres
def test_a_server_that_may_only_be_read(postgres_url: str) -> None:
    url = fresh_schema(postgres_url)
    Store.open(url).close()
    with Store.open(f"{url}%20-cdefault_transaction_read_only%3Don") as store, pytest.raises(StoreReadOnly):
        write_something(store)


@pytest.mark.postgres
def test_a_lock_on_the_server_that_is_not_given_back(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = fresh_schema(postgres_url)
    monkeypatch.setattr(store_connection, "POSTGRES_SETTINGS", ("SET lock_timeout = '50ms'",))
    with Store.open(url) as one, Store.open(url) as two, one.writing() as connection:
        connection.execute(text("LOCK TABLE ledger_budget"))
        with pytest.raises(StoreBusy):
            write_something(two)


@pytest.mark.postgres
def test_a_connection_that_breaks(postgres_url: str) -> None:
    with Store.open(fresh_schema(postgres_url)) as store:
        with pytest.raises(StoreUnreachable), store.writing() as connection:
            connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
        write_something(store)


def test_a_rule_of_the_tables_is_an_integrity_failure(store_url: str) -> None:
    with Store.open(store_url) as store, pytest.raises(IntegrityError), store.writing() as connection:
        connection.execute(insert(BUDGET), [ROW | {"spent": 2}])


def test_the_ledger_table_is_append_only(store_url: str) -> None:
    from discreet.ledger import Ledger

    with Ledger.open(store_url) as ledger:
        for statement in ("UPDATE ledger_entry SET actor = 'x'", "DELETE FROM ledger_entry"):
            with pytest.raises((StoreError, IntegrityError)), ledger.store.writing() as connection:
                connection.execute(text(statement))
