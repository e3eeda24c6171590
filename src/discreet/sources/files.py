"""Files: CSV dialects, Parquet counted by its dictionaries, Arrow columns as codes.

Engines quote the offending row when they fail. A row is a person's record, so everything that can be checked is
checked here first, and errors speak of line numbers only.
"""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
import importlib.util
import io
import math
import re
import tempfile
import weakref
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from discreet.errors import ColumnError, EmptySource, SourceUnreadable
from discreet.kernel import Coded, Histogram
from discreet.kernel.arrays import Ints
from discreet.sources.engine import refuse_wide
from discreet.wording import reason

DELIMITERS = ";\t|,"
"""A comma comes last: where both fit, it is a decimal comma."""
UTF8 = ("utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii")
SAMPLE_LINES = 200
SAMPLE = 2**20
"""Lines and characters that are looked at to find out what separates the cells."""
LONGEST_HEADER = 2**24
"""Characters of the first line."""
VALUE = re.compile(r"[-+]?\d+([.,]\d+)?|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}")
"""A number or a date, which names no column."""

csv.field_size_limit(2**27)


def opened(path: Path, encoding: str) -> IO[str]:
    """The file as text, decompressed when its name ends in .gz."""
    binary = gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb")  # noqa: SIM115 - closed by the caller
    return io.TextIOWrapper(cast("IO[bytes]", binary), encoding=encoding, newline="")


def sniff(path: Path, *, delimiter: str | None, encoding: str) -> tuple[str, list[str]]:
    """The delimiter and the column names."""
    lines: list[str] = []
    left = SAMPLE
    try:
        with opened(path, "utf-8-sig" if _known(encoding) == "utf-8" else encoding) as file:
            # The header whole, and some rows after it; empty lines are left out.
            for _ in range(SAMPLE_LINES):
                line = file.readline(SAMPLE if lines else LONGEST_HEADER + 1)
                if line.strip():
                    lines.append(line)
                left -= len(line)
                if not line or left < 0:
                    break
    except (UnicodeError, OSError, EOFError) as error:
        raise unreadable(path, error, encoding) from None
    if not lines:
        raise EmptySource(f"{path} is empty.", remedy="Give a file with a header and at least one row.")
    if len(lines[0]) > LONGEST_HEADER:
        raise ColumnError(
            f"{path}: the first line is longer than {LONGEST_HEADER:,} characters, so it is no header.",
            remedy="Does every row end with a line break? Give the columns names in a first row of their own.",
        )
    mark = delimiter or guess_delimiter(lines)
    return mark, next(csv.reader(lines, delimiter=mark))


def guess_delimiter(lines: Sequence[str]) -> str:
    """The mark that cuts every line into equally many cells, and the most.

    >>> guess_delimiter(["a;b,c", "1;2,5", "3;4,5"])
    ';'
    """
    fits: dict[str, tuple[float, int]] = {}
    for mark in DELIMITERS:
        widths = Counter(len(row) for row in csv.reader(lines, delimiter=mark) if row)
        width, times = widths.most_common(1)[0] if widths else (1, 0)
        fits[mark] = (times / widths.total(), width) if width > 1 else (0.0, 0)
    return max(fits, key=lambda mark: fits[mark])


def check_header(header: Sequence[str], path: Path, *, declared: Sequence[str] = ()) -> None:
    """Stop if the first row cannot be a header.

    Names are not repeated: they may be a person's values.
    """
    refuse_wide(len(header), str(path))
    unnamed = [place for place, name in enumerate(header, start=1) if not name.strip()]
    if unnamed:
        raise ColumnError(
            f"{path}: column {unnamed[0]} of {len(header)} has no name.",
            remedy="Give every column a name in the first row.",
        )
    first: dict[str, int] = {}
    places = enumerate(header, start=1)
    doubled = next((place for place, name in places if first.setdefault(name, place) != place), None)
    if doubled is not None:
        raise ColumnError(
            f"{path}: column {doubled} of {len(header)} has the same name as an earlier one.",
            remedy="Give every column a name of its own.",
        )
    known = set(declared)
    if values := [name for name in header if VALUE.fullmatch(name.strip()) and name not in known]:
        raise ColumnError(
            f"{path}: {len(values)} of {len(header)} names in the first row are numbers or dates, so it looks like a record, not a header.",
            remedy="Add a header row. If these are names, list the columns in a policy.",
        )


def as_utf8(path: Path, encoding: str, *, owner: object) -> Path:
    """The path of the file in UTF-8: itself, or a temporary copy.

    The copy holds people's records, so it goes with its owner, at the latest when the process ends.
    """
    if _known(encoding) in UTF8:
        return path
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="", suffix=".csv", delete=False) as copy:
        weakref.finalize(owner, Path(copy.name).unlink, missing_ok=True)
        try:
            with opened(path, encoding) as original:
                while block := original.read(1 << 20):
                    copy.write(block)
        except (UnicodeError, OSError, EOFError) as error:
            raise unreadable(path, error, encoding) from None
    return Path(copy.name)


def _known(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise SourceUnreadable(
            f"There is no encoding named '{encoding}'.", remedy='Use a name such as "utf-8", "latin-1" or "cp1252".'
        ) from None


def unreadable(path: Path, error: Exception, encoding: str) -> SourceUnreadable:
    """What went wrong, without the bytes that went wrong."""
    if isinstance(error, UnicodeError):
        return SourceUnreadable(
            f"{path} is not written in {encoding}.",
            remedy='Name its encoding in the policy: [data] encoding = "latin-1" (or "cp1252", "utf-16").',
        )
    return SourceUnreadable(f"{path} cannot be read ({reason(error)}).", remedy="Is it complete, and yours to read?")


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


def matching(pattern: Path) -> tuple[Path, ...]:
    """The files of a pattern, in order; an existing name is no pattern."""
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
