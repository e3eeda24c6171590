"""The folder of one store's files: what was uploaded and what jobs wrote, readable by nobody else on the machine."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from discreet.errors import StoreUnreachable

OURS = re.compile(r"(upload|result|copy)-[0-9a-f-]+\.(csv|csv\.gz|parquet|zip)")
WORKSHOP = "work-"
FORGOTTEN = 3_600.0
"""Seconds after which a file that nothing in the store speaks of was left behind by a crash."""


@dataclass(frozen=True)
class Folder:
    """Below the folder for data, one for each store, so that two stores never sweep out each other's files."""

    path: Path

    @classmethod
    def of(cls, data: Path, ledger: str) -> Folder:
        """The folder of the store with this ledger; made if there is none."""
        path = data / ledger
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.chmod(0o700)
        except OSError as error:
            raise unwritable(error) from None
        return cls(path.resolve())

    def new(self, kind: str, ending: str) -> Path:
        """A name that nobody has used: `upload-...`, `result-...` or `copy-...`."""
        return self.path / f"{kind}-{secrets.token_hex(16)}.{ending}"

    @contextmanager
    def workshop(self) -> Iterator[Path]:
        """A folder that nobody else reads and that vanishes with the block."""
        try:
            made = Path(tempfile.mkdtemp(prefix=WORKSHOP, dir=self.path))
        except OSError as error:
            raise unwritable(error) from None
        try:
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def create(self, path: Path) -> IO[bytes]:
        """A new file there that only its owner may read."""
        try:
            return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")
        except OSError as error:
            raise unwritable(error) from None

    def find(self, name: str) -> Path | None:
        """A file of ours by its name."""
        path = self.path / name
        return path if OURS.fullmatch(name) and path.is_file() and not path.is_symlink() else None

    def forget(self, names: Collection[str]) -> None:
        """Delete files of ours."""
        for name in names:
            if OURS.fullmatch(name):
                (self.path / name).unlink(missing_ok=True)

    def sweep(self, known: Collection[str]) -> list[str]:
        """Delete what a crash left behind: files of ours, not new any more, that the store does not know."""
        now, swept = time.time(), []
        for workshop in self.path.glob(f"{WORKSHOP}*"):
            if workshop.is_dir() and now - workshop.stat().st_mtime > 24 * FORGOTTEN:  # much work takes long
                shutil.rmtree(workshop, ignore_errors=True)
        for path in self.path.iterdir():
            left = OURS.fullmatch(path.name) and path.name not in known
            if left and now - path.stat().st_mtime > FORGOTTEN:
                swept.append(path.name)
        self.forget(swept)
        return swept


def unwritable(error: OSError) -> StoreUnreachable:
    """The folder cannot be used; not a word of what was to be written."""
    return StoreUnreachable(
        f"The folder for data cannot be written ({type(error).__name__}).",
        remedy="Whoever runs this server must give it a folder with room, with --data.",
    )
