"""A store keeps its word on both databases: all or nothing, one writer at a time, readers see one state."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert, select, text

from discreet.store import Store
from discreet.store.tables.ledger import BUDGET

ROW = {"name": "a", "parts": 1, "allowed": 1, "spent": 0, "reserved": 0, "version": 1}


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with Store.open(store_url) as store:
        yield store


def names(store: Store) -> list[str]:
    with store.reading() as connection:
        return list(connection.execute(select(BUDGET.c.name)).scalars())


def test_what_was_written_is_there_after_opening_again(store: Store, store_url: str) -> None:
    with store.writing() as connection:
        connection.execute(insert(BUDGET), [ROW])
    store.close()
    with Store.open(store_url) as again:
        assert names(again) == ["a"]


def write_and_fail(store: Store) -> None:
    with store.writing() as connection:
        connection.execute(insert(BUDGET), [ROW])
        raise ZeroDivisionError


def test_an_error_leaves_no_trace(store: Store) -> None:
    with pytest.raises(ZeroDivisionError):
        write_and_fail(store)
    assert names(store) == []
    store.close()


def test_a_reader_sees_one_state_while_others_write(store: Store) -> None:
    with store.reading() as reader:
        assert reader.execute(select(BUDGET)).all() == []
        with store.writing() as writer:
            writer.execute(insert(BUDGET), [ROW])
        assert reader.execute(select(BUDGET)).all() == []
    assert names(store) == ["a"]
    store.close()


def test_a_reader_cannot_write_on_postgresql_and_files_are_the_owners(store: Store) -> None:
    if store.address.path is None:
        with pytest.raises(Exception, match="cannot be written"), store.reading() as connection:
            connection.execute(insert(BUDGET), [ROW])
    else:
        for file in store.address.path.parent.glob("store.db*"):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    store.close()


def test_writers_take_turns(store: Store) -> None:
    with store.writing() as connection:
        connection.execute(insert(BUDGET), [ROW | {"allowed": 1000}])

    def add() -> None:
        for _ in range(20):
            with store.writing() as connection:
                found = connection.execute(select(BUDGET.c.spent).with_for_update()).scalar_one()
                connection.execute(BUDGET.update().values(spent=found + 1))

    threads = [threading.Thread(target=add) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.reading() as connection:
        assert connection.execute(select(BUDGET.c.spent)).scalar() == 100
    store.close()


def test_a_commit_is_durable(store: Store) -> None:
    with store.reading() as connection:
        if store.address.embedded:
            assert connection.execute(text("PRAGMA synchronous")).scalar() == 2
            assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        else:
            assert connection.execute(text("SHOW synchronous_commit")).scalar() == "on"
    store.close()


@pytest.mark.postgres
def test_durability_is_turned_on_where_the_server_has_it_off(postgres_url: str) -> None:
    from tests.servers import fresh_schema

    url = fresh_schema(postgres_url) + "%20-csynchronous_commit%3Doff"
    with Store.open(url) as store, store.reading() as connection:
        assert connection.execute(text("SHOW synchronous_commit")).scalar() == "on"


def test_the_folder_is_made_and_the_umask_does_not_matter(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Store.open(tmp_path / "deep" / "er" / "store.db").close()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "deep" / "er" / "store.db").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "deep" / "er").stat().st_mode) == 0o700
