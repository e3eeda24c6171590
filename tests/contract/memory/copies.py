"""Copies from memory: folders of this machine, written from a pool in a file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from discreet.kernel import Recoding
from discreet.sources.engine import CopyFolders, Engine, Marked, Pool
from discreet.sources.export.atomic_folder import local_folders
from discreet.sources.export.copies import file_pool


def folders(out: str, *, delimiter: str) -> AbstractContextManager[CopyFolders]:
    """Where the folders of copies are made."""
    return local_folders(Path(out), delimiter=delimiter)


def pool(
    engine: Engine, recoding: Recoding, marked: Marked, *, drop: Sequence[str], folder: Path | None, guarded: bool
) -> AbstractContextManager[Pool]:
    """The pool that copies are written from."""
    return file_pool(engine, recoding, marked, drop=drop, folder=folder, guarded=guarded)
