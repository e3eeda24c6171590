"""PostgreSQL copies: the server recodes once, and copies are written on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from discreet.kernel import Recoding
from discreet.sources.engine import Engine, Marked, Pool
from discreet.sources.export.copies import file_pool


def pool(
    engine: Engine, recoding: Recoding, marked: Marked, *, drop: Sequence[str], folder: Path | None, guarded: bool
) -> AbstractContextManager[Pool]:
    """The pool of a table or query, whose rows leave the server once."""
    return file_pool(engine, recoding, marked, drop=drop, folder=folder, guarded=guarded)
