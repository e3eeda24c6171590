"""psycopg: sync, async, pipelines, binary, server-side cursors, COPY, notifications, cancelling."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from tests.gateway.running import Running

pytestmark = pytest.mark.postgres


@pytest.fixture
def connection(gateway: Running) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(gateway.url(), autocommit=True) as made:
        yield made


@pytest.mark.parametrize("binary", [False, True])
def test_parameters_and_types(connection: psycopg.Connection[Any], binary: bool) -> None:
    cursor = connection.cursor(binary=binary)
    values = (7, "ä", Decimal("1.50"), date(2020, 2, 3), [1, None], b"\0\xff", None, True)
    cursor.execute("SELECT %s::int, %s::text, %s::numeric, %s::date, %s::int[], %s::bytea, %s::int, %s::bool", values)
    assert cursor.fetchone() == values
    assert cursor.execute("SELECT g FROM generate_series(1, 3) g").fetchall() == [(1,), (2,), (3,)]


def test_prepared_statements(connection: psycopg.Connection[Any]) -> None:
    for n in range(12):  # from the sixth on it is prepared
        assert connection.execute("SELECT %s::int + 1", (n,)).fetchone() == (n + 1,)
    assert connection.execute("SELECT %s::int * 2", (4,), prepare=True).fetchone() == (8,)


def test_errors_leave_the_session_usable(connection: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        connection.execute("SELECT 1/0")
    with pytest.raises(psycopg.errors.UndefinedTable), connection.transaction():
        connection.execute("SELECT * FROM nothing_here")
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_many_rows_at_once(connection: psycopg.Connection[Any]) -> None:
    connection.execute("CREATE TEMP TABLE m (a int, b text)")
    cursor = connection.cursor()
    cursor.executemany("INSERT INTO m VALUES (%s, %s) RETURNING a", [(n, str(n)) for n in range(200)], returning=True)
    found = [cursor.fetchone()]
    while cursor.nextset():
        found.append(cursor.fetchone())
    assert found == [(n,) for n in range(200)]


def test_pipelines(connection: psycopg.Connection[Any]) -> None:
    with connection.pipeline() as pipeline:
        cursors = [connection.execute("SELECT %s::int", (n,)) for n in range(20)]
        pipeline.sync()
        assert [cursor.fetchone() for cursor in cursors] == [(n,) for n in range(20)]
        more = connection.execute("SELECT 'after'")
        assert more.fetchone() == ("after",)


def test_a_pipeline_with_an_error(connection: psycopg.Connection[Any]) -> None:
    def wrong() -> None:
        with connection.pipeline():
            connection.execute("SELECT 1")
            connection.execute("SELECT 1/0")
            connection.execute("SELECT 2")

    with pytest.raises(psycopg.errors.DivisionByZero):
        wrong()
    assert connection.execute("SELECT 3").fetchone() == (3,)


def test_server_side_cursors(connection: psycopg.Connection[Any]) -> None:
    with connection.transaction(), connection.cursor("portion") as cursor:
        cursor.itersize = 50
        cursor.execute("SELECT g FROM generate_series(1, 333) g")
        assert [n for (n,) in cursor] == list(range(1, 334))
        cursor.scroll(0, mode="absolute")
        assert cursor.fetchmany(2) == [(1,), (2,)]


def test_streams(connection: psycopg.Connection[Any]) -> None:
    cursor = connection.cursor()
    assert [n for (n,) in cursor.stream("SELECT generate_series(1, 500)")] == list(range(1, 501))


def test_copy_both_ways(connection: psycopg.Connection[Any]) -> None:
    connection.execute("CREATE TEMP TABLE c (a int, b text)")
    with connection.cursor() as cursor:
        with cursor.copy("COPY c FROM STDIN") as copy:
            for n in range(1000):
                copy.write_row((n, f"row {n}"))
        with cursor.copy("COPY (SELECT * FROM c ORDER BY a) TO STDOUT") as copy:
            found = list(copy.rows())
        assert found[0] == ("0", "row 0")
        assert len(found) == 1000
        with cursor.copy("COPY c TO STDOUT (FORMAT binary)") as copy:
            copy.set_types(["int4", "text"])
            assert next(iter(copy.rows())) == (0, "row 0")
            list(copy.rows())
        with pytest.raises(psycopg.errors.BadCopyFileFormat), cursor.copy("COPY c FROM STDIN") as copy:
            copy.write("not\ta\trow\n")
    assert connection.execute("SELECT count(*) FROM c").fetchone() == (1000,)


def test_notifications(connection: psycopg.Connection[Any], gateway: Running) -> None:
    connection.execute("LISTEN news")
    with psycopg.connect(gateway.url(), autocommit=True) as other:
        other.execute("NOTIFY news, 'hello'")
    assert [one.payload for one in connection.notifies(timeout=5, stop_after=1)] == ["hello"]


def test_cancelling(connection: psycopg.Connection[Any]) -> None:
    timer = threading.Timer(0.3, connection.cancel_safe)
    timer.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute("SELECT pg_sleep(20)")
    timer.join()
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_two_phases(connection: psycopg.Connection[Any]) -> None:
    connection.autocommit = False
    assert connection.execute("SELECT 1").fetchone() == (1,)
    connection.rollback()
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_async(gateway: Running) -> None:
    async def one(n: int) -> Any:
        async with await psycopg.AsyncConnection.connect(gateway.url(), autocommit=True) as connection:
            async with connection.pipeline():
                cursor = await connection.execute("SELECT %s::int, pg_sleep(0.01)", (n,))
            found = await cursor.fetchone()
            return found[0] if found else None

    async def many() -> list[Any]:
        return await asyncio.gather(*(one(n) for n in range(12)))

    assert asyncio.run(many()) == list(range(12))
