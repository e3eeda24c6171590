"""Counting Parquet by its own dictionaries: text stays a small number from the page to the histogram.

An optional short cut (extra `fast`), taken when pyarrow is there, the columns are text or whole numbers, and a table
of counters over all combinations of their values is small. It gives the same histogram as the engine.
"""

from __future__ import annotations

import glob
import importlib.util
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.kernel import Coded, Histogram
from discreet.kernel.hierarchy import Ints

SMALL = 4 * 2**20
"""Below this many bytes the engine is done before pyarrow is imported."""
MOST_COUNTERS = 2**24
"""128 MB of counters."""
BATCH = 2**19


def matching(pattern: Path) -> tuple[Path, ...]:
    """The files of a pattern, in order."""
    return tuple(Path(name) for name in sorted(glob.glob(str(pattern), recursive=True)))  # noqa: PTH207 - absolute patterns


def arrow_installed() -> bool:
    """Whether the short cut can be taken at all."""
    return importlib.util.find_spec("pyarrow") is not None


def count(files: Sequence[Path], by: Sequence[str]) -> Histogram | None:
    """The histogram, or None where the engine must count."""
    if not by or not arrow_installed() or sum(file.stat().st_size for file in files) < SMALL:
        return None
    return dictionary_count(files, by)


def dictionary_count(files: Sequence[Path], by: Sequence[str]) -> Histogram | None:
    """The short cut itself, whatever the size of the files."""
    counters = _Counters([{} for _ in by])
    for file in files:
        if not _fits(file, by) or not all(counters.add(batch) for batch in _batches(file, by)):
            return None
    return counters.histogram(by)


def _fits(file: Path, by: Sequence[str]) -> bool:
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    kinds = {field.name: field.type for field in parquet.read_schema(file)}
    return all(arrow.types.is_string(kinds[name]) or arrow.types.is_integer(kinds[name]) for name in by)


def _batches(file: Path, by: Sequence[str]) -> Iterator[Any]:
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(file, read_dictionary=list(by)) as opened:
        for batch in opened.iter_batches(batch_size=BATCH, columns=list(by), use_threads=False):
            yield batch.select(list(by))


class _Counters:
    """One counter per combination of the values met so far."""

    def __init__(self, dictionaries: list[dict[Any, int]]) -> None:
        self.dictionaries = dictionaries
        self.shape = [1] * len(dictionaries)
        self.counts: Ints = np.zeros(1, dtype=np.int64)

    def add(self, batch: Any) -> bool:
        """Count a batch; False where there would be too many counters."""
        codes = [_codes(column, known) for column, known in zip(batch.columns, self.dictionaries, strict=True)]
        if not self._grow():
            return False
        keys = codes[0]
        for size, column in zip(self.shape[1:], codes[1:], strict=True):
            keys = keys * np.int32(size) + column
        self.counts += np.bincount(keys, minlength=len(self.counts))
        return True

    def _grow(self) -> bool:
        needed = [len(known) for known in self.dictionaries]
        if all(need <= have for need, have in zip(needed, self.shape, strict=True)):
            return True
        shape = [max(have, need + need // 16) for need, have in zip(needed, self.shape, strict=True)]
        if math.prod(shape) > MOST_COUNTERS:
            return False
        wider = np.zeros(shape, dtype=np.int64)
        wider[tuple(slice(have) for have in self.shape)] = self.counts.reshape(self.shape)
        self.counts, self.shape = wider.reshape(-1), shape
        return True

    def histogram(self, by: Sequence[str]) -> Histogram:
        """The combinations that occur."""
        present = np.flatnonzero(self.counts)
        codes = np.unravel_index(present, self.shape)
        coded = {
            name: Coded.merged(list(known), column.astype(np.int64))
            for name, known, column in zip(by, self.dictionaries, codes, strict=True)
        }
        return Histogram(coded, self.counts[present])


def _codes(column: Any, known: dict[Any, int]) -> Any:
    """The codes of a column, with values not met before added to the dictionary."""
    if hasattr(column, "dictionary"):
        values = [*column.dictionary.to_pylist(), None]
        places = column.indices.fill_null(len(values) - 1) if column.null_count else column.indices
        number = np.array([_number(known, value, column.null_count) for value in values], dtype=np.int32)
        return number[places.to_numpy(zero_copy_only=False)]
    return _integer_codes(column, known)


def _integer_codes(column: Any, known: dict[Any, int]) -> Any:
    cells = (column.fill_null(0) if column.null_count else column).to_numpy(zero_copy_only=False)
    low, high = int(cells.min(initial=0)), int(cells.max(initial=0))
    if high - low > MOST_COUNTERS:
        distinct, places = np.unique(cells, return_inverse=True)
    else:
        distinct, places = _dense_distinct(cells, low, high)
    number = np.array([known.setdefault(int(value), len(known)) for value in distinct], dtype=np.int32)
    codes = number[places]
    if column.null_count:
        codes[column.is_null().to_numpy(zero_copy_only=False)] = known.setdefault(None, len(known))
    return codes


def _dense_distinct(cells: Any, low: int, high: int) -> tuple[Any, Any]:
    """Distinct values and the place of each cell among them, without sorting."""
    offsets = cells - low
    present = np.zeros(high - low + 1, dtype=bool)
    present[offsets] = True
    place = np.cumsum(present) - 1
    return np.flatnonzero(present) + low, place[offsets]


def _number(known: dict[Any, int], value: Any, missing: int) -> int:
    """The code of a value; a missing value gets one only if it occurs."""
    return -1 if value is None and not missing else known.setdefault(value, len(known))
