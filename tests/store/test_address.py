"""What is meant by the address of a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import UsageError
from discreet.store import Address


def test_a_path_and_a_url_of_a_file_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    assert Address.parse(path).path == Address.parse(f"sqlite:///{path}").path == path
    assert Address.parse(str(path)).embedded


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_postgresql_has_several_spellings_and_never_shows_its_password(scheme: str) -> None:
    address = Address.parse(f"{scheme}://ann:geheim@host:5433/db?sslmode=require")
    assert address.url.drivername == "postgresql+psycopg"
    assert str(address) == "postgresql://ann:***@host:5433/db"
    assert "geheim" not in f"{address!r}{address}"


def test_without_an_address_the_variable_counts_and_then_the_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DISCREET_STORE", str(tmp_path / "named.db"))
    assert Address.parse().path == tmp_path / "named.db"
    monkeypatch.delenv("DISCREET_STORE")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert Address.parse().path == tmp_path / "discreet" / "store.db"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Address.parse().path == tmp_path / ".local" / "share" / "discreet" / "store.db"


@pytest.mark.parametrize(
    "wrong", ["", "sqlite://", "sqlite:///:memory:", ":memory:", "mysql://host/db", "oracle://x", "://", "http://[::1"]
)
def test_a_wrong_address_is_refused_with_examples(wrong: str) -> None:
    with pytest.raises(UsageError) as caught:
        Address.parse(wrong)
    assert "postgresql://" in caught.value.remedy
