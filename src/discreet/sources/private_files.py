"""Private temporary files: copies of people's records that do not outlive their process, even if it is killed.

Each process has one folder that only its user can enter, and holds a lock on it. The system releases the lock when the
process ends in any way; the next process of the same user then removes what is left.
"""

from __future__ import annotations

import atexit
import fcntl
import itertools
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "discreet-private-"
LOCK = "in-use"

_numbers = itertools.count(1)
_own: dict[int, Path] = {}
"""The folder of this process; a forked one gets its own."""


def private_place() -> Path:
    """The folder of this process, made and locked when it is first needed."""
    process = os.getpid()
    if process not in _own or not _own[process].is_dir():
        _sweep()
        _own.clear()
        _own[process] = _locked_folder()
        atexit.register(_remove, _own[process], process)
    return _own[process]


def spill_folder() -> Path:
    """A folder, not made yet, for what one connection to DuckDB cannot hold in memory: files of two would have the same names."""
    return private_place() / f"spill-{next(_numbers)}"


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder for some files, gone afterwards."""
    with tempfile.TemporaryDirectory(dir=private_place()) as folder:
        yield Path(folder)


class PrivateFolder:
    """Temporary copies of people's records: they go with their owner, at the latest when the process ends."""

    def __init__(self, owner: object) -> None:
        self._owner = weakref.ref(owner)

    def file(self, name: str) -> Path:
        """A place for a new file of this name."""
        folder = Path(tempfile.mkdtemp(dir=private_place()))
        owner = self._owner()
        if owner is not None:
            weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
        return folder / (Path(name).name or "table")


def _locked_folder() -> Path:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        lock = os.open(
            folder / LOCK, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600
        )  # open for as long as the process lives
        with suppress(OSError):  # a file system without locks: nothing is swept there either
            fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / LOCK).exists():  # not swept between its making and its locking
            return folder
        os.close(lock)


def _sweep() -> None:
    """Remove folders of this user whose process has ended: nobody holds their lock."""
    with os.scandir(tempfile.gettempdir()) as entries:
        folders = [Path(entry) for entry in entries if entry.name.startswith(PREFIX) and _is_ours(entry)]
    for folder in folders:
        with suppress(OSError):  # being removed by another process, or in use
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _is_ours(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder, no link, of this user, that no one else can enter."""
    try:
        about = entry.stat(follow_symlinks=False)
        return entry.is_dir(follow_symlinks=False) and about.st_uid == os.geteuid() and not about.st_mode & 0o077
    except OSError:
        return False


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
