"""Vault of identifying values, as an index; only `reveal.py` imports it."""

from __future__ import annotations

import shutil
import tempfile
import threading
from functools import lru_cache
from pathlib import Path

from discreet.linkage.masking.comparison import Pair
from discreet.linkage.masking.index import Index, load_index, save_index
from discreet.linkage.records.folder import ProjectFolder

KEPT = 8
"""Projects whose index stays open in a process."""

PAIRS_KEPT = 4096
"""Pairs that stay compared: whoever opens a cell looks at the same pair again."""

_opening = threading.Lock()


def index_of(folder: str) -> Index:
    """The index of a project's records; opened once per process, however many ask at once."""
    with _opening:
        return _index(folder, (Path(folder) / "project.json").stat().st_mtime_ns)


@lru_cache(maxsize=PAIRS_KEPT)
def pair_of(index: Index, first: int, second: int) -> Pair:
    """Two records of an index side by side."""
    return index.pair(first, second)


@lru_cache(maxsize=KEPT)
def _index(folder: str, _changed: int) -> Index:
    home = ProjectFolder.open(folder)
    kept = home.path / "index"
    if not kept.is_dir():
        spec = home.spec
        names = spec.swap or ()
        built = Index.build(home.identifying(), spec.kinds, swaps=[spec.swap] if spec.swap else [], names=names)
        _keep(built, kept)
    return load_index(kept)


def _keep(index: Index, kept: Path) -> None:
    """Write it beside and rename: of two processes that do so at once, one is first, and both wrote the same."""
    stage = Path(tempfile.mkdtemp(prefix=".index-", dir=kept.parent))
    try:
        save_index(index, stage)
        if not kept.is_dir():
            stage.rename(kept)
    except OSError:
        if not kept.is_dir():
            raise
    finally:
        shutil.rmtree(stage, ignore_errors=True)
