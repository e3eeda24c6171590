"""Files beyond this machine's folders: fetched once, and no secret of their address in an error."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import _registry

import discreet
from discreet.errors import MissingExtra, SourceNotFound, UsageError


class Bucket(MemoryFileSystem):
    """A store of objects in memory."""

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.removeprefix("s3://").lstrip("/")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def test_a_file_on_a_server_is_read(server: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes("name;age\nJörg;1\n".encode("latin-1"))
    table = discreet.read(f"{server}/people.csv?token=s3cret")
    assert table.records == 1
    assert table.name == "people.csv"


def test_a_file_that_is_not_there_is_named_without_its_secrets(server: str) -> None:
    with pytest.raises(SourceNotFound) as caught:
        discreet.read(f"{server.replace('//', '//ann:pass@')}/nobody.csv?token=s3cret")
    with pytest.raises(SourceNotFound) as again:
        discreet.read(f"{server}/nobody.csv?token=s3cret")
    assert "404" in str(again.value)
    assert not {"s3cret", "ann", "pass@"} & {word for error in (caught, again) for word in str(error.value).split()}
    assert "s3cret" not in str(caught.value) + str(again.value)


def test_records_do_not_travel_unencrypted() -> None:
    with pytest.raises(UsageError, match="unencrypted"):
        discreet.read("http://example.org/people.csv")


def test_a_store_of_objects_is_read_by_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_registry, "s3", Bucket)
    Bucket().pipe("/bucket/people.csv", b"name;age\nAnna;1\n")
    assert discreet.read("s3://bucket/people.csv").records == 1
    with pytest.raises(SourceNotFound):
        discreet.read("s3://bucket/nobody.csv")


def test_whatever_a_store_of_objects_raises_is_an_error_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoCredentialsError(Exception):
        pass

    class Closed(Bucket):
        def _open(self, *_: Any, **__: Any) -> Any:
            raise NoCredentialsError("s3cret")

    monkeypatch.setitem(_registry, "s3", Closed)
    with pytest.raises(SourceNotFound, match="NoCredentialsError") as caught:
        discreet.read("s3://bucket/people.csv")
    assert "credentials that s3fs finds" in caught.value.remedy
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(("scheme", "package"), [("s3", "s3fs"), ("gs", "gcsfs"), ("az", "adlfs"), ("abfs", "adlfs")])
def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, scheme: str, package: str) -> None:
    if importlib.util.find_spec(package) is None:
        with pytest.raises(UsageError, match=package):
            discreet.read(f"{scheme}://bucket/people.csv")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="remote"):
        discreet.read(f"{scheme}://bucket/people.csv")
