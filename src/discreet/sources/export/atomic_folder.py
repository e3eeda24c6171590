"""Atomic folder: appears whole or not at all."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from discreet.sources.engine import CopyFolders
from discreet.sources.export.targets import FileTarget, occupied, unwritable
from discreet.sources.table import Table

WORKSHOP = ".discreet-copies-"
LOCK = "in-use"


def copy_folders(table: Table, out: str, *, delimiter: str) -> AbstractContextManager[CopyFolders]:
    """Where the copies of a table are made: on the disk of `out`."""
    return table.engine.folders(out, delimiter=delimiter)


@contextmanager
def local_folders(out: Path, *, delimiter: str) -> Iterator[CopyFolders]:
    """On this machine, in a folder inside `out` that only this user opens."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        _sweep(out)
        aside = Path(tempfile.mkdtemp(prefix=WORKSHOP, dir=out))
    except OSError as error:
        raise unwritable(out, error) from None
    try:
        with (aside / LOCK).open("w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield LocalFolders(out, aside, delimiter)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _sweep(out: Path) -> None:
    """Remove what a process that was killed left: its lock ended with it."""
    for left in out.glob(f"{WORKSHOP}*"):
        with suppress(OSError), (left / LOCK).open("r", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)


@dataclass(frozen=True)
class LocalFolders:
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

    def make(self, folder: str) -> LocalFolder:
        """A new folder, empty."""
        stage = self.aside / "copy"
        shutil.rmtree(stage, ignore_errors=True)
        stage.mkdir()
        return LocalFolder(stage, self.out / folder, self.delimiter)


@dataclass(frozen=True)
class LocalFolder:
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
