"""Addresses and certificates: understood, or refused in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import UsageError
from discreet.gateway import Settings, Upstream, parse_upstream
from discreet.gateway.net.server import Gateway
from discreet.gateway.net.transport import server_context, upstream_context


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("postgresql://db.example", "db.example", 5432),
        ("postgres://ada:pw@db.example:6000/clinic", "db.example", 6000),
        ("postgresql:///?host=/run/postgresql&port=5433", "/run/postgresql", 5433),
        ("postgresql://%2Frun%2Fpostgresql/clinic", "/run/postgresql", 5432),
        ("postgresql://[::1]:5432/x", "::1", 5432),
        ("postgresql://", "127.0.0.1", 5432),
    ],
)
def test_addresses(url: str, host: str, port: int) -> None:
    found = parse_upstream(url)
    assert (found.host, found.port) == (host, port)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "db.example:5432",
        "mysql://x",
        "postgresql://a:x",
        "postgresql://a,b/",
        "postgresql:///?port=0",
        "postgresql:///?port=x",
    ],
)
def test_addresses_that_are_not_understood(url: str) -> None:
    with pytest.raises(UsageError, match="not understood"):
        parse_upstream(url)


def test_an_address_does_not_show_a_password() -> None:
    assert "secret" not in repr(parse_upstream("postgresql://ada:secret@db.example"))


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("not a certificate", encoding="utf-8")
    with pytest.raises(UsageError, match="Certificate and key"):
        server_context(tmp_path / "x", tmp_path / "x")
    with pytest.raises(UsageError, match="authorities"):
        upstream_context("verify-full", tmp_path / "x")
    with pytest.raises(UsageError, match="Certificate and key"):
        Gateway(Settings(Upstream("127.0.0.1"), certificate=tmp_path / "missing"))
