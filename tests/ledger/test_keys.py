"""The two secrets: where they lie, who may read them, and what they do."""

from __future__ import annotations

import json
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import IntegrityError, UsageError
from discreet.ledger import Keys, Ledger
from discreet.ledger.keys import place_of
from discreet.ledger.verifier import HEAD_FORMAT, signature_holds, signed_part
from discreet.store import Address, Store

# RFC 8032, 7.1, test 2: secret key, public key, message, signature.
SECRET = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"
PUBLIC = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
SIGNATURE = "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"


def test_the_signature_is_ed25519() -> None:
    keys = Keys(bytes.fromhex(SECRET), bytes(32))
    assert keys.public == PUBLIC
    assert keys.sign(b"\x72") == SIGNATURE


def test_a_head_is_signed_over_all_that_it_says() -> None:
    keys = Keys.generate()
    head = {"format": HEAD_FORMAT, "key": keys.public, "ledger": "a", "root": "b", "size": 1, "time": "c"}
    signed = head | {"signature": keys.sign(signed_part(head))}
    assert signature_holds(signed)
    for name, value in {"ledger": "x", "root": "x", "size": 2, "time": "x", "key": PUBLIC, "signature": "00"}.items():
        assert not signature_holds(signed | {name: value}), name


def test_keys_are_made_once_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "store.keys"
    made: list[Keys] = []
    threads = [threading.Thread(target=lambda: made.append(Keys.make(path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8
    assert len({keys.public for keys in made}) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["store.keys"]
    assert SECRET not in repr(Keys(bytes.fromhex(SECRET), bytes(32)))


def test_keys_that_others_may_read_are_not_used(tmp_path: Path) -> None:
    Keys.make(tmp_path / "k")
    (tmp_path / "k").chmod(0o640)
    with pytest.raises(UsageError, match="Others may read") as caught:
        Keys.load(tmp_path / "k")
    assert "chmod 600" in caught.value.remedy


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format": "discreet-keys-1", "signing": "00", "values": "00"}', '{"format": 1}']
)
def test_a_file_that_holds_no_keys_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "k").write_text(content)
    (tmp_path / "k").chmod(0o600)
    with pytest.raises(UsageError, match="cannot be read"):
        Keys.load(tmp_path / "k")


def test_where_the_keys_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISCREET_KEYS", raising=False)
    assert place_of(Address.parse(tmp_path / "a.db")) == tmp_path / "a.db.keys"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert place_of(Address.parse("postgresql://h/d")) == tmp_path / "discreet" / "postgresql.keys"
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "k"))
    assert place_of(Address.parse("postgresql://h/d")) == tmp_path / "k"


def test_a_ledger_without_its_keys_writes_nothing(store_url: str, tmp_path: Path) -> None:
    Ledger.open(store_url).close()
    (tmp_path / "store.keys").unlink()
    with pytest.raises(UsageError, match="cannot be read") as caught:
        Ledger.open(store_url)
    assert "DISCREET_KEYS" in caught.value.remedy
    assert not (tmp_path / "store.keys").exists()


def test_a_ledger_with_other_keys_is_refused(store_url: str) -> None:
    Ledger.open(store_url).close()
    with Store.open(store_url) as store, pytest.raises(IntegrityError, match="other keys"):
        Ledger(store, keys=Keys.generate())


def test_other_keys_for_values_alone_are_refused_too(store_url: str, tmp_path: Path) -> None:
    Ledger.open(store_url).close()
    content = json.loads((tmp_path / "store.keys").read_text())
    (tmp_path / "store.keys").write_text(json.dumps(content | {"values": "00" * 32}))
    with pytest.raises(IntegrityError, match="other keys"):
        Ledger.open(store_url)


@given(st.text(), st.text())
def test_equal_values_and_only_they_have_equal_fingerprints(one: str, other: str) -> None:
    try:
        one.encode(), other.encode()
    except UnicodeEncodeError:
        return
    keys = Keys(bytes(32), bytes(32))
    assert (keys.fingerprint(one) == keys.fingerprint(other)) == (one == other)
    assert keys.fingerprint(one) != Keys(bytes(32), b"1" * 32).fingerprint(one)
