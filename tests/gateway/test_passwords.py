"""Passwords and TLS: between client and server, end to end, with the gateway in the middle."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import asyncpg
import pg8000.native
import psycopg
import pytest

from discreet.errors import UsageError
from discreet.gateway import Open, Settings, Upstream, parse_upstream
from discreet.gateway.net.transport import upstream_context
from discreet.gateway.protocol.login import TLS_REQUEST, read_secrets, secret
from tests.conftest import scratch
from tests.gateway.guarded import PASSWORD, encrypted_server, password_server
from tests.gateway.raw import Raw, query, rows, startup
from tests.gateway.running import Running
from tests.gateway.watching import By, Slowly

pytestmark = pytest.mark.postgres
Pair = tuple[Path, Path]
Begin = Callable[..., Running]


@pytest.fixture(scope="module")
def guarded() -> Iterator[Upstream]:
    with scratch() as folder, password_server(folder) as url:
        yield parse_upstream(url)


@pytest.fixture(scope="module")
def encrypted(other_certificate: Pair) -> Iterator[Upstream]:
    """A real server with TLS and a certificate of its own."""
    with scratch() as folder, encrypted_server(folder, other_certificate) as port:
        yield Upstream("localhost", port, upstream_context("verify-full", other_certificate[0]))


@pytest.fixture
def begin() -> Iterator[Begin]:
    with ExitStack() as stack:

        def run(upstream: Upstream, certificate: Pair | None = None, **more: Any) -> Running:
            shown = {"certificate": certificate[0], "key": certificate[1]} if certificate else {}
            return stack.enter_context(Running(Settings(upstream, grace=0.2, **shown, **more)))

        yield run


def connect(running: Running, user: str, password: str = PASSWORD, **more: Any) -> psycopg.Connection[Any]:
    return psycopg.connect(
        host="localhost", port=running.port, user=user, password=password, dbname="postgres", connect_timeout=10, **more
    )


@pytest.mark.parametrize("user", ["scrammer", "md5er", "clear"])
@pytest.mark.parametrize("judge", [Open(), By(Slowly)], ids=["open", "slow"])
def test_passwords_pass_through(guarded: Upstream, begin: Begin, user: str, judge: Any) -> None:
    running = begin(guarded, judge=judge)
    with connect(running, user) as connection:
        assert connection.execute("SELECT current_user::text").fetchone() == (user,)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        connect(running, user, "wrong")


def test_other_clients_with_scram(guarded: Upstream, begin: Begin) -> None:
    running = begin(guarded)
    other = pg8000.native.Connection(
        "scrammer", host="127.0.0.1", port=running.port, database="postgres", password=PASSWORD
    )
    assert other.run("SELECT 1") == [[1]]
    other.close()

    async def inside() -> Any:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=running.port, user="scrammer", password=PASSWORD, database="postgres", ssl=False
        )
        try:
            return await connection.fetchval("SELECT 2")
        finally:
            await connection.close()

    assert asyncio.run(inside()) == 2


@pytest.mark.parametrize("binding", ["prefer", "disable"])
def test_tls_to_clients(guarded: Upstream, begin: Begin, certificate: Pair, binding: str) -> None:
    running = begin(guarded, certificate, judge=By(Slowly))
    trust = {"sslmode": "verify-full", "sslrootcert": str(certificate[0])}
    with connect(running, "scrammer", channel_binding=binding, **trust) as connection:
        assert connection.pgconn.ssl_in_use
        assert connection.execute("SELECT g FROM generate_series(1, 20000) g").fetchall()[-1] == (20000,)
    with connect(running, "scrammer", sslmode="disable") as connection:
        assert not connection.pgconn.ssl_in_use


def test_clients_that_insist_on_tls_are_disappointed_without_a_certificate(guarded: Upstream, begin: Begin) -> None:
    running = begin(guarded)
    with connect(running, "scrammer", sslmode="prefer") as connection:
        assert not connection.pgconn.ssl_in_use
    with pytest.raises(psycopg.OperationalError, match="does not support SSL"):
        connect(running, "scrammer", sslmode="require")


def test_tls_of_other_clients(guarded: Upstream, begin: Begin, certificate: Pair) -> None:
    running = begin(guarded, certificate)
    context = ssl.create_default_context(cafile=certificate[0])

    async def inside() -> Any:
        connection = await asyncpg.connect(
            host="localhost", port=running.port, user="scrammer", password=PASSWORD, database="postgres", ssl=context
        )
        try:
            with pytest.raises(TimeoutError):
                await connection.fetch("SELECT pg_sleep(10)", timeout=0.3)  # cancelled through TLS as well
            return await connection.fetchval("SELECT 2")
        finally:
            await connection.close()

    assert asyncio.run(inside()) == 2
    other = pg8000.native.Connection(
        "scrammer", host="localhost", port=running.port, database="postgres", password=PASSWORD, ssl_context=context
    )
    assert other.run("SELECT 1") == [[1]]
    other.close()


def test_tls_on_both_sides_of_a_chain(guarded: Upstream, begin: Begin, certificate: Pair) -> None:
    """Two gateways: the second one speaks TLS with the first one, which needs no server with TLS."""
    inner = begin(guarded, certificate)
    for mode in ("require", "verify-full"):
        outer = begin(Upstream("localhost", inner.port, upstream_context(mode, certificate[0])), certificate)
        with connect(outer, "scrammer", sslmode="verify-full", sslrootcert=str(certificate[0])) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_server_that_cannot_show_who_it_is_is_not_spoken_to(
    guarded: Upstream, begin: Begin, certificate: Pair, other_certificate: Pair
) -> None:
    inner = begin(guarded, certificate)
    wrong = begin(Upstream("localhost", inner.port, upstream_context("verify-full", other_certificate[0])))
    with pytest.raises(psycopg.OperationalError, match="cannot reach the database server"):
        connect(wrong, "scrammer")
    plain = begin(Upstream("localhost", begin(guarded).port, upstream_context("require", None)))
    with pytest.raises(psycopg.OperationalError, match="cannot reach the database server"):
        connect(plain, "scrammer")


def test_tls_on_both_sides_with_channel_binding_off(encrypted: Upstream, begin: Begin, certificate: Pair) -> None:
    running = begin(encrypted, certificate, judge=By(Slowly))
    with connect(running, "postgres", channel_binding="disable", sslmode="require") as connection:
        assert connection.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetchone() == (True,)
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("SET statement_timeout TO 100; SELECT pg_sleep(10)")
    with connect(running, "postgres", sslmode="disable") as connection:  # channel binding is not offered in the clear
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_tls_on_both_sides_with_different_certificates_cannot_bind_and_says_so(
    encrypted: Upstream, begin: Begin, certificate: Pair
) -> None:
    running = begin(encrypted, certificate)
    with pytest.raises(psycopg.OperationalError, match="channel_binding=disable"):
        connect(running, "postgres", sslmode="require", channel_binding="prefer")
    with pytest.raises(psycopg.OperationalError, match="channel binding"):
        connect(running, "postgres", sslmode="require", channel_binding="require")


@pytest.mark.parametrize("binding", ["prefer", "require", "disable"])
def test_tls_on_both_sides_with_the_same_certificate_binds(
    encrypted: Upstream, begin: Begin, other_certificate: Pair, binding: str
) -> None:
    running = begin(encrypted, other_certificate)
    with connect(running, "postgres", sslmode="require", channel_binding=binding) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        connect(running, "postgres", "wrong", sslmode="require", channel_binding=binding)


def test_tls_on_both_sides_with_known_secrets_needs_no_binding(
    encrypted: Upstream, begin: Begin, certificate: Pair, tmp_path: Path
) -> None:
    direct = f"host=127.0.0.1 port={encrypted.port} user=postgres password='{PASSWORD}' dbname=postgres"
    with psycopg.connect(direct) as connection:
        found = connection.execute("SELECT rolpassword FROM pg_authid WHERE rolname = 'postgres'").fetchone()
    assert found
    file = tmp_path / "secrets"
    file.write_text(f'# users\n\n"postgres" "{found[0]}"\n', encoding="utf-8")
    running = begin(encrypted, certificate, secrets=read_secrets(file))
    with connect(running, "postgres", sslmode="require", channel_binding="prefer") as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        connect(running, "postgres", "wrong", sslmode="require", channel_binding="prefer")


@pytest.mark.parametrize(
    "line", ["postgres SCRAM-SHA-256$1:a$b:c", '"a" "md5abc"', '"a" "SCRAM-SHA-256$4096:x$?:?"', '"a"']
)
def test_a_file_of_secrets_that_is_not_understood_is_an_error_without_its_text(tmp_path: Path, line: str) -> None:
    (tmp_path / "secrets").write_text(line, encoding="utf-8")
    with pytest.raises(UsageError, match="Line 1") as raised:
        read_secrets(tmp_path / "secrets")
    assert "md5abc" not in str(raised.value)


def test_secrets_are_not_shown() -> None:
    known = secret("SCRAM-SHA-256$4096:c2FsdA==$" + "A" * 43 + "=:" + "B" * 43 + "=")
    assert repr(known) == "PasswordSecret()"


def test_what_is_said_in_the_clear_behind_a_request_for_tls_is_refused(
    upstream: Upstream, begin: Begin, certificate: Pair
) -> None:
    running = begin(upstream, certificate)
    with Raw(running.address, first=b"") as session:
        session.send(TLS_REQUEST + startup() + query("SELECT 1"))
        assert rows([session.rest()]) == []
    with Raw(running.address) as session:
        assert rows(session.ask(query("SELECT 1"))) == [[b"1"]]


def test_gssapi_is_declined_and_the_client_goes_on(upstream: Upstream, begin: Begin) -> None:
    with Raw(begin(upstream).address, first=b"") as session:
        session.send(b"\0\0\0\x08\x04\xd2\x16\x30")
        assert session.socket.recv(1) == b"N"
        session.send(TLS_REQUEST)
        assert session.socket.recv(1) == b"N"
        session.send(startup())
        session.until_ready()
        assert rows(session.ask(query("SELECT 1"))) == [[b"1"]]
