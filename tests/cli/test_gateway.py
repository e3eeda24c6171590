"""`discreet gateway`: what cannot be understood is said in words, before anything listens."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet.cli.verbs.gateway import command
from discreet.errors import PolicyError, UsageError

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


def test_tls_for_clients_needs_a_certificate(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    for words, said in [
        (["--tls-only"], "without a certificate"),
        (["--client-ca", str(tmp_path / "ca.pem")], "without a certificate"),
        (["--client-name"], "no certificates"),
        (["--proxy-from", "10.0.0"], "--proxy-from"),
    ]:
        result = CliRunner().invoke(command, [*UPSTREAM, *words])
        assert isinstance(result.exception, UsageError)
        assert said in str(result.exception)


def test_a_port_that_is_taken_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = CliRunner().invoke(command, [*UPSTREAM, "--listen", f"127.0.0.1:{taken.getsockname()[1]}"])
    assert isinstance(result.exception, UsageError)
    assert "another address" in str(result.exception)


def test_the_server_must_be_named() -> None:
    assert CliRunner().invoke(command, []).exit_code == 2


def test_governing_needs_a_policy(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text('[misuse]\nlimit = 1\n[gateway.tables."t"]\n', encoding="utf-8")
    policy = ["--policy", str(tmp_path / "policy.toml"), "--store", str(tmp_path / "store.db")]
    for words, said in [
        (["--mode", "enforce"], "no policy"),
        (["--own", "postgresql://x"], "no policy"),
        ([*policy, "--mode", "open"], "mode is open"),
    ]:
        result = CliRunner().invoke(command, [*UPSTREAM, *words])
        assert isinstance(result.exception, UsageError)
        assert said in str(result.exception)


def test_a_policy_must_govern_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    (tmp_path / "policy.toml").write_text("[misuse]\nlimit = 1\n", encoding="utf-8")
    words = [
        "--policy",
        str(tmp_path / "policy.toml"),
        "--store",
        str(tmp_path / "store.db"),
        "--own",
        "postgresql://x",
    ]
    result = CliRunner().invoke(command, [*UPSTREAM, *words])
    assert isinstance(result.exception, PolicyError)
    assert "no governed table" in str(result.exception)


def test_guessed_roles_are_not_enforced_and_said_in_shadow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    (tmp_path / "policy.toml").write_text(
        '[misuse]\nlimit = 1\n[columns.age]\nrole = "quasi?"\n[columns.illness]\nrole = "sensitive?"\n',
        encoding="utf-8",
    )
    words = ["--policy", str(tmp_path / "policy.toml"), "--store", str(tmp_path / "store.db")]
    enforced = CliRunner().invoke(command, [*UPSTREAM, *words, "--mode", "enforce"])
    assert isinstance(enforced.exception, PolicyError)
    assert "age (quasi?), illness (sensitive?)" in str(enforced.exception)
    shadow = CliRunner().invoke(command, [*UPSTREAM, *words, "--mode", "shadow"])
    assert not isinstance(shadow.exception, PolicyError)  # it goes on to the server, which is not there
    assert "hold as the policy has them: age (quasi?), illness (sensitive?)" in shadow.output
