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
from discreet.kernel.arrays import Ints

SMALL = 4 * 2**20
"""Below this many bytes the engine is done before pyarrow is imported."""
MOST_COUNTERS = 2**24
"""128 MB of counters."""
BATCH = 2**19
TOGETHER = 2**21
"""Keys that are counted in one go."""


def matching(pattern: Path) -> tuple[Path, ...]:
    """The files of a pattern, in order; a file of that very name is no pattern."""
    if pattern.is_file():
        return (pattern,)
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
    counters = _Counters(len(by))
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

    def __init__(self, columns: int) -> None:
        self.known: list[_Values] = [_Values() for _ in range(columns)]
        self.shape = [1] * columns
        self.counts: Ints = np.zeros(1, dtype=np.int64)
        self.waiting: list[Any] = []

    def add(self, batch: Any) -> bool:
        """Count a batch; False where there would be too many counters."""
        codes = [known.codes(column) for column, known in zip(batch.columns, self.known, strict=True)]
        if not self._grow():
            return False
        keys = codes[0]
        for size, column in zip(self.shape[1:], codes[1:], strict=True):
            keys = keys * np.int32(size) + column
        self.waiting.append(keys)
        if sum(map(len, self.waiting)) >= TOGETHER:
            self._flush()
        return True

    def histogram(self, by: Sequence[str]) -> Histogram:
        """The combinations that occur."""
        self._flush()
        present = np.flatnonzero(self.counts)
        codes = np.unravel_index(present, self.shape)
        coded = {
            name: Coded.merged(known.values, column.astype(np.int64))
            for name, known, column in zip(by, self.known, codes, strict=True)
        }
        return Histogram(coded, self.counts[present])

    def _flush(self) -> None:
        """Keys are counted many at a time: each count walks over all counters."""
        if self.waiting:
            self.counts += np.bincount(np.concatenate(self.waiting), minlength=len(self.counts))
            self.waiting = []

    def _grow(self) -> bool:
        needed = [len(known.values) for known in self.known]
        if all(need <= have for need, have in zip(needed, self.shape, strict=True)):
            return True
        self._flush()
        shape = [max(have, need + need // 16) for need, have in zip(needed, self.shape, strict=True)]
        if math.prod(shape) > MOST_COUNTERS:
            return False
        wider = np.zeros(shape, dtype=np.int64)
        wider[tuple(slice(have) for have in self.shape)] = self.counts.reshape(self.shape)
        self.counts, self.shape = wider.reshape(-1), shape
        return True


class _Values:
    """The distinct values of one column, in the order they were met."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.number: dict[Any, int] = {}

    def codes(self, column: Any) -> Any:
        """The codes of a column's cells."""
        if hasattr(column, "dictionary"):
            distinct, places = column.dictionary.to_pylist(), column.indices.to_numpy(zero_copy_only=False)
        else:
            distinct, places = _distinct((column.fill_null(0) if column.null_count else column).to_numpy())
        missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
        if missing is not None:
            places = np.where(missing, 0, places).astype(np.int64)
        codes = self._numbers(distinct)[places] if distinct else np.zeros(len(places), dtype=np.int32)
        if missing is not None:
            codes[missing] = self._numbers([None])[0]
        return codes

    def _numbers(self, values: Sequence[Any]) -> Any:
        fresh = [value for value in values if value not in self.number]
        self.number.update(zip(fresh, range(len(self.values), len(self.values) + len(fresh)), strict=True))
        self.values += fresh
        return np.array(list(map(self.number.__getitem__, values)), dtype=np.int32)


def _distinct(cells: Any) -> tuple[list[int], Any]:
    """Distinct whole numbers and the place of each cell among them, without sorting where their range is small."""
    low, high = int(cells.min()), int(cells.max())
    if high - low > len(cells):
        distinct, places = np.unique(cells, return_inverse=True)
        return distinct.tolist(), places
    offsets = cells - low
    present = np.zeros(high - low + 1, dtype=bool)
    present[offsets] = True
    return (np.flatnonzero(present) + low).tolist(), (np.cumsum(present, dtype=np.int32) - 1)[offsets]
