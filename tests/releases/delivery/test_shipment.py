"""Copies that leave: packed, encrypted for their recipient, signed, put on a real SFTP server; recalled, and deleted with proof."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import socket
import tarfile
import threading
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import paramiko
import pyrage
import pytest
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from discreet.errors import DataError, Refused, SourceNotFound, UsageError
from discreet.ledger import Ledger
from discreet.releases.delivery.custody import copies_in_custody, prove_deletion, recall
from discreet.releases.delivery.release import release
from discreet.releases.delivery.service import Registry
from discreet.releases.delivery.shipment import DeliveryTarget, Signer, packed, send
from tests.releases.world import SETTINGS, known_keys, town

NAMES = ("north", "south", "west")
PASSWORD = "not a secret"


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Registry, Path]]:
    """A store, and the copies of two of three recipients."""
    folder = tmp_path_factory.mktemp("shipped")
    known_keys(folder / "store.db.keys")
    world = town(folder)
    with Ledger.open(folder / "store.db", create=True) as ledger:
        made = release(world.table, world.population, NAMES, name="spring", force=True, store=ledger, **SETTINGS)
        made.write(folder / "copies", format="csv", recipients=["north", "south"])
        yield Registry(ledger), folder / "copies"


class Door(paramiko.ServerInterface):
    """Lets one user in."""

    def check_auth_password(self, username: str, password: str) -> int:
        right = (username, password) == ("north", PASSWORD)
        return paramiko.AUTH_SUCCESSFUL if right else paramiko.AUTH_FAILED

    def get_allowed_auths(self, username: str) -> str:
        return "password"

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return paramiko.OPEN_SUCCEEDED


class Disk(paramiko.SFTPServerInterface):
    """A folder of this machine."""

    root = Path()

    def _at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def list_folder(self, path: str) -> Any:
        return [self.stat(f"{path}/{name}") for name in [one.name for one in self._at(path).iterdir()]]

    def stat(self, path: str) -> Any:
        try:
            return paramiko.SFTPAttributes.from_stat(self._at(path).stat())
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno or 0)

    lstat = stat

    def mkdir(self, path: str, attr: Any) -> int:
        self._at(path).mkdir(parents=True, exist_ok=True)
        return paramiko.SFTP_OK

    def rename(self, oldpath: str, newpath: str) -> int:
        self._at(oldpath).rename(self._at(newpath))
        return paramiko.SFTP_OK

    posix_rename = rename

    def open(self, path: str, flags: int, attr: Any) -> Any:
        handle = paramiko.SFTPHandle(flags)
        file = self._at(path).open("r+b" if not flags & os.O_CREAT else "w+b")
        handle.readfile = handle.writefile = file  # type: ignore[attr-defined]
        return handle


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A real SFTP server on loopback: its address, and its folder."""
    disk = type("Here", (Disk,), {"root": tmp_path / "disk"})
    (tmp_path / "disk").mkdir()
    listening = socket.create_server(("127.0.0.1", 0))
    key, sessions = paramiko.RSAKey.generate(2048), []

    def serve() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            transport = paramiko.Transport(client)
            transport.add_server_key(key)
            transport.set_subsystem_handler("sftp", paramiko.SFTPServer, disk)
            transport.start_server(server=Door())
            sessions.append(transport)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"127.0.0.1:{listening.getsockname()[1]}", tmp_path / "disk"
    for session in sessions:
        session.close()
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join(5)


def verified(public: str, content: bytes, signature: str) -> str:
    """Verify as the description of the format says, and give the trusted comment."""
    key, lines = base64.b64decode(public), signature.splitlines()
    own = base64.b64decode(lines[1])
    assert key[:2] == b"Ed"
    assert (own[:2], own[2:10]) == (b"ED", key[2:10])
    verifier = VerifyKey(key[10:])
    verifier.verify(hashlib.blake2b(content).digest(), own[10:])
    comment = lines[2].removeprefix("trusted comment: ")
    verifier.verify(own[10:] + comment.encode(), base64.b64decode(lines[3]))
    return comment


def test_a_copy_arrives_encrypted_and_signed(delivered: tuple[Registry, Path], server: tuple[str, Path]) -> None:
    registry, folder = delivered
    identity = pyrage.x25519.Identity.generate()
    target = DeliveryTarget(f"sftp://{server[0]}/in", {"username": "north", "password": PASSWORD})
    sent = send(
        registry, "spring", "north", folder=folder, target=target, keys=(str(identity.to_public()),), actor="ann"
    )
    assert sorted(path.name for path in (server[1] / "in").iterdir()) == [sent.file, f"{sent.file}.minisig"]
    arrived = (server[1] / "in" / sent.file).read_bytes()
    assert hashlib.sha256(arrived).hexdigest() == sent.digest
    assert b"zip,year" not in arrived
    with tarfile.open(fileobj=io.BytesIO(pyrage.decrypt(arrived, [identity]))) as archive:
        names = sorted(archive.getnames())
        data = archive.extractfile("data.csv")
        assert data is not None
        assert data.read() == (folder / "north" / "data.csv").read_bytes()
    assert names == ["AGREEMENT.md", "README.md", "data.csv"]
    signature = (server[1] / "in" / f"{sent.file}.minisig").read_text()
    public = Signer.of(registry).public
    assert sent.file in verified(public, arrived, signature)
    with pytest.raises(BadSignatureError):
        verified(public, arrived + b" ", signature)
    with pytest.raises(BadSignatureError):
        verified(public, arrived, signature.replace("version:1", "version:2"))
    (entry,) = registry.ledger.entries(event="releases.sent")
    assert (entry.details["file"], entry.details["encrypted"]) == (sent.digest, True)
    with pytest.raises(Refused, match="already"):
        send(registry, "spring", "north", folder=folder, target=target, keys=(str(identity.to_public()),), actor="ann")


def test_what_is_refused(delivered: tuple[Registry, Path], server: tuple[str, Path], tmp_path: Path) -> None:
    registry, folder = delivered
    away = DeliveryTarget(f"sftp://{server[0]}/in", {"username": "north", "password": "wrong"})
    with pytest.raises(Refused, match="is encrypted for its recipient"):
        send(registry, "spring", "north", folder=folder, target=away, actor="ann")
    with pytest.raises(DataError, match="could not be put") as caught:
        send(registry, "spring", "north", folder=folder, target=away, plain=True, actor="ann")
    assert "wrong" not in str(caught.value)
    here = DeliveryTarget.of(str(tmp_path / "outbox"))
    with pytest.raises(UsageError, match="age1"):
        send(registry, "spring", "north", folder=folder, target=here, keys=("nonsense",), actor="ann")
    with pytest.raises(SourceNotFound):
        send(registry, "spring", "west", folder=folder, target=here, actor="ann")
    other = tmp_path / "copies" / "south"
    other.mkdir(parents=True)
    (other / "data.csv").write_text("zip\n1\n")
    with pytest.raises(Refused, match="not what was written down"):
        send(registry, "spring", "south", folder=tmp_path / "copies", target=here, actor="ann")
    with pytest.raises(UsageError, match="not on ftp"):
        DeliveryTarget.of("ftp://example.org/in")
    assert DeliveryTarget.of("sftp://north:secret@host/in").shown == "sftp://north@host/in"
    assert not list(registry.ledger.entries(event="releases.sent", subject="release:spring/version:1/recipient:south"))


def test_a_packed_copy_is_the_same_each_time(delivered: tuple[Registry, Path]) -> None:
    assert packed(delivered[1] / "north") == packed(delivered[1] / "north") != packed(delivered[1] / "south")


def test_recall_asks_for_proof_and_a_copy_is_open_until_then(delivered: tuple[Registry, Path]) -> None:
    registry, _ = delivered
    kept, today = registry.require("spring"), date(2026, 5, 1)
    with pytest.raises(Refused, match="has no copy"):
        recall(registry, kept, "west", by=today, today=today, why="end", actor="ann")
    recall(registry, kept, "north", by=date(2026, 12, 31), today=today, why="end of the project", actor="ann")
    letter = recall(registry, kept, "south", by=today, today=today, why="breach of contract", actor="ann")
    assert kept.copy("south").file is not None
    assert str(kept.copy("south").file) in letter
    kept = registry.require("spring")
    assert (kept.copy("north").state, kept.copy("south").state) == ("delivered", "retired")
    copies = {copy.recipient: copy for copy in copies_in_custody(registry.ledger, kept)}
    assert set(copies) == {"north", "south"}
    assert copies["north"].by == "2026-12-31"
    assert copies["south"].overdue(date(2026, 5, 2))
    assert not copies["north"].overdue(date(2026, 5, 2))
    prove_deletion(registry, kept, "south", proof=hashlib.sha256(b"signed").hexdigest(), actor="ann")
    copies = {copy.recipient: copy for copy in copies_in_custody(registry.ledger, kept)}
    assert copies["south"].deleted
    assert not copies["south"].overdue(date(2030, 1, 1))
    assert copies["north"].overdue(date(2030, 1, 1))
