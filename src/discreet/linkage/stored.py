"""An index in a folder, mapped into memory: opened in milliseconds, and shared by all processes that read it.

The folder holds identifying values, like the tables it was built from, and is made readable to its owner only.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from discreet.errors import IntegrityError, SourceNotFound, UsageError
from discreet.linkage.masking.column_index import ARRAYS, Array, Column, arrays
from discreet.linkage.masking.index import Index
from discreet.linkage.masking.rules import Rules

VERSION = 1
HEAD = "index.json"


def save_index(index: Index, folder: str | Path) -> Path:
    """Write an index to a folder that does not exist yet, or is empty."""
    target = Path(folder)
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise UsageError(f"Folder {target} is not empty.", remedy="Name a new folder for the index.")
    columns = []
    for place, column in enumerate(index.columns):
        same = column.spelt is column.codes
        for name, array in arrays(column).items():
            if name != "spelt" or not same:
                np.save(_file(target, place, name), array, allow_pickle=False)
        columns.append({"alphabet": column.alphabet, "missing": column.missing, "one_spelling": same})
    head = {"version": VERSION, "records": len(index), "rules": index.rules.to_dict(), "columns": columns}
    (target / HEAD).write_text(json.dumps(head), encoding="utf-8")  # last: without it the folder is no index
    return target


def load_index(folder: str | Path, *, mapped: bool = True) -> Index:
    """Open the index of a folder; unless `mapped`, read it into the memory of this process."""
    source = Path(folder)
    try:
        head = json.loads((source / HEAD).read_text(encoding="utf-8"))
        if head["version"] != VERSION:
            raise UsageError("The index was written by another version of Discreet.", remedy="Build it again.")
        columns = tuple(_column(source, place, one, mapped) for place, one in enumerate(head["columns"]))
        index = Index(Rules.from_dict(head["rules"]), columns)
    except FileNotFoundError:
        raise SourceNotFound(f"There is no whole index in {source}.", remedy="Build it, and save it there.") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise IntegrityError(f"The index in {source} is not as it was written.", remedy="Build it again.") from None
    if any(len(column.codes) != head["records"] for column in columns):
        raise IntegrityError(f"The index in {source} is not as it was written.", remedy="Build it again.")
    return index


def _column(source: Path, place: int, head: dict[str, object], mapped: bool) -> Column:
    found: dict[str, Array] = {}
    for name in ARRAYS:
        if name == "spelt" and head["one_spelling"]:
            continue
        # An empty file cannot be mapped; asarray takes the wrapper off, which would slow every step down.
        path = _file(source, place, name)
        read = np.load(path, allow_pickle=False)[:0] if _is_empty(path) else _read(path, mapped)
        found[name] = np.asarray(read)
    found.setdefault("spelt", found["codes"])
    alphabet, missing = head["alphabet"], head["missing"]
    return Column(**found, alphabet=tuple(map(str, alphabet)), missing=int(str(missing)))  # type: ignore[call-overload]


def _read(path: Path, mapped: bool) -> Array:
    return np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)  # type: ignore[no-any-return]


def _is_empty(path: Path) -> bool:
    with path.open("rb") as file:
        version = np.lib.format.read_magic(file)
        shape, _, _ = np.lib.format.read_array_header_1_0(file) if version == (1, 0) else ((1,), False, None)
    return 0 in shape


def _file(folder: Path, place: int, name: str) -> Path:
    return folder / f"{place}-{name}.npy"
