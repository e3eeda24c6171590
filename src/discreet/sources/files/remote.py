"""Sources beyond this machine's folders: standard input and URLs, copied once to a private file."""

from __future__ import annotations

import importlib.util
import ipaddress
import logging
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import unquote, urlsplit

from discreet.errors import DiscreetError, MissingExtra, SourceNotFound, UsageError
from discreet.sources.duckdb_scratch import PrivateFolder
from discreet.sources.files.archive import BLOCK

DRIVERS = {
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("az", "abfs", "abfss", "adl"), "adlfs"),
}
"""Stores of objects, and the package beside fsspec that reads each."""
WEB = ("https", "http")
WAIT = 60.0
"""Seconds without an answer after which a server is given up."""


def piped(folder: PrivateFolder) -> Path:
    """What comes in on standard input, read once."""
    path = folder.file("standard-input")
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file, BLOCK)
    return path


def is_remote(given: str) -> bool:
    """Whether a source is the URL of a file elsewhere.

    >>> is_remote("s3://bucket/people.csv"), is_remote("people.csv"), is_remote("C:/people.csv")
    (True, False, False)
    """
    scheme, separator, _ = given.partition("://")
    return bool(separator) and scheme.lower() in (*DRIVERS, *WEB)


def fetched(url: str, folder: PrivateFolder) -> tuple[Path, str]:
    """A private copy of the file at a URL, and its name."""
    place = urlsplit(url)
    name = unquote(place.path).rstrip("/").rpartition("/")[2] or place.netloc
    path = folder.file(name)
    with _open(url, f"{place.scheme}://{place.hostname}{place.path}") as remote, path.open("wb") as file:
        shutil.copyfileobj(remote, file, BLOCK)
    return path, name


@contextmanager
def _open(url: str, shown: str) -> Iterator[IO[bytes]]:
    """The bytes at a URL; of the URL nothing is said that may be a secret."""
    scheme = url.partition("://")[0].lower()
    try:
        with _web(url, shown) if scheme in WEB else _objects(url, scheme) as remote:
            yield remote
    except DiscreetError:
        raise
    except Exception as error:  # stores of objects have errors of their own, for missing credentials among others
        if scheme in WEB and not isinstance(error, (OSError, ValueError)):
            raise
        status = ""
        if isinstance(error, urllib.error.HTTPError):
            status = f" {error.code}"
            error.close()
        allowed = "" if scheme in WEB else f" with the credentials that {DRIVERS[scheme]} finds"
        raise SourceNotFound(
            f"{shown} cannot be read ({type(error).__name__}{status}).",
            remedy=f"Check the address, the network, and that you may read it{allowed}.",
        ) from None


def _web(url: str, shown: str) -> Any:
    _refuse_plain(url, shown)
    answer = urllib.request.urlopen(url, timeout=WAIT)  # noqa: S310 - only https, and http on this machine
    if answer.url != url:
        _refuse_plain(answer.url, shown)
    return answer


def _refuse_plain(url: str, shown: str) -> None:
    """Stop before records travel unencrypted, unless they stay on this machine."""
    place = urlsplit(url)
    try:
        local = place.hostname == "localhost" or ipaddress.ip_address(place.hostname or "").is_loopback
    except ValueError:
        local = False
    if place.scheme.lower() != "https" and not local:
        raise UsageError(
            f"{shown} would send people's records unencrypted.", remedy="Use https://, or fetch the file yourself."
        )


def _objects(url: str, scheme: str) -> Any:
    """A file in a store of objects, by fsspec and the package of that store."""
    if importlib.util.find_spec("fsspec") is None:
        raise MissingExtra("remote", needed_for=f"Reading {scheme}://")
    import fsspec

    # What these packages log on the way would go to the terminal where nobody has said where logs go.
    for package in (DRIVERS[scheme], "azure", "google"):
        logging.getLogger(package).addHandler(logging.NullHandler())
    try:
        return cast("Any", fsspec.open(url, "rb"))
    except ImportError:
        raise UsageError(
            f"Reading {scheme}:// needs the package {DRIVERS[scheme]}, which is not installed.",
            remedy=f"Install it with: pip install 'discreet[remote]' {DRIVERS[scheme]}",
        ) from None
