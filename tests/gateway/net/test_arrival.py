"""Clients arrive by TLS at once, with certificates, behind proxies, too often; with real clients and a real server."""

from __future__ import annotations

import socket
import ssl
import struct
import subprocess
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.gateway.protocol.framing import Malformed
from discreet.gateway.protocol.proxy_header import SIGNATURE, read_header
from tests.gateway.conftest import make_certificate
from tests.gateway.raw import startup
from tests.gateway.running import Running, wait_for
from tests.gateway.watching import By, Watching
from tests.servers import free_port

Start = Callable[..., Running]
Pair = tuple[Path, Path]


def asked(running: Running, more: str = "", user: str = "postgres") -> Any:
    with psycopg.connect(f"{running.url(user)}?connect_timeout=10{more}") as connection:
        return connection.execute("SELECT 41 + 1").fetchone()


def heard(client: socket.socket) -> bytes:
    """All that comes until the end."""
    found = b""
    try:
        while more := client.recv(10_000):
            found += more
    except OSError:
        pass
    return found


@pytest.fixture(scope="module")
def badge(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """The certificate of a client called postgres, which is its own authority."""
    folder = tmp_path_factory.mktemp("badge")
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=postgres"]
    subprocess.run(
        [*words, "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")], check=True, capture_output=True
    )
    (folder / "key.pem").chmod(0o600)
    return folder / "cert.pem", folder / "key.pem"


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_tls_at_once(start: Start, certificate: Pair, loop: str, upstream: Any) -> None:
    from discreet.gateway import Settings

    settings = Settings(upstream, certificate=certificate[0], key=certificate[1], grace=0.5)
    with Running(settings, **({"factory": None} if loop == "asyncio" else {})) as running:
        for _ in range(3):
            assert asked(running, "&sslmode=require&sslnegotiation=direct") == (42,)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(running.address) as plain, context.wrap_socket(plain) as spoken:
            spoken.sendall(startup())  # without ALPN it might be any protocol
            assert not heard(spoken)


def test_tls_only(start: Start, certificate: Pair) -> None:
    running = start(certificate=certificate[0], key=certificate[1], encrypted_only=True)
    with pytest.raises(psycopg.OperationalError, match="encrypted connections only"):
        asked(running, "&sslmode=disable")
    assert asked(running, "&sslmode=require") == (42,)


def test_clients_show_certificates(start: Start, certificate: Pair, badge: Pair, tmp_path: Path) -> None:
    running = start(
        certificate=certificate[0], key=certificate[1], authorities=badge[0], named=True, encrypted_only=True
    )
    shown = f"&sslmode=require&sslcert={badge[0]}&sslkey={badge[1]}"
    assert asked(running, shown) == (42,)
    with pytest.raises(psycopg.OperationalError):
        asked(running, "&sslmode=require&sslcert=/nonexistent")
    with pytest.raises(psycopg.OperationalError, match="for another user"):
        asked(running, shown, user="ann")
    other = make_certificate(tmp_path)
    other[1].chmod(0o600)
    with pytest.raises(psycopg.OperationalError):
        asked(running, f"&sslmode=require&sslcert={other[0]}&sslkey={other[1]}")


def test_certificates_are_read_again(start: Start, certificate: Pair, tmp_path: Path) -> None:
    own = tmp_path / "cert.pem", tmp_path / "key.pem"
    for source, target in zip(certificate, own, strict=True):
        target.write_bytes(source.read_bytes())
    running = start(certificate=own[0], key=own[1])
    with psycopg.connect(running.url(more="?sslmode=require")) as before:
        (tmp_path / "new").mkdir()
        for source, target in zip(make_certificate(tmp_path / "new"), own, strict=True):
            target.write_bytes(source.read_bytes())
        running.do(running.gateway.reload)
        assert before.execute("SELECT 1").fetchone() == (1,)
        shown = ssl.PEM_cert_to_DER_cert(own[0].read_text(encoding="ascii"))
        assert running.gateway.certificate == shown
        with psycopg.connect(running.url(more=f"?sslmode=verify-ca&sslrootcert={own[0]}")) as after:
            assert after.execute("SELECT 1").fetchone() == (1,)


def v2(address: str, command: int = 0x21) -> bytes:
    body = socket.inet_aton(address) + socket.inet_aton("10.0.0.1") + struct.pack("!HH", 5000, 6432) + b"\x03\0\1x"
    return SIGNATURE + bytes([command, 0x11]) + struct.pack("!H", len(body)) + body


def login(running: Running, first: bytes, *, pieces: bool = False) -> bytes:
    with socket.create_connection(running.address, timeout=10) as client:
        data = first + startup()
        for part in [data[i : i + 1] for i in range(len(data))] if pieces else [data]:
            client.sendall(part)
        found = b""
        while not found.endswith(b"Z\0\0\0\5I"):
            more = client.recv(10_000)
            if not more:
                return found
            found += more
        return found


def test_proxies_say_whom_they_speak_for(start: Start) -> None:
    addresses: list[str] = []

    class Noting(By):
        def admit(self, who: Any) -> Any:
            addresses.append(who.address)
            return super().admit(who)

    running = start(judge=Noting(lambda: None), proxies=(ip_network("127.0.0.0/8"),))
    for header, address in [
        (b"PROXY TCP4 10.1.2.3 10.0.0.1 5000 6432\r\n", "10.1.2.3"),
        (b"PROXY TCP6 2001:db8::7 2001:db8::1 5000 6432\r\n", "2001:db8::7"),
        (b"PROXY UNKNOWN\r\n", "127.0.0.1"),
        (v2("10.9.8.7"), "10.9.8.7"),
        (v2("10.9.8.7", 0x20), "127.0.0.1"),
    ]:
        assert login(running, header, pieces=address == "10.9.8.7").endswith(b"Z\0\0\0\5I")
        assert addresses.pop() == address
    for wrong in (b"", b"PROXY TCP4 10.1.2.3\r\n", b"PROXY TCP4 2001:db8::7 ::1 1 2\r\n", b"PROXY " + b"x" * 200):
        assert b"08P01" in login(running, wrong)
    others = start(proxies=(ip_network("10.0.0.0/8"),))  # a client must not say where it calls from
    assert b"08P01" in login(others, v2("10.9.8.7"))
    assert login(others, b"").endswith(b"Z\0\0\0\5I")


@given(st.binary(max_size=60), st.sampled_from([b"", SIGNATURE, b"PROXY ", b"PROXY TCP4 "]))
def test_no_header_breaks_the_reader(data: bytes, begin: bytes) -> None:
    try:
        found = read_header(begin + data)
    except Malformed:
        return
    assert found is None or 0 < found.length <= len(begin + data)


def test_too_many_logins_from_an_address(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.gateway.net import server

    now = [600.0]
    monkeypatch.setattr(server.time, "monotonic", lambda: now[0])
    running = start(logins=2)
    assert [asked(running), asked(running)] == [(42,), (42,)]
    with pytest.raises(psycopg.OperationalError, match="too many logins"):
        asked(running)
    now[0] += 60
    assert asked(running) == (42,)


def test_several_gateways_on_one_port(start: Start) -> None:
    port = free_port()
    first, second = start(port=port, shared=True), start(port=port, shared=True)
    for _ in range(20):
        assert asked(first) == (42,)
    assert second.port == port


def test_a_cancel_reaches_the_watch(start: Start) -> None:
    ended: list[bool] = []

    class Cancelled(Watching):
        def cancel(self) -> None:
            ended.append(True)

    running = start(judge=By(Cancelled))
    with psycopg.connect(running.url()) as connection:
        connection.execute("SELECT 1")
        connection.cancel_safe()
        wait_for(lambda: ended)
