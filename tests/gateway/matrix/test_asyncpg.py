"""asyncpg: prepared statements, cursors, COPY, notifications, cancelling by a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import pytest

from tests.gateway.running import Running

pytestmark = pytest.mark.postgres


def run(gateway: Running, work: Callable[[Any], Awaitable[None]]) -> None:
    async def inside() -> None:
        connection = await asyncpg.connect(gateway.url(), ssl=False)
        try:
            await work(connection)
        finally:
            await connection.close()

    asyncio.run(inside())


def test_prepared_statements(gateway: Running) -> None:
    async def work(connection: Any) -> None:
        statement = await connection.prepare("SELECT $1::int + 1 AS n, $2::text[] AS t")
        assert [a.name for a in statement.get_attributes()] == ["n", "t"]
        for n in range(5):
            assert tuple(await statement.fetchrow(n, ["a", None])) == (n + 1, ["a", None])
        assert await connection.fetchval("SELECT count(*) FROM generate_series(1, 100)") == 100
        assert await connection.execute("SELECT 1; SELECT 2") == "SELECT 1"
        await connection.executemany("SELECT $1::int", [(n,) for n in range(50)])

    run(gateway, work)


def test_errors_and_transactions(gateway: Running) -> None:
    async def work(connection: Any) -> None:
        with pytest.raises(asyncpg.DivisionByZeroError):
            await connection.fetch("SELECT 1/$1::int", 0)
        with pytest.raises(asyncpg.UndefinedTableError):
            async with connection.transaction():
                await connection.execute("SELECT * FROM nothing_here")
        async with connection.transaction():
            assert await connection.fetchval("SELECT 1") == 1

    run(gateway, work)


def test_cursors(gateway: Running) -> None:
    async def work(connection: Any) -> None:
        async with connection.transaction():
            found = [r[0] async for r in connection.cursor("SELECT generate_series(1, 230)", prefetch=50)]
            assert found == list(range(1, 231))
            cursor = await connection.cursor("SELECT generate_series(1, 10)")
            assert [r[0] for r in await cursor.fetch(3)] == [1, 2, 3]
            assert await cursor.forward(2) == 2
            assert (await cursor.fetchrow())[0] == 6

    run(gateway, work)


def test_copy_both_ways(gateway: Running) -> None:
    async def work(connection: Any) -> None:
        await connection.execute("CREATE TEMP TABLE c (a int, b text)")
        rows = [(n, f"row {n}") for n in range(500)]
        assert await connection.copy_records_to_table("c", records=rows) == "COPY 500"
        pieces: list[bytes] = []

        async def take(data: bytes) -> None:
            pieces.append(bytes(data))

        await connection.copy_from_query("SELECT * FROM c ORDER BY a", output=take, format="csv")
        assert b"".join(pieces).splitlines()[499] == b"499,row 499"

    run(gateway, work)


def test_notifications(gateway: Running) -> None:
    async def work(connection: Any) -> None:
        heard: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        await connection.add_listener("news", lambda *told: heard.set_result(told[-1]))
        await connection.execute("NOTIFY news, 'hello'")
        assert await asyncio.wait_for(heard, 5) == "hello"
        await connection.reset()

    run(gateway, work)


def test_cancelling_by_a_time_limit(gateway: Running) -> None:
    async def work(connection: Any) -> None:
        with pytest.raises(TimeoutError):
            await connection.fetch("SELECT pg_sleep(20)", timeout=0.3)
        assert await connection.fetchval("SELECT 1") == 1

    run(gateway, work)
