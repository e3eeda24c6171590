"""Parquet counted by its own dictionaries, and Arrow columns as codes."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.kernel import Coded, Histogram
from discreet.kernel.arrays import Ints

# Counting Parquet by its own dictionaries: text stays a small number from the page to the histogram.
#
# An optional short cut (extra `fast`), taken when pyarrow is there, the columns are text or whole numbers, and a table
# of counters over all combinations of their values is small. It gives the same histogram as the engine.
SMALL = 4 * 2**20
"""Below this many bytes the engine is done before pyarrow is imported."""
MOST_COUNTERS = 2**24
"""128 MB of counters."""
BATCH = 2**19
TOGETHER = 2**21
"""Keys that are counted in one go."""


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
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    counters = _Counters(len(by))
    for file in files:
        kinds = {field.name: field.type for field in parquet.read_schema(file)}
        if not all(arrow.types.is_string(kinds[name]) or arrow.types.is_integer(kinds[name]) for name in by):
            return None
        with parquet.ParquetFile(file, read_dictionary=list(by)) as opened:
            batches = opened.iter_batches(batch_size=BATCH, columns=list(by), use_threads=False)
            if not all(counters.add(batch.select(list(by))) for batch in batches):
                return None
    return counters.histogram(by)


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
        needed = [len(known.values) for known in self.known]
        if any(need > have for need, have in zip(needed, self.shape, strict=True)):
            self._flush()
            shape = [max(have, need + need // 16) for need, have in zip(needed, self.shape, strict=True)]
            if math.prod(shape) > MOST_COUNTERS:
                return False
            wider = np.zeros(shape, dtype=np.int64)
            wider[tuple(slice(have) for have in self.shape)] = self.counts.reshape(self.shape)
            self.counts, self.shape = wider.reshape(-1), shape
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
            cells = (column.fill_null(0) if column.null_count else column).to_numpy()
            low, high = int(cells.min()), int(cells.max())
            if high - low > len(cells):
                distinct, places = np.unique(cells, return_inverse=True)
                distinct = distinct.tolist()
            else:  # a small range needs no sorting
                offsets = cells - low
                present = np.zeros(high - low + 1, dtype=bool)
                present[offsets] = True
                distinct = (np.flatnonzero(present) + low).tolist()
                places = (np.cumsum(present, dtype=np.int32) - 1)[offsets]
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


# Columns of Arrow as codes.
def coded(column: Any) -> Coded:
    """A chunked Arrow column as codes into its distinct values."""
    import pyarrow as arrow

    whole = column.combine_chunks() if isinstance(column, arrow.ChunkedArray) else column
    whole = arrow.concat_arrays(whole) if isinstance(whole, list) else whole
    if arrow.types.is_nested(whole.type):
        return Coded.of(whole.to_pylist())
    encoded = whole if arrow.types.is_dictionary(whole.type) else whole.dictionary_encode(null_encoding="encode")
    values = [*encoded.dictionary.to_pylist(), None]
    codes = encoded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
    return Coded.merged(values, codes.astype(np.int64))


def whole_numbers(column: Any) -> Ints:
    """A column of counts; a missing one is nobody.

    >>> import pyarrow
    >>> whole_numbers(pyarrow.chunked_array([[3, None], [1]])).tolist()
    [3, 0, 1]
    """
    import pyarrow as arrow

    return np.asarray(column.cast(arrow.int64()).fill_null(0).to_numpy(), dtype=np.int64)
