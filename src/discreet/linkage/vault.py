"""The identifying values of a project, as an index. Only `reveal.py` may import this file; a test sees to it."""

from __future__ import annotations

import threading
from functools import lru_cache
from pathlib import Path

from discreet.linkage.folder import ProjectFolder
from discreet.linkage.index import Index

KEPT = 8
"""Projects whose index stays open in a process."""

_opening = threading.Lock()


def index_of(folder: str) -> Index:
    """The index of a project's records; opened once per process, however many ask at once."""
    with _opening:
        return _index(folder, (Path(folder) / "project.json").stat().st_mtime_ns)


@lru_cache(maxsize=KEPT)
def _index(folder: str, _changed: int) -> Index:
    home = ProjectFolder.open(folder)
    spec = home.spec
    names = spec.swap or ()
    return Index.build(home.identifying(), spec.kinds, swaps=[spec.swap] if spec.swap else [], names=names)
