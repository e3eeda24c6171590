"""Atomic folder: appears whole or not at all."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from discreet.errors import UsageError
from discreet.sources.export.staging import unwritable
from discreet.sources.export.targets import FileTarget, FolderTarget, Target, occupied
from discreet.sources.spark.export import ClusterDisk, told
from discreet.sources.table import Table

WORKSHOP = ".discreet-copies-"
LOCK = "in-use"
BLOCK = 1 << 20


class Parcel(Protocol):
    """One folder on its way."""

    def target(self, name: str) -> Target:
        """Where the table goes, for now."""
        ...

    def write_text(self, name: str, text: str) -> None:
        """Put a text beside it."""
        ...

    def digest(self, name: str) -> str:
        """The SHA-256 of what was written under a name."""
        ...

    def put(self) -> None:
        """Move the folder to its place, where there must be none."""
        ...

    def discard(self) -> None:
        """Remove what is left of it aside."""
        ...


class Counter(Protocol):
    """Where parcels are made up."""

    def present(self, folder: str, name: str) -> str | None:
        """The digest of a file that is in its place already; None if there is no such folder."""
        ...

    def parcel(self, folder: str) -> Parcel:
        """A new folder, empty."""
        ...

    @property
    def scratch(self) -> Path | None:
        """A private folder on the same disk, if there is one."""
        ...


@contextmanager
def counter(table: Table, out: str, *, delimiter: str) -> Iterator[Counter]:
    """Where the copies of a table are made up, on the disk that holds the folder `out`."""
    session = getattr(getattr(table.engine, "frame", None), "sparkSession", None)
    if session is not None:
        yield ClusterCounter(session, out.rstrip("/"), delimiter)
        return
    with _workshop(Path(out)) as aside:
        yield LocalCounter(Path(out), aside, delimiter)


@contextmanager
def _workshop(out: Path) -> Iterator[Path]:
    """A folder inside `out` that only this user can open. What a killed process left there is removed first."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        _sweep(out)
        aside = Path(tempfile.mkdtemp(prefix=WORKSHOP, dir=out))
    except OSError as error:
        raise unwritable(out, error) from None
    try:
        with (aside / LOCK).open("w", encoding="ascii") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _sweep(out: Path) -> None:
    """A lock ends with the process that held it, so what nobody holds nobody needs."""
    for left in out.glob(f"{WORKSHOP}*"):
        with suppress(OSError), (left / LOCK).open("r", encoding="ascii") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)


@dataclass(frozen=True)
class LocalCounter:
    """On a disk of this machine."""

    out: Path
    aside: Path
    delimiter: str

    @property
    def scratch(self) -> Path:
        """A private folder on the same disk."""
        return self.aside

    def present(self, folder: str, name: str) -> str | None:
        """The digest of a file that is in its place already."""
        place = self.out / folder
        if not place.exists():
            return None
        return file_digest(place / name) if (place / name).is_file() else ""

    def parcel(self, folder: str) -> LocalParcel:
        """A new folder, empty."""
        stage = self.aside / "copy"
        shutil.rmtree(stage, ignore_errors=True)
        stage.mkdir()
        return LocalParcel(stage, self.out / folder, self.delimiter)


@dataclass(frozen=True)
class LocalParcel:
    """A folder of this machine on its way."""

    stage: Path
    place: Path
    delimiter: str

    def target(self, name: str) -> FileTarget:
        """Where the table goes, for now."""
        return FileTarget(str(self.stage / name), self.delimiter)

    def write_text(self, name: str, text: str) -> None:
        """Put a text beside it."""
        (self.stage / name).write_text(text, encoding="utf-8", newline="\n")

    def digest(self, name: str) -> str:
        """The SHA-256 of what was written."""
        return file_digest(self.stage / name)

    def put(self) -> None:
        """Move the folder to its place."""
        if self.place.exists():
            raise occupied(str(self.place))
        try:
            self.stage.rename(self.place)
        except OSError as error:
            raise unwritable(self.place, error) from None

    def discard(self) -> None:
        """Remove what is left of it aside."""
        shutil.rmtree(self.stage, ignore_errors=True)


def file_digest(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class ClusterCounter:
    """On the file system of a Spark cluster."""

    session: Any = field(repr=False)
    out: str
    delimiter: str
    scratch = None

    def present(self, folder: str, name: str) -> str | None:
        """The digest of what is in its place already."""
        disk = ClusterDisk.of(self.session, f"{self.out}/{folder}")
        if not disk.exists():
            return None
        place = f"{disk.target}/{name}"
        with suppress(UsageError):
            return parts_digest(self.session, place)
        return ""

    def parcel(self, folder: str) -> ClusterParcel:
        """A new folder, empty."""
        disk = ClusterDisk.of(self.session, f"{self.out}/{folder}")
        disk.make_parent()
        disk.refuse(overwrite=False)
        return ClusterParcel(disk, self.session, self.delimiter)


@dataclass(frozen=True)
class ClusterParcel:
    """A folder of a cluster on its way."""

    disk: ClusterDisk
    session: Any = field(repr=False)
    delimiter: str

    def target(self, name: str) -> FolderTarget:
        """Where the parts of the table go, for now."""
        return FolderTarget(f"{self.disk.stage}/{name}", self.delimiter, self.session)

    def write_text(self, name: str, text: str) -> None:
        """Put a text beside it."""
        self.disk.write(f"{self.disk.stage}/{name}", text.encode())

    def digest(self, name: str) -> str:
        """The SHA-256 over the parts, which the workers hash."""
        return parts_digest(self.session, f"{self.disk.stage}/{name}")

    def put(self) -> None:
        """Move the folder to its place."""
        self.disk.put(overwrite=False)

    def discard(self) -> None:
        """Remove what is left of it aside."""
        self.disk.clear()


def parts_digest(session: Any, address: str) -> str:
    """The SHA-256 over the digests of the parts of a table, in the order of their names' numbers."""
    with told(address):
        parts = session.read.format("binaryFile").load(f"{address}/part-*")
        rows = parts.selectExpr("path", "sha2(content, 256) AS digest").collect()
    names = sorted((row["path"].rpartition("/")[2][:10], row["digest"]) for row in rows)
    return hashlib.sha256("".join(digest for _, digest in names).encode()).hexdigest()
