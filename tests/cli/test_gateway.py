"""`discreet gateway`: what cannot be understood is said in words, before anything listens."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet.cli.gateway import command
from discreet.errors import UsageError

UPSTREAM = ["--upstream", "postgresql://127.0.0.1:1"]


@pytest.mark.parametrize("listen", ["6432", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", ":1"])
def test_an_address_to_listen_on_is_host_and_port(listen: str) -> None:
    result = CliRunner().invoke(command, [*UPSTREAM, "--listen", listen])
    assert isinstance(result.exception, UsageError)
    assert "HOST:PORT" in str(result.exception)


def test_a_key_needs_a_certificate(tmp_path: Path) -> None:
    (tmp_path / "key.pem").touch()
    result = CliRunner().invoke(command, [*UPSTREAM, "--tls-key", str(tmp_path / "key.pem")])
    assert isinstance(result.exception, UsageError)


def test_a_port_that_is_taken_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = CliRunner().invoke(command, [*UPSTREAM, "--listen", f"127.0.0.1:{taken.getsockname()[1]}"])
    assert isinstance(result.exception, UsageError)
    assert "another address" in str(result.exception)


def test_the_server_must_be_named() -> None:
    assert CliRunner().invoke(command, []).exit_code == 2
